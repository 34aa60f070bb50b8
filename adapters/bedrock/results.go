package bedrock

import (
	"fmt"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// imageFollows stands in a failed result for the images that follow it.
const imageFollows = "(image attached after the tool results)"

// result adds what a tool returned. Claude takes no images in a failed result; they
// follow all results of the turn. Even an empty result needs some text.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultBlock.html.
func (r *request) result(i int, m *llmdv1.ToolResultMessage) error {
	t := r.turn(false)
	b := sentBlock{kind: sendResult, id: m.GetToolCallId(), failed: m.GetIsError()}
	var images []sentBlock
	for j, c := range m.GetContent() {
		switch {
		case c.GetText() != nil:
			if text := c.GetText().GetText(); !blank(text) {
				b.parts = append(b.parts, sentBlock{kind: sendText, text: text})
			}
		case c.GetImage() != nil:
			img, err := imageOf(c.GetImage(), blockField(i, "tool_result", j))
			if err != nil {
				return err
			}
			part := sentBlock{kind: sendImage, image: img}
			if !b.failed || r.traits.family != claude {
				b.parts = append(b.parts, part)
				continue
			}
			images = append(images, part)
			if n := len(b.parts); n == 0 || b.parts[n-1].text != imageFollows {
				b.parts = append(b.parts, sentBlock{kind: sendText, text: imageFollows})
			}
		}
	}
	if len(b.parts) == 0 {
		b.parts = []sentBlock{{kind: sendText, text: emptyText}}
	}
	t.results = append(t.results, b)
	if len(images) > 0 {
		title := fmt.Sprintf("Images from the error result of tool call %s (%s):", m.GetToolCallId(), m.GetToolName())
		t.moved = append(append(t.moved, sentBlock{kind: sendText, text: title}), images...)
	}
	return nil
}

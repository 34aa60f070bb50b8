package anthropic

import (
	"fmt"
	"strings"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Words that stand where the API leaves no other way.
const (
	noOutput     = "(no tool output)"
	seeImage     = "(see attached image)"
	imageFollows = "(image attached after the tool results)"
)

// result adds what a tool returned. The API takes no images in a failed result;
// they follow all results of the turn.
func (r *request) result(i int, m *llmdv1.ToolResultMessage) error {
	t := r.turn(false)
	b := sentBlock{kind: sendResult, id: m.GetToolCallId(), failed: m.GetIsError()}
	var images []sentBlock
	for j, c := range m.GetContent() {
		switch {
		case c.GetText() != nil:
			if text := c.GetText().GetText(); text != "" {
				b.parts = append(b.parts, sentBlock{kind: sendText, text: text})
			}
		case c.GetImage() != nil:
			img, err := imageOf(c.GetImage(), blockField(i, "tool_result", j))
			if err != nil {
				return err
			}
			part := sentBlock{kind: sendImage, image: img}
			if !b.failed {
				b.parts = append(b.parts, part)
				continue
			}
			images = append(images, part)
			if n := len(b.parts); n == 0 || b.parts[n-1].text != imageFollows {
				b.parts = append(b.parts, sentBlock{kind: sendText, text: imageFollows})
			}
		}
	}
	b.settle() // even a failed result needs some text
	t.results = append(t.results, b)
	if len(images) > 0 {
		title := fmt.Sprintf("Images from the error result of tool call %s (%s):", m.GetToolCallId(), m.GetToolName())
		t.moved = append(append(t.moved, sentBlock{kind: sendText, text: title}), images...)
	}
	return nil
}

// settle makes a result of texts one text, and gives every result some text.
func (b *sentBlock) settle() {
	var texts []string
	var sendable []sentBlock
	pictures := 0
	for _, p := range b.parts {
		if p.kind == sendImage {
			pictures++
			sendable = append(sendable, p)
			continue
		}
		texts = append(texts, p.text)
		if !blank(p.text) {
			sendable = append(sendable, p)
		}
	}
	switch {
	case pictures == 0:
		b.parts = nil
		if b.text = strings.Join(texts, "\n"); blank(b.text) {
			b.text = noOutput
		}
	case pictures == len(sendable):
		b.parts = append([]sentBlock{{kind: sendText, text: seeImage}}, sendable...)
	default:
		b.parts = sendable
	}
}

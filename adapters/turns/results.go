package turns

import (
	"fmt"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// imageFollows stands in a failed result for the images that follow it. It is part of
// prompt prefixes, so it never changes.
const imageFollows = "(image attached after the tool results)"

// result adds what a tool returned.
func (b *builder) result(i int, m *llmdv1.ToolResultMessage) error {
	t := b.turn(false)
	r := Block{Kind: Result, ID: m.GetToolCallId(), Failed: m.GetIsError()}
	var moved []Block
	for j, c := range m.GetContent() {
		switch {
		case c.GetText() != nil:
			if text := c.GetText().GetText(); text != "" {
				r.Parts = append(r.Parts, Block{Kind: Text, Text: text})
			}
		case c.GetImage() != nil:
			img, err := b.image(i, "tool_result", j, c.GetImage())
			if err != nil {
				return err
			}
			if !r.Failed || b.rules.ErrorImages {
				r.Parts = append(r.Parts, img)
				continue
			}
			moved = append(moved, img)
			if n := len(r.Parts); n == 0 || r.Parts[n-1].Text != imageFollows {
				r.Parts = append(r.Parts, Block{Kind: Text, Text: imageFollows})
			}
		}
	}
	b.rules.Settle(&r)
	t.results = append(t.results, r)
	if len(moved) > 0 {
		title := fmt.Sprintf("Images from the error result of tool call %s (%s):", m.GetToolCallId(), m.GetToolName())
		t.moved = append(append(t.moved, Block{Kind: Text, Text: title}), moved...)
	}
	return nil
}

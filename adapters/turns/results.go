package turns

import (
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// result adds what a tool returned.
func (b *builder) result(i int, m *llmdv1.ToolResultMessage) error {
	t := b.turn(i, false)
	r := Block{Kind: Result, ID: m.GetToolCallId(), Failed: m.GetIsError()}
	for j, c := range m.GetContent() {
		switch {
		case c.GetText() != nil:
			if text := c.GetText().GetText(); !Blank(text) {
				r.Parts = append(r.Parts, Block{Kind: Text, Text: text})
			} else if text != "" {
				b.blank(i, j)
			}
		case c.GetImage() != nil:
			img, err := b.image(i, "tool_result", j, c.GetImage())
			if err != nil {
				return err
			}
			r.Parts = append(r.Parts, img)
		}
	}
	b.placeholder(i, b.rules.Settle(&r))
	t.results = append(t.results, r)
	return nil
}

package turns

import (
	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Words that stand where a result shows images apart, and between turns. They are part of
// prompt prefixes, so they never change.
const (
	seeImage     = "(see attached image)"
	imagesFollow = "Attached image(s) from tool result:"
	processed    = "I have processed the tool results."
	continues    = "(conversation continues)"
)

// result adds what a tool returned.
func (b *builder) result(i int, m *llmdv1.ToolResultMessage) error {
	t := b.turn(i, false)
	r := Block{Kind: Result, ID: m.GetToolCallId(), Failed: m.GetIsError()}
	images := false // that are shown apart
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
			if b.rules.ImagesApart {
				b.show(t, i, j, img)
				images = true
			} else {
				r.Parts = append(r.Parts, img)
			}
		}
	}
	if images && len(r.Parts) == 0 {
		r.Parts = []Block{{Kind: Text, Text: seeImage}}
		b.placeholder(i, seeImage)
	}
	b.placeholder(i, b.rules.Settle(&r))
	t.results, t.last = append(t.results, r), i
	return nil
}

// show puts the image of a result, block j of message i, behind the results.
func (b *builder) show(t *Turn, i, j int, img Block) {
	if t.images == nil {
		t.images = []Block{{Kind: Text, Text: imagesFollow}}
	}
	t.images = append(t.images, img)
	b.changes = append(b.changes, b.call.ChangeBlock(i, j, adapters.Rewritten, adapters.RuleImagesMoved, "shown in the turn of the user after the results"))
}

package turns

import (
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonstream"
	"github.com/llmd-dev/llmd/adapters/media"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Kind is the type of a block.
type Kind uint8

// The kinds of blocks.
const (
	Text Kind = iota
	Image
	Thinking
	Redacted
	Call
	Result
	Opaque // a block of the provider's own
)

// Block is a content block on its way out.
type Block struct {
	Kind Kind
	// Text is that of a text or thinking block, or the whole of a result.
	Text string
	// Signature is that of thinking; of redacted thinking, the ciphertext.
	Signature string
	// ID is a call's, also in its result; Name is a call's.
	ID, Name string
	// Raw is JSON: a call's input, an opaque block, the citations of a text.
	Raw []byte
	// Image is set with the kind Image.
	Image media.Image
	// Parts are the blocks of a result.
	Parts []Block
	// Failed: the result is that of a tool that failed.
	Failed bool
}

// Turn is one message.
type Turn struct {
	Assistant bool
	Blocks    []Block
	// results and moved stand before the other blocks of a user turn: all results
	// first, then the images that cannot stand in them.
	results, moved []Block
}

// Rules are what an API and a model want.
type Rules struct {
	// Empty stands where a text is demanded and there is none.
	Empty string
	// Images are the images that are taken.
	Images media.Takes
	// ErrorImages: they may stand in the result of a call that failed.
	ErrorImages bool
	// Thinking says how thinking goes back; false = it does not.
	Thinking func(*llmdv1.ThinkingContent) (Block, bool)
	// Input is the input of a call, which is block j of message i.
	Input func(i, j int, call *llmdv1.ToolCall) []byte
	// Replays says whether a block of the provider's own goes back.
	Replays func(i, j int, p *llmdv1.ProviderContent) bool
	// Citations are those that provider content holds, as a JSON array; nil = none.
	Citations func(*llmdv1.ProviderContent) []byte
	// Settle gives a result its last form.
	Settle func(result *Block)
}

// Build makes turns of the conversation of a call. Turns that are said to be empty
// need a remark.
func Build(call *adapters.Call, rules *Rules) (turns []Turn, remarks []*llmdv1.Diagnostic, err error) {
	b := &builder{call: call, rules: rules}
	for i, m := range call.Context.GetMessages() {
		switch {
		case m.GetUser() != nil:
			err = b.user(i, m.GetUser())
		case m.GetToolResult() != nil:
			err = b.result(i, m.GetToolResult())
		case m.GetAssistant() != nil:
			err = b.assistant(i, m.GetAssistant())
		}
		if err != nil {
			return nil, nil, err
		}
	}
	for i := range b.turns {
		t := &b.turns[i]
		t.Blocks = append(append(t.results, t.moved...), t.Blocks...)
		if len(t.Blocks) == 0 {
			// Leaving a blank user turn out would break the alternation, or turn the
			// answer before it into a prefill.
			t.Blocks = []Block{{Kind: Text, Text: rules.Empty}}
			remarks = append(remarks, &llmdv1.Diagnostic{Code: "user.blank", Message: "a blank user turn is sent as \"" + rules.Empty + "\""})
		}
	}
	return b.turns, remarks, nil
}

// LastUser is the number of the last turn of the user's; -1 = there is none.
func LastUser(turns []Turn) int {
	last := len(turns) - 1
	for last >= 0 && turns[last].Assistant {
		last--
	}
	return last
}

type builder struct {
	call  *adapters.Call
	rules *Rules
	turns []Turn
}

// turn is the one that a message of this role belongs to. Results and the user's
// words after them are one turn of the user.
func (b *builder) turn(assistant bool) *Turn {
	if n := len(b.turns); n > 0 && b.turns[n-1].Assistant == assistant {
		return &b.turns[n-1]
	}
	b.turns = append(b.turns, Turn{Assistant: assistant})
	return &b.turns[len(b.turns)-1]
}

// image reads the image of a block.
func (b *builder) image(i int, kind string, j int, in *llmdv1.ImageContent) (Block, error) {
	img, err := b.call.Image(in, b.call.BlockField(i, kind, j), b.rules.Images)
	return Block{Kind: Image, Image: img}, err
}

// user adds what the user said. The APIs refuse blank texts.
func (b *builder) user(i int, m *llmdv1.UserMessage) error {
	t := b.turn(false)
	for j, c := range m.GetContent() {
		switch {
		case c.GetText() != nil:
			if text := c.GetText().GetText(); !Blank(text) {
				t.Blocks = append(t.Blocks, Block{Kind: Text, Text: text})
			}
		case c.GetImage() != nil:
			img, err := b.image(i, "user", j, c.GetImage())
			if err != nil {
				return err
			}
			t.Blocks = append(t.Blocks, img)
		}
	}
	return nil
}

// assistant adds an answer. An interrupted one may have nothing to send.
func (b *builder) assistant(i int, m *llmdv1.AssistantMessage) error {
	content := m.GetContent()
	var blocks []Block
	for j, c := range content {
		block, ok, err := b.assistantBlock(i, j, c)
		if err != nil {
			return err
		}
		if ok && block.Kind == Text && j+1 < len(content) {
			block.Raw = b.rules.Citations(content[j+1].GetProviderContent())
		}
		if ok {
			blocks = append(blocks, block)
		}
	}
	if len(blocks) > 0 {
		t := b.turn(true)
		t.Blocks = append(t.Blocks, blocks...)
	}
	return nil
}

// assistantBlock translates one block; false = it is not sent.
func (b *builder) assistantBlock(i, j int, c *llmdv1.AssistantContent) (Block, bool, error) {
	switch {
	case c.GetText() != nil:
		text := c.GetText().GetText()
		return Block{Kind: Text, Text: text}, !Blank(text), nil
	case c.GetThinking() != nil:
		block, ok := b.rules.Thinking(c.GetThinking())
		return block, ok, nil
	case c.GetToolCall() != nil:
		call := c.GetToolCall()
		return Block{Kind: Call, ID: call.GetId(), Name: adapters.ToolName(call.GetName()), Raw: b.rules.Input(i, j, call)}, true, nil
	case c.GetProviderContent() != nil && b.rules.Replays(i, j, c.GetProviderContent()):
		raw := c.GetProviderContent().GetRawJson()
		if jsonstream.Object(raw) != nil {
			return Block{}, false, &adapters.FieldError{
				Field: b.call.BlockField(i, "assistant", j) + ".provider_content.raw_json", Detail: "not one JSON object",
			}
		}
		return Block{Kind: Opaque, Raw: raw}, true, nil
	}
	return Block{}, false, nil
}

// Blank says whether the APIs would refuse a text as empty.
func Blank(s string) bool { return strings.TrimSpace(s) == "" }

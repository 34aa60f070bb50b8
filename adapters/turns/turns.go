package turns

import (
	"fmt"
	"slices"
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
	// results stand before the other blocks of a user turn, and the images that do not go
	// into them come next.
	results, images []Block
	message         int // the first that it is made of
	last            int // the last of those with results or with calls
}

// Rules are what an API and a model want.
type Rules struct {
	// Empty stands where a text is demanded and there is none.
	Empty string
	// Images are the images that are taken.
	Images media.Takes
	// ImagesApart: a result takes none. They are shown after the results.
	ImagesApart bool
	// ToolsAlone: nothing stands beside calls and beside results. What is said before calls
	// and after results are turns of their own, and a word of the other side between.
	ToolsAlone bool
	// Thinking says how thinking goes back; false = it does not.
	Thinking func(*llmdv1.ThinkingContent) (Block, bool)
	// Input is the input of a call, which is block j of message i.
	Input func(i, j int, call *llmdv1.ToolCall) []byte
	// Replays says whether a block of the provider's own goes back.
	Replays func(i, j int, p *llmdv1.ProviderContent) bool
	// Citations says whether provider content is the citations of the text before it,
	// and gives them as a JSON array; nil = they cannot be read.
	Citations func(*llmdv1.ProviderContent) ([]byte, bool)
	// Settle gives a result its last form, and says what it put in for want of any text.
	Settle func(result *Block) string
}

// Build makes turns of the conversation of a call, and says what it had to change.
func Build(call *adapters.Call, rules *Rules) (turns []Turn, changes []*llmdv1.HandoffChange, err error) {
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
	for _, t := range b.turns {
		turns = append(turns, b.whole(t)...)
	}
	return turns, b.changes, nil
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
	// changes are reported for the caller's places.
	changes []*llmdv1.HandoffChange
}

// whole puts the blocks of a turn in their order.
func (b *builder) whole(t Turn) []Turn {
	said := slices.Concat(t.images, t.Blocks)
	if t.Assistant && b.rules.ToolsAlone {
		return b.apart(t)
	}
	if b.rules.ToolsAlone && len(t.results) > 0 && len(said) > 0 {
		b.changes = append(b.changes, b.call.Change(t.last+1, adapters.Inserted, adapters.RuleAssistantInserted,
			"the model wants a word of the assistant between the result of a tool and the user"))
		t.Blocks = t.results
		return []Turn{t, words(true, processed), {Blocks: said}}
	}
	t.Blocks = slices.Concat(t.results, said)
	if len(t.Blocks) == 0 {
		// Leaving a blank user turn out would break the alternation, or turn the
		// answer before it into a prefill.
		t.Blocks = []Block{{Kind: Text, Text: b.rules.Empty}}
		b.placeholder(t.message, b.rules.Empty)
	}
	return []Turn{t}
}

// apart puts the calls of an answer into a turn of their own.
func (b *builder) apart(t Turn) []Turn {
	said, calls := t, t
	said.Blocks, calls.Blocks = nil, nil
	for _, block := range t.Blocks {
		if block.Kind == Call {
			calls.Blocks = append(calls.Blocks, block)
		} else {
			said.Blocks = append(said.Blocks, block)
		}
	}
	if len(said.Blocks) == 0 || len(calls.Blocks) == 0 {
		return []Turn{t}
	}
	b.changes = append(b.changes, b.call.Change(t.last, adapters.Inserted, adapters.RuleUserInserted,
		"the model wants a word of the user between what it says and the calls of tools"))
	return []Turn{said, words(false, continues), calls}
}

// words is a turn that nobody said.
func words(assistant bool, text string) Turn {
	return Turn{Assistant: assistant, Blocks: []Block{{Kind: Text, Text: text}}}
}

// blank reports that a text of white space is not sent.
func (b *builder) blank(i, j int) {
	b.changes = append(b.changes, b.call.ChangeBlock(i, j, adapters.Rewritten, adapters.RuleTextEmpty, "a text of white space says nothing"))
}

// placeholder reports a text that stands for want of any; empty = there was some.
func (b *builder) placeholder(i int, text string) {
	if text != "" {
		b.changes = append(b.changes, b.call.Change(i, adapters.Rewritten, adapters.RuleTextPlaceholder, fmt.Sprintf("the API wants some text: sent with %q", text)))
	}
}

// turn is the one that message i, of this role, belongs to. Results and the user's
// words after them are one turn of the user.
func (b *builder) turn(i int, assistant bool) *Turn {
	if n := len(b.turns); n > 0 && b.turns[n-1].Assistant == assistant {
		return &b.turns[n-1]
	}
	b.turns = append(b.turns, Turn{Assistant: assistant, message: i})
	return &b.turns[len(b.turns)-1]
}

// image reads the image of a block.
func (b *builder) image(i int, kind string, j int, in *llmdv1.ImageContent) (Block, error) {
	img, err := b.call.Image(in, b.call.BlockField(i, kind, j), b.rules.Images)
	return Block{Kind: Image, Image: img}, err
}

// user adds what the user said. The APIs refuse blank texts.
func (b *builder) user(i int, m *llmdv1.UserMessage) error {
	t := b.turn(i, false)
	for j, c := range m.GetContent() {
		switch {
		case c.GetText() != nil:
			if text := c.GetText().GetText(); !Blank(text) {
				t.Blocks = append(t.Blocks, Block{Kind: Text, Text: text})
			} else if text != "" {
				b.blank(i, j)
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
	var blocks []Block
	cited := false // the block before is a text, which citations belong to
	for j, c := range m.GetContent() {
		if list, ok := b.rules.Citations(c.GetProviderContent()); ok {
			if !cited || list == nil {
				b.changes = append(b.changes, b.call.ChangeBlock(i, j, adapters.Dropped, adapters.RuleProviderOrphan, "citations without the text they belong to"))
			} else {
				blocks[len(blocks)-1].Raw = list
			}
			cited = false
			continue
		}
		block, ok, err := b.assistantBlock(i, j, c)
		if err != nil {
			return err
		}
		if ok {
			blocks = append(blocks, block)
		}
		cited = ok && block.Kind == Text
	}
	if len(blocks) > 0 {
		t := b.turn(i, true)
		t.Blocks = append(t.Blocks, blocks...)
		if slices.ContainsFunc(blocks, func(b Block) bool { return b.Kind == Call }) {
			t.last = i
		}
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
		return Block{Kind: Call, ID: call.GetId(), Name: call.GetName(), Raw: b.rules.Input(i, j, call)}, true, nil
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

package bedrock

import (
	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// emptyText stands where the API demands a text and there is none.
const emptyText = "<empty>"

// turn is one message on the wire.
type turn struct {
	assistant bool
	blocks    []sentBlock
	// results and moved stand before the other blocks of a user turn: all results
	// first, then the images that cannot stand in them.
	results, moved []sentBlock
}

// sentKind is the type of a block on the wire.
type sentKind uint8

const (
	sendText sentKind = iota
	sendImage
	sendThinking
	sendRedacted
	sendCall
	sendResult
	sendOpaque
)

// sentBlock is a content block on the wire.
type sentBlock struct {
	kind sentKind
	// text is that of a text or thinking block.
	text string
	// signature of thinking; of redacted thinking, the ciphertext in base64.
	signature string
	// id of a call, also in its result; name of a call.
	id, name string
	// raw is JSON: a call's input, an opaque block, the citations of a text.
	raw   []byte
	image image
	// parts are the blocks of a result.
	parts []sentBlock
	// failed: the result is that of a tool that failed.
	failed bool
}

// decideTurns turns the conversation into turns that alternate.
func (r *request) decideTurns() error {
	for i, m := range r.call.Context.GetMessages() {
		var err error
		switch {
		case m.GetUser() != nil:
			err = r.user(i, m.GetUser())
		case m.GetToolResult() != nil:
			err = r.result(i, m.GetToolResult())
		case m.GetAssistant() != nil:
			err = r.assistant(i, m.GetAssistant())
		}
		if err != nil {
			return err
		}
	}
	for i := range r.turns {
		t := &r.turns[i]
		t.blocks = append(append(t.results, t.moved...), t.blocks...)
		if len(t.blocks) == 0 {
			// Leaving a blank user turn out would break the alternation.
			t.blocks = []sentBlock{{kind: sendText, text: emptyText}}
			r.remarks = append(r.remarks, &llmdv1.Diagnostic{Code: "user.blank", Message: "a blank user turn is sent as \"" + emptyText + "\""})
		}
	}
	return r.decidePrefill()
}

// turn is the one that a message of this role belongs to. Results and the user's
// words after them are one turn of the user.
func (r *request) turn(assistant bool) *turn {
	if n := len(r.turns); n > 0 && r.turns[n-1].assistant == assistant {
		return &r.turns[n-1]
	}
	r.turns = append(r.turns, turn{assistant: assistant})
	return &r.turns[len(r.turns)-1]
}

// user adds what the user said. The API refuses blank texts.
func (r *request) user(i int, m *llmdv1.UserMessage) error {
	t := r.turn(false)
	for j, c := range m.GetContent() {
		switch {
		case c.GetText() != nil:
			if text := c.GetText().GetText(); !blank(text) {
				t.blocks = append(t.blocks, sentBlock{kind: sendText, text: text})
			}
		case c.GetImage() != nil:
			img, err := imageOf(c.GetImage(), blockField(i, "user", j))
			if err != nil {
				return err
			}
			t.blocks = append(t.blocks, sentBlock{kind: sendImage, image: img})
		}
	}
	return nil
}

// assistant adds an answer. An interrupted one may have nothing to send.
func (r *request) assistant(i int, m *llmdv1.AssistantMessage) error {
	content := m.GetContent()
	var blocks []sentBlock
	for j, c := range content {
		b, ok, err := r.assistantBlock(i, j, c)
		if err != nil {
			return err
		}
		if ok && b.kind == sendText && j+1 < len(content) {
			b.raw = citations(content[j+1].GetProviderContent())
		}
		if ok {
			blocks = append(blocks, b)
		}
	}
	if len(blocks) > 0 {
		t := r.turn(true)
		t.blocks = append(t.blocks, blocks...)
	}
	return nil
}

// assistantBlock translates one block; false = it is not sent.
func (r *request) assistantBlock(i, j int, c *llmdv1.AssistantContent) (sentBlock, bool, error) {
	switch {
	case c.GetText() != nil:
		text := c.GetText().GetText()
		return sentBlock{kind: sendText, text: text}, !blank(text), nil
	case c.GetThinking() != nil:
		b, ok := thinkingOf(c.GetThinking(), r.traits.family)
		return b, ok, nil
	case c.GetToolCall() != nil:
		call := c.GetToolCall()
		return sentBlock{kind: sendCall, id: call.GetId(), name: toolName(call.GetName()), raw: r.input(i, j, call)}, true, nil
	case c.GetProviderContent() != nil:
		return r.opaque(i, j, c.GetProviderContent())
	}
	return sentBlock{}, false, nil
}

// opaque sends a block of the provider's own as it came. Citations go back around
// the text before them; an image does not go back at all: only users may send some.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html.
func (r *request) opaque(i, j int, p *llmdv1.ProviderContent) (sentBlock, bool, error) {
	switch p.GetType() {
	case citationsKind:
		return sentBlock{}, false, nil
	case imageKind:
		r.change(i, j, llmdv1.HandoffAction_HANDOFF_ACTION_DROPPED, "provider_content.image", "the API takes no images in assistant turns")
		return sentBlock{}, false, nil
	}
	if !isObject(string(p.GetRawJson())) {
		return sentBlock{}, false, &adapters.FieldError{
			Field: blockField(i, "assistant", j) + ".provider_content.raw_json", Detail: "not one JSON object",
		}
	}
	return sentBlock{kind: sendOpaque, raw: p.GetRawJson()}, true, nil
}

// change reports what had to be changed beyond the hand-off.
func (r *request) change(i, j int, action llmdv1.HandoffAction, rule, detail string) {
	block := int32(j)
	r.changes = append(r.changes, &llmdv1.HandoffChange{
		MessageIndex: int32(i), ContentIndex: &block, Action: action, Rule: rule, Detail: detail,
	})
}

// thinkingOf decides how thinking goes back. Claude wants its signature, else it gets
// text that anyone may write; other makers take it without.
func thinkingOf(t *llmdv1.ThinkingContent, f family) (sentBlock, bool) {
	signature := string(t.GetSignature().GetData())
	switch format := t.GetSignature().GetFormat(); {
	case format == redactedFormat && signature != "":
		return sentBlock{kind: sendRedacted, signature: signature}, true
	case format == reasoningFormat && signature != "":
		return sentBlock{kind: sendThinking, text: t.GetThinking(), signature: signature}, true
	case blank(t.GetThinking()):
		return sentBlock{}, false
	case f != claude:
		return sentBlock{kind: sendThinking, text: t.GetThinking()}, true
	}
	return sentBlock{kind: sendText, text: t.GetThinking()}, true
}

package anthropic

import (
	"encoding/json"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// turn is one message on the wire.
type turn struct {
	assistant bool
	blocks    []sentBlock
	// results and moved stand before the other blocks of a user turn: all results
	// first, as the API wants it, then the images that cannot stand in them.
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
	// text is that of a text or thinking block, or the whole of a result.
	text string
	// signature of thinking; of redacted thinking, the ciphertext.
	signature string
	// id of a call, also in its result; name of a call.
	id, name string
	// raw is JSON: a call's input, an opaque block, the citations of a text.
	raw   []byte
	image image
	// parts are the blocks of a result that is not text alone.
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
			// Leaving a blank user turn out would break the alternation, or turn the
			// answer before it into a prefill.
			t.blocks = []sentBlock{{kind: sendText, text: "(empty)"}}
			r.remarks = append(r.remarks, &llmdv1.Diagnostic{Code: "user.blank", Message: "a blank user turn is sent as \"(empty)\""})
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

// user adds what the user said.
func (r *request) user(i int, m *llmdv1.UserMessage) error {
	t := r.turn(false)
	for j, c := range m.GetContent() {
		switch {
		case c.GetText() != nil:
			t.add(textOf(c.GetText().GetText()))
		case c.GetImage() != nil:
			img, err := imageOf(c.GetImage(), blockField(i, "user", j))
			if err != nil {
				return err
			}
			t.add(sentBlock{kind: sendImage, image: img}, true)
		}
	}
	return nil
}

// textOf is a text block, unless the API would refuse it as empty.
func textOf(text string) (sentBlock, bool) {
	return sentBlock{kind: sendText, text: text}, !blank(text)
}

func (t *turn) add(b sentBlock, ok bool) {
	if ok {
		t.blocks = append(t.blocks, b)
	}
}

// assistant adds an answer. An interrupted one may have nothing to send.
func (r *request) assistant(i int, m *llmdv1.AssistantMessage) error {
	content := m.GetContent()
	var blocks []sentBlock
	for j, c := range content {
		b, ok, err := r.assistantBlock(c, blockField(i, "assistant", j))
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

// assistantBlock translates one block; false = it is not sent. Citations are not:
// they go back inside the text before them.
func (r *request) assistantBlock(c *llmdv1.AssistantContent, field string) (sentBlock, bool, error) {
	switch {
	case c.GetText() != nil:
		b, ok := textOf(c.GetText().GetText())
		return b, ok, nil
	case c.GetThinking() != nil:
		b, ok := thinkingOf(c.GetThinking(), r.call.Model.Compat.AllowEmptySignature)
		return b, ok, nil
	case c.GetToolCall() != nil:
		call := c.GetToolCall()
		input := call.GetArgumentsJson()
		if blank(input) {
			input = "{}"
		}
		return sentBlock{kind: sendCall, id: call.GetId(), name: toolName(call.GetName()), raw: []byte(input)}, true, nil
	case c.GetProviderContent() != nil && c.GetProviderContent().GetType() != citationsKind:
		raw := c.GetProviderContent().GetRawJson()
		if !json.Valid(raw) {
			return sentBlock{}, false, &adapters.FieldError{Field: field + ".provider_content.raw_json", Detail: "not JSON"}
		}
		return sentBlock{kind: sendOpaque, raw: raw}, true, nil
	}
	return sentBlock{}, false, nil
}

// thinkingOf decides how thinking goes back: with its signature, by the text alone
// where the host allows that, else as text that anyone may write.
func thinkingOf(t *llmdv1.ThinkingContent, unsigned bool) (sentBlock, bool) {
	signature := string(t.GetSignature().GetData())
	switch format := t.GetSignature().GetFormat(); {
	case format == redactedFormat && signature != "":
		return sentBlock{kind: sendRedacted, signature: signature}, true
	case format == thinkingFormat && signature != "":
		return sentBlock{kind: sendThinking, text: t.GetThinking(), signature: signature}, true
	case blank(t.GetThinking()):
		return sentBlock{}, false
	case unsigned:
		return sentBlock{kind: sendThinking, text: t.GetThinking()}, true
	}
	return sentBlock{kind: sendText, text: t.GetThinking()}, true
}

// citations are those that follow a text block, as a JSON array; nil = none.
func citations(p *llmdv1.ProviderContent) []byte {
	if p.GetType() != citationsKind || !json.Valid(p.GetRawJson()) {
		return nil
	}
	members, _ := jsonwire.Members(p.GetRawJson()) // none if it is no object
	for _, m := range members {
		if m.Key == "citations" && m.Value[0] == '[' {
			return m.Value
		}
	}
	return nil
}

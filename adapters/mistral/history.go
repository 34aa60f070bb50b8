package mistral

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonstream"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/media"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Words that are put in. They are part of prompt prefixes, so they never change.
const (
	noOutput  = "(no tool output)"
	seeImage  = "(see attached image)"
	processed = "I have processed the tool results."
)

// The roles of messages.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
)

// message is one message as the API wants it.
type message struct {
	role         string
	text         string // the content, where chunks is nil
	chunks       []chunk
	calls        []*llmdv1.ToolCall
	callID, name string // of a tool's result
	prefix       bool
}

// chunk is one part of a message's content: a text, thinking, an image, or a chunk
// of Mistral's own as JSON.
type chunk struct {
	text     string
	thinking string
	image    *media.Image
	raw      []byte
}

// messages writes the conversation.
func (e *encoder) messages() error {
	ms, err := e.conversation()
	if err != nil {
		return err
	}
	e.w.Key("messages")
	e.w.BeginArray()
	for i := range ms {
		e.message(&ms[i])
	}
	e.w.EndArray()
	return nil
}

// conversation turns the history into the API's messages.
func (e *encoder) conversation() ([]message, error) {
	var ms []message
	if s := e.call.Context.GetSystemPrompt(); s != "" {
		ms = append(ms, message{role: "system", text: s})
	}
	history := e.call.Context.GetMessages()
	for i, m := range history {
		var next message
		var err error
		switch m := m.GetMessage().(type) {
		case *llmdv1.Message_User:
			next, err = e.user(m.User, i)
			if n := len(ms); n > 0 && ms[n-1].role == roleTool && !next.empty() {
				ms = append(ms, e.bridge(i))
			}
		case *llmdv1.Message_Assistant:
			next, err = e.assistant(m.Assistant, i)
			next.prefix = i == len(history)-1
		case *llmdv1.Message_ToolResult:
			next, err = e.toolResult(m.ToolResult, i)
		}
		if err != nil {
			return nil, err
		}
		if !next.empty() {
			ms = append(ms, next)
		}
	}
	return ms, nil
}

// empty says whether nothing is left of a turn. "Assistant message must have
// either content or tool_calls"; a user's without content asks for nothing.
func (m *message) empty() bool { return m.text == "" && len(m.chunks) == 0 && len(m.calls) == 0 }

// bridge is the assistant's word between the result of a tool and the user's
// message at an index of the history; it is reported for the caller's index.
func (e *encoder) bridge(at int) message {
	e.changes = append(e.changes, e.call.Change(at, adapters.Inserted, adapters.RuleAssistantInserted,
		"the API wants a word of the assistant between the result of a tool and the user"))
	return message{role: roleAssistant, chunks: []chunk{{text: processed}}}
}

// user is a user turn: a string if it is one text, else a list without empty texts.
func (e *encoder) user(m *llmdv1.UserMessage, at int) (message, error) {
	out := message{role: roleUser}
	blocks := m.GetContent()
	if len(blocks) == 1 && blocks[0].GetText() != nil {
		out.text = blocks[0].GetText().GetText()
		return out, nil
	}
	for j, b := range blocks {
		switch {
		case b.GetImage() != nil:
			img, err := e.image(b.GetImage(), at, "user", j)
			if err != nil {
				return out, err
			}
			out.chunks = append(out.chunks, chunk{image: &img})
		case b.GetText().GetText() != "":
			out.chunks = append(out.chunks, chunk{text: b.GetText().GetText()})
		}
	}
	return out, nil
}

// image reads an image. https://docs.mistral.ai/capabilities/vision/
func (e *encoder) image(in *llmdv1.ImageContent, at int, kind string, j int) (media.Image, error) {
	return e.call.Image(in, e.call.BlockField(at, kind, j), media.Takes{Unseen: true})
}

// assistant is an assistant turn: its chunks in order, then its calls.
func (e *encoder) assistant(m *llmdv1.AssistantMessage, at int) (message, error) {
	out := message{role: roleAssistant}
	for j, b := range m.GetContent() {
		switch b := b.GetBlock().(type) {
		case *llmdv1.AssistantContent_Text:
			if t := b.Text.GetText(); strings.TrimSpace(t) != "" {
				out.chunks = append(out.chunks, chunk{text: t})
			}
		case *llmdv1.AssistantContent_Thinking:
			if c := thought(b.Thinking); c != nil {
				out.chunks = append(out.chunks, *c)
			}
		case *llmdv1.AssistantContent_ToolCall:
			out.calls = append(out.calls, b.ToolCall)
		case *llmdv1.AssistantContent_ProviderContent:
			raw := b.ProviderContent.GetRawJson()
			if jsonstream.Object(raw) != nil {
				return out, &adapters.FieldError{
					Field: e.call.BlockField(at, "assistant", j) + ".provider_content.raw_json", Detail: "not one JSON object",
				}
			}
			out.chunks = append(out.chunks, chunk{raw: raw})
		}
	}
	return out, nil
}

// thought is thinking as a chunk: the one it came in if the signature holds it,
// else one made of its text; nil if there is neither.
func thought(t *llmdv1.ThinkingContent) *chunk {
	s := t.GetSignature()
	switch {
	case s.GetFormat() == formatThinking && jsonstream.Object(s.GetData()) == nil:
		return &chunk{raw: s.GetData()}
	case strings.TrimSpace(t.GetThinking()) != "":
		return &chunk{thinking: t.GetThinking()}
	}
	return nil
}

// toolResult is what a tool returned, images among it. Texts that follow each other are
// one.
func (e *encoder) toolResult(m *llmdv1.ToolResultMessage, at int) (message, error) {
	out := message{role: roleTool, callID: m.GetToolCallId(), name: m.GetToolName()}
	said, shown := false, false
	var texts []string
	flush := func() {
		if text := strings.Join(texts, "\n"); text != "" {
			out.chunks = append(out.chunks, chunk{text: text})
			said = said || strings.TrimSpace(text) != ""
		}
		texts = nil
	}
	for j, b := range m.GetContent() {
		switch {
		case b.GetImage() != nil:
			img, err := e.image(b.GetImage(), at, "tool_result", j)
			if err != nil {
				return out, err
			}
			flush()
			out.chunks = append(out.chunks, chunk{image: &img})
			shown = true
		case b.GetText() != nil:
			texts = append(texts, b.GetText().GetText())
		}
	}
	flush()
	if said {
		return out, nil
	}
	// What texts there are say nothing.
	out.chunks = slices.DeleteFunc(out.chunks, func(c chunk) bool { return c.image == nil })
	instead := noOutput
	if shown {
		instead = seeImage
	}
	out.chunks = append([]chunk{{text: e.placeholder(at, instead)}}, out.chunks...)
	return out, nil
}

// placeholder reports a text that is put in for want of any.
func (e *encoder) placeholder(at int, text string) string {
	e.changes = append(e.changes, e.call.Change(at, adapters.Rewritten, adapters.RuleTextPlaceholder, fmt.Sprintf("the API wants some text: sent with %q", text)))
	return text
}

// message writes one message.
func (e *encoder) message(m *message) {
	w := &e.w
	w.BeginObject()
	w.Member("role", m.role)
	w.MemberIf("tool_call_id", m.callID)
	w.MemberIf("name", m.name)
	w.Key("content")
	if len(m.chunks) > 0 {
		w.BeginArray()
		for i := range m.chunks {
			e.chunk(&m.chunks[i])
		}
		w.EndArray()
	} else {
		w.String(jsonwire.Clean(m.text))
	}
	if m.role == roleAssistant {
		e.calls(m.calls)
		w.Key("prefix")
		w.Bool(m.prefix)
	}
	w.EndObject()
}

// chunk writes one chunk, an image's bytes straight into the body.
func (e *encoder) chunk(c *chunk) {
	w := &e.w
	if c.raw != nil {
		w.RawBytes(c.raw)
		return
	}
	w.BeginObject()
	switch {
	case c.image != nil:
		w.Member("type", "image_url")
		w.Key("image_url")
		w.Base64("data:"+c.image.Type+";base64,", c.image.Data)
	case c.thinking != "":
		w.Member("type", "thinking")
		w.Key("thinking")
		w.BeginArray()
		w.BeginObject()
		w.Member("type", "text")
		w.Member("text", jsonwire.Clean(c.thinking))
		w.EndObject()
		w.EndArray()
	default:
		w.Member("type", "text")
		w.Member("text", jsonwire.Clean(c.text))
	}
	w.EndObject()
}

// calls writes an answer's calls. The arguments are the model's own text in a
// string.
func (e *encoder) calls(calls []*llmdv1.ToolCall) {
	if len(calls) == 0 {
		return
	}
	w := &e.w
	w.Key("tool_calls")
	w.BeginArray()
	for _, c := range calls {
		arguments := c.GetArgumentsJson()
		if strings.TrimSpace(arguments) == "" {
			arguments = "{}"
		}
		w.BeginObject()
		w.Member("id", c.GetId())
		w.Member("type", "function")
		w.Key("function")
		w.BeginObject()
		w.Member("name", c.GetName())
		w.Member("arguments", arguments)
		w.EndObject()
		w.Key("index")
		w.Int(0)
		w.EndObject()
	}
	w.EndArray()
}

// prefill is the text of the assistant's turn that a conversation ends with, which
// the answer continues; empty if it ends otherwise.
func prefill(c *llmdv1.Context) string {
	history := c.GetMessages()
	if len(history) == 0 {
		return ""
	}
	var text strings.Builder
	for _, b := range history[len(history)-1].GetAssistant().GetContent() {
		if t := b.GetText().GetText(); strings.TrimSpace(t) != "" {
			text.WriteString(t)
		}
	}
	return text.String()
}

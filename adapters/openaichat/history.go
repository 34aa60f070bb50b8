package openaichat

import (
	"fmt"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonstream"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/media"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Words that the hand-off to this API puts in. They are part of prompt prefixes,
// so they never change.
const (
	noOutput     = "(no tool output)"
	seeImage     = "(see attached image)"
	imagesFollow = "Attached image(s) from tool result:"
	processed    = "I have processed the tool results."
)

// message is one message as the API wants it.
type message struct {
	role string
	text string // the content, where parts is nil
	null bool   // the content is null
	// parts is the content as a list.
	parts []part
	// reasoning goes into the field of that name, if it has one; details and blocks
	// are JSON arrays.
	field, reasoning string
	details, blocks  string
	opaque           string
	extra            []byte // Google's, a JSON object
	calls            []*llmdv1.ToolCall
	callID, toolName string
}

// part is a text or an image of a message's content.
type part struct {
	text   string
	image  *media.Image
	marked bool // ends a cached prefix
}

// messages writes the conversation.
func (e *encoder) messages() error {
	ms, err := e.conversation()
	if err != nil {
		return err
	}
	if marker := e.cacheMarker(); marker != "" {
		markFirst(ms)
		markLast(ms)
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
		ms = append(ms, message{role: e.systemRole(), text: s})
	}
	// Images cannot stand in a tool message. Those of a whole group of results
	// follow it in one user message, as nothing may part a group.
	var images []part
	flush := func(before int) {
		if len(images) > 0 {
			ms = e.bridge(ms, before)
			ms = append(ms, message{role: "user", parts: append([]part{{text: imagesFollow}}, images...)})
			images = nil
		}
	}
	history := e.call.Context.GetMessages()
	for i, m := range history {
		switch m := m.GetMessage().(type) {
		case *llmdv1.Message_User:
			flush(i)
			u, ok, err := e.user(m.User, i)
			if err != nil {
				return nil, err
			}
			if ok {
				ms = append(e.bridge(ms, i), u)
			}
		case *llmdv1.Message_Assistant:
			flush(i)
			a, ok, err := e.assistant(m.Assistant, i)
			if err != nil {
				return nil, err
			}
			if ok {
				ms = append(ms, a)
			}
		case *llmdv1.Message_ToolResult:
			r, pictures, err := e.toolResult(m.ToolResult, i)
			if err != nil {
				return nil, err
			}
			ms = append(ms, r)
			images = append(images, pictures...)
		}
	}
	flush(len(history))
	if e.compat.RequiresAlternatingTurns {
		ms = joinUsers(ms)
	}
	return ms, nil
}

// joinUsers makes one message of the images of results and the user's turn behind them.
func joinUsers(ms []message) []message {
	var out []message
	for _, m := range ms {
		if n := len(out); n == 0 || m.role != "user" || out[n-1].role != "user" {
			out = append(out, m)
			continue
		}
		last := &out[len(out)-1]
		last.parts = append(last.list(), m.list()...)
	}
	return out
}

// list is the content as a list, without an empty text.
func (m *message) list() []part {
	if m.parts == nil && m.text != "" {
		return []part{{text: m.text}}
	}
	return m.parts
}

// systemRole: OpenAI's reasoning models take the system prompt from the developer.
func (e *encoder) systemRole() string {
	if e.call.Model.Reasoning && e.compat.SupportsDeveloperRole {
		return "developer"
	}
	return "system"
}

// bridge puts an assistant's word between results and a user message, where the
// host wants one, before a message of the history.
func (e *encoder) bridge(ms []message, before int) []message {
	if e.compat.RequiresAssistantAfterToolResult && len(ms) > 0 && ms[len(ms)-1].role == "tool" {
		e.report(e.call.Change(before, adapters.Inserted, adapters.RuleAssistantInserted, "the host wants a word of the assistant between the result of a tool and the user"))
		ms = append(ms, message{role: "assistant", text: processed})
	}
	return ms
}

// user is a user turn: a string if it is one text, else a list without empty texts;
// ok = false if nothing is left of it. A turn that the next one may be merged with is a
// list at once, so that it stays as it is.
func (e *encoder) user(m *llmdv1.UserMessage, at int) (out message, ok bool, err error) {
	blocks := m.GetContent()
	out = message{role: "user"}
	if len(blocks) == 1 && blocks[0].GetText() != nil && !e.compat.RequiresAlternatingTurns {
		out.text = blocks[0].GetText().GetText()
		return out, true, nil
	}
	for j, b := range blocks {
		switch {
		case b.GetImage() != nil:
			img, err := e.image(b.GetImage(), at, "user", j)
			if err != nil {
				return out, false, err
			}
			out.parts = append(out.parts, part{image: &img})
		case b.GetText().GetText() != "":
			out.parts = append(out.parts, part{text: b.GetText().GetText()})
		}
	}
	return out, len(out.parts) > 0, nil
}

// image reads an image. https://platform.openai.com/docs/guides/images-vision
func (e *encoder) image(in *llmdv1.ImageContent, at int, kind string, j int) (media.Image, error) {
	return e.call.Image(in, e.call.BlockField(at, kind, j), media.Takes{Unseen: true})
}

// assistant is an assistant turn. Its content is one string: given lists of parts,
// models begin to imitate the structure.
func (e *encoder) assistant(m *llmdv1.AssistantMessage, at int) (out message, ok bool, err error) {
	out = message{role: "assistant"}
	var texts []string
	for j, b := range m.GetContent() {
		switch b := b.GetBlock().(type) {
		case *llmdv1.AssistantContent_Text:
			if t := b.Text.GetText(); strings.TrimSpace(t) != "" {
				texts = append(texts, t)
			}
			if extra := b.Text.GetSignature(); extra.GetFormat() == formatExtra {
				if err := e.checkExtra(extra, at, j, "text"); err != nil {
					return out, false, err
				}
				out.extra = extra.GetData()
			}
		case *llmdv1.AssistantContent_ToolCall:
			if extra := b.ToolCall.GetSignature(); extra.GetFormat() == formatExtra {
				if err := e.checkExtra(extra, at, j, "tool_call"); err != nil {
					return out, false, err
				}
			}
			if tail := b.ToolCall.GetSignature(); tail.GetFormat() == formatCallID {
				e.idTails[b.ToolCall.GetId()] = string(tail.GetData())
			}
			out.calls = append(out.calls, b.ToolCall)
		}
	}
	out.text = strings.Join(texts, "")
	if err := e.replayThinking(&out, m, texts, at); err != nil {
		return out, false, err
	}
	empty := out.text == "" && out.parts == nil
	out.null = empty && !e.compat.RequiresAssistantAfterToolResult && !e.compat.RequiresNonNullAssistantContent
	if e.compat.RequiresReasoningContentOnAssistantMessages && e.call.Model.Reasoning && out.field == "" {
		out.field, out.reasoning = "reasoning_content", e.noReasoning()
	}
	return out, !empty || len(out.calls) > 0, nil
}

// noReasoning stands for reasoning that there was none of. To Moonshot an empty text is
// still "reasoning_content is missing": https://github.com/earendil-works/pi/pull/4178.
func (e *encoder) noReasoning() string {
	if e.call.Maker() == "moonshot" {
		return " "
	}
	return ""
}

// checkExtra: what comes with the history must not become other members of the body.
func (e *encoder) checkExtra(s *llmdv1.Signature, at, j int, kind string) error {
	if jsonstream.Object(s.GetData()) == nil {
		return nil
	}
	return &adapters.FieldError{Field: e.call.BlockField(at, "assistant", j) + "." + kind + ".signature.data", Detail: "not a JSON object"}
}

// replayThinking puts a turn's thinking where its signature says it came from.
func (e *encoder) replayThinking(out *message, m *llmdv1.AssistantMessage, texts []string, at int) error {
	if e.compat.RequiresThinkingAsText {
		e.thinkingAsText(out, m, texts, at)
		return nil
	}
	var thoughts, lists, blocks []string
	for j, b := range m.GetContent() {
		t := b.GetThinking()
		if t == nil {
			continue
		}
		field := e.call.BlockField(at, "assistant", j) + ".thinking.signature.data"
		switch data := t.GetSignature().GetData(); t.GetSignature().GetFormat() {
		case formatDetails, formatBlocks:
			if !isArray(data) {
				return &adapters.FieldError{Field: field, Detail: "not a JSON array"}
			}
			if t.GetSignature().GetFormat() == formatBlocks {
				blocks = append(blocks, string(data))
			} else {
				lists = append(lists, string(data))
			}
		case formatOpaque:
			out.opaque = string(data)
			if strings.TrimSpace(t.GetThinking()) != "" {
				out.field = "reasoning_text"
				thoughts = append(thoughts, t.GetThinking())
			}
		case formatField:
			if !isReasoningField(string(data)) {
				return &adapters.FieldError{Field: field, Detail: "not the name of a field for reasoning"}
			}
			if strings.TrimSpace(t.GetThinking()) == "" {
				e.report(e.call.ChangeBlock(at, j, adapters.Rewritten, adapters.RuleThinkingEmpty, "thinking without words says nothing"))
				continue
			}
			if out.field == "" {
				out.field = string(data)
			}
			thoughts = append(thoughts, t.GetThinking())
		}
	}
	out.reasoning = strings.Join(thoughts, "\n")
	out.blocks = joinArrays(blocks)
	if out.details = joinArrays(lists); out.details == "" {
		out.details = detailsOfCalls(out.calls)
	}
	return nil
}

// thinkingAsText puts the thinking before the words, for hosts that take it only so.
func (e *encoder) thinkingAsText(out *message, m *llmdv1.AssistantMessage, texts []string, at int) {
	var thoughts []string
	for j, b := range m.GetContent() {
		if t := b.GetThinking(); t != nil && strings.TrimSpace(t.GetThinking()) != "" {
			thoughts = append(thoughts, t.GetThinking())
			e.report(e.call.ChangeBlock(at, j, adapters.Rewritten, adapters.RuleThinkingAsText, "the host takes thinking back as text"))
		} else if t != nil {
			e.report(e.call.ChangeBlock(at, j, adapters.Rewritten, adapters.RuleThinkingEmpty, "thinking without words says nothing"))
		}
	}
	if len(thoughts) == 0 {
		return
	}
	out.parts = []part{{text: strings.Join(thoughts, "\n\n")}}
	for _, t := range texts {
		out.parts = append(out.parts, part{text: t})
	}
}

// isReasoningField: a name that comes with the history must not become any other
// member of the message.
func isReasoningField(name string) bool {
	return name == "reasoning" || name == "reasoning_content" || name == "reasoning_text"
}

// toolResult is a result's text, and its images for the message that follows.
func (e *encoder) toolResult(m *llmdv1.ToolResultMessage, at int) (out message, images []part, err error) {
	var texts []string
	for j, b := range m.GetContent() {
		switch {
		case b.GetImage() != nil:
			img, err := e.image(b.GetImage(), at, "tool_result", j)
			if err != nil {
				return out, nil, err
			}
			images = append(images, part{image: &img})
			e.report(e.call.ChangeBlock(at, j, adapters.Rewritten, adapters.RuleImagesMoved, "shown in a user message after the results"))
		case b.GetText() != nil:
			texts = append(texts, b.GetText().GetText())
		}
	}
	id := m.GetToolCallId()
	out = message{role: "tool", text: strings.Join(texts, "\n"), callID: id + e.idTails[id]}
	switch {
	case strings.TrimSpace(out.text) != "":
	case len(images) > 0:
		out.text = e.placeholder(at, seeImage)
	default:
		out.text = e.placeholder(at, noOutput)
	}
	if e.compat.RequiresToolResultName {
		out.toolName = m.GetToolName()
	}
	return out, images, nil
}

// report notes a change beyond the hand-off.
func (e *encoder) report(c *llmdv1.HandoffChange) { e.changes = append(e.changes, c) }

// placeholder reports a text that is put in for want of any.
func (e *encoder) placeholder(at int, text string) string {
	e.report(e.call.Change(at, adapters.Rewritten, adapters.RuleTextPlaceholder, fmt.Sprintf("the API wants some text: sent with %q", text)))
	return text
}

// markFirst puts a cache marker on the system prompt.
func markFirst(ms []message) {
	if len(ms) > 0 && (ms[0].role == "system" || ms[0].role == "developer") {
		ms[0].mark()
	}
}

// markLast puts one on the last text of the conversation.
func markLast(ms []message) {
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].role == "system" || ms[i].role == "developer" || ms[i].mark() {
			return
		}
	}
}

// mark marks the last text of a message, which makes its content a list.
func (m *message) mark() bool {
	m.parts = m.list()
	for i := len(m.parts) - 1; i >= 0; i-- {
		if m.parts[i].image == nil {
			m.parts[i].marked = true
			return true
		}
	}
	return false
}

// message writes one message.
func (e *encoder) message(m *message) {
	w := &e.w
	w.BeginObject()
	w.Member("role", m.role)
	w.MemberIf("name", m.toolName)
	w.Key("content")
	switch {
	case m.parts != nil:
		w.BeginArray()
		for i := range m.parts {
			e.part(&m.parts[i])
		}
		w.EndArray()
	case m.null:
		w.Null()
	default:
		w.String(jsonwire.Clean(m.text))
	}
	if m.field != "" {
		w.Member(m.field, m.reasoning)
	}
	if m.details != "" {
		w.Key("reasoning_details")
		w.Raw(m.details)
	}
	if m.blocks != "" {
		w.Key("thinking_blocks")
		w.Raw(m.blocks)
	}
	w.MemberIf("reasoning_opaque", m.opaque)
	if m.extra != nil {
		w.Key("extra_content")
		w.RawBytes(m.extra)
	}
	if len(m.calls) > 0 {
		w.Key("tool_calls")
		w.BeginArray()
		for _, c := range m.calls {
			e.toolCall(c)
		}
		w.EndArray()
	}
	w.MemberIf("tool_call_id", m.callID)
	w.EndObject()
}

// part writes a text or an image, the image's bytes straight into the body.
func (e *encoder) part(p *part) {
	w := &e.w
	w.BeginObject()
	if p.image != nil {
		w.Member("type", "image_url")
		w.Key("image_url")
		w.BeginObject()
		w.Key("url")
		w.Base64("data:"+p.image.Type+";base64,", p.image.Data)
		w.EndObject()
	} else {
		w.Member("type", "text")
		w.Member("text", jsonwire.Clean(p.text))
	}
	if p.marked {
		w.Key("cache_control")
		w.Raw(e.cacheMarker())
	}
	w.EndObject()
}

// toolCall writes a call. The arguments are the model's own text in a string.
func (e *encoder) toolCall(c *llmdv1.ToolCall) {
	arguments := c.GetArgumentsJson()
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	w := &e.w
	w.BeginObject()
	w.Member("id", c.GetId()+e.idTails[c.GetId()])
	w.Member("type", "function")
	w.Key("function")
	w.BeginObject()
	w.Member("name", c.GetName())
	w.Member("arguments", arguments)
	w.EndObject()
	switch s := c.GetSignature(); s.GetFormat() {
	case formatExtra:
		w.Key("extra_content")
		w.RawBytes(s.GetData())
	case formatThought:
		w.Member("thoughtSignature", string(s.GetData()))
	}
	w.EndObject()
}

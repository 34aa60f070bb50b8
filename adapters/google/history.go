package google

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonstream"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// contents writes the conversation. Results of one step stand in one content, in
// the order of their calls: before Gemini 3 nothing else joins them.
func (e *encoder) contents() error {
	e.w.Key("contents")
	e.w.BeginArray()
	messages := e.call.Context.GetMessages()
	var calls []*llmdv1.AssistantContent // of the last assistant turn
	for i := 0; i < len(messages); {
		n := 1
		var err error
		switch m := messages[i].GetMessage().(type) {
		case *llmdv1.Message_User:
			err = e.userTurn(i, m.User)
		case *llmdv1.Message_Assistant:
			calls = m.Assistant.GetContent()
			err = e.modelTurn(i, calls)
		case *llmdv1.Message_ToolResult:
			for i+n < len(messages) && messages[i+n].GetToolResult() != nil {
				n++
			}
			err = e.results(i, messages[i:i+n], calls)
		}
		if err != nil {
			return err
		}
		i += n
	}
	e.w.EndArray()
	return nil
}

// turn writes one content, and nothing at all if it gets no part.
type turn struct {
	e    *encoder
	role string
	open bool
}

// part begins the next part, an object.
func (t *turn) part() {
	t.place()
	t.e.w.BeginObject()
}

// place makes room for the next part.
func (t *turn) place() {
	if t.open {
		return
	}
	t.open = true
	t.e.w.BeginObject()
	t.e.w.Member("role", t.role)
	t.e.w.Key("parts")
	t.e.w.BeginArray()
}

func (t *turn) end() {
	if t.open {
		t.e.w.EndArray()
		t.e.w.EndObject()
	}
}

func (e *encoder) userTurn(i int, m *llmdv1.UserMessage) error {
	t := turn{e: e, role: "user"}
	for j, b := range m.GetContent() {
		switch b := b.GetBlock().(type) {
		case *llmdv1.UserContent_Text:
			t.part()
			e.w.Member("text", b.Text.GetText())
			e.w.EndObject()
		case *llmdv1.UserContent_Image:
			t.part()
			if err := e.image(b.Image, e.call.BlockField(i, "user", j)); err != nil {
				return err
			}
			e.w.EndObject()
		}
	}
	t.end()
	return nil
}

// modelTurn writes an answer as it came: part by part, with the signatures.
func (e *encoder) modelTurn(i int, content []*llmdv1.AssistantContent) error {
	t := turn{e: e, role: "model"}
	calls := 0
	for j, b := range content {
		switch b := b.GetBlock().(type) {
		case *llmdv1.AssistantContent_Text:
			e.textPart(&t, b.Text.GetText(), false, b.Text.GetSignature())
		case *llmdv1.AssistantContent_Thinking:
			e.textPart(&t, b.Thinking.GetThinking(), true, b.Thinking.GetSignature())
		case *llmdv1.AssistantContent_ToolCall:
			e.callPart(&t, b.ToolCall, calls == 0)
			calls++
		case *llmdv1.AssistantContent_ProviderContent:
			if err := e.ownPart(&t, b.ProviderContent, i, j); err != nil {
				return err
			}
		}
	}
	t.end()
	return nil
}

// textPart writes text or thinking. Without a signature blank text says nothing
// and is left out; with one it goes back, even empty.
func (e *encoder) textPart(t *turn, text string, thought bool, s *llmdv1.Signature) {
	signature := signatureText(s)
	if blank(text) && signature == "" {
		return
	}
	t.part()
	e.w.Member("text", text)
	if thought {
		e.w.Key("thought")
		e.w.Bool(true)
	}
	e.w.MemberIf("thoughtSignature", signature)
	e.w.EndObject()
}

// callPart writes a function call. Of the calls of one step only the first may
// carry the bypass: Vertex refuses it elsewhere.
func (e *encoder) callPart(t *turn, c *llmdv1.ToolCall, first bool) {
	t.part()
	e.w.Key("functionCall")
	e.w.BeginObject()
	if e.model.callIDs() {
		e.w.MemberIf("id", c.GetId())
	}
	e.w.Member("name", c.GetName())
	e.w.Key("args")
	if arguments := c.GetArgumentsJson(); arguments != "" {
		e.w.Raw(arguments)
	} else {
		e.w.Raw("{}")
	}
	e.w.EndObject()
	if s := signatureText(c.GetSignature()); first || s != bypassSignature {
		e.w.MemberIf("thoughtSignature", s)
	}
	e.w.EndObject()
}

// ownPart writes a part of Google's own tools byte for byte, but for the signature of
// another model. What is said about a whole answer, such as its sources, is no part
// and has no place in a request.
func (e *encoder) ownPart(t *turn, c *llmdv1.ProviderContent, i, j int) error {
	if isMetadata(c.GetType()) {
		e.report(e.call.ChangeBlock(i, j, adapters.Rewritten, adapters.RuleProviderOutputOnly,
			fmt.Sprintf("%s is said about an answer and is no part of it", c.GetType())))
		return nil
	}
	raw := c.GetRawJson()
	if jsonstream.Object(raw) != nil {
		return &adapters.FieldError{Field: e.call.BlockField(i, "assistant", j) + ".provider_content.raw_json", Detail: "not one JSON object"}
	}
	if c.GetModel() != e.call.Model.ID {
		if part, signed := unsigned(raw); signed {
			raw = part
			e.report(e.call.ChangeBlock(i, j, adapters.Rewritten, adapters.RuleProviderSignature, "another model signed it"))
		}
	}
	t.place()
	e.w.RawBytes(raw)
	return nil
}

// answered is a result on its way out.
type answered struct {
	*llmdv1.ToolResultMessage
	index, order int // its place in the history, and that of its call in the answer
	name         string
}

// results writes the results of one step.
func (e *encoder) results(first int, group []*llmdv1.Message, calls []*llmdv1.AssistantContent) error {
	list := e.inOrder(first, group, calls)
	t := turn{e: e, role: "user"}
	for _, r := range list {
		t.part()
		if err := e.response(r.ToolResultMessage, r.name, r.index); err != nil {
			return err
		}
		e.w.EndObject()
	}
	t.end()
	// Gemini before 3 reads images in a turn of the user's alone, and so do later models
	// those of other types; it must not split the group.
	after := turn{e: e, role: "user"}
	for _, r := range list {
		if err := e.resultImages(&after, r.ToolResultMessage, r.index); err != nil {
			return err
		}
	}
	after.end()
	return nil
}

// inOrder puts results into the order of their calls, and reports those that had come
// earlier than one that now stands before them.
func (e *encoder) inOrder(first int, group []*llmdv1.Message, calls []*llmdv1.AssistantContent) []answered {
	orders := make(map[string]int, len(calls))
	for order, c := range slices.Backward(calls) {
		if c.GetToolCall() != nil {
			orders[c.GetToolCall().GetId()] = order // of two, the first
		}
	}
	list := make([]answered, len(group))
	for i, m := range group {
		r := answered{m.GetToolResult(), first + i, len(calls), m.GetToolResult().GetToolName()}
		if order, ok := orders[r.GetToolCallId()]; ok {
			r.order, r.name = order, calls[order].GetToolCall().GetName()
		}
		list[i] = r
	}
	least := len(calls) // of those that came later
	for _, r := range slices.Backward(list) {
		if least = min(least, r.order); r.order > least {
			e.report(e.call.Change(r.index, adapters.Rewritten, adapters.RuleResultsReordered, "sent after the results of earlier calls"))
		}
	}
	slices.SortStableFunc(list, func(a, b answered) int { return a.order - b.order })
	return list
}

// report notes a change beyond the hand-off.
func (e *encoder) report(c *llmdv1.HandoffChange) { e.changes = append(e.changes, c) }

// response writes one functionResponse. "output" and "error" are the keys that
// Google knows.
//
// https://ai.google.dev/api/caching#FunctionResponse
func (e *encoder) response(r *llmdv1.ToolResultMessage, name string, index int) error {
	e.w.Key("functionResponse")
	e.w.BeginObject()
	if e.model.callIDs() {
		e.w.MemberIf("id", r.GetToolCallId())
	}
	e.w.Member("name", name)
	e.w.Key("response")
	e.w.BeginObject()
	key := "output"
	if r.GetIsError() {
		key = "error"
	}
	text := resultText(r)
	if blank(text) && (e.hasImages(r, true) || e.hasImages(r, false)) {
		text = seeImage
		e.report(e.call.Change(index, adapters.Rewritten, adapters.RuleTextPlaceholder, fmt.Sprintf("the API wants some text: sent with %q", seeImage)))
	}
	e.w.Member(key, text)
	e.w.EndObject()
	if e.hasImages(r, true) {
		e.w.Key("parts")
		e.w.BeginArray()
		for j, b := range r.GetContent() {
			if b.GetImage() == nil || !e.nests(b.GetImage()) {
				continue
			}
			e.w.BeginObject()
			if err := e.image(b.GetImage(), e.call.BlockField(index, "tool_result", j)); err != nil {
				return err
			}
			e.w.EndObject()
		}
		e.w.EndArray()
	}
	e.w.EndObject()
	return nil
}

func (e *encoder) resultImages(t *turn, r *llmdv1.ToolResultMessage, index int) error {
	if !e.hasImages(r, false) {
		return nil
	}
	t.part()
	e.w.Member("text", "Tool result image:")
	e.w.EndObject()
	for j, b := range r.GetContent() {
		if b.GetImage() == nil || e.nests(b.GetImage()) {
			continue
		}
		t.part()
		if err := e.image(b.GetImage(), e.call.BlockField(index, "tool_result", j)); err != nil {
			return err
		}
		e.w.EndObject()
		e.report(e.call.ChangeBlock(index, j, adapters.Rewritten, adapters.RuleImagesMoved, "shown in a turn of the user after the results"))
	}
	return nil
}

// hasImages says whether a result has images that stand inside its function response,
// or such that do not.
func (e *encoder) hasImages(r *llmdv1.ToolResultMessage, nested bool) bool {
	return slices.ContainsFunc(r.GetContent(), func(b *llmdv1.ToolResultContent) bool {
		return b.GetImage() != nil && e.nests(b.GetImage()) == nested
	})
}

// seeImage is the text of a result that is images alone. It is part of prompt
// prefixes, so it never changes.
const seeImage = "(see attached image)"

// resultText is the text of a result.
func resultText(r *llmdv1.ToolResultMessage) string {
	var texts []string
	for _, b := range r.GetContent() {
		if b.GetText() != nil {
			texts = append(texts, b.GetText().GetText())
		}
	}
	return strings.Join(texts, "\n")
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

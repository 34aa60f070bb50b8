package transform

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// turn is one message on its way. Its message is the caller's until own is
// called.
type turn struct {
	msg *llmdv1.Message
	// at is the message's place in the caller's history or, for one that was
	// inserted, the place of the message it stands before.
	at int
	// from has the caller's place of each block; nil = all are where they were.
	from []adapters.Place
	// call is, for a tool result, the place of its call in the turn of the
	// assistant before it. pairResults sets it.
	call int
	// inserted: the caller had no such message.
	inserted bool
	// merged: the list of blocks is the turn's own too and may be appended to.
	merged bool
	// owned: the message and the one inside it may be changed, their content not.
	owned bool
}

func load(c *llmdv1.Context) []*turn {
	all := make([]turn, len(c.GetMessages()))
	turns := make([]*turn, len(all))
	for i, m := range c.GetMessages() {
		all[i] = turn{msg: m, at: i}
		turns[i] = &all[i]
	}
	return turns
}

func (t *turn) user() *llmdv1.UserMessage           { return t.msg.GetUser() }
func (t *turn) assistant() *llmdv1.AssistantMessage { return t.msg.GetAssistant() }
func (t *turn) result() *llmdv1.ToolResultMessage   { return t.msg.GetToolResult() }

// origin is the caller's place of a block.
func (t *turn) origin(block int) adapters.Place {
	if t.from == nil {
		return adapters.Place{Message: t.at, Block: block}
	}
	return t.from[block]
}

// origins are the caller's places of the first n blocks.
func (t *turn) origins(n int) []adapters.Place {
	out := make([]adapters.Place, n)
	for i := range out {
		out[i] = t.origin(i)
	}
	return out
}

// blocks is how many blocks a turn has.
func (t *turn) blocks() int {
	return len(t.user().GetContent()) + len(t.assistant().GetContent()) + len(t.result().GetContent())
}

// own makes the message the turn's own, once.
func (t *turn) own() {
	if t.owned {
		return
	}
	t.owned = true
	switch m := t.msg.GetMessage().(type) {
	case *llmdv1.Message_User:
		t.msg = userMessage(shallow(m.User))
	case *llmdv1.Message_Assistant:
		t.msg = &llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: shallow(m.Assistant)}}
	case *llmdv1.Message_ToolResult:
		t.msg = resultMessage(shallow(m.ToolResult))
	}
}

func userMessage(m *llmdv1.UserMessage) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_User{User: m}}
}

func resultMessage(m *llmdv1.ToolResultMessage) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: m}}
}

// shallow copies a message but not what it points to. Copying a struct of
// generated code is not allowed, and a deep copy would copy images.
func shallow[M proto.Message](m M) M {
	src := m.ProtoReflect()
	dst := src.New()
	src.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		dst.Set(fd, v)
		return true
	})
	dst.SetUnknown(src.GetUnknown())
	return dst.Interface().(M) //nolint:errcheck // New gives the same type
}

// edit collects the content of a turn anew. As long as every block comes back as
// it was nothing is copied.
type edit[B comparable] struct {
	in   []B
	same int // so many blocks came back as they were
	out  []B
	from []int // the place in the content of each block in out
}

// put appends a block made of the block at a place of the content.
func (e *edit[B]) put(place int, b B) {
	if e.out == nil {
		if place == e.same && b == e.in[place] {
			e.same++
			return
		}
		e.split()
	}
	e.out = append(e.out, b)
	e.from = append(e.from, place)
}

// split begins the copy.
func (e *edit[B]) split() {
	e.out = append(make([]B, 0, len(e.in)), e.in[:e.same]...)
	e.from = make([]int, e.same, len(e.in))
	for i := range e.from {
		e.from[i] = i
	}
}

// done takes the new content over if it differs. set stores it.
func (e *edit[B]) done(t *turn, set func([]B)) {
	if e.out == nil {
		if e.same == len(e.in) {
			return
		}
		e.split()
	}
	from := make([]adapters.Place, len(e.from))
	for i, place := range e.from {
		from[i] = t.origin(place)
	}
	t.own()
	t.from = from
	set(e.out)
}

// filter leaves out the blocks that keep does not want.
func filter[B comparable](t *turn, content []B, set func([]B), keep func(int, B) bool) {
	e := edit[B]{in: content}
	for k, b := range content {
		if keep(k, b) {
			e.put(k, b)
		}
	}
	e.done(t, set)
}

func (t *turn) setUser(c []*llmdv1.UserContent)           { t.user().Content = c }
func (t *turn) setAssistant(c []*llmdv1.AssistantContent) { t.assistant().Content = c }
func (t *turn) setResult(c []*llmdv1.ToolResultContent)   { t.result().Content = c }

func userText(s string) *llmdv1.UserContent {
	return &llmdv1.UserContent{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: s}}}
}

func assistantText(m *llmdv1.TextContent) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{Text: m}}
}

func assistantCall(m *llmdv1.ToolCall) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: m}}
}

func resultText(s string) *llmdv1.ToolResultContent {
	return &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Text{Text: &llmdv1.TextContent{Text: s}}}
}

package accumulate_test

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/llmd-dev/llmd/adapters/jsonstream"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/clients/vectors"
)

// TestVectorsKeepTheGrammar holds the vectors to docs/events.md, whatever the
// accumulator makes of them.
func TestVectorsKeepTheGrammar(t *testing.T) {
	for _, v := range load(t) {
		g := grammar{joined: v.Name == "snapshot_attached", again: v.Name == "reconnected", blocks: map[int32]*blockState{}}
		for i, e := range v.Events {
			if problem := g.take(i, e); problem != "" {
				t.Errorf("%s, event %d: %s", v.Name, i, problem)
			}
		}
		if (g.terminal != nil) != (v.Message != nil) {
			t.Errorf("%s: terminal event %v, message %v", v.Name, g.terminal, v.Message)
		}
	}
}

// TestVectorsCoverTheContract: every kind of event, every field of every event,
// every kind of block and of a newer kind.
func TestVectorsCoverTheContract(t *testing.T) {
	seen := map[protoreflect.FullName]bool{}
	newer, broken := false, false
	for _, v := range load(t) {
		for _, e := range v.Events {
			newer = newer || e.GetEvent() == nil
			collect(e.ProtoReflect(), seen)
		}
		broken = broken || v.Message == nil
	}
	if !newer || !broken {
		t.Errorf("events of newer kinds %v, broken streams %v", newer, broken)
	}
	event := (&llmdv1.StreamResponse{}).ProtoReflect().Descriptor()
	for _, d := range []protoreflect.MessageDescriptor{
		event, (&llmdv1.AssistantContent{}).ProtoReflect().Descriptor(), (&llmdv1.AssistantMessage{}).ProtoReflect().Descriptor(),
		(&llmdv1.TextContent{}).ProtoReflect().Descriptor(), (&llmdv1.ThinkingContent{}).ProtoReflect().Descriptor(), (&llmdv1.ToolCall{}).ProtoReflect().Descriptor(),
	} {
		expect(t, d, seen)
	}
	kinds := event.Oneofs().ByName("event").Fields()
	for i := range kinds.Len() {
		if d := kinds.Get(i).Message(); d.Name() != "Usage" {
			expect(t, d, seen)
		}
	}
}

func expect(t *testing.T, d protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) {
	t.Helper()
	for i := range d.Fields().Len() {
		if name := d.Fields().Get(i).FullName(); !seen[name] && !unseen[name] {
			t.Errorf("no vector has %s", name)
		}
	}
}

// unseen need no vector: folding does not look at them.
var unseen = map[protoreflect.FullName]bool{
	"llmd.v1.StartedEvent.handoff_changes_omitted": true,
}

func collect(m protoreflect.Message, seen map[protoreflect.FullName]bool) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		seen[f.FullName()] = true
		switch {
		case f.IsMap() || f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				collect(v.List().Get(i).Message(), seen)
			}
		default:
			collect(v.Message(), seen)
		}
		return true
	})
}

// grammar checks one stream.
type grammar struct {
	joined   bool // the stream was joined later: its snapshot may bring blocks
	again    bool // the connection is lost once, and the stream begins anew
	next     int32
	blocks   map[int32]*blockState
	terminal *llmdv1.StreamResponse
}

type blockState struct {
	kind    string
	ended   bool
	scanner jsonstream.Scanner
}

func (g *grammar) take(i int, e *llmdv1.StreamResponse) string {
	switch {
	case g.again && i > 0 && e.GetStarted() != nil:
		*g = grammar{joined: true, blocks: map[int32]*blockState{}}
	case g.joined && e.GetSnapshot() != nil:
		g.next = e.GetSequenceNumber() // that of the last event that it stands for
	case (e.GetStarted() != nil) != (i == 0):
		return "started comes first, and once"
	}
	if e.GetSequenceNumber() != g.next {
		return fmt.Sprintf("sequence number %d", e.GetSequenceNumber())
	}
	if g.terminal != nil {
		return "after the terminal event"
	}
	g.next++
	return g.event(e)
}

func (g *grammar) event(e *llmdv1.StreamResponse) string {
	switch v := e.GetEvent().(type) {
	case *llmdv1.StreamResponse_TextStart:
		return g.start(v.TextStart.GetContentIndex(), "text")
	case *llmdv1.StreamResponse_ThinkingStart:
		return g.start(v.ThinkingStart.GetContentIndex(), "thinking")
	case *llmdv1.StreamResponse_ToolCallStart:
		return g.start(v.ToolCallStart.GetContentIndex(), "tool call")
	case *llmdv1.StreamResponse_TextDelta:
		return g.open(v.TextDelta.GetContentIndex(), "text", false)
	case *llmdv1.StreamResponse_ThinkingDelta:
		return g.open(v.ThinkingDelta.GetContentIndex(), "thinking", false)
	case *llmdv1.StreamResponse_ToolCallDelta:
		if problem := g.open(v.ToolCallDelta.GetContentIndex(), "tool call", false); problem != "" {
			return problem
		}
		return g.prefix(v.ToolCallDelta)
	case *llmdv1.StreamResponse_TextEnd:
		return g.open(v.TextEnd.GetContentIndex(), "text", true)
	case *llmdv1.StreamResponse_ThinkingEnd:
		return g.open(v.ThinkingEnd.GetContentIndex(), "thinking", true)
	case *llmdv1.StreamResponse_ToolCallEnd:
		return g.open(v.ToolCallEnd.GetContentIndex(), "tool call", true)
	case *llmdv1.StreamResponse_ProviderContent:
		if problem := g.start(v.ProviderContent.GetContentIndex(), "provider"); problem != "" {
			return problem
		}
		return g.open(v.ProviderContent.GetContentIndex(), "provider", true)
	case *llmdv1.StreamResponse_SignatureUpdate:
		if b := g.blocks[v.SignatureUpdate.GetContentIndex()]; b == nil || !b.ended {
			return "a signature for a block that has not ended"
		}
	case *llmdv1.StreamResponse_Snapshot:
		if g.joined {
			g.join(v.Snapshot.GetMessage())
		}
	case *llmdv1.StreamResponse_Done, *llmdv1.StreamResponse_Error, *llmdv1.StreamResponse_Aborted:
		g.terminal = e
	}
	return ""
}

func (g *grammar) start(index int32, kind string) string {
	if g.blocks[index] != nil {
		return fmt.Sprintf("block %d begins again", index)
	}
	g.blocks[index] = &blockState{kind: kind}
	for i := range index { // what was passed over began with an event of a newer kind
		if g.blocks[i] == nil {
			g.blocks[i] = &blockState{kind: "newer", ended: true}
		}
	}
	return ""
}

func (g *grammar) open(index int32, kind string, end bool) string {
	b := g.blocks[index]
	if b == nil || b.ended || b.kind != kind {
		return fmt.Sprintf("block %d is no open %s block", index, kind)
	}
	b.ended = end
	return ""
}

// prefix compares with the scanner that llmd itself uses: the deltas of the
// vectors hold nothing that it would hold back or mend.
func (g *grammar) prefix(d *llmdv1.ToolCallDeltaEvent) string {
	if g.joined {
		return ""
	}
	s := &g.blocks[d.GetContentIndex()].scanner
	s.Write([]byte(d.GetDelta()))
	valid, closing := s.Prefix()
	if int(d.GetValidPrefixBytes()) != valid || d.GetClosing() != closing {
		return fmt.Sprintf("prefix %d %q, want %d %q", d.GetValidPrefixBytes(), d.GetClosing(), valid, closing)
	}
	return ""
}

func (g *grammar) join(m *llmdv1.AssistantMessage) {
	for i, c := range m.GetContent() {
		b := &blockState{kind: "provider", ended: !incomplete(c)}
		switch c.GetBlock().(type) {
		case *llmdv1.AssistantContent_Text:
			b.kind = "text"
		case *llmdv1.AssistantContent_Thinking:
			b.kind = "thinking"
		case *llmdv1.AssistantContent_ToolCall:
			b.kind = "tool call"
		}
		g.blocks[int32(i)] = b
	}
}

// TestVectorsAgree: where the terminal event has the content, the last line
// repeats its message.
func TestVectorsAgree(t *testing.T) {
	for _, v := range load(t) {
		if v.Message == nil {
			continue
		}
		m, omitted := terminal(v)
		if !omitted && !proto.Equal(m, v.Message) {
			t.Errorf("%s: the last line is not the terminal message", v.Name)
		}
	}
}

func terminal(v vectors.Vector) (m *llmdv1.AssistantMessage, omitted bool) {
	switch e := v.Events[len(v.Events)-1].GetEvent().(type) {
	case *llmdv1.StreamResponse_Done:
		return e.Done.GetMessage(), e.Done.GetContentOmitted()
	case *llmdv1.StreamResponse_Error:
		return e.Error.GetMessage(), e.Error.GetContentOmitted()
	case *llmdv1.StreamResponse_Aborted:
		return e.Aborted.GetMessage(), e.Aborted.GetContentOmitted()
	}
	return nil, true
}

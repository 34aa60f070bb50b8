package accumulate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/llmd-dev/llmd/accumulate"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/clients/vectors"
)

func load(t testing.TB) []vectors.Vector {
	t.Helper()
	all, err := vectors.Load(filepath.Join("..", "proto", "vectors"))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 30 {
		t.Fatalf("%d vectors", len(all))
	}
	return all
}

func TestVectors(t *testing.T) {
	for _, v := range load(t) {
		t.Run(v.Name, func(t *testing.T) {
			events := make([]*llmdv1.StreamResponse, len(v.Events))
			for i, e := range v.Events {
				events[i] = proto.CloneOf(e)
			}
			got, err := accumulate.Collect(&played{events: events}, nil)
			if v.Message == nil {
				if !errors.Is(err, accumulate.ErrIncomplete) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(v.Message, got, protocmp.Transform()); diff != "" {
				t.Errorf("folded (-want +got):\n%s", diff)
			}
			// Folding changes no event: programs may keep them.
			if diff := cmp.Diff(v.Events, events, protocmp.Transform()); diff != "" {
				t.Errorf("events changed:\n%s", diff)
			}
		})
	}
}

// TestWhileItRuns looks at the message after every event: asking must change
// nothing, open blocks are marked, and arguments can be read at any time.
func TestWhileItRuns(t *testing.T) {
	for _, v := range load(t) {
		t.Run(v.Name, func(t *testing.T) {
			var a, alone accumulate.Accumulator
			open := map[int32]bool{}
			for _, e := range v.Events {
				a.Add(e)
				alone.Add(e)
				follow(open, e)
				m := a.Message()
				if !a.Ended() && m.GetStopReason() != llmdv1.StopReason_STOP_REASON_PENDING && v.Name != "replayed" {
					t.Errorf("event %d: stop reason %s", e.GetSequenceNumber(), m.GetStopReason())
				}
				for i, c := range m.GetContent() {
					if !a.Ended() && open[int32(i)] != incomplete(c) && !strings.HasPrefix(v.Name, "snapshot") {
						t.Errorf("event %d: block %d open %v, incomplete %v", e.GetSequenceNumber(), i, open[int32(i)], incomplete(c))
					}
					var members map[string]any
					if args := a.Arguments(int32(i)); args == nil != (c.GetToolCall() == nil) {
						t.Errorf("event %d: arguments of block %d: %q", e.GetSequenceNumber(), i, args)
					} else if c.GetToolCall().GetId() != "" && v.Name != "omitted_ends" && json.Unmarshal(args, &members) != nil {
						t.Errorf("event %d: arguments of block %d do not parse: %s", e.GetSequenceNumber(), i, args)
					}
				}
				if d := e.GetToolCallDelta(); d.GetPartialArgumentsJson() != "" && string(a.Arguments(d.GetContentIndex())) != d.GetPartialArgumentsJson() {
					t.Errorf("event %d: arguments %s, want %s", e.GetSequenceNumber(), a.Arguments(d.GetContentIndex()), d.GetPartialArgumentsJson())
				}
			}
			if diff := cmp.Diff(alone.Message(), a.Message(), protocmp.Transform()); diff != "" {
				t.Errorf("looking changed it:\n%s", diff)
			}
			if a.Ended() != (a.Err() == nil) || a.Ended() != (v.Message != nil) {
				t.Errorf("ended %v, error %v", a.Ended(), a.Err())
			}
		})
	}
}

// follow keeps which blocks are open.
func follow(open map[int32]bool, e *llmdv1.StreamResponse) {
	switch v := e.GetEvent().(type) {
	case *llmdv1.StreamResponse_TextStart:
		open[v.TextStart.GetContentIndex()] = true
	case *llmdv1.StreamResponse_ThinkingStart:
		open[v.ThinkingStart.GetContentIndex()] = true
	case *llmdv1.StreamResponse_ToolCallStart:
		open[v.ToolCallStart.GetContentIndex()] = true
	case *llmdv1.StreamResponse_TextEnd:
		open[v.TextEnd.GetContentIndex()] = false
	case *llmdv1.StreamResponse_ThinkingEnd:
		open[v.ThinkingEnd.GetContentIndex()] = false
	case *llmdv1.StreamResponse_ToolCallEnd:
		open[v.ToolCallEnd.GetContentIndex()] = false
	}
}

func incomplete(c *llmdv1.AssistantContent) bool {
	return c.GetText().GetIncomplete() || c.GetThinking().GetIncomplete() || c.GetToolCall().GetIncomplete()
}

// TestStatus: a failed call gives its status and what there was.
func TestStatus(t *testing.T) {
	failed := errors.New("the status")
	for _, v := range load(t) {
		got, err := accumulate.Collect(&played{events: v.Events, end: failed}, nil)
		if !errors.Is(err, failed) || (got == nil) != (len(v.Events) == 0) {
			t.Errorf("%s: %v, %v", v.Name, got, err)
		}
	}
}

// TestLinear: a long answer costs no more than its bytes; with a copy of all of
// it for each delta this would move 100 GB.
func TestLinear(t *testing.T) {
	var a accumulate.Accumulator
	const n = 200_000
	a.Add(&llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_ToolCallStart{ToolCallStart: &llmdv1.ToolCallStartEvent{Id: "c"}}})
	for i := range n {
		delta := "12345"
		if i == 0 {
			delta = `{"a":`
		}
		a.Add(&llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_ToolCallDelta{ToolCallDelta: &llmdv1.ToolCallDeltaEvent{Delta: delta, ValidPrefixBytes: 1, Closing: "}"}}})
	}
	a.Add(&llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_ToolCallEnd{ToolCallEnd: &llmdv1.ToolCallEndEvent{ToolCall: &llmdv1.ToolCall{Id: "c"}, ContentOmitted: true}}})
	if got := len(a.Arguments(0)); got != 5*n {
		t.Errorf("%d bytes", got)
	}
}

// TestIndexes: a wrong index must cost nothing, and break nothing.
func TestIndexes(t *testing.T) {
	for _, index := range []int32{-1, 1 << 16, 1<<31 - 1} {
		var a accumulate.Accumulator
		a.Add(&llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_TextStart{TextStart: &llmdv1.TextStartEvent{ContentIndex: index}}})
		a.Add(&llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_TextDelta{TextDelta: &llmdv1.TextDeltaEvent{ContentIndex: index, Delta: "x"}}})
		a.Add(&llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_TextEnd{TextEnd: &llmdv1.TextEndEvent{ContentIndex: index}}})
		if n := len(a.Message().GetContent()); n != 0 || a.Arguments(index) != nil {
			t.Errorf("index %d: %d blocks", index, n)
		}
	}
}

// FuzzAdd: no sequence of well-formed bytes may panic.
func FuzzAdd(f *testing.F) {
	for _, v := range load(f) {
		var stream []byte
		for _, e := range v.Events {
			one, err := proto.Marshal(e)
			if err != nil {
				f.Fatal(err)
			}
			stream = append(append(stream, byte(len(one)>>8), byte(len(one))), one...)
		}
		f.Add(stream)
	}
	f.Fuzz(func(_ *testing.T, stream []byte) {
		var a accumulate.Accumulator
		for len(stream) >= 2 {
			n := min(int(stream[0])<<8|int(stream[1]), len(stream)-2)
			var e llmdv1.StreamResponse
			if proto.Unmarshal(stream[2:2+n], &e) == nil {
				a.Add(&e)
				_ = a.Arguments(0)
				_ = a.Message()
			}
			stream = stream[2+n:]
		}
	})
}

// played is a stream that was.
type played struct {
	events []*llmdv1.StreamResponse
	end    error
}

func (p *played) Recv() (*llmdv1.StreamResponse, error) {
	if len(p.events) == 0 {
		if p.end != nil {
			return nil, p.end
		}
		return nil, io.EOF
	}
	e := p.events[0]
	p.events = p.events[1:]
	return e, nil
}

// A program shows the arguments of a tool call while the model writes them.
func ExampleAccumulator_Arguments() {
	all, err := vectors.Load(filepath.Join("..", "proto", "vectors"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range all {
		if v.Name != "tool_calls_interleaved" {
			continue
		}
		var a accumulate.Accumulator
		for _, e := range v.Events {
			a.Add(e)
			if d := e.GetToolCallDelta(); d != nil {
				fmt.Printf("call %d: %s\n", d.GetContentIndex(), a.Arguments(d.GetContentIndex()))
			}
		}
		fmt.Println(a.Message().GetStopReason())
	}
	// Output:
	// call 1: {"city": "B"}
	// call 2: {}
	// call 1: {"city": "Bern"}
	// call 2: {"city": "Oslo"}
	// STOP_REASON_TOOL_USE
}

package generation

import (
	"math/rand/v2"
	"strings"
	"testing"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

func textOf(i int32, s string) event { return event{kind: textBlock, index: i, text: s} }

func argumentsOf(i int32, s string, n int32, closing string) event {
	return event{kind: toolCallBlock, index: i, text: s, valid: n, closing: closing}
}

func drain(q *queue) (out []event) {
	for {
		e, ok, _ := q.pop()
		if !ok {
			return out
		}
		out = append(out, e)
	}
}

// What a sender has not taken yet is merged with what follows, block by block.
func TestQueueMergesBehindABusySender(t *testing.T) {
	q := newQueue()
	for range 1000 {
		q.push(textOf(0, "a"))
	}
	q.push(textOf(1, "b")) // another block does not merge
	q.push(event{kind: thinkingBlock, index: 1, text: "t"})
	q.push(argumentsOf(2, "c", 1, "}"))
	q.push(argumentsOf(2, "d", 2, "]}"))
	end := &llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_ToolCallEnd{ToolCallEnd: &llmdv1.ToolCallEndEvent{ContentIndex: 2}}}
	q.push(event{response: end})
	q.push(argumentsOf(2, "e", 3, "}"))
	want := []event{
		textOf(0, strings.Repeat("a", 1000)), textOf(1, "b"),
		{kind: thinkingBlock, index: 1, text: "t"},
		argumentsOf(2, "cd", 2, "]}"),
		{response: end},
		argumentsOf(2, "e", 3, "}"),
	}
	got := drain(q)
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i := range want {
		got[i].bytes = 0
		if got[i] != want[i] {
			t.Errorf("event %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	if q.bytes != 0 {
		t.Errorf("%d bytes are left in an empty queue", q.bytes)
	}
}

// A sender that keeps up gets every delta as it came.
func TestQueueMergesNothingForAFastSender(t *testing.T) {
	q := newQueue()
	for range 100 {
		q.push(textOf(0, "a"))
		if got := drain(q); len(got) != 1 || got[0] != textOf(0, "a") {
			t.Fatalf("%+v", got)
		}
	}
}

func TestQueueBounds(t *testing.T) {
	q := newQueue()
	piece := strings.Repeat("x", 8<<10)
	pushed := 0
	for !q.full() {
		q.push(textOf(0, piece))
		pushed += len(piece)
		if pushed > 4<<20 {
			t.Fatal("the queue never gets full")
		}
	}
	if q.bytes > maxQueuedBytes+maxDeltaBytes {
		t.Errorf("%d bytes queued", q.bytes)
	}
	got := 0
	for _, e := range drain(q) {
		if n := len(e.text); n > maxDeltaBytes {
			t.Errorf("a merged delta of %d bytes", n)
		} else {
			got += n
		}
	}
	if got != pushed {
		t.Errorf("%d bytes came out of %d", got, pushed)
	}
}

// Events that cannot be merged fill the queue by their number.
func TestQueueBoundsEvents(t *testing.T) {
	q := newQueue()
	for i := range int32(maxQueued) {
		if q.full() {
			t.Fatalf("full with %d events", i)
		}
		q.push(textOf(i, "a"))
	}
	if !q.full() {
		t.Errorf("not full with %d events", maxQueued)
	}
}

// However pushes and pops fall, the text is the same, and the memory is bounded by
// what is queued.
func TestQueueKeepsOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	q := newQueue()
	var pushed, popped [2]strings.Builder
	for i := range 100_000 {
		index := int32(random.IntN(2))
		word := string(rune('a' + i%26))
		pushed[index].WriteString(word)
		q.push(textOf(index, word))
		for range random.IntN(3) {
			if e, ok, _ := q.pop(); ok {
				popped[e.index].WriteString(e.text)
			}
		}
	}
	if cap(q.items) > 1024 {
		t.Errorf("room for %d events was made", cap(q.items))
	}
	for _, e := range drain(q) {
		popped[e.index].WriteString(e.text)
	}
	for i := range pushed {
		if pushed[i].String() != popped[i].String() {
			t.Errorf("block %d has another text", i)
		}
	}
}

// The messages of deltas say what the events say.
func TestNumbered(t *testing.T) {
	e := argumentsOf(3, "{", 0, "{}")
	e.partial = "{}"
	m := e.numbered(7)
	d := m.GetToolCallDelta()
	if m.GetSequenceNumber() != 7 || d.GetContentIndex() != 3 || d.GetDelta() != "{" || d.GetValidPrefixBytes() != 0 || d.GetClosing() != "{}" || d.GetPartialArgumentsJson() != "{}" {
		t.Errorf("%v", m)
	}
	e = textOf(1, "x")
	if m := e.numbered(2); m.GetSequenceNumber() != 2 || m.GetTextDelta().GetContentIndex() != 1 || m.GetTextDelta().GetDelta() != "x" {
		t.Errorf("%v", m)
	}
	e = event{kind: thinkingBlock, index: 1, text: "x"}
	if m := e.numbered(2); m.GetSequenceNumber() != 2 || m.GetThinkingDelta().GetContentIndex() != 1 || m.GetThinkingDelta().GetDelta() != "x" {
		t.Errorf("%v", m)
	}
	started := &llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_Started{Started: &llmdv1.StartedEvent{ResponseId: "r"}}}
	e = event{response: started}
	if m := e.numbered(9); m.GetSequenceNumber() != 9 || m.GetStarted().GetResponseId() != "r" || started.GetSequenceNumber() != 0 {
		t.Errorf("%v, the shared event is %v", m, started)
	}
}

func TestQueueClose(t *testing.T) {
	q := newQueue()
	q.push(textOf(0, "a"))
	q.close(false)
	q.push(textOf(0, "late"))
	if e, ok, _ := q.pop(); !ok || e.text != "a" {
		t.Error("what was pushed before the close must come")
	}
	if _, ok, closed := q.pop(); ok || !closed {
		t.Error("then the queue is closed")
	}
}

package generation

import (
	"strings"
	"testing"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

func textDelta(i int32, s string) *llmdv1.StreamResponse {
	return &llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_TextDelta{TextDelta: &llmdv1.TextDeltaEvent{ContentIndex: i, Delta: s}}}
}

func toolDelta(i int32, s string, n int32, closing string) *llmdv1.StreamResponse {
	return &llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_ToolCallDelta{ToolCallDelta: &llmdv1.ToolCallDeltaEvent{
		ContentIndex: i, Delta: s, ValidPrefixBytes: n, Closing: closing,
	}}}
}

func drain(q *queue) (out []*llmdv1.StreamResponse) {
	for {
		e, ok, _ := q.pop()
		if !ok {
			return out
		}
		out = append(out, e)
	}
}

func TestQueueMergesOnlyWhenCrowded(t *testing.T) {
	q := newQueue()
	for range maxQueued {
		q.push(textDelta(0, "a"))
	}
	if len(q.items) != maxQueued {
		t.Fatalf("%d items, want %d unmerged", len(q.items), maxQueued)
	}
	for range 1000 {
		q.push(textDelta(0, "b"))
	}
	q.push(textDelta(1, "c")) // another block does not merge
	q.push(toolDelta(1, "d", 1, "}"))
	q.push(toolDelta(1, "e", 2, "]}"))
	if len(q.items) != maxQueued+2 {
		t.Fatalf("%d items, want %d", len(q.items), maxQueued+2)
	}
	var text strings.Builder
	events := drain(q)
	for _, e := range events {
		if e.GetTextDelta().GetContentIndex() == 0 {
			text.WriteString(e.GetTextDelta().GetDelta())
		}
	}
	if want := strings.Repeat("a", maxQueued) + strings.Repeat("b", 1000); text.String() != want {
		t.Error("merging lost text")
	}
	last := events[len(events)-1].GetToolCallDelta()
	if last.GetDelta() != "de" || last.GetValidPrefixBytes() != 2 || last.GetClosing() != "]}" {
		t.Errorf("a merged tool delta carries the last prefix and closing, got %v", last)
	}
}

func TestQueueBounds(t *testing.T) {
	q := newQueue()
	piece := strings.Repeat("x", 8<<10)
	pushed := 0
	for !q.full() {
		q.push(textDelta(0, piece))
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
		if n := len(e.GetTextDelta().GetDelta()); n > maxDeltaBytes {
			t.Errorf("a merged delta of %d bytes", n)
		} else {
			got += n
		}
	}
	if got != pushed {
		t.Errorf("%d bytes came out of %d", got, pushed)
	}
}

func TestQueueClose(t *testing.T) {
	q := newQueue()
	q.push(textDelta(0, "a"))
	q.close(false)
	q.push(textDelta(0, "late"))
	if e, ok, _ := q.pop(); !ok || e.GetTextDelta().GetDelta() != "a" {
		t.Error("what was pushed before the close must come")
	}
	if _, ok, closed := q.pop(); ok || !closed {
		t.Error("then the queue is closed")
	}
}

package generation

import (
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Bounds of one reader's queue (contract section 4). Above them adjacent deltas
// are merged; where that is not possible the run stops reading its provider.
const (
	maxQueued      = 256
	maxQueuedBytes = 1 << 20
)

// queue holds the events that one reader has not been sent yet. push never blocks
// and loses nothing.
type queue struct {
	mu     sync.Mutex
	items  []item
	bytes  int
	closed bool

	ready chan struct{} // something was pushed, or the queue was closed
	room  chan struct{} // something was taken
}

// item is an event; the text of merged deltas is kept apart until it is taken, so
// that merging stays linear.
type item struct {
	event  *llmdv1.StreamResponse
	merged *strings.Builder
	bytes  int
}

func newQueue() *queue {
	return &queue{ready: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// push appends an event, or merges it into the last one when the reader is far
// behind.
func (q *queue) push(e *llmdv1.StreamResponse) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	if !q.crowded() || !q.merge(e) {
		n := eventBytes(e)
		q.items = append(q.items, item{event: e, bytes: n})
		q.bytes += n
	}
	signal(q.ready)
}

func (q *queue) crowded() bool {
	return len(q.items) >= maxQueued || q.bytes >= maxQueuedBytes
}

// full says whether the run should wait: there is no room for more bytes, or the
// events are such that hardly any could be merged.
func (q *queue) full() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.closed && (q.bytes >= maxQueuedBytes || len(q.items) >= 2*maxQueued)
}

// merge adds a delta to the last event if that is a delta of the same block.
func (q *queue) merge(e *llmdv1.StreamResponse) bool {
	if len(q.items) == 0 {
		return false
	}
	last := &q.items[len(q.items)-1]
	from, to := deltaOf(e), deltaOf(last.event)
	if from.kind == 0 || from.kind != to.kind || from.index != to.index || last.bytes+len(from.text) > maxDeltaBytes {
		return false
	}
	if last.merged == nil {
		last.merged = &strings.Builder{}
		last.merged.WriteString(to.text)
	}
	last.merged.WriteString(from.text)
	last.event = e // the newest prefix and closing hold for the whole
	last.bytes += len(from.text)
	q.bytes += len(from.text)
	return true
}

// pop takes the next event. ok is false when there is none now; closed says that
// there will be none.
func (q *queue) pop() (e *llmdv1.StreamResponse, ok, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return nil, false, q.closed
	}
	it := q.items[0]
	q.items[0] = item{}
	q.items = q.items[1:]
	q.bytes -= it.bytes
	signal(q.room)
	if it.merged != nil {
		return withDelta(it.event, it.merged.String()), true, false
	}
	return it.event, true, false
}

// close says that nothing more will be pushed. drop forgets what was not taken.
func (q *queue) close(drop bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	if drop {
		q.items, q.bytes = nil, 0
	}
	signal(q.ready)
	signal(q.room)
}

// delta is what merging needs to know of a delta event; of others kind is 0.
type delta struct {
	kind  blockKind
	index int32
	text  string
}

func deltaOf(e *llmdv1.StreamResponse) delta {
	switch t := e.GetEvent().(type) {
	case *llmdv1.StreamResponse_TextDelta:
		return delta{textBlock, t.TextDelta.GetContentIndex(), t.TextDelta.GetDelta()}
	case *llmdv1.StreamResponse_ThinkingDelta:
		return delta{thinkingBlock, t.ThinkingDelta.GetContentIndex(), t.ThinkingDelta.GetDelta()}
	case *llmdv1.StreamResponse_ToolCallDelta:
		return delta{toolCallBlock, t.ToolCallDelta.GetContentIndex(), t.ToolCallDelta.GetDelta()}
	}
	return delta{}
}

// withDelta is a delta event with other text.
func withDelta(e *llmdv1.StreamResponse, text string) *llmdv1.StreamResponse {
	switch t := e.GetEvent().(type) {
	case *llmdv1.StreamResponse_TextDelta:
		return textDeltaEvent(t.TextDelta.GetContentIndex(), text)
	case *llmdv1.StreamResponse_ThinkingDelta:
		return thinkingDeltaEvent(t.ThinkingDelta.GetContentIndex(), text)
	case *llmdv1.StreamResponse_ToolCallDelta:
		d := t.ToolCallDelta
		return toolCallDeltaEvent(d.GetContentIndex(), text, d.GetValidPrefixBytes(), d.GetClosing(), d.GetPartialArgumentsJson())
	}
	return e
}

// eventBytes is about what an event takes in memory.
func eventBytes(e *llmdv1.StreamResponse) int {
	if d := deltaOf(e); d.kind != 0 {
		return len(d.text) + len(e.GetToolCallDelta().GetPartialArgumentsJson())
	}
	return proto.Size(e)
}

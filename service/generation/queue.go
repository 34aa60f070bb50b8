package generation

import (
	"sync"

	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Bounds of one reader's queue (contract section 4). Above them the run stops
// reading its provider.
const (
	maxQueued      = 256
	maxQueuedBytes = 1 << 20
	// usualQueued is how many events there is room for at first.
	usualQueued = 8
	// smallEventBytes is about what a small event takes.
	smallEventBytes = 256
)

// queue holds the events that one reader has not been sent yet. push never blocks
// and loses nothing.
//
// A delta that is still here when the next one of its block comes takes it in: the
// sender was busy all that time, so that nothing is held back, and a message, which
// costs more than all that is done to a delta before, is saved. The slower a client
// or the machine, the fewer and larger the messages.
type queue struct {
	mu     sync.Mutex
	items  []event // from head on
	head   int
	bytes  int
	closed bool

	// merged is the text of the last item where it took others in, kept apart so
	// that merging stays linear; its memory is used again.
	merged []byte
	// mergers counts the events that were taken in.
	mergers int

	// start starts a sender; nil = nobody wants the events yet, or any more. resting
	// says that none is at work.
	start   func()
	resting bool
	ready   chan struct{} // something was pushed, or the queue was closed
	room    chan struct{} // something was taken
}

func newQueue() *queue {
	return &queue{ready: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

func (q *queue) wake() <-chan struct{}  { return q.ready }
func (q *queue) space() <-chan struct{} { return q.room }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// push appends an event, or merges it into the last one.
func (q *queue) push(e event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.merge(&e) {
		return
	}
	q.settle()
	if q.head > 0 && len(q.items) == cap(q.items) {
		// Moved to the front before it grows: the queue is not as long as that.
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	if q.items == nil {
		q.items = make([]event, 0, usualQueued)
	}
	if e.kind == 0 {
		e.bytes = aboutBytes(e.response)
	}
	q.items = append(q.items, e)
	q.bytes += e.size()
	q.stir()
}

// stir makes sure that a sender sees what is new. The caller holds the lock.
func (q *queue) stir() {
	if q.start != nil && q.resting {
		q.resting = false
		q.start()
		return
	}
	signal(q.ready)
}

// serve says how senders are started, from now on; with now, the first one at once.
func (q *queue) serve(start func(), now bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.start, q.resting = start, true
	if now || len(q.items) > q.head || q.closed {
		q.stir()
	}
}

// rest lets a sender go if there is nothing to do, and the queue's memory with it.
func (q *queue) rest() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.resting = len(q.items) == q.head && !q.closed
	if q.resting {
		q.items, q.head, q.merged = nil, 0, nil
	}
	return q.resting
}

// merge adds a delta to the last item if that is a delta of the same block.
func (q *queue) merge(e *event) bool {
	if len(q.items) == q.head {
		return false
	}
	last := &q.items[len(q.items)-1]
	n := len(q.merged)
	if n == 0 {
		n = len(last.text)
	}
	if e.kind == 0 || e.kind != last.kind || e.index != last.index || n+len(e.text) > maxDeltaBytes {
		return false
	}
	if len(q.merged) == 0 {
		q.merged = append(q.merged, last.text...)
		last.text = ""
	}
	q.merged = append(q.merged, e.text...)
	q.mergers++
	q.bytes += e.size() - len(last.partial)
	// The newest prefix and closing hold for the whole.
	last.valid, last.closing, last.partial = e.valid, e.closing, e.partial
	return true
}

// settle gives the last item its text.
func (q *queue) settle() {
	if len(q.merged) > 0 {
		q.items[len(q.items)-1].text = string(q.merged)
		q.merged = q.merged[:0]
	}
}

// full says whether the run should wait: there is no room for more bytes, or for
// more events of those that do not merge.
func (q *queue) full() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.closed && (q.bytes >= maxQueuedBytes || len(q.items)-q.head >= maxQueued)
}

// pop takes the next event. ok is false when there is none now; closed says that
// there will be none.
func (q *queue) pop() (e event, ok, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == q.head {
		return event{}, false, q.closed
	}
	if len(q.items) == q.head+1 {
		q.settle()
	}
	e = q.items[q.head]
	q.items[q.head] = event{}
	q.bytes -= e.size()
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	signal(q.room)
	return e, true, false
}

// close says that nothing more will be pushed. drop forgets what was not taken.
func (q *queue) close(drop bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	if drop {
		q.items, q.head, q.bytes, q.merged, q.start = nil, 0, 0, nil, nil
	}
	q.stir()
	signal(q.room)
}

// aboutBytes is about the size of an event that is no delta. Exactly counted are those
// that hold content.
func aboutBytes(e *llmdv1.StreamResponse) int {
	switch t := e.GetEvent().(type) {
	case *llmdv1.StreamResponse_TextStart, *llmdv1.StreamResponse_ThinkingStart, *llmdv1.StreamResponse_ToolCallStart,
		*llmdv1.StreamResponse_UsageUpdate, *llmdv1.StreamResponse_Heartbeat, *llmdv1.StreamResponse_Stall:
		return smallEventBytes
	case *llmdv1.StreamResponse_Started:
		return smallEventBytes * (1 + len(t.Started.GetHandoffChanges()) + len(t.Started.GetAttempts()))
	case *llmdv1.StreamResponse_TextEnd:
		return smallEventBytes + len(t.TextEnd.GetContent().GetText())
	}
	return proto.Size(e)
}

// merges is how many events were merged into others.
func (q *queue) merges() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mergers
}

// size is about what an event takes in memory.
func (e *event) size() int {
	return e.bytes + len(e.text) + len(e.partial)
}

package generation

import (
	"sync"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// feed is where the sender of a reader takes its events from: a queue of its own, or
// a cursor in the log of the response.
type feed interface {
	push(e event)
	pop() (e event, ok, closed bool)
	full() bool
	close(drop bool)
	serve(start func(), now bool)
	rest() bool
	// wake gets a signal when there may be something to pop, space when something
	// was taken.
	wake() <-chan struct{}
	space() <-chan struct{}
}

// eventLog holds the events of one response under their numbers, for all who follow
// it: the call that began it, a store, calls that attach. Whoever takes an event
// settles it. Until then a delta takes in the next one of its block, as in a queue,
// so that all see the same events.
//
// A response has a log if it may outlive its connection or is shared with other
// processes; all others have only the queues of their readers.
type eventLog struct {
	mu    sync.Mutex
	items []event // from head on; the first has the number first
	head  int
	first int32
	// settled: events below this number are never changed again.
	settled int32
	bytes   int
	merged  []byte // the text of the last item where it took others in
	cursors []*cursor
	// limit is how many bytes are kept; 0 = nothing beyond what cursors wait for.
	limit  int
	closed bool
}

func newEventLog(limit int) *eventLog { return &eventLog{limit: limit} }

// next is the number that the next event gets.
func (l *eventLog) next() int32 { return l.first + int32(len(l.items)-l.head) }

// append adds an event, or merges it into the last one.
func (l *eventLog) append(e event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if e.kind == 0 {
		e.bytes = aboutBytes(e.response)
	}
	grown := e.size()
	if !l.merge(&e) {
		l.settle()
		l.items = append(l.items, e)
	} else {
		grown -= len(e.partial)
	}
	l.bytes += grown
	for _, c := range l.cursors {
		c.waiting += grown
		c.stir()
	}
	if l.limit > 0 && l.bytes > l.limit {
		l.trim(l.limit / 2)
	}
}

func (l *eventLog) merge(e *event) bool {
	if len(l.items) == l.head || l.next() == l.settled {
		return false
	}
	last := &l.items[len(l.items)-1]
	n := max(len(l.merged), len(last.text))
	if e.kind == 0 || e.kind != last.kind || e.index != last.index || n+len(e.text) > maxDeltaBytes {
		return false
	}
	if len(l.merged) == 0 {
		l.merged = append(l.merged, last.text...)
		last.text = ""
	}
	l.merged = append(l.merged, e.text...)
	l.bytes -= len(last.partial)
	for _, c := range l.cursors {
		c.waiting -= len(last.partial)
	}
	last.valid, last.closing, last.partial = e.valid, e.closing, e.partial
	return true
}

// settle gives the last item its text and keeps it as it is from now on.
func (l *eventLog) settle() {
	if len(l.merged) > 0 {
		l.items[len(l.items)-1].text = string(l.merged)
		l.merged = l.merged[:0]
	}
	l.settled = l.next()
}

// at is the event of a number that the log has, settled.
func (l *eventLog) at(number int32) event {
	if number == l.next()-1 {
		l.settle()
	}
	e := l.items[l.head+int(number-l.first)]
	e.number = number + 1
	return e
}

// trim forgets the oldest events until at most so many bytes are left, but nothing
// that somebody must have.
func (l *eventLog) trim(most int) {
	for least := min(l.needed(), l.next()-1); l.bytes > most && l.first < least; {
		l.drop()
	}
}

// needed is the first number that somebody must have.
func (l *eventLog) needed() int32 {
	least := l.next()
	for _, c := range l.cursors {
		if c.keeps {
			least = min(least, c.position)
		}
	}
	return least
}

// drop forgets the oldest event.
func (l *eventLog) drop() {
	l.bytes -= l.items[l.head].size()
	l.items[l.head] = event{}
	l.head++
	l.first++
	if l.head == len(l.items) {
		l.items, l.head = l.items[:0], 0
	} else if l.head > 1024 && l.head > len(l.items)/2 {
		n := copy(l.items, l.items[l.head:])
		clear(l.items[n:])
		l.items, l.head = l.items[:n], 0
	}
}

// release forgets what all cursors have taken, where nothing is kept for others.
func (l *eventLog) release() {
	if l.limit > 0 {
		return
	}
	least := l.needed()
	if least == l.next() {
		l.settle() // its text would go into the next one otherwise
	}
	for l.first < least {
		l.drop()
	}
}

// close says that no more events come.
func (l *eventLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, c := range l.cursors {
		c.stir()
	}
}

// cursor begins behind an event; false if the next one is not kept any more. What
// comes is kept until it is taken if keeps is set.
func (l *eventLog) cursor(after int32, keeps bool) (*cursor, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if after+1 < l.first {
		return nil, false
	}
	l.settle()
	c := &cursor{log: l, keeps: keeps, position: after + 1, ready: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	for i := l.head; i < len(l.items); i++ {
		if l.first+int32(i-l.head) > after {
			c.waiting += l.items[i].size()
		}
	}
	l.cursors = append(l.cursors, c)
	return c, true
}

// last is the number of the newest event, -1 if there is none. It is settled: a
// snapshot may stand for it.
func (l *eventLog) last() int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle()
	return l.next() - 1
}

// cursor is one place in a log. It is the feed of a reader.
type cursor struct {
	log      *eventLog
	position int32 // the next number to take
	waiting  int   // bytes from there on
	left     bool  // nobody reads here any more
	keeps    bool

	start       func()
	resting     bool
	ready, room chan struct{}
	// notify is called, in place of a signal, when there is something to take.
	notify func()
}

func (c *cursor) wake() <-chan struct{}  { return c.ready }
func (c *cursor) space() <-chan struct{} { return c.room }

// push is for queues: what a cursor reads comes through the log.
func (*cursor) push(event) {}

func (c *cursor) stir() {
	switch {
	case c.notify != nil:
		c.notify()
	case c.start != nil && c.resting:
		c.resting = false
		c.start()
	default:
		signal(c.ready)
	}
}

func (c *cursor) serve(start func(), now bool) {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	c.start, c.resting = start, true
	if now || c.position < c.log.next() || c.over() {
		c.stir()
	}
}

func (c *cursor) rest() bool {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	c.resting = c.position >= c.log.next() && !c.over()
	return c.resting
}

func (c *cursor) over() bool { return c.left || c.log.closed }

func (c *cursor) full() bool {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	return !c.left && (c.waiting >= maxQueuedBytes || c.log.next()-c.position >= maxQueued)
}

func (c *cursor) pop() (e event, ok, closed bool) {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	e, ok = c.take()
	if !ok {
		return event{}, false, c.over()
	}
	c.log.release()
	signal(c.room)
	return e, true, false
}

// take is pop under the lock.
func (c *cursor) take() (event, bool) {
	if c.left || c.position >= c.log.next() {
		return event{}, false
	}
	e := c.log.at(c.position)
	c.waiting -= e.size()
	c.position++
	return e, true
}

// close takes the cursor out of the log.
func (c *cursor) close(drop bool) {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	if drop && !c.left {
		c.left = true
		for i, other := range c.log.cursors {
			if other == c {
				c.log.cursors = append(c.log.cursors[:i:i], c.log.cursors[i+1:]...)
				break
			}
		}
		c.log.release()
	}
	c.stir()
	signal(c.room)
}

// batch takes events for at most about so many bytes, as messages. more: there are
// others; ok is false when some before them are gone.
func (c *cursor) batch(most int) (events []*llmdv1.StreamResponse, more, ok bool) {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	if c.position < c.log.first {
		return nil, true, false
	}
	for size := 0; size < most; {
		e, there := c.take()
		if !there {
			c.log.release()
			return events, false, true
		}
		size += e.size()
		events = append(events, e.numbered(e.number-1))
	}
	c.log.release()
	return events, c.position < c.log.next(), true
}

package generation

import (
	"context"
	"io"
	"math"
	"time"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/service/responses"
)

// maxLogBytes is how much of the events of one response is kept in memory: as much
// as of its message.
const maxLogBytes = responses.MaxRecordBytes

// number gives the run a log before it begins. Where the responses are shared, what
// is kept of the events is with the store.
func (r *Run) number(detached time.Duration, shared bool) {
	limit := maxLogBytes
	if shared {
		limit = 0
	}
	r.log, r.orphan.grace = newEventLog(limit), detached
}

// orphan is the state of a run that may go on without readers.
type orphan struct {
	// grace is how long; 0 = not at all.
	grace time.Duration
	// holds are those who follow it elsewhere.
	holds int
	timer *time.Timer
}

// MaxOrphans is how many responses may go on without a reader in one process.
const MaxOrphans = 1000

// Orphans are how many do now.
func (e *Engine) Orphans() int64 { return e.orphans.Load() }

// readAgain stops the time of a run that nobody read. The caller holds the lock.
func (r *Run) readAgain() {
	if r.orphan.timer != nil {
		r.orphan.timer.Stop()
		r.orphan.timer = nil
		r.engine.orphans.Add(-1)
	}
}

// outlive lets a run go on whose last reader has left: while somebody follows it, and
// for the time that it may go on by itself; then it ends with ab.
func (r *Run) outlive(ab *Abort) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.aborted != nil {
		return false
	}
	r.readAgain()
	if r.orphan.holds > 0 {
		return true
	}
	if r.orphan.grace == 0 {
		return false
	}
	if r.engine.orphans.Add(1) > MaxOrphans {
		r.engine.orphans.Add(-1)
		r.observed.limited(limitDetached, 0)
		return false
	}
	r.orphan.timer = time.AfterFunc(r.orphan.grace, func() {
		r.mu.Lock()
		alone := len(r.readers) == 0 && r.orphan.holds == 0
		r.mu.Unlock()
		if alone {
			r.end(ab)
		}
	})
	return true
}

// Hold implements responses.Live.
func (r *Run) Hold() (release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.orphan.holds++
	r.readAgain()
	return func() {
		r.mu.Lock()
		r.orphan.holds--
		last := r.orphan.holds == 0 && len(r.readers) == 0
		r.mu.Unlock()
		ab := &Abort{Cause: llmdv1.AbortCause_ABORT_CAUSE_REQUESTED, Cancelled: true}
		if last && !r.outlive(ab) {
			r.end(ab)
		}
	}
}

// beat publishes a heartbeat among the events of a numbered run.
func (r *Run) beat(e event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.log == nil {
		return false
	}
	if !r.ended {
		r.publish(e)
	}
	return true
}

// failed is what those hear who follow a run of which no record is kept.
func (r *Run) failed(rec *responses.Record) *llmdv1.Error {
	if rec != nil || r.log == nil {
		return nil
	}
	return r.engine.cfg.ErrorOf(r.Err())
}

// keepLog puts the numbered events into a record, and their numbers on its first and
// last event. The caller holds the lock.
func (r *Run) keepLog(rec *responses.Record) {
	if r.log == nil {
		return
	}
	rec.Terminal = (&event{response: r.terminal}).numbered(r.log.last())
	if c, ok := r.log.oldest(); ok {
		events, _, _ := c.batch(math.MaxInt)
		c.close(true)
		rec.Log = responses.NewLog(events)
	}
}

// oldest is a cursor before all that is kept; false where nothing is.
func (l *eventLog) oldest() (*cursor, bool) {
	if l.limit == 0 {
		return nil, false
	}
	l.mu.Lock()
	first := l.first
	l.mu.Unlock()
	return l.cursor(first-1, false)
}

// snapshotAt is started and a snapshot of what there is now, under the number of the
// newest event; both nil before started.
func (r *Run) snapshotAt() (started, snapshot *llmdv1.StreamResponse) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.started == nil:
		return nil, nil
	case r.terminal != nil:
		return r.started, (&event{response: r.terminal}).numbered(r.log.last())
	}
	return r.started, (&event{response: r.asm.snapshotEvent()}).numbered(r.log.last())
}

// Follow implements responses.Live.
func (r *Run) Follow(after int32) responses.Trail {
	if r.log == nil {
		return nil
	}
	t := &runTrail{run: r, after: after, release: r.Hold()}
	t.cursor, _ = r.log.cursor(after, false)
	return t
}

// runTrail reads the log of a run of this process.
type runTrail struct {
	run     *Run
	cursor  *cursor // nil = what comes next is gone
	after   int32
	ended   bool
	release func()
}

const trailBatch = 64 << 10

// Next implements responses.Trail.
func (t *runTrail) Next(ctx context.Context) ([]*llmdv1.StreamResponse, error) {
	for !t.ended {
		events, err := t.some()
		if len(events) > 0 || err != nil {
			return events, err
		}
		select {
		case <-t.cursor.wake():
		case <-t.run.Done():
			if events, err = t.rest(); len(events) > 0 || err != nil {
				return events, err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, io.EOF
}

// some is what there is now.
func (t *runTrail) some() ([]*llmdv1.StreamResponse, error) {
	if t.cursor != nil {
		events, _, ok := t.cursor.batch(trailBatch)
		if ok {
			t.see(events)
			return events, nil
		}
		t.cursor.close(true)
	}
	return t.anew()
}

// anew begins from a snapshot.
func (t *runTrail) anew() ([]*llmdv1.StreamResponse, error) {
	started, stand := t.run.snapshotAt()
	if stand.GetSnapshot().GetContentOmitted() {
		return nil, responses.ErrGone
	}
	number := stand.GetSequenceNumber()
	t.cursor, _ = t.run.log.cursor(number, false)
	events := []*llmdv1.StreamResponse{started, stand}
	if m, omitted := responses.Final(stand); m != nil {
		if omitted {
			return nil, responses.ErrGone
		}
		events = []*llmdv1.StreamResponse{started, responses.Snapshot(responses.Pending(m), number-1), stand}
	}
	t.see(events)
	return events, nil
}

// rest is what there is of a run that has ended. Nothing follows it.
func (t *runTrail) rest() ([]*llmdv1.StreamResponse, error) {
	events, err := t.some()
	if len(events) > 0 || err != nil {
		return events, err
	}
	t.ended = true
	r := t.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.terminal == nil {
		return nil, r.err // before the commit point
	}
	last := r.log.last()
	if t.after > last {
		return nil, &responses.BeyondEndError{Last: last}
	}
	return []*llmdv1.StreamResponse{(&event{response: r.terminal}).numbered(last)}, nil
}

func (t *runTrail) see(events []*llmdv1.StreamResponse) {
	if len(events) > 0 {
		t.ended = responses.Terminal(events[len(events)-1])
	}
}

// Close implements responses.Trail.
func (t *runTrail) Close() {
	if t.cursor != nil {
		t.cursor.close(true)
	}
	t.release()
}

// Feed implements responses.Live.
func (r *Run) Feed(notify func()) responses.Feed {
	if r.log == nil {
		return nil
	}
	c, _ := r.log.cursor(-1, true)
	c.notify = notify
	return &runFeed{run: r, cursor: c}
}

// runFeed is what a shared store takes of a run.
type runFeed struct {
	run    *Run
	cursor *cursor
}

// Take implements responses.Feed.
func (f *runFeed) Take(most int) (events []*llmdv1.StreamResponse, more bool) {
	events, more, _ = f.cursor.batch(most) // what it waits for is kept
	return events, more
}

// Waiting implements responses.Feed.
func (f *runFeed) Waiting() int {
	f.cursor.log.mu.Lock()
	defer f.cursor.log.mu.Unlock()
	return f.cursor.waiting
}

// Stand implements responses.Feed.
func (f *runFeed) Stand() (started, stand *llmdv1.StreamResponse) { return f.run.snapshotAt() }

// Skip implements responses.Feed.
func (f *runFeed) Skip(number int32) { f.cursor.skip(number) }

// Close implements responses.Feed.
func (f *runFeed) Close() { f.cursor.close(true) }

// skip takes everything up to a number.
func (c *cursor) skip(number int32) {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	for c.position <= number {
		if _, ok := c.take(); !ok {
			break
		}
	}
	c.log.release()
}

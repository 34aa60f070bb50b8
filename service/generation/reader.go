package generation

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/service/responses"
)

const (
	defaultSlowAfter = 30 * time.Second
	// abortGrace is how long one send may take after an abort before the reader counts
	// as blocked, and goes without its receipt. A busy machine alone can take a second.
	abortGrace = 2 * time.Second
)

// ErrViewOver ends a call that follows a response beyond its time: its deadline is near,
// or it has had the longest time of a call. The response goes on, so that there is no
// terminal event.
//
// ErrViewClosed ends it because this process does.
var (
	ErrViewOver   = fmt.Errorf("generation: the time of a view is over: %w", context.DeadlineExceeded)
	ErrViewClosed = errors.New("generation: the server is shutting down")
)

// lastEvents is how long a view waits for the end of its response when this process
// ends: that of its own responses comes by way of the store.
const lastEvents = 600 * time.Millisecond

// Reader is one stream's view of a run: its own queue, its own sequence numbers.
type Reader struct {
	run     *Run
	queue   feed
	options *llmdv1.StreamOptions
	// attached: it joined a run that another request began.
	attached bool
	// soft is when its caller wants the receipt of an abort; zero = never.
	soft time.Time

	// trail is where the events come from if they are not the run's own queue's.
	trail responses.Trail
	key   responses.Key

	sequence int32
	// sending is when the send in progress began, in nanoseconds since Engine.began; 0 = none.
	sending atomic.Int64
}

// join adds a reader; nil if the run has ended.
func (r *Run) join(req *Request, attached bool) *Reader {
	rd := &Reader{run: r, options: req.Options, attached: attached, soft: req.SoftDeadline}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil
	}
	if r.log != nil {
		rd.queue, _ = r.log.cursor(-1, true)
	} else {
		rd.queue = newQueue()
	}
	if attached && r.started != nil {
		rd.queue.push(event{response: r.started})
		rd.queue.push(event{response: r.asm.snapshotEvent()})
	}
	r.readers = append(r.readers, rd)
	if attached {
		r.setDeadline()
	}
	return rd
}

// setDeadline sets the timer to the soft deadline of the run: the latest of those who
// read it, and none while one of them has none. The caller holds the lock.
func (r *Run) setDeadline() {
	at := r.softDeadline()
	switch {
	case r.ended || at.IsZero():
		if r.deadline != nil {
			r.deadline.Stop()
		}
	case r.deadline == nil:
		r.deadline = time.AfterFunc(time.Until(at), r.deadlineReached)
	default:
		r.deadline.Reset(time.Until(at))
	}
}

func (r *Run) softDeadline() time.Time {
	var latest time.Time
	for _, rd := range r.readers {
		if rd.soft.IsZero() {
			return time.Time{}
		}
		if rd.soft.After(latest) {
			latest = rd.soft
		}
	}
	return latest
}

// deadlineReached is the timer's.
func (r *Run) deadlineReached() {
	r.mu.Lock()
	at := r.softDeadline()
	r.mu.Unlock()
	if !at.IsZero() && !at.After(time.Now()) { // else somebody came or went just now
		r.end(&Abort{Cause: llmdv1.AbortCause_ABORT_CAUSE_DEADLINE})
	}
}

// replay reads a response that has ended: started, snapshot, terminal event.
func (e *Engine) replay(rec *responses.Record, o *llmdv1.StreamOptions) *Reader {
	err := rec.Err
	if rec.Terminal.GetAborted().GetCause() == llmdv1.AbortCause_ABORT_CAUSE_REQUESTED {
		err = nil // CANCELLED was the status of the caller that went away
	}
	rd := e.ended(err, rec.Started, rec.Message)
	rd.options = o
	s := &llmdv1.SnapshotEvent{}
	s.Message, s.ContentOmitted = fit(responses.Pending(rec.Message))
	s.ContentOmitted = s.ContentOmitted || rec.ContentOmitted
	rd.queue = newQueue()
	rd.queue.push(event{response: rec.Started})
	rd.queue.push(event{response: &llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_Snapshot{Snapshot: s}}})
	rd.queue.push(event{response: rec.Terminal})
	rd.queue.close(false)
	return rd
}

// ended is a reader of a run that is over, without events.
func (e *Engine) ended(err error, started *llmdv1.StreamResponse, m *llmdv1.AssistantMessage) *Reader {
	r := &Run{engine: e, done: make(chan struct{}), ended: true, err: err, started: started, asm: &assembler{message: m}}
	close(r.done)
	rd := &Reader{run: r, queue: newQueue()}
	rd.queue.close(true)
	return rd
}

// Facts are for trailers: llmd's id of the response, the provider's of the
// request, and how many requests were made.
func (rd *Reader) Facts() (responseID, providerRequestID string, attempts int) {
	rd.run.mu.Lock()
	defer rd.run.mu.Unlock()
	providerRequestID = rd.run.provider
	if f, ok := errors.AsType[*Failure](rd.run.err); ok && providerRequestID == "" {
		providerRequestID = f.ProviderRequestID // the request was refused
	}
	return rd.run.asm.message.GetResponseId(), providerRequestID, rd.run.requests
}

// Outcome is what became of the run so far, for logs: the message without its
// content while it runs.
func (rd *Reader) Outcome() (m *llmdv1.AssistantMessage, requestID string, err error) {
	rd.run.mu.Lock()
	defer rd.run.mu.Unlock()
	requestID = rd.run.started.GetStarted().GetRequestId()
	if requestID == "" && rd.run.request != nil {
		requestID = rd.run.request.RequestID // it has not begun
	}
	return rd.run.asm.message, requestID, rd.run.err
}

// Wait waits for the end of the run without taking its events. A failure before
// the commit point gives a nil message.
func (rd *Reader) Wait(ctx context.Context) (*llmdv1.StartedEvent, *llmdv1.AssistantMessage, error) {
	if rd.trail != nil {
		return rd.waitTrail(ctx)
	}
	rd.queue.close(true)
	select {
	case <-rd.run.Done():
	case <-ctx.Done():
		rd.run.leave(rd, ctx.Err())
		return nil, nil, ctx.Err()
	}
	if err := rd.run.Err(); err != nil {
		return nil, nil, err
	}
	return rd.run.started.GetStarted(), rd.run.Snapshot(), nil
}

// Deliver sends all events in order and returns what the status says. send is
// called from one goroutine at a time. When the client stands still, a send may
// still be blocked when Deliver returns: gRPC ends it with the call.
func (rd *Reader) Deliver(ctx context.Context, send func(*llmdv1.StreamResponse) error) (err error) {
	if rd.trail != nil {
		stop := rd.pump(ctx)
		defer func() {
			stop()
			rd.run.viewed(err)
		}()
		if !rd.soft.IsZero() {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadlineCause(ctx, rd.soft, ErrViewOver)
			defer cancel()
		}
	}
	s := &sender{
		reader: rd, send: send, sent: make(chan error, 1),
		beat: rd.options.GetHeartbeatInterval().AsDuration(), stays: rd.run.engine.few(),
	}
	rd.queue.serve(s.start, s.beat > 0)
	err = rd.follow(ctx, s.sent)
	rd.queue.close(true)
	if q, ok := rd.queue.(*queue); ok {
		rd.run.observed.left(q.merges())
	}
	rd.run.leave(rd, err)
	return err
}

// follow waits for the sender, the context, or the client standing still.
func (rd *Reader) follow(ctx context.Context, sent <-chan error) error {
	// Ten thousand streams wait here: the timer fires when a send could have taken
	// too long, not all the time.
	look := time.NewTimer(rd.run.engine.cfg.SlowAfter)
	defer look.Stop()
	begun := time.Now()
	aborted := rd.run.abortedC
	var closing <-chan struct{}
	ending := false
	if rd.trail != nil {
		closing = rd.run.engine.closing.Done()
	}
	for {
		select {
		case <-closing:
			closing, ending = nil, true
			look.Reset(lastEvents)
		case err := <-sent:
			if err != nil {
				return err
			}
			return rd.run.Err()
		case <-ctx.Done():
			if err := context.Cause(ctx); errors.Is(err, ErrViewOver) {
				return err
			}
			return ctx.Err()
		case <-aborted:
			aborted = nil
			look.Reset(abortGrace)
		case <-look.C:
			if ending {
				return ErrViewClosed
			}
			next, err := rd.blocked()
			if err != nil {
				return err
			}
			if longest := rd.run.engine.cfg.Longest; longest > 0 && time.Since(begun) >= longest {
				if rd.run.orphan.grace > 0 {
					return ErrViewOver
				}
				return context.DeadlineExceeded
			}
			look.Reset(next)
		}
	}
}

// blocked is an error when the send in progress takes too long, else it says when to
// look again.
func (rd *Reader) blocked() (next time.Duration, err error) {
	limit := rd.run.engine.cfg.SlowAfter
	ab := rd.run.abortedFor(abortGrace)
	if ab != nil {
		limit = abortGrace
	}
	began := rd.sending.Load()
	if began == 0 {
		return limit, nil
	}
	switch took := time.Since(rd.run.engine.began) - time.Duration(began); {
	case took < limit:
		return limit - took, nil
	case ab != nil:
		return 0, ab // contract 1.21: a blocked client gets the status alone
	}
	return 0, rd.run.slow()
}

// leave drops a reader. The last one takes the run with it: nobody would see the
// rest, and it costs money.
func (r *Run) leave(rd *Reader, why error) {
	r.mu.Lock()
	for i, other := range r.readers {
		if other == rd {
			r.readers = append(r.readers[:i:i], r.readers[i+1:]...)
			break
		}
	}
	last := len(r.readers) == 0
	r.setDeadline()
	r.mu.Unlock()
	signal(r.stirred)
	if !last {
		return
	}
	ab := &Abort{Cause: llmdv1.AbortCause_ABORT_CAUSE_REQUESTED, Cancelled: true}
	var slow *Abort
	switch {
	case errors.As(why, &slow):
		ab = &Abort{Cause: slow.Cause}
	case errors.Is(why, context.DeadlineExceeded):
		ab = &Abort{Cause: llmdv1.AbortCause_ABORT_CAUSE_DEADLINE}
	}
	if !r.outlive(ab) {
		r.end(ab)
	}
}

// slow is the status of a client that stands still.
func (r *Run) slow() error {
	r.observed.limited(limitSlowClient, 0)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure(&Abort{Cause: llmdv1.AbortCause_ABORT_CAUSE_SLOW_CONSUMER})
}

// abortedFor gives the status of a run that was aborted at least d ago, nil
// otherwise.
func (r *Run) abortedFor(d time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.aborted == nil || time.Since(r.aborted.at) < d {
		return nil
	}
	return r.failure(r.aborted)
}

// silence is how long the provider has been silent; ok only between the commit
// point and the terminal event.
func (r *Run) silence() (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.watch == nil || r.ended {
		return 0, false
	}
	return r.watch.silence(), true
}

package generation

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/stack"
	"github.com/llmd-dev/llmd/service/responses"
)

const defaultUsageWait = time.Second

// maxAnswerBytes is the largest answer, in bytes of content.
const maxAnswerBytes = 64 << 20

// maxChanges is how many hand-off changes an event lists.
const maxChanges = 200

// Run is one response while it is made. It implements responses.Live.
type Run struct {
	engine  *Engine
	request *Request
	done    chan struct{}
	// stirred tells a run that waits for a full reader to look again.
	stirred chan struct{}
	// abortedC is closed when the run is aborted.
	abortedC chan struct{}
	observed observed

	mu       sync.Mutex
	asm      *assembler
	plan     *Plan // of the candidate in hand
	attempts []*llmdv1.Attempt
	readers  []*Reader
	// log has the events under their numbers, for those that outlive their
	// connection or are shared; nil = each reader counts for itself.
	log    *eventLog
	orphan orphan
	heard  time.Time // when the last event came, of a response that is followed
	// started and terminal are the first and the last event.
	started, terminal *llmdv1.StreamResponse
	watch             *watchdog
	aborted           *Abort
	ended             bool
	cancel            context.CancelFunc
	err               error       // what the status says; valid once ended
	deadline          *time.Timer // at the soft deadline, if there is one
	provider          string      // the provider's id of the request
	requests          int         // that went to providers
}

// setPlan makes a candidate the current one.
func (r *Run) setPlan(p *Plan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plan = p
	m, model := r.asm.message, p.Model
	m.Api, m.Provider, m.Model = p.Model.API, p.Model.Provider, p.Model.ID
	r.asm.issuer = &llmdv1.Signature{Api: p.Model.API, Provider: p.Model.Provider, Model: p.Model.ID, Endpoint: p.Model.Endpoint}
	r.asm.price = func(u *llmdv1.Usage, tier string) *llmdv1.Cost { return r.engine.cfg.Price(model, u, tier) }
}

// begin starts the making of the response.
func (r *Run) begin(ctx context.Context, p *Plan) {
	ctx, cancel := context.WithCancel(ctx)
	r.mu.Lock()
	r.cancel = cancel
	if r.aborted != nil {
		cancel()
	}
	r.setDeadline()
	spawn := r.request.Go
	r.request.Go = nil
	r.mu.Unlock()
	if spawn == nil {
		go r.open(ctx, cancel, p)
		return
	}
	spawn(func() { r.open(ctx, cancel, p) })
}

// errPanic is llmd's own fault.
var errPanic = errors.New("generation: a run panicked")

// panicked tells of a panic. It is called where it is recovered.
func (e *Engine) panicked(v any) {
	if e.cfg.Panicked != nil {
		e.cfg.Panicked(fmt.Sprintf("%T", v), debug.Stack())
	}
}

// open is the beginning of a response, up to its first frame. It goes deep, so that
// where there are many the rest, which may last for an hour, gets a goroutine of its own,
// whose stack stays half as large (see package stack).
func (r *Run) open(ctx context.Context, cancel context.CancelFunc, p *Plan) {
	var a *answer
	err := r.guard(func() (err error) {
		if err = ctx.Err(); err == nil {
			a, err = r.connect(ctx, p)
		}
		if a != nil {
			r.commit(a)
		}
		return err
	})
	switch {
	case err != nil:
		r.conclude(a, err)
		cancel()
	case r.engine.few():
		// The first events wait for their sender, which would have to wait for this
		// goroutine or for a thread to be woken, however much of the answer is here.
		runtime.Gosched()
		r.follow(ctx, cancel, a)
	default:
		go r.follow(ctx, cancel, a)
	}
}

// follow reads the rest of the answer.
func (r *Run) follow(ctx context.Context, cancel context.CancelFunc, a *answer) {
	defer cancel()
	r.conclude(a, r.guard(func() error { return r.read(ctx, a) }))
}

// conclude ends the run, whatever happens.
func (r *Run) conclude(a *answer, err error) {
	stack.Grow()
	if err = r.guard(func() error { r.finish(a, err); return nil }); err != nil {
		r.finish(a, err)
	}
}

// guard makes a panic a failure like any other: it must not take the other streams of
// the process along.
func (r *Run) guard(part func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			r.engine.panicked(v)
			err = errPanic
		}
	}()
	return part()
}

// commit publishes started and what the first frame said.
func (r *Run) commit(a *answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.provider = r.hide(a.requestID)
	r.watch = startWatchdog(a.plan.limits, func(silence time.Duration) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.ended && r.watch.announce() {
			r.publish(event{response: stallEvent(llmdv1.StallState_STALL_STATE_DETECTED, silence)})
			r.observed.stalled(a.plan.Model)
		}
	}, func() { a.cancel(errIdle) })
	r.observed.tap = a.watch
	r.asm.absorb(a.sink.Parts)
	r.begun()
	// Nothing will be sent again, and a conversation can have megabytes.
	*a.plan = Plan{Model: a.plan.Model, limits: a.plan.limits}
	r.request.Generation, r.request.Planning = nil, nil
	r.asm.apply(a.sink.Parts)
	r.publish(r.asm.take()...)
}

// begun makes and publishes the started event.
func (r *Run) begun() {
	p, m := r.plan, r.asm.message
	s := &llmdv1.StartedEvent{
		ResponseId: m.GetResponseId(), Api: m.GetApi(), Provider: m.GetProvider(), Model: m.GetModel(),
		CreateTime: m.GetCreateTime(), RequestId: r.request.RequestID, Instance: r.engine.cfg.Instance,
		Effective: p.Effective, Attempts: r.attempts,
	}
	s.HandoffChanges, s.HandoffChangesOmitted = Listed(p.Changes)
	if p.loose {
		m.Diagnostics = append(m.Diagnostics, &llmdv1.Diagnostic{Code: "strict_tools_loosened", Message: looseRemark})
	}
	r.observed.began(p.Changes)
	r.asm.begin(s)
	events := r.asm.take()
	r.started = events[len(events)-1].response
	r.publish(events...)
	for _, rd := range r.readers {
		if rd.attached && r.log == nil {
			rd.queue.push(event{response: r.asm.snapshotEvent()})
		}
	}
}

// Listed is the changes that an event lists, and how many more there are.
func Listed(all []*llmdv1.HandoffChange) (listed []*llmdv1.HandoffChange, omitted int32) {
	if len(all) <= maxChanges {
		return all, 0
	}
	return all[:maxChanges], int32(len(all) - maxChanges)
}

// read is the stream loop: the only one there is. It returns nil when the
// terminal marker came and nothing of use can follow.
func (r *Run) read(ctx context.Context, a *answer) error {
	defer r.watch.stop()
	var drain *time.Timer
	defer func() {
		if drain != nil {
			drain.Stop()
		}
	}()
	complete := has(a.sink.Parts, adapters.PartComplete)
	for !complete {
		switch {
		case !r.marked():
		case drain == nil:
			r.watch.stop()
			drain = time.AfterFunc(r.engine.cfg.UsageWait, func() { a.cancel(errDrained) })
		case goesOn(a.sink.Parts):
			drain.Reset(r.engine.cfg.UsageWait)
		}
		r.waitForReaders(ctx)
		f, err := a.frames.Next()
		if err != nil {
			return r.bodyEnded(a, err)
		}
		err = a.decode(f)
		if !r.take(a.sink.Parts) {
			return context.Canceled
		}
		if err != nil {
			if r.marked() {
				return nil // the answer is whole; what follows cannot take that back
			}
			if f.Unterminated && a.ctx.Err() != nil {
				return r.bodyEnded(a, err) // we cut the frame ourselves
			}
			_ = r.lastParts(a) // what the decoder held back has arrived; the answer failed all the same
			return err
		}
		if r.oversized(a.sink.Held) {
			r.observed.limited(limitAnswer, 0)
			return &adapters.UpstreamError{
				Reason: adapters.ReasonProtocolError, RequestID: a.requestID,
				Message: "the provider's answer is larger than 64 MiB",
			}
		}
		complete = has(a.sink.Parts, adapters.PartComplete)
	}
	if err := r.lastParts(a); errors.Is(err, adapters.ErrTruncated) {
		return a.broken(err)
	} else if err != nil {
		return err
	}
	return nil
}

// goesOn: there is content that comes with the terminal marker, so that an earlier marker
// was not the last one.
func goesOn(parts []adapters.Part) bool {
	for i := range parts {
		if addsContent(&parts[i]) {
			return has(parts, adapters.PartStop)
		}
	}
	return false
}

// has: one of the parts is of that kind. Parts are large, so that they are not copied.
func has(parts []adapters.Part, kind adapters.PartKind) bool {
	for i := range parts {
		if parts[i].Kind == kind {
			return true
		}
	}
	return false
}

// take gives the parts of a frame to the assembler. It returns false when the run
// is aborted: nothing is added to what the receipt will show.
func (r *Run) take(parts []adapters.Part) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.aborted != nil {
		return false
	}
	r.asm.apply(parts)
	events := r.asm.take()
	if len(events) > 0 || speaks(parts) {
		now := time.Now()
		r.observed.chunk(now)
		if silence := r.watch.alive(now); silence > 0 {
			r.publish(event{response: stallEvent(llmdv1.StallState_STALL_STATE_RECOVERED, silence)})
		}
	}
	r.publish(events...)
	return true
}

// The assembler is written by the goroutine that reads the answer and by no other, so
// that the same one may look at it without the lock.

// oversized: the answer, with what the decoder holds back, is larger than any model's; a
// provider that never stops must not take the process along.
func (r *Run) oversized(held int) bool { return r.asm.size+held > maxAnswerBytes }

// marked: the terminal marker has come.
func (r *Run) marked() bool { return r.asm.stop != nil }

// bodyEnded: no more frames. After the terminal marker that is the end; before it,
// a fault.
func (r *Run) bodyEnded(a *answer, err error) error {
	last := r.lastParts(a)
	if last == nil {
		return nil
	}
	switch cause := context.Cause(a.ctx); {
	case errors.Is(cause, errIdle):
		return &adapters.UpstreamError{Reason: adapters.ReasonStreamIdle, RequestID: a.requestID, Err: errIdle}
	case a.ctx.Err() != nil:
		return a.ctx.Err()
	case !errors.Is(last, adapters.ErrTruncated):
		return last
	}
	return a.broken(err)
}

// lastParts asks the decoder for what only the end decides.
func (r *Run) lastParts(a *answer) error {
	a.sink.Reset()
	err := a.decoder.Finish(&a.sink)
	r.take(a.sink.Parts)
	if r.marked() {
		return nil
	}
	if err == nil {
		err = adapters.ErrTruncated
	}
	return err
}

// waitForReaders stops the reading of the provider while a reader's queue is full.
// The wait is not the provider's silence.
func (r *Run) waitForReaders(ctx context.Context) {
	full := r.fullReader()
	if full == nil {
		return
	}
	r.watch.pause()
	from := time.Now()
	for full != nil && ctx.Err() == nil {
		select {
		case <-full.queue.space():
		case <-r.stirred:
		case <-ctx.Done():
		}
		full = r.fullReader()
	}
	waited := time.Since(from)
	r.watch.resume(waited)
	r.observed.limited(limitQueue, waited)
}

func (r *Run) fullReader() *Reader {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rd := range r.readers {
		if rd.queue.full() {
			return rd
		}
	}
	return nil
}

// publish gives events to all readers. The caller holds the lock.
func (r *Run) publish(events ...event) {
	if r.log != nil {
		for _, e := range events {
			r.log.append(e)
		}
		return
	}
	for _, rd := range r.readers {
		for _, e := range events {
			rd.queue.push(e)
		}
	}
}

// Abort ends the run on request. It implements responses.Live.
func (r *Run) Abort(reason string) bool {
	return r.end(&Abort{Cause: llmdv1.AbortCause_ABORT_CAUSE_REQUESTED, Reason: reason})
}

// Shutdown ends the run because the service stops. It implements responses.Live.
func (r *Run) Shutdown() {
	r.end(&Abort{Cause: llmdv1.AbortCause_ABORT_CAUSE_SHUTDOWN})
}

// end decides an abort. The first decision stands. A caller that goes away without having
// seen the end has cancelled, however near that was (contract 2.10).
func (r *Run) end(ab *Abort) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.aborted != nil {
		return false
	}
	if r.cancel != nil {
		r.cancel()
	}
	if r.asm.stop != nil && !ab.Cancelled {
		return false // the answer is whole: only the wait for its usage ends
	}
	ab.at = time.Now()
	r.aborted = ab
	close(r.abortedC)
	return true
}

// finish closes the connection, makes the terminal event and keeps the record.
func (r *Run) finish(a *answer, err error) {
	switch {
	case a == nil:
	case err == nil && a.ctx.Err() == nil:
		a.finish()
	default:
		a.close()
	}
	rec := r.seal(err)
	r.tell(a, err)
	r.engine.cfg.Store.Finish(r.request.Owner, r.asm.message.GetResponseId(), rec, r.failed(rec))
	close(r.done)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.log != nil {
		r.log.close()
	}
	for _, rd := range r.readers {
		rd.queue.close(false)
	}
}

// seal decides how the run ended and publishes its terminal event.
func (r *Run) seal(err error) *responses.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.deadline != nil {
		r.deadline.Stop()
	}
	r.readAgain()
	if r.ended { // a first try to end it panicked
		r.err = r.failure(errPanic)
		return nil
	}
	r.ended = true
	switch {
	case r.aborted != nil:
		r.aborted.closeDelay = time.Since(r.aborted.at)
		if r.started == nil {
			r.begun()
		}
		r.asm.abort(r.aborted)
		if !r.aborted.ok() {
			r.err = r.failure(r.aborted)
		}
	case r.started == nil:
		r.err = r.failure(err) // before the commit point: the status alone
	case err != nil:
		r.asm.fail(err)
		r.err = r.failure(err)
	default:
		r.asm.finish()
		if r.asm.message.GetStopReason() == llmdv1.StopReason_STOP_REASON_ERROR {
			r.err = r.failure(r.asm.stop.Err)
		}
	}
	if events := r.asm.take(); len(events) > 0 {
		r.terminal = events[len(events)-1].response
		r.publish(events...)
	}
	return r.record()
}

// record is what is kept; nil for a failure before the commit point, so that the
// caller may try again with the same id (contract 1.18).
func (r *Run) record() *responses.Record {
	if r.started == nil {
		return nil
	}
	rec := &responses.Record{Started: r.started, Terminal: r.terminal, Err: r.err}
	r.keepLog(rec)
	rec.Message, rec.ContentOmitted = Fit(r.asm.message, responses.MaxRecordBytes)
	return rec
}

// Done implements responses.Live.
func (r *Run) Done() <-chan struct{} { return r.done }

// Err is what the status says, once Done is closed.
func (r *Run) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Snapshot implements responses.Live.
func (r *Run) Snapshot() *llmdv1.AssistantMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended && r.asm.message.GetStopReason() != llmdv1.StopReason_STOP_REASON_UNSPECIFIED {
		return r.asm.message
	}
	return r.asm.snapshot(llmdv1.StopReason_STOP_REASON_PENDING)
}

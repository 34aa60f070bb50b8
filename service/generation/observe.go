package generation

import (
	"context"
	"errors"
	"time"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Observer is told what becomes of runs, for telemetry. Its methods are called from
// the goroutines that do the work, some under the run's lock: they must be quick and
// must not call back.
type Observer interface {
	// Ask is called before a request goes to a provider. The request goes with the
	// context that comes back; the watch, which may be nil, is told the rest.
	Ask(ctx context.Context, t *Try) (context.Context, Watch)
	// Began is told what the hand-off changed in the request that is answered.
	Began(ctx context.Context, changes []*llmdv1.HandoffChange)
	// Stalled is told of a silence of the provider that callers are warned of.
	Stalled(ctx context.Context, m *profile.Model)
	// Limited is told of a limit that was met, in its own word, and for how long the
	// run stood still for it; 0 = it did not.
	Limited(ctx context.Context, limit string, d time.Duration)
	// Left is told how many events were merged for a reader that leaves.
	Left(ctx context.Context, merged int)
	// Ended is told of the end of a run.
	Ended(ctx context.Context, e *End)
}

// Watch is told of one request to a provider, by one goroutine at a time.
type Watch interface {
	// Chunk is called for each frame that says something.
	Chunk(at time.Time)
	// End is called once.
	End(e *End)
}

// Try is a request that is about to go to a provider.
type Try struct {
	Model      *profile.Model
	Generation *llmdv1.Generation
	Effective  *llmdv1.EffectiveOptions
	// Again: it is a retry. Fallback: it is the first to a fallback model.
	Again, Fallback bool
}

// End is how a run, or one request of it, has ended.
type End struct {
	Model *profile.Model
	// Owner is who asked.
	Owner string
	// Message is what there is of the answer; nil = it did not begin.
	Message *llmdv1.AssistantMessage
	// Reason is why it failed, in the words of the contract; empty = it did not.
	Reason string
	// Unsent: no request went out, for want of credentials.
	Unsent bool
	// Abort is the decision to abort; nil = there was none.
	Abort *Abort
}

// The words for [Observer.Limited].
const (
	limitQueue      = "queue"
	limitAnswer     = "answer_bytes"
	limitSlowClient = "slow_consumer"
	limitDetached   = "detached"
)

// observed is a run as its Observer sees it.
type observed struct {
	to Observer // nil = nobody looks
	// ctx is that of the call that began the run: it has its trace.
	ctx context.Context //nolint:containedctx // for its values
	// tap is the watch of the answer that is read.
	tap Watch
	// told: the end was told of. A panic may end a run a second time.
	told bool
}

// ask begins the watch of a request; it is never nil.
func (o *observed) ask(ctx context.Context, t *Try) (context.Context, Watch) {
	if o.to == nil {
		return ctx, unwatched{}
	}
	own, w := o.to.Ask(ctx, t)
	if w == nil {
		w = unwatched{}
	}
	return own, w
}

func (o *observed) began(changes []*llmdv1.HandoffChange) {
	if o.to != nil && len(changes) > 0 {
		o.to.Began(o.ctx, changes)
	}
}

func (o *observed) stalled(m *profile.Model) {
	if o.to != nil {
		o.to.Stalled(o.ctx, m)
	}
}

func (o *observed) limited(limit string, d time.Duration) {
	if o.to != nil {
		o.to.Limited(o.ctx, limit, d)
	}
}

func (o *observed) left(merged int) {
	if o.to != nil {
		o.to.Left(o.ctx, merged)
	}
}

// chunk is called for each frame.
func (o *observed) chunk(at time.Time) {
	if o.tap != nil {
		o.tap.Chunk(at)
	}
}

// unwatched is the watch of what nobody looks at.
type unwatched struct{}

func (unwatched) Chunk(time.Time) {}
func (unwatched) End(*End)        {}

// how is how the run, or the request that failed with err, has ended.
func (r *Run) how(m *profile.Model, err error) *End {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := &End{Model: m, Owner: r.request.Owner, Abort: r.aborted}
	if r.started != nil && r.ended {
		e.Message = r.asm.message
		e.Reason = e.Message.GetError().GetReason()
		return e
	}
	if r.aborted != nil {
		err = r.aborted
	}
	if err != nil {
		e.Reason = r.engine.cfg.ErrorOf(err).GetReason()
		e.Unsent = errors.Is(err, ErrNotConfigured)
	}
	return e
}

// tell says that the run has ended; a is its answer, if there was one.
func (r *Run) tell(a *answer, err error) {
	if r.observed.to == nil || r.observed.told {
		return
	}
	r.observed.told = true
	r.mu.Lock()
	m := r.plan.Model
	r.mu.Unlock()
	e := r.how(m, err)
	if a != nil {
		a.watch.End(e)
	}
	r.observed.to.Ended(r.observed.ctx, e)
}

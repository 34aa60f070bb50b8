package generation

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/stack"
	"github.com/llmd-dev/llmd/internal/upstream"
	"github.com/llmd-dev/llmd/service/responses"
)

// Upstream sends requests to the provider of a model.
type Upstream interface {
	// Do sends a request with the service's credentials, or with the caller's own
	// key if that is not empty, and returns once the headers have come.
	Do(ctx context.Context, m *profile.Model, key string, r *adapters.Request) (*upstream.Response, error)
}

// Config is what an Engine is made of; all is required but Images, Secrets, Panicked,
// Observer and the times.
type Config struct {
	// Models finds a model by its address or alias, if the caller may use it.
	Models func(ctx context.Context, name string) (*profile.Model, error)
	// Adapters finds the adapter of a wire API.
	Adapters func(api string) (adapters.Adapter, bool)
	Upstream Upstream
	// Images replaces image URLs in a conversation by their bytes.
	Images func(context.Context, *llmdv1.Context) (*llmdv1.Context, error)
	// Price is the cost of usage by a model in a service tier, nil if unknown.
	Price func(m *profile.Model, u *llmdv1.Usage, tier string) *llmdv1.Cost
	// ErrorOf spells an error in the contract's words.
	ErrorOf func(error) *llmdv1.Error
	// Store knows the running and the recent responses.
	Store responses.Store
	// Instance names this llmd; it is the first part of response ids.
	Instance string
	// Secrets are the credentials that requests to a model carry, where they are known
	// beforehand: a provider that echoes one must not get it to a caller.
	Secrets func(m *profile.Model) []string
	// Panicked is told of a panic in a run: its type, never its value, which may
	// hold a prompt.
	Panicked func(kind string, stack []byte)
	// Observer is told what happens; nil = nobody looks.
	Observer Observer
	// SlowAfter is how long one send to a client may take; 0 = 30 s (contract 1.21).
	SlowAfter time.Duration
	// Longest bounds [Reader.Deliver], to within SlowAfter; 0 = it may last for ever.
	Longest time.Duration
	// UsageWait is how long usage is waited for after the terminal marker; 0 = 1 s
	// (contract 1.15).
	UsageWait time.Duration
}

// Engine runs requests. It is safe for concurrent use.
type Engine struct {
	cfg   Config
	began time.Time
	// few says that goroutines are so few that none need leave to save memory.
	few func() bool
	// loosened are the conversations whose tools are not strict any more.
	loosened loosened
	// orphans are the running responses that nobody reads.
	orphans atomic.Int64
	// closing ends the views of responses that other processes make.
	closing context.Context //nolint:containedctx // it is the engine's own
	endAll  context.CancelFunc
}

// New makes an Engine.
func New(cfg Config) *Engine {
	cfg.SlowAfter = cmp.Or(cfg.SlowAfter, defaultSlowAfter)
	cfg.UsageWait = cmp.Or(cfg.UsageWait, defaultUsageWait)
	e := &Engine{cfg: cfg, began: time.Now(), few: stack.Few}
	e.closing, e.endAll = context.WithCancel(context.Background())
	return e
}

// EndViews ends all calls that follow a response by its numbered events, with
// [ErrViewClosed]. Those of responses that end just now get the end before.
func (e *Engine) EndViews() { e.endAll() }

// Request is one validated request.
type Request struct {
	// Owner is the authenticated principal, RequestID the caller's id and Hash the
	// digest of the request for it.
	Owner, RequestID string
	Hash             [32]byte
	Generation       *llmdv1.Generation
	// Planning is the context in which the generation is planned for a model; nil =
	// the one that [Engine.Start] gets. Its end does not count either. It is let go of
	// with the generation once the answer has begun.
	Planning context.Context //nolint:containedctx // it carries what Config.Images needs
	Options  *llmdv1.StreamOptions
	// Keys are the caller's own provider keys by provider id.
	Keys map[string]string
	// Go starts what makes the response, once it is known that one is made; nil = on a
	// new goroutine.
	Go func(func())
	// SoftDeadline is when the response is ended for the caller's deadline; zero =
	// never. Of several callers that read one response the latest counts.
	SoftDeadline time.Time
}

// ReusedError means that a request id came again with another body.
type ReusedError struct{ ResponseID string }

func (e *ReusedError) Error() string {
	return "generation: the request id belongs to another request: make a new one for each"
}

// Start begins a request, or joins the one that is known by its request id, and
// returns a reader of its events. ctx lends its values, not its end: the reader
// ends the run when it leaves.
func (e *Engine) Start(ctx context.Context, req *Request) (*Reader, error) {
	if req.RequestID != "" {
		// A repeated id costs no planning.
		known, err := e.cfg.Store.Known(ctx, responses.Key{Owner: req.Owner, RequestID: req.RequestID})
		if err == nil {
			return e.joinKnown(ctx, req, known)
		}
		// A store that cannot be asked stops nobody: see the claim below.
	}
	if req.Planning == nil {
		req.Planning = ctx
	}
	p, err := e.Plan(req.Planning, req.Generation, req.Generation.GetModel()) //nolint:contextcheck // see Request.Planning
	if err != nil {
		return nil, err
	}
	if err := e.CheckFallbacks(ctx, req.Generation); err != nil {
		return nil, err
	}
	id := e.cfg.Instance + "." + rand.Text()
	r := newRun(e, req, id, p)
	r.observed.ctx = ctx
	reader := r.join(req, false)
	// An error of the store costs what is told of it, never the answer.
	claimed, _ := e.cfg.Store.Claim(ctx, &responses.Claim{Owner: req.Owner, ResponseID: id, RequestID: req.RequestID, Hash: req.Hash, Live: r})
	if claimed.Known != nil {
		return e.joinKnown(ctx, req, claimed.Known)
	}
	if claimed.Aborted {
		r.Abort(claimed.Reason)
	}
	r.begin(context.WithoutCancel(ctx), p)
	return reader, nil
}

// FallbackError means that a model of fallback_models cannot be asked.
type FallbackError struct {
	// Field is the request's field, and Err what is wrong with its name.
	Field string
	Err   error
}

func (e *FallbackError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap gives what is wrong.
func (e *FallbackError) Unwrap() error { return e.Err }

// CheckFallbacks finds a name that leads nowhere now and not when it is needed. The error
// is a [*FallbackError].
func (e *Engine) CheckFallbacks(ctx context.Context, g *llmdv1.Generation) error {
	for i, name := range g.GetFallbackModels() {
		if _, err := e.cfg.Models(ctx, name); err != nil {
			return &FallbackError{Field: fmt.Sprintf("generation.fallback_models[%d]", i), Err: err}
		}
	}
	return nil
}

func (e *Engine) joinKnown(ctx context.Context, req *Request, known *responses.Known) (*Reader, error) {
	if known.Hash != req.Hash {
		return nil, &ReusedError{ResponseID: known.ResponseID}
	}
	return e.take(ctx, responses.Key{Owner: req.Owner, ResponseID: known.ResponseID}, known, -1, req)
}

func newRun(e *Engine, req *Request, id string, p *Plan) *Run {
	r := &Run{
		engine: e, request: req, done: make(chan struct{}), stirred: make(chan struct{}, 1), abortedC: make(chan struct{}),
		asm: &assembler{
			partials:  req.Options.GetPartialArguments(),
			snapshots: req.Options.GetSnapshotMode() == llmdv1.SnapshotMode_SNAPSHOT_MODE_DOUBLING,
			message:   &llmdv1.AssistantMessage{ResponseId: id, CreateTime: timestamppb.Now()},
		},
	}
	r.observed.to = e.cfg.Observer
	if detached := req.Options.GetDetached().AsDuration(); detached > 0 || e.cfg.Store.Shared() {
		r.number(detached, e.cfg.Store.Shared())
	}
	r.asm.hide = r.hide
	r.asm.errorOf = func(err error) *llmdv1.Error { return e.cfg.ErrorOf(r.failure(err)) }
	r.setPlan(p)
	return r
}

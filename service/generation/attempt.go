package generation

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/upstream"
)

// maxErrorBody is how much of an error answer is read.
const maxErrorBody = 64 << 10

// ErrNotJSON is the cause of a failure whose body was no JSON and no plain sentence,
// such as the page of a proxy in front of the provider.
var ErrNotJSON = errors.New("generation: the body of the error is no JSON")

// ErrNotConfigured is the cause of a failure for want of llmd's own credentials: the
// provider was not asked.
var ErrNotConfigured = errors.New("generation: the provider is not configured")

var (
	errHeaderTimeout = errors.New("generation: no frame within the header timeout")
	errIdle          = errors.New("generation: the provider fell silent")
	errDrained       = errors.New("generation: nothing came after the terminal marker")
)

// answer is a provider's answer past the commit point: its first frame is
// decoded, the parts are in sink.
type answer struct {
	plan      *Plan
	watch     Watch
	requestID string
	response  *upstream.Response
	frames    frame.Reader
	decoder   adapters.Decoder
	sink      adapters.Sink
	// cancel closes the connection, with the cause that the reader will find.
	cancel context.CancelCauseFunc
	ctx    context.Context //nolint:containedctx // the connection's own, to read the cause of its end
}

// close ends the exchange at once.
func (a *answer) close() {
	a.cancel(nil)
	_ = a.response.Body.Close()
	a.frames.Close()
}

// finish ends the exchange of a whole answer.
func (a *answer) finish() {
	a.response.Finish()
	a.cancel(nil)
	a.frames.Close()
}

// connect tries the candidates until one answers: the retries of each, then the
// next. Only failures that may pass by themselves lead on, and fallback models that
// cannot be asked because their provider has no key.
func (r *Run) connect(ctx context.Context, first *Plan) (*answer, error) {
	g := r.request.Generation
	p := first
	for next := 0; ; next++ {
		a, u := r.tryCandidate(ctx, p, next > 0)
		skipped := next > 0 && errors.Is(u, ErrNotConfigured)
		if a != nil || next >= len(g.GetFallbackModels()) || !skipped && !fallsBack(u) {
			return a, u
		}
		r.addAttempt(p, asUpstream(u), 0)
		var err error
		if p, err = r.engine.Plan(r.planning(ctx), g, g.GetFallbackModels()[next]); err != nil {
			return nil, err
		}
		r.setPlan(p)
	}
}

// planning is a context that ends with the run and has what planning needs.
func (r *Run) planning(ctx context.Context) context.Context {
	return planning{Context: ctx, values: r.request.Planning}
}

type planning struct {
	context.Context                 //nolint:containedctx // its end
	values          context.Context //nolint:containedctx // its values
}

func (p planning) Value(key any) any { return p.values.Value(key) }

// fallsBack: the failure may be another model's success. A wait that was too long
// to be waited for is one of them.
func fallsBack(err error) bool {
	u := asUpstream(err)
	return u != nil && (u.Retryable() || u.Reason == adapters.ReasonStreamIdle)
}

func (r *Run) tryCandidate(ctx context.Context, p *Plan, fallback bool) (*answer, error) {
	p = r.engine.Usual(r.request.Owner, p)
	r.replan(p)
	again := false
	for tried := 1; ; tried++ {
		a, err := r.attempt(ctx, p, &Try{Again: again, Fallback: fallback && !again})
		u := asUpstream(err)
		if u == nil || ctx.Err() != nil {
			return a, err
		}
		again = true
		if loose := r.loosened(p, u); loose != p {
			r.addAttempt(p, u, 0)
			p = loose
			tried-- // it is no retry of the same request, and the caller need not have asked for any
			continue
		}
		delay, ok := tryAgain(u, r.request.Generation.GetRetry(), tried)
		if !ok {
			return nil, err
		}
		r.addAttempt(p, u, delay)
		if err := sleep(ctx, delay); err != nil {
			return nil, err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *Run) addAttempt(p *Plan, u *adapters.UpstreamError, delay time.Duration) {
	a := &llmdv1.Attempt{Model: p.Model.Name(), Reason: u.Reason, ProviderHttpStatus: int32(u.Status)}
	if delay > 0 {
		a.Delay = durationpb.New(delay)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts = append(r.attempts, a)
}

// attempt is one request, watched.
func (r *Run) attempt(ctx context.Context, p *Plan, t *Try) (*answer, error) {
	t.Model, t.Generation, t.Effective = p.Model, r.request.Generation, p.Effective
	ctx, watch := r.observed.ask(ctx, t)
	var a *answer
	err := r.guard(func() (err error) { a, err = r.ask(ctx, p); return err }) // a watch ends even then
	if err != nil {
		watch.End(r.how(p.Model, err))
		return nil, err
	}
	a.watch = watch
	watch.Chunk(time.Now())
	return a, nil
}

// ask sends one request and reads up to the commit point: the first frame that is
// not an error (contract 1.16).
func (r *Run) ask(ctx context.Context, p *Plan) (*answer, error) {
	r.mu.Lock()
	r.requests++
	r.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(p.limits.header, func() { cancel(errHeaderTimeout) })
	defer timer.Stop()
	a, err := r.send(ctx, cancel, p)
	if err != nil {
		if errors.Is(err, ErrNotConfigured) {
			r.mu.Lock()
			r.requests-- // none went out
			r.mu.Unlock()
		}
		u := asUpstream(err)
		answered := u != nil && u.Status != 0 // in time, and by an error
		if !answered && errors.Is(context.Cause(ctx), errHeaderTimeout) {
			err = &adapters.UpstreamError{Reason: adapters.ReasonTimeout, Err: errHeaderTimeout}
		}
		cancel(nil)
		return nil, err
	}
	if !timer.Stop() && ctx.Err() != nil {
		a.close()
		return nil, &adapters.UpstreamError{Reason: adapters.ReasonTimeout, RequestID: a.requestID, Err: errHeaderTimeout}
	}
	return a, nil
}

func (r *Run) send(ctx context.Context, cancel context.CancelCauseFunc, p *Plan) (*answer, error) {
	resp, err := r.engine.cfg.Upstream.Do(ctx, p.Model, r.request.Keys[p.Model.Provider], p.Request)
	if err != nil {
		return nil, err
	}
	a := &answer{
		plan: p, requestID: resp.RequestID, response: resp, ctx: ctx, cancel: cancel,
		frames: frame.NewReader(p.adapter.Framing(), resp.Body, 0), decoder: p.adapter.NewDecoder(p.call),
	}
	if resp.Status < 200 || resp.Status > 299 {
		defer a.close()
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // what came is all there is to say
		// The status is an answer even where the body does not come to its end in time.
		if err := ctx.Err(); err != nil && !errors.Is(context.Cause(ctx), errHeaderTimeout) {
			return nil, err
		}
		u := p.adapter.DecodeError(resp.Status, resp.Header, body)
		if adapters.WordlessOverflow(p.Model.Provider, resp.Status, body) {
			u.Reason = adapters.ReasonContextLengthExceeded
		}
		if u.Message == "" && u.Err == nil && len(body) > 0 && !json.Valid(body) {
			u.Err = ErrNotJSON
		}
		if u.RequestID == "" {
			u.RequestID = resp.RequestID
		}
		directives(u, resp.Header, time.Now())
		return nil, u
	}
	if err := a.first(); err != nil {
		a.close()
		if u := asUpstream(err); u != nil {
			if u.RequestID == "" {
				u.RequestID = resp.RequestID
			}
			directives(u, resp.Header, time.Now())
		}
		return nil, err
	}
	return a, nil
}

// first reads up to the first frame that commits.
func (a *answer) first() error {
	for {
		f, err := a.frames.Next()
		if err != nil {
			if cerr := a.ctx.Err(); cerr != nil {
				return cerr
			}
			return a.broken(err)
		}
		if err := a.decode(f); err != nil {
			return err
		}
		if f.Data = trimLeft(f.Data); len(f.Data) == 0 || f.Data[0] == '{' {
			return nil
		}
	}
}

// decode reads one frame into the sink.
func (a *answer) decode(f frame.Frame) error {
	a.sink.Reset()
	err := a.decoder.Decode(f, &a.sink)
	switch {
	case err == nil, asUpstream(err) != nil:
		return err
	case f.Unterminated:
		// The frame is cut: the end that follows is the fault, not the frame.
		return a.broken(err)
	}
	return &adapters.UpstreamError{Reason: adapters.ReasonProtocolError, RequestID: a.requestID, Err: err}
}

// broken classifies the end of a body before the terminal marker.
func (a *answer) broken(err error) error {
	u := &adapters.UpstreamError{Reason: adapters.ReasonStreamTruncated, RequestID: a.requestID, Err: err}
	var large *frame.TooLargeError
	var corrupt *frame.CorruptError
	if errors.As(err, &large) || errors.As(err, &corrupt) || errors.Is(err, upstream.ErrCorrupt) {
		u.Reason = adapters.ReasonProtocolError
	}
	return u
}

func trimLeft(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\n' || b[0] == '\t' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}

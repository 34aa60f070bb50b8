package generation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/transform"
)

// UnknownAPIError means that a model is reached by a wire API that llmd does not
// speak.
type UnknownAPIError struct{ API string }

func (e *UnknownAPIError) Error() string { return "generation: unknown wire API " + e.API }

// Plan is one candidate, ready to be sent.
type Plan struct {
	Model *profile.Model
	// Context is the conversation after the hand-off, Changes what that did.
	Context *llmdv1.Context
	Changes []*llmdv1.HandoffChange
	// Effective is what is really asked of the provider.
	Effective *llmdv1.EffectiveOptions
	Request   *adapters.Request

	adapter adapters.Adapter
	call    *adapters.Call
	limits  limits
	// handoff is the part of Changes that the hand-off made.
	handoff []*llmdv1.HandoffChange
	// loose: tools with PREFER are not strict, see [Plan.loosen].
	loose bool
}

// Plan prepares a request for the model of that name: the hand-off, the options,
// the provider's request. It sends nothing to the provider; images given by URL
// are downloaded.
func (e *Engine) Plan(ctx context.Context, g *llmdv1.Generation, name string) (*Plan, error) {
	m, err := e.cfg.Models(ctx, name)
	if err != nil {
		return nil, err
	}
	a, ok := e.cfg.Adapters(m.API)
	if !ok {
		return nil, &UnknownAPIError{API: m.API}
	}
	p, err := e.planFor(ctx, g, m, a)
	if err != nil {
		return nil, &Failure{Err: err, Model: m}
	}
	return p, nil
}

func (e *Engine) planFor(ctx context.Context, g *llmdv1.Generation, m *profile.Model, a adapters.Adapter) (*Plan, error) {
	t, err := transform.Apply(transform.Input{
		Context: g.GetContext(), Model: m, Constraints: a.Constraints(m), Policy: g.GetHandoff(),
	})
	if loss, ok := errors.AsType[*transform.LossError](err); ok {
		return nil, everyLoss(g, m, a, loss)
	}
	if err != nil {
		return nil, err
	}
	history := t.Context
	if e.cfg.Images != nil {
		if history, err = e.cfg.Images(ctx, history); err != nil {
			return nil, err
		}
	}
	options, err := adapters.Negotiate(g, history, m)
	if err != nil {
		return nil, err
	}
	call := &adapters.Call{Generation: g, Context: history, Origins: t.Origins, Model: m, Options: options}
	p := &Plan{Model: m, Context: history, adapter: a, call: call, limits: limitsOf(g.GetWatchdog(), m), handoff: t.Changes}
	if err := p.encode(); err != nil {
		return nil, err
	}
	return p, transform.RefuseLosses(g, p.Request.Changes)
}

// encode writes the provider's request.
func (p *Plan) encode() error {
	r, err := p.adapter.Encode(p.call)
	if err != nil {
		return err
	}
	p.Request, p.Effective, p.Changes = r, r.Effective, slices.Concat(p.handoff, r.Changes)
	p.Effective.IdleTimeout = durationpb.New(p.limits.idle)
	p.Effective.StallWarning = durationpb.New(p.limits.stall)
	if w := p.call.Generation.GetWatchdog().GetStallWarning().AsDuration(); w > p.limits.stall {
		p.Effective.Adjustments = append(p.Effective.Adjustments, fmt.Sprintf("stall_warning is lowered to %s, half of idle_timeout", p.limits.stall))
	}
	return nil
}

// everyLoss adds to the losses of the hand-off those that the adapter would report, so
// that a refusal names all of them at once. No image is downloaded for it. Where the
// request cannot be made, the losses are those that are known.
func everyLoss(g *llmdv1.Generation, m *profile.Model, a adapters.Adapter, loss *transform.LossError) error {
	policy := proto.CloneOf(g.GetHandoff())
	policy.Strict = false
	t, err := transform.Apply(transform.Input{Context: g.GetContext(), Model: m, Constraints: a.Constraints(m), Policy: policy})
	if err != nil {
		return loss
	}
	options, err := adapters.Negotiate(g, t.Context, m)
	if err != nil {
		return loss
	}
	r, err := a.Encode(&adapters.Call{Generation: g, Context: t.Context, Origins: t.Origins, Model: m, Options: options})
	if err != nil {
		return loss
	}
	return transform.RefuseLosses(g, slices.Concat(t.Changes, r.Changes))
}

// asUpstream finds the provider's failure in an error.
func asUpstream(err error) *adapters.UpstreamError {
	u, _ := errors.AsType[*adapters.UpstreamError](err)
	return u
}

package generation

import (
	"bytes"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Claude compiles all schemas that it is held to into one grammar, and refuses those of
// a request together from a size on that nobody can compute beforehand:
// https://platform.claude.com/docs/en/build-with-claude/structured-outputs#schema-complexity-limits.
// PREFER asks to be held to a schema where that can be had, so that the request is sent
// once more without those.

// maxLoosened is how many conversations are remembered.
const maxLoosened = 10_000

const looseRemark = "the provider refused the schemas of tools with strict PREFER; they were sent without being strict"

// loosened are the conversations for whose tools that was needed; what was refused once
// is not asked for again with each turn.
type loosened struct {
	mu  sync.Mutex
	all map[loosenedKey]struct{}
}

type loosenedKey struct{ owner, session, provider, model string }

func (r *Run) loosenedKey(p *Plan) loosenedKey {
	return loosenedKey{owner: r.request.Owner, session: p.call.Options.SessionKey, provider: p.Model.Provider, model: p.Model.ID}
}

func (l *loosened) add(k loosenedKey) {
	if k.session == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[loosenedKey]struct{}{}
	}
	for old := range l.all {
		if len(l.all) < maxLoosened {
			break
		}
		delete(l.all, old) // any: it is found out again
	}
	l.all[k] = struct{}{}
}

func (l *loosened) has(k loosenedKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.all[k]
	return ok
}

// loosen is the plan without schemas that the model need not be held to; nil if there is
// nothing to be left out of it.
func (p *Plan) loosen() *Plan {
	if p.loose {
		return nil
	}
	tools := slices.Clone(p.call.Options.Tools)
	preferred := false
	for i, t := range tools {
		if t.GetStrict() == llmdv1.StrictMode_STRICT_MODE_PREFER {
			tools[i], preferred = proto.CloneOf(t), true
			tools[i].Strict = llmdv1.StrictMode_STRICT_MODE_OFF
		}
	}
	if !preferred {
		return nil
	}
	call, options, out := *p.call, *p.call.Options, *p
	options.Tools, call.Options = tools, &options
	out.call, out.loose = &call, true
	if out.encode() != nil || bytes.Equal(out.Request.Body, p.Request.Body) {
		return nil
	}
	out.Effective.Adjustments = append(out.Effective.Adjustments, looseRemark)
	return &out
}

// usual is the plan as it is first sent: loosened where that was needed before.
func (r *Run) usual(p *Plan) *Plan {
	if r.engine.loosened.has(r.loosenedKey(p)) {
		return r.takeLoose(p)
	}
	return p
}

// loosened is the plan to go on with where its schemas were refused; p if they were not,
// or there is no other one.
func (r *Run) loosened(p *Plan, u *adapters.UpstreamError) *Plan {
	if !u.SchemaRefused {
		return p
	}
	loose := r.takeLoose(p)
	if loose != p {
		r.engine.loosened.add(r.loosenedKey(p))
	}
	return loose
}

// takeLoose makes the loosened plan the one in hand; p if there is none.
func (r *Run) takeLoose(p *Plan) *Plan {
	loose := p.loosen()
	if loose == nil {
		return p
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plan = loose
	return loose
}

package generation

import (
	"bytes"
	"crypto/sha256"
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

// loosenedKey is a conversation with a model. A caller's words have any length, so that
// they are kept as digests.
type loosenedKey struct {
	owner, provider string
	model, session  [sha256.Size]byte
}

func loosenedKeyOf(owner string, p *Plan) loosenedKey {
	return loosenedKey{
		owner: owner, provider: p.Model.Provider,
		model: sha256.Sum256([]byte(p.Model.ID)), session: sha256.Sum256([]byte(p.call.Options.SessionKey)),
	}
}

func (l *loosened) add(k loosenedKey) {
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
	if p.loose || !p.prefers() {
		return nil
	}
	tools := slices.Clone(p.call.Options.Tools)
	for i, t := range tools {
		if prefers(t) {
			tools[i] = proto.CloneOf(t)
			tools[i].Strict = llmdv1.StrictMode_STRICT_MODE_OFF
		}
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

func prefers(t *llmdv1.Tool) bool { return t.GetStrict() == llmdv1.StrictMode_STRICT_MODE_PREFER }

func (p *Plan) prefers() bool { return slices.ContainsFunc(p.call.Options.Tools, prefers) }

// Usual is the plan as it is first sent for its owner: loosened where that was needed
// before.
func (e *Engine) Usual(owner string, p *Plan) *Plan {
	if !p.prefers() || p.call.Options.SessionKey == "" || !e.loosened.has(loosenedKeyOf(owner, p)) {
		return p
	}
	if loose := p.loosen(); loose != nil {
		return loose
	}
	return p
}

// loosened is the plan to go on with where its schemas were refused; p if they were not,
// or there is no other one.
func (r *Run) loosened(p *Plan, u *adapters.UpstreamError) *Plan {
	if !u.SchemaRefused {
		return p
	}
	loose := p.loosen()
	if loose == nil {
		return p
	}
	if p.call.Options.SessionKey != "" {
		r.engine.loosened.add(loosenedKeyOf(r.request.Owner, p))
	}
	r.replan(loose)
	return loose
}

// replan makes another plan for the same model the one in hand.
func (r *Run) replan(p *Plan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plan = p
}

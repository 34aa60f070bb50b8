package transform

import (
	"fmt"
	"slices"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// fieldMessages is the request's field that errors are about.
const fieldMessages = "generation.context.messages"

// Input is a conversation and where it is to go. It is only read.
type Input struct {
	// Context is the conversation.
	Context *llmdv1.Context
	// Model is the target.
	Model *profile.Model
	// Constraints is what the target's API asks of a history.
	Constraints adapters.Constraints
	// Policy is the caller's choice where there is one; nil = the defaults.
	Policy *llmdv1.HandoffPolicy
}

// Result is the conversation as it is sent.
type Result struct {
	// Context shares with the caller's what needed no change; it may be the caller's.
	Context *llmdv1.Context
	// Origins says of each message of the context where it comes from.
	Origins []adapters.Origin
	// Changes is every difference, by place in the caller's history.
	Changes []*llmdv1.HandoffChange
}

// LossError means that a strict hand-off would have lost content.
type LossError struct {
	// Changes are the losses: what would be dropped or downgraded.
	Changes []*llmdv1.HandoffChange
	// Context is the conversation that they are places of.
	Context *llmdv1.Context
}

// Error counts the losses.
func (e *LossError) Error() string {
	return fmt.Sprintf("transform: the hand-off would lose content in %d places", len(e.Changes))
}

// RefuseLosses fails with a [*LossError] if the policy is strict and changes that an
// adapter made take something away.
func RefuseLosses(g *llmdv1.Generation, changes []*llmdv1.HandoffChange) error {
	return refuseLosses(g.GetHandoff(), g.GetContext(), changes)
}

func refuseLosses(policy *llmdv1.HandoffPolicy, c *llmdv1.Context, changes []*llmdv1.HandoffChange) error {
	if !policy.GetStrict() {
		return nil
	}
	if lost := losses(changes); len(lost) > 0 {
		return &LossError{Changes: lost, Context: c}
	}
	return nil
}

// handoff is one hand-off under way.
type handoff struct {
	Input
	turns   []*turn
	changes []*llmdv1.HandoffChange
	gone    map[int]bool // answers that went with their group, by place
}

func newHandoff(in Input) *handoff {
	return &handoff{Input: in, turns: load(in.Context), gone: map[int]bool{}}
}

// Apply hands a conversation off. Its errors are
//
//   - a [*LossError] if the policy is strict and something would be lost,
//   - an [*adapters.CapabilityError] for an image that the target cannot take if
//     the policy rejects those, and for a last turn that is the assistant's where
//     the target cannot continue it,
//   - an [*adapters.FieldError] if there is nothing to send.
//
// It takes time in proportion to the size of the history.
func Apply(in Input) (*Result, error) {
	h := newHandoff(in)
	for _, p := range passes() {
		if err := p.apply(h); err != nil {
			return nil, err
		}
	}
	return h.finish()
}

// pass is one part of the hand-off: run, or try where it may fail. The names are for
// tests, which leave one out.
type pass struct {
	name string
	run  func(*handoff)
	try  func(*handoff) error
}

func (p *pass) apply(h *handoff) error {
	if p.try != nil {
		return p.try(h)
	}
	p.run(h)
	return nil
}

// passes are all parts, in order. The order matters: a pass may rely on what the
// ones before it have made true. Turns go before their blocks are looked at, calls
// before their results are paired, blocks before the ends of answers, and places in
// the order of turns come last, because everything before may take a turn away.
func passes() []pass {
	return []pass{
		{name: "aborted turns", run: (*handoff).dropAborted},
		{name: "blocks", run: (*handoff).cleanBlocks},
		{name: "results", run: (*handoff).pairResults},
		{name: "ids", run: (*handoff).assignIDs},
		{name: "images", try: (*handoff).fitImages},
		{name: "errors", run: (*handoff).spellErrors},
		{name: "blank text", run: (*handoff).dropBlankText},
		{name: "halves", run: (*handoff).dropHalves},
		{name: "thinking at the end", run: (*handoff).endThinking},
		{name: "turns", run: (*handoff).arrangeTurns},
	}
}

// finish makes the result, or refuses it.
func (h *handoff) finish() (*Result, error) {
	sortChanges(h.changes)
	if err := refuseLosses(h.Policy, h.Context, h.changes); err != nil {
		return nil, err
	}
	if err := h.checkEnd(); err != nil {
		return nil, err
	}
	return &Result{Context: h.store(), Origins: h.origins(), Changes: h.changes}, nil
}

// store is the context of the turns as they are now: the caller's own if none of them
// is new, as in most requests.
func (h *handoff) store() *llmdv1.Context {
	if slices.EqualFunc(h.turns, h.Context.GetMessages(), func(t *turn, m *llmdv1.Message) bool { return t.msg == m }) {
		return h.Context
	}
	out := shallow(h.Context)
	out.Messages = make([]*llmdv1.Message, len(h.turns))
	for i, t := range h.turns {
		out.Messages[i] = t.msg
	}
	return out
}

// origins says where the turns, as they are now, come from.
func (h *handoff) origins() []adapters.Origin {
	out := make([]adapters.Origin, len(h.turns))
	for i, t := range h.turns {
		out[i] = adapters.Origin{Message: t.at, Blocks: t.from}
	}
	return out
}

package transform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// continues stands before a conversation that begins with the assistant.
const continues = "(conversation continues)"

// arrangeTurns puts the turns in an order that the API takes. Results of tools
// are turns of their own here; adapters put them where the API wants them.
func (h *handoff) arrangeTurns() {
	out := make([]*turn, 0, len(h.turns)+1)
	for _, t := range h.turns {
		if vacant(t) {
			h.report(t.at, rewritten, ruleTurnEmpty, "nothing in it is sent")
			continue
		}
		if n := len(out); n > 0 && h.Constraints.MergeTurns && sameRole(out[n-1], t) {
			h.merge(out[n-1], t)
			continue
		}
		if len(out) == 0 && h.Constraints.UserFirst && t.assistant() != nil {
			h.report(t.at, inserted, ruleTurnUserInserted, "the API wants the user to begin")
			out = append(out, &turn{at: t.at, inserted: true, owned: true, msg: userMessage(
				&llmdv1.UserMessage{Content: []*llmdv1.UserContent{userText(continues)}})})
		}
		out = append(out, t)
	}
	h.turns = out
}

// vacant says whether nothing of a turn is left. The result of a tool may be
// empty: the call needs it all the same.
func vacant(t *turn) bool {
	return t.result() == nil && len(t.user().GetContent()) == 0 && len(t.assistant().GetContent()) == 0
}

func sameRole(a, b *turn) bool {
	return a.user() != nil && b.user() != nil || a.assistant() != nil && b.assistant() != nil
}

// merge appends a turn to the one before it, which is of the same role.
func (h *handoff) merge(into, t *turn) {
	if !into.inserted && !t.inserted {
		h.report(t.at, rewritten, ruleTurnMerged, "joined to the turn before it")
	}
	into.own()
	if !into.merged {
		into.from = into.origins(into.blocks())
	}
	into.from = append(into.from, t.origins(t.blocks())...)
	into.inserted = into.inserted && t.inserted
	if u := into.user(); u != nil {
		u.Content = join(u.GetContent(), t.user().GetContent(), &into.merged)
		return
	}
	h.mergeAnswers(into, t.assistant())
}

// mergeAnswers makes one answer of two. It counts as the target's own if one of
// them is, because only there is unsigned thinking left by now, and as aborted
// only if both were: what was not finished is out of it.
func (h *handoff) mergeAnswers(into *turn, m *llmdv1.AssistantMessage) {
	a := into.assistant()
	a.Content = join(a.GetContent(), m.GetContent(), &into.merged)
	if h.fromTarget(m) {
		a.Api, a.Provider, a.Model = m.GetApi(), m.GetProvider(), m.GetModel()
	}
	if !aborted(m) || aborted(a) {
		a.StopReason, a.ProviderStopReason, a.Error = m.GetStopReason(), m.GetProviderStopReason(), m.GetError()
	}
}

// join appends to a content that is copied the first time.
func join[B any](a, b []B, merged *bool) []B {
	if !*merged {
		*merged = true
		a = slices.Clone(a)
	}
	return append(a, b...)
}

// reasons names the rules that were applied until nothing was left.
func (h *handoff) reasons() string {
	var rules []string
	for _, c := range h.changes {
		if !slices.Contains(rules, c.GetRule()) {
			rules = append(rules, c.GetRule())
		}
	}
	if rules == nil {
		return ""
	}
	return "; rules of the hand-off: " + strings.Join(rules, ", ")
}

// checkEnd refuses a history that has nothing to answer.
func (h *handoff) checkEnd() error {
	if len(h.turns) == 0 {
		return &adapters.FieldError{Field: fieldMessages, Detail: "no message with content is left to send" + h.reasons()}
	}
	if t := h.turns[len(h.turns)-1]; t.assistant() != nil && !h.Constraints.Prefill {
		return &adapters.CapabilityError{
			Capability: "prefill",
			Field:      fmt.Sprintf("%s[%d]", fieldMessages, t.origin(t.blocks()-1).Message),
			Detail:     "the model cannot continue a turn of the assistant; the last turn must be the user's or a tool's",
		}
	}
	return nil
}

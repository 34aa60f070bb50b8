package adapters

import (
	"fmt"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// MinBudget is the least that a thinking budget is shrunk to, and what one that must
// shrink leaves for the answer, in tokens (contract 1.23).
const MinBudget = 1024

// DefaultBudget is the thinking budget in tokens that stands for an effort where an
// API has no efforts. Those above HIGH get no more: models differ in what they take.
func DefaultBudget(e llmdv1.ReasoningEffort) int32 {
	switch e {
	case llmdv1.ReasoningEffort_REASONING_EFFORT_MINIMAL:
		return 1024
	case llmdv1.ReasoningEffort_REASONING_EFFORT_LOW:
		return 2048
	case llmdv1.ReasoningEffort_REASONING_EFFORT_MEDIUM:
		return 8192
	default:
		return 16384
	}
}

// FitBudget shrinks a thinking budget to an output limit that counts thinking and is
// never raised; a limit of 0 is none. A budget that the caller named is kept while it
// is valid at all, another one only while it leaves room for an answer. The note says
// what was done, if anything. A budget of 0 means that there is no room for one.
func FitBudget(want, limit int32, named bool) (budget int32, note string) {
	if limit <= 0 || named && want < limit || want <= limit-MinBudget {
		return want, ""
	}
	budget = min(want, max(MinBudget, limit-MinBudget))
	if budget >= limit {
		return 0, fmt.Sprintf("an output limit of %d tokens leaves no room for the least thinking budget, 1,024 tokens", limit)
	}
	if budget == want {
		return want, ""
	}
	return budget, fmt.Sprintf("the thinking budget is %d tokens instead of %d, to fit the output limit of %d", budget, want, limit)
}

// Budget is the thinking budget for a model that is told one: the caller's, or what
// stands for the effort, made to fit by [FitBudget].
func (o *Options) Budget(limit int32) (budget int32, note string) {
	if o.BudgetTokens > 0 {
		return FitBudget(o.BudgetTokens, limit, true)
	}
	return FitBudget(DefaultBudget(o.Effort), limit, false)
}

// EffortFromLow is the word for the effort where there is none for the smallest, which
// is said in effective.
func (o *Options) EffortFromLow(effective *llmdv1.EffectiveOptions) string {
	switch {
	case o.EffortWord != "":
		return o.EffortWord
	case o.Effort == llmdv1.ReasoningEffort_REASONING_EFFORT_MINIMAL:
		effective.ReasoningEffort = llmdv1.ReasoningEffort_REASONING_EFFORT_LOW
		effective.Adjustments = append(effective.Adjustments, "reasoning effort minimal is sent as low, the least that there is")
		return "low"
	}
	return profile.EffortName(o.Effort)
}

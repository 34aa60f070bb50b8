package anthropic

import (
	"fmt"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

const (
	// minBudget is the least thinking budget that the API takes.
	minBudget = 1024
	// answerRoom is what a budget that must shrink leaves for the answer.
	answerRoom = 1024
)

// thinkingMode is how thinking is asked for.
type thinkingMode uint8

const (
	thinkingUnsaid thinkingMode = iota // nothing is sent: the model's default
	thinkingDisabled
	thinkingBudget
	thinkingAdaptive
)

// thinking is what is sent about thinking.
type thinking struct {
	mode    thinkingMode
	budget  int32
	effort  string // with thinkingAdaptive
	summary bool   // ask for readable thinking where the model would leave it out
}

// on says whether the caller's wish to think is met; a model may think unasked.
func (t *thinking) on() bool { return t.mode == thinkingBudget || t.mode == thinkingAdaptive }

// decideThinking chooses the mode. What the API would refuse beside thinking
// turns it off.
// https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking
// https://docs.anthropic.com/en/docs/build-with-claude/adaptive-thinking.
func (r *request) decideThinking() error {
	o, m := r.call.Options, r.call.Model
	switch {
	case o.Thinking == adapters.ThinkingOff && o.BudgetTokens > 0:
		return unsupported("reasoning_budget", "reasoning.budget_tokens", "a thinking budget is of no use without thinking")
	case o.Thinking == adapters.ThinkingOff && m.Reasoning:
		r.thinking.mode = thinkingDisabled
		return nil
	case o.Thinking != adapters.ThinkingOn:
		return nil
	case o.BudgetTokens > 0 && m.Compat.ForceAdaptiveThinking:
		return unsupported("reasoning_budget", "reasoning.budget_tokens", fmt.Sprintf("model %q takes an effort, and no budget", m.ID))
	case o.BudgetTokens > 0 && o.BudgetTokens < minBudget:
		return unsupported("reasoning_budget", "reasoning.budget_tokens", "the least thinking budget is 1,024 tokens")
	case r.choice.forced():
		return r.thinkingOff("the API takes no thinking beside a forced tool choice")
	}
	r.thinking.summary = o.Summary
	if m.Compat.ForceAdaptiveThinking {
		r.thinking.mode = thinkingAdaptive
		r.thinking.effort = r.effort()
		return nil
	}
	return r.decideBudget()
}

// effort is the API's word for the effort. It has none for the smallest.
func (r *request) effort() string {
	o := r.call.Options
	switch {
	case o.EffortWord != "":
		return o.EffortWord
	case o.Effort == llmdv1.ReasoningEffort_REASONING_EFFORT_MINIMAL:
		r.effective.ReasoningEffort = llmdv1.ReasoningEffort_REASONING_EFFORT_LOW
		r.adjust("reasoning effort minimal is sent as low, the least that the API has")
		return "low"
	}
	return profile.EffortName(o.Effort)
}

// decideBudget finds a budget within the output limit, which counts thinking and
// is never raised.
func (r *request) decideBudget() error {
	if !loopThinks(r.call.Context.GetMessages(), r.call.Model.Compat.AllowEmptySignature) {
		return r.thinkingOff("the API takes no thinking after a tool call that was made without it")
	}
	// A budget that the caller named is kept while it is valid at all, a default
	// one only while it leaves room for an answer.
	want := r.call.Options.BudgetTokens
	fits := want > 0 && want < r.maxTokens
	if want == 0 {
		want = defaultBudget(r.call.Options.Effort)
		fits = want <= r.maxTokens-answerRoom
	}
	budget := want
	if !fits {
		budget = max(minBudget, r.maxTokens-answerRoom)
	}
	if budget >= r.maxTokens {
		return r.thinkingOff(fmt.Sprintf("an output limit of %d tokens leaves no room for the least thinking budget, 1,024 tokens", r.maxTokens))
	}
	if budget != want {
		r.adjust(fmt.Sprintf("the thinking budget is %d tokens instead of %d, to fit the output limit of %d", budget, want, r.maxTokens))
	}
	r.thinking.mode = thinkingBudget
	r.thinking.budget = budget
	if len(r.tools) > 0 {
		// Adaptive thinking goes on between calls by itself, this needs asking for.
		r.betas = append(r.betas, betaInterleaved)
	}
	return nil
}

// defaultBudget is the budget for an effort: the API has no efforts here. Efforts
// above high get no more, as models differ in what they take.
func defaultBudget(e llmdv1.ReasoningEffort) int32 {
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

// thinkingOff turns thinking off against the caller's wish, and says why.
func (r *request) thinkingOff(reason string) error {
	m := r.call.Model
	switch {
	case m.SupportsEffort(llmdv1.ReasoningEffort_REASONING_EFFORT_NONE):
		// Said aloud, as some models think unless they are told not to.
		r.thinking.mode = thinkingDisabled
	case m.Compat.ForceAdaptiveThinking:
		return unsupported("reasoning", "reasoning", fmt.Sprintf("%s, and model %q always thinks", reason, m.ID))
	}
	r.effective.ReasoningEffort = llmdv1.ReasoningEffort_REASONING_EFFORT_NONE
	r.effective.ReasoningDisabledReason = reason
	return nil
}

// loopThinks says whether the history may go on with a thinking budget. While
// results of tools are being handed in, the assistant turn that called them must
// start with its thinking; a turn that thought once at its beginning need not
// again before later calls. Earlier turns may lack theirs.
// https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking#preserving-thinking-blocks.
func loopThinks(messages []*llmdv1.Message, unsigned bool) bool {
	i, results := len(messages), false
	for ; i > 0 && messages[i-1].GetAssistant() == nil; i-- {
		results = results || messages[i-1].GetToolResult() != nil
	}
	if !results {
		return true
	}
	var first, last *llmdv1.AssistantMessage
	for ; i > 0 && messages[i-1].GetUser() == nil; i-- {
		if a := messages[i-1].GetAssistant(); a != nil {
			first = a
			if last == nil {
				last = a
			}
		}
	}
	return startsWithThinking(first, unsigned) || startsWithThinking(last, unsigned)
}

// startsWithThinking says whether the first block that is sent is thinking.
func startsWithThinking(a *llmdv1.AssistantMessage, unsigned bool) bool {
	for _, c := range a.GetContent() {
		if t := c.GetThinking(); t != nil {
			b, ok := thinkingOf(t, unsigned)
			if ok {
				return b.kind == sendThinking || b.kind == sendRedacted
			}
			continue
		}
		if c.GetText() == nil || !blank(c.GetText().GetText()) {
			return false
		}
	}
	return false
}

// write writes the mode. The display is named only if the caller asked for it:
// older hosts do not know it.
func (t *thinking) write(w *jsonwire.Writer) {
	if t.mode == thinkingUnsaid {
		return
	}
	w.Key("thinking")
	w.BeginObject()
	switch t.mode {
	case thinkingUnsaid:
	case thinkingDisabled:
		w.Member("type", "disabled")
	case thinkingBudget:
		w.Member("type", "enabled")
		w.Key("budget_tokens")
		w.Int(int64(t.budget))
	case thinkingAdaptive:
		w.Member("type", "adaptive")
	}
	if t.summary && t.on() {
		w.Member("display", "summarized")
	}
	w.EndObject()
}

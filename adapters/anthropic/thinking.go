package anthropic

import (
	"fmt"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
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
	// lenient: thinking whose surroundings have changed is to be passed over instead of
	// refused. A caller may change what stands before it, and so may the hand-off.
	lenient bool
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
	case o.Thinking == adapters.ThinkingOff && m.Reasoning:
		r.thinking.mode = thinkingDisabled
		return nil
	case o.Thinking != adapters.ThinkingOn && r.mustNotThink() && r.alwaysThinks():
		// https://platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5
		return adapters.Unsupported("tool_choice", "tool_choice", fmt.Sprintf("model %q always thinks, and cannot be made to call a tool then", m.ID))
	case o.Thinking != adapters.ThinkingOn:
		r.summaryAlone()
		r.rememberAlone()
		return nil
	case o.BudgetTokens > 0 && m.Compat.ForceAdaptiveThinking:
		return adapters.Unsupported("reasoning_budget", "reasoning.budget_tokens", fmt.Sprintf("model %q takes an effort, and no budget", m.ID))
	case o.BudgetTokens > 0 && o.BudgetTokens < adapters.MinBudget:
		return adapters.Unsupported("reasoning_budget", "reasoning.budget_tokens", "the least thinking budget is 1,024 tokens")
	case r.mustNotThink():
		return r.thinkingOff("the API takes no thinking beside a forced tool choice")
	}
	r.thinking.summary = o.Summary
	if m.Compat.ForceAdaptiveThinking {
		r.thinking.mode = thinkingAdaptive
		r.thinking.effort = r.call.Options.EffortFromLow(r.effective)
		r.bind()
		return nil
	}
	return r.decideBudget()
}

// mustNotThink: the model must call a tool, and does not think before it.
func (r *request) mustNotThink() bool {
	c := r.call.Model.Compat
	return r.choice.forced() && !(c.ForceAdaptiveThinking && c.ForcedToolsBesideThinking)
}

// bind lets the request pass where what stood before a block of thinking has changed: "The
// block is bound to a different conversation" otherwise. The answer names what was passed
// over.
// https://platform.claude.com/docs/en/build-with-claude/preserved-thinking
func (r *request) bind() {
	if r.call.Model.Compat.BindsThinking {
		r.thinking.lenient = true
		r.betas = append(r.betas, betaBinding)
	}
}

// rememberAlone: the models that bind their thinking think unasked, and look at that of
// the history then.
func (r *request) rememberAlone() {
	if r.call.Model.Compat.BindsThinking && adapters.HistoryThinks(r.call.Context) {
		r.thinking.mode = thinkingAdaptive
	}
	if r.thinking.on() {
		r.bind()
	}
}

// alwaysThinks: the model thinks unasked and cannot be told not to.
func (r *request) alwaysThinks() bool {
	m := r.call.Model
	return m.Compat.ForceAdaptiveThinking && m.Reasoning && !m.SupportsEffort(llmdv1.ReasoningEffort_REASONING_EFFORT_NONE)
}

// summaryAlone: thoughts are shown by the field that asks for them. A model that always
// thinks may be asked without saying how much.
func (r *request) summaryAlone() {
	switch {
	case !r.call.Options.Summary:
	case r.alwaysThinks():
		r.thinking.mode, r.thinking.summary = thinkingAdaptive, true
	default:
		r.adjust("reasoning.include_summary is of no use without an effort: the model need not think")
	}
}

// decideBudget finds a budget within the output limit, which counts thinking and
// is never raised.
func (r *request) decideBudget() error {
	if !r.rules().LoopThinks(r.call.Context.GetMessages()) {
		return r.thinkingOff("the API takes no thinking after a tool call that was made without it")
	}
	budget, note := r.call.Options.Budget(r.maxTokens)
	if budget == 0 {
		return r.thinkingOff(note)
	}
	if note != "" {
		r.adjust(note)
	}
	r.thinking.mode = thinkingBudget
	r.thinking.budget = budget
	if len(r.tools) > 0 {
		// Adaptive thinking goes on between calls by itself, this needs asking for.
		r.betas = append(r.betas, betaInterleaved)
	}
	return nil
}

// thinkingOff turns thinking off against the caller's wish, and says why.
func (r *request) thinkingOff(reason string) error {
	m := r.call.Model
	switch {
	case m.SupportsEffort(llmdv1.ReasoningEffort_REASONING_EFFORT_NONE):
		// Said aloud, as some models think unless they are told not to.
		r.thinking.mode = thinkingDisabled
	case m.Compat.ForceAdaptiveThinking:
		return adapters.Unsupported("reasoning", "reasoning", fmt.Sprintf("%s, and model %q always thinks", reason, m.ID))
	}
	r.effective.ReasoningEffort = llmdv1.ReasoningEffort_REASONING_EFFORT_NONE
	r.effective.ReasoningDisabledReason = reason
	return nil
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
	if t.lenient {
		w.Key("block_binding")
		w.BeginObject()
		w.Member("prefix_mismatch_behavior", "drop_block")
		w.EndObject()
	}
	w.EndObject()
}

package bedrock

import (
	"fmt"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Features of Claude that must be asked for. Each is named only beside what it allows.
const (
	betaInterleaved = "interleaved-thinking-2025-05-14"
	betaBinding     = "thinking-binding-controls-2026-08-01"
)

// thinkingMode is how thinking is asked for.
type thinkingMode uint8

const (
	thinkingUnsaid   thinkingMode = iota // nothing is sent: the model's default
	thinkingDisabled                     // Claude
	thinkingBudget                       // Claude
	thinkingAdaptive                     // Claude
	thinkingNova
	thinkingNovaHigh // rules out sampling parameters
	thinkingNovaOff
	thinkingGPT
	thinkingGPTOSS
)

// thinking is what is sent about thinking.
type thinking struct {
	mode   thinkingMode
	budget int32
	effort string
	// summary: ask for readable thinking where Claude would leave it out.
	summary bool
	// lenient: thinking whose surroundings have changed is to be ignored instead of
	// refused. The hand-off may change a history, by dropping an aborted turn.
	lenient bool
}

// claudes says whether Claude thinks as the caller wishes; it may think unasked.
func (t *thinking) claudes() bool { return t.mode == thinkingBudget || t.mode == thinkingAdaptive }

// decideThinking asks for thinking in the words of the model's family.
func (r *request) decideThinking() error {
	o, m := r.call.Options, r.call.Model
	switch {
	case o.Thinking == adapters.ThinkingDefault && r.mustNotThink() && r.alwaysThinks():
		// https://platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5
		return adapters.Unsupported("tool_choice", "tool_choice", fmt.Sprintf("model %q always thinks, and cannot be made to call a tool then", m.ID))
	case o.Thinking == adapters.ThinkingDefault:
		if o.Summary {
			r.adjust("reasoning.include_summary is of no use without an effort: thoughts are shown by the field that asks for them")
		}
		r.rememberAlone()
		return nil
	case o.Thinking == adapters.ThinkingOff && !m.Reasoning:
		return nil
	case o.BudgetTokens > 0 && (r.traits.family != claude || r.adaptive()):
		return adapters.Unsupported("reasoning_budget", "reasoning.budget_tokens", fmt.Sprintf("model %q takes no thinking budget", m.ID))
	}
	switch r.traits.family {
	case claude:
		return r.decideClaude()
	case nova:
		return r.decideNova()
	case gpt, gptOSS:
		return r.decideGPT()
	default:
		return r.cannotThink("no way to ask for more or less thinking is known")
	}
}

// cannotThink refuses a wish that the model has no words for.
func (r *request) cannotThink(why string) error {
	return adapters.Unsupported("reasoning_effort", "reasoning.effort", fmt.Sprintf("model %q: %s", r.call.Model.ID, why))
}

// adaptive: by its name, or because the configuration says so.
func (r *request) adaptive() bool {
	return r.traits.adaptive() || r.call.Model.Compat.ForceAdaptiveThinking
}

// alwaysThinks: a Claude that thinks unasked and cannot be told not to.
func (r *request) alwaysThinks() bool {
	m := r.call.Model
	return r.traits.family == claude && m.Reasoning && r.adaptive() && !m.SupportsEffort(llmdv1.ReasoningEffort_REASONING_EFFORT_NONE)
}

// decideClaude chooses the mode. What Claude would refuse beside thinking turns it
// off.
// https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html
// https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html.
func (r *request) decideClaude() error {
	o := r.call.Options
	switch {
	case o.Thinking == adapters.ThinkingOff:
		r.thinking.mode = thinkingDisabled
		return nil
	case o.BudgetTokens > 0 && o.BudgetTokens < adapters.MinBudget:
		return adapters.Unsupported("reasoning_budget", "reasoning.budget_tokens", "the least thinking budget is 1,024 tokens")
	case r.mustNotThink():
		return r.thinkingOff("Claude does not think beside a forced tool choice")
	}
	if err := r.decideSummary(); err != nil {
		return err
	}
	if !r.adaptive() {
		return r.decideBudget()
	}
	r.thinking.mode = thinkingAdaptive
	r.thinking.effort = r.call.Options.EffortFromLow(r.effective)
	r.bind()
	return nil
}

// mustNotThink: Claude must call a tool, and does not think before it.
func (r *request) mustNotThink() bool {
	return r.choice.forced() && !(r.adaptive() && r.call.Model.Compat.ForcedToolsBesideThinking)
}

// bind lets the request pass where what stood before a block of thinking has changed: "The
// block is bound to a different conversation" otherwise.
func (r *request) bind() {
	if r.traits.bindsThinking() && !r.traits.government {
		r.thinking.lenient = true
		r.betas = append(r.betas, betaBinding)
	}
}

// rememberAlone: a model that thinks unasked looks at the thinking of the history, too. All
// do since Fable 5.1; Haiku 5.5 can be told not to.
func (r *request) rememberAlone() {
	unasked := r.alwaysThinks() || r.traits.family == claude && r.traits.atLeast(5, 1)
	if unasked && r.traits.bindsThinking() && adapters.HistoryThinks(r.call.Context) {
		r.thinking.mode = thinkingAdaptive
		r.bind()
	}
}

// decideSummary asks for readable thinking. GovCloud does not know that wish; the
// models that show their thinking anyhow fulfil it all the same.
func (r *request) decideSummary() error {
	r.thinking.summary = r.call.Options.Summary && !r.traits.government
	if r.call.Options.Summary && r.traits.government && r.traits.bindsThinking() {
		return adapters.Unsupported("reasoning_summary", "reasoning.include_summary", "in GovCloud the model does not show its thinking")
	}
	return nil
}

// decideNova: https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html.
func (r *request) decideNova() error {
	switch {
	case !r.traits.atLeast(2, 0):
		return r.cannotThink("the first generation of Nova does not think")
	case r.call.Options.Thinking == adapters.ThinkingOff:
		r.thinking.mode = thinkingNovaOff
		return nil
	case r.call.Options.Summary:
		return adapters.Unsupported("reasoning_summary", "reasoning.include_summary", "Nova does not show its thinking")
	}
	r.thinking.mode, r.thinking.effort = thinkingNova, r.call.Options.EffortFromLow(r.effective)
	if r.thinking.effort == "high" {
		r.thinking.mode = thinkingNovaHigh
	}
	return nil
}

// decideGPT: the words are those of the APIs that OpenAI has for each.
// https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-openai.html.
func (r *request) decideGPT() error {
	r.thinking.mode = thinkingGPT
	off := r.call.Options.Thinking == adapters.ThinkingOff
	if r.traits.family == gptOSS {
		r.thinking.mode = thinkingGPTOSS
		if off && r.call.Options.EffortWord == "" {
			return r.cannotThink("it always thinks")
		}
	}
	if off {
		r.thinking.effort = "none"
		if word := r.call.Options.EffortWord; word != "" {
			r.thinking.effort = word
		}
		return nil
	}
	r.thinking.effort = r.call.Options.EffortFromLow(r.effective)
	return nil
}

// decideBudget finds a budget within the output limit, which counts thinking and is
// never raised.
func (r *request) decideBudget() error {
	if !r.rules().LoopThinks(r.call.Context.GetMessages()) {
		return r.thinkingOff("Claude does not think after a tool call that was made without thinking")
	}
	if r.maxTokens == 0 {
		// A guess is no reason to think less than the caller wants.
		r.maxTokens = max(fallbackMaxTokens, r.call.Options.BudgetTokens+answerTokens)
		r.effective.MaxOutputTokens = r.maxTokens
	}
	budget, note := r.call.Options.Budget(r.maxTokens)
	if budget == 0 {
		return r.thinkingOff(note)
	}
	if note != "" {
		r.adjust(note)
	}
	r.thinking.mode, r.thinking.budget = thinkingBudget, budget
	if len(r.tools) > 0 && r.traits.interleaves() {
		// Adaptive thinking goes on between calls by itself, this needs asking for.
		r.betas = append(r.betas, betaInterleaved)
	}
	return nil
}

// thinkingOff turns Claude's thinking off against the caller's wish, and says why.
func (r *request) thinkingOff(reason string) error {
	m := r.call.Model
	switch {
	case m.SupportsEffort(llmdv1.ReasoningEffort_REASONING_EFFORT_NONE):
		// Said aloud, as some models think unless they are told not to.
		r.thinking = thinking{mode: thinkingDisabled}
	case r.adaptive():
		return adapters.Unsupported("reasoning", "reasoning", fmt.Sprintf("%s, and model %q always thinks", reason, m.ID))
	default:
		r.thinking = thinking{}
	}
	r.effective.ReasoningEffort = llmdv1.ReasoningEffort_REASONING_EFFORT_NONE
	r.effective.ReasoningDisabledReason = reason
	return nil
}

// write writes the wish as the model's own API has it.
func (t *thinking) write(w *jsonwire.Writer) {
	switch t.mode {
	case thinkingUnsaid:
	case thinkingDisabled, thinkingBudget, thinkingAdaptive:
		t.writeClaude(w)
	case thinkingNova, thinkingNovaHigh, thinkingNovaOff:
		w.Key("reasoningConfig")
		w.BeginObject()
		if t.mode == thinkingNovaOff {
			w.Member("type", "disabled")
		} else {
			w.Member("type", "enabled")
			w.Member("maxReasoningEffort", t.effort)
		}
		w.EndObject()
	case thinkingGPT:
		w.Key("reasoning")
		w.BeginObject()
		w.Member("effort", t.effort)
		w.EndObject()
	case thinkingGPTOSS:
		w.Member("reasoning_effort", t.effort)
	}
}

func (t *thinking) writeClaude(w *jsonwire.Writer) {
	w.Key("thinking")
	w.BeginObject()
	switch t.mode {
	case thinkingBudget:
		w.Member("type", "enabled")
		w.Key("budget_tokens")
		w.Int(int64(t.budget))
	case thinkingAdaptive:
		w.Member("type", "adaptive")
	default:
		w.Member("type", "disabled")
	}
	if t.summary {
		w.Member("display", "summarized")
	}
	if t.lenient {
		w.Key("block_binding")
		w.BeginObject()
		// Anthropic's own API names it otherwise, which not every region takes:
		// https://github.com/vercel/ai/issues/20729.
		w.Member("mismatch_behavior", "drop_block")
		w.EndObject()
	}
	w.EndObject()
	if t.effort != "" {
		w.Key("output_config")
		w.BeginObject()
		w.Member("effort", t.effort)
		w.EndObject()
	}
}

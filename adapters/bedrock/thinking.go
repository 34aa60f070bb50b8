package bedrock

import (
	"fmt"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

const (
	// minBudget is the least thinking budget that Claude takes.
	minBudget = 1024
	// answerRoom is what a budget that must shrink leaves for the answer.
	answerRoom = 1024
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
	case o.Thinking == adapters.ThinkingDefault, o.Thinking == adapters.ThinkingOff && o.BudgetTokens == 0 && !m.Reasoning:
		return nil
	case o.BudgetTokens > 0 && o.Thinking == adapters.ThinkingOff:
		return unsupported("reasoning_budget", "reasoning.budget_tokens", "a thinking budget is of no use without thinking")
	case o.BudgetTokens > 0 && (r.traits.family != claude || r.adaptive()):
		return unsupported("reasoning_budget", "reasoning.budget_tokens", fmt.Sprintf("model %q takes no thinking budget", m.ID))
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
	return unsupported("reasoning_effort", "reasoning.effort", fmt.Sprintf("model %q: %s", r.call.Model.ID, why))
}

// adaptive: by its name, or because the configuration says so.
func (r *request) adaptive() bool {
	return r.traits.adaptive() || r.call.Model.Compat.ForceAdaptiveThinking
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
	case o.BudgetTokens > 0 && o.BudgetTokens < minBudget:
		return unsupported("reasoning_budget", "reasoning.budget_tokens", "the least thinking budget is 1,024 tokens")
	case r.choice.forced():
		return r.thinkingOff("Claude does not think beside a forced tool choice")
	}
	if err := r.decideSummary(); err != nil {
		return err
	}
	if !r.adaptive() {
		return r.decideBudget()
	}
	r.thinking.mode = thinkingAdaptive
	r.thinking.effort = r.effort()
	if r.traits.bindsThinking() && !r.traits.government {
		r.thinking.lenient = true
		r.betas = append(r.betas, betaBinding)
	}
	return nil
}

// decideSummary asks for readable thinking. GovCloud does not know that wish; the
// models that show their thinking anyhow fulfil it all the same.
func (r *request) decideSummary() error {
	r.thinking.summary = r.call.Options.Summary && !r.traits.government
	if r.call.Options.Summary && r.traits.government && r.traits.bindsThinking() {
		return unsupported("reasoning_summary", "reasoning.include_summary", "in GovCloud the model does not show its thinking")
	}
	return nil
}

// effort is the model's word for the effort. Most have none for the smallest.
func (r *request) effort() string {
	o := r.call.Options
	switch {
	case o.EffortWord != "":
		return o.EffortWord
	case o.Effort == llmdv1.ReasoningEffort_REASONING_EFFORT_MINIMAL:
		r.effective.ReasoningEffort = llmdv1.ReasoningEffort_REASONING_EFFORT_LOW
		r.adjust("reasoning effort minimal is sent as low, the least that the model has")
		return "low"
	}
	return profile.EffortName(o.Effort)
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
		return unsupported("reasoning_summary", "reasoning.include_summary", "Nova does not show its thinking")
	}
	r.thinking.mode, r.thinking.effort = thinkingNova, r.effort()
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
	r.thinking.effort = r.effort()
	return nil
}

// decideBudget finds a budget within the output limit, which counts thinking and is
// never raised.
func (r *request) decideBudget() error {
	if !loopThinks(r.call.Context.GetMessages()) {
		return r.thinkingOff("Claude does not think after a tool call that was made without thinking")
	}
	if r.maxTokens == 0 {
		r.maxTokens = fallbackMaxTokens
		r.effective.MaxOutputTokens = r.maxTokens
	}
	// A budget that the caller named is kept while it is valid at all, a default one
	// only while it leaves room for an answer.
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
	r.thinking.mode, r.thinking.budget = thinkingBudget, budget
	if len(r.tools) > 0 && r.traits.interleaves() {
		// Adaptive thinking goes on between calls by itself, this needs asking for.
		r.betas = append(r.betas, betaInterleaved)
	}
	return nil
}

// defaultBudget is the budget for an effort. Efforts above high get no more, as
// models differ in what they take.
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

// thinkingOff turns Claude's thinking off against the caller's wish, and says why.
func (r *request) thinkingOff(reason string) error {
	m := r.call.Model
	switch {
	case m.SupportsEffort(llmdv1.ReasoningEffort_REASONING_EFFORT_NONE):
		// Said aloud, as some models think unless they are told not to.
		r.thinking = thinking{mode: thinkingDisabled}
	case r.adaptive():
		return unsupported("reasoning", "reasoning", fmt.Sprintf("%s, and model %q always thinks", reason, m.ID))
	default:
		r.thinking = thinking{}
	}
	r.effective.ReasoningEffort = llmdv1.ReasoningEffort_REASONING_EFFORT_NONE
	r.effective.ReasoningDisabledReason = reason
	return nil
}

// loopThinks says whether the history may go on with a thinking budget. While
// results of tools are being handed in, the assistant turn that called them must
// start with its thinking; a turn that thought once at its beginning need not again
// before later calls. Earlier turns may lack theirs.
// https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html.
func loopThinks(messages []*llmdv1.Message) bool {
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
	return startsWithThinking(first) || startsWithThinking(last)
}

// startsWithThinking says whether the first block that is sent is thinking.
func startsWithThinking(a *llmdv1.AssistantMessage) bool {
	for _, c := range a.GetContent() {
		if t := c.GetThinking(); t != nil {
			b, ok := thinkingOf(t, claude)
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
		w.Member("prefix_mismatch_behavior", "drop_block")
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

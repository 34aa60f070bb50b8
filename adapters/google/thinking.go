package google

import (
	"fmt"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// thinkingConfig is generationConfig.thinkingConfig; the zero value is left out.
// A request carries a level or a budget, never both.
type thinkingConfig struct {
	include bool
	level   string
	budget  *int32
}

func (t *thinkingConfig) write(w *jsonwire.Writer) {
	if *t == (thinkingConfig{}) {
		return
	}
	w.Key("thinkingConfig")
	w.BeginObject()
	if t.include {
		w.Key("includeThoughts")
		w.Bool(true)
	}
	w.MemberIf("thinkingLevel", t.level)
	if t.budget != nil {
		w.Key("thinkingBudget")
		w.Int(int64(*t.budget))
	}
	w.EndObject()
}

// thinking decides how the model is to think and says so in the effective options.
func (e *encoder) thinking(t *thinkingConfig) error {
	o := e.call.Options
	switch {
	case o.Thinking == adapters.ThinkingOff:
		return e.thinkingOff(t)
	case o.Thinking == adapters.ThinkingOn && e.model.levels():
		t.include = true
		return e.level(t)
	case o.Thinking == adapters.ThinkingOn:
		t.include = true
		return e.budget(t)
	}
	t.include = o.Summary
	return nil
}

func (e *encoder) thinkingOff(t *thinkingConfig) error {
	word := e.call.Options.EffortWord
	switch {
	case !e.call.Model.Reasoning:
	case e.model.levels() && word != "":
		t.level = strings.ToUpper(word)
	case e.model.levels() || e.model.budgets().always:
		return e.lacks("reasoning_effort", "generation.reasoning.effort", "always thinks")
	default:
		t.budget = new(int32)
	}
	return nil
}

// level sets the thinking level. A budget alone is understood by Gemini 3, too, but
// not beside a level.
func (e *encoder) level(t *thinkingConfig) error {
	o := e.call.Options
	const budgetField = "generation.reasoning.budget_tokens"
	switch {
	case o.BudgetTokens > 0 && !e.model.takesBudget():
		return e.lacks("reasoning_budget", budgetField, "takes no thinking budget")
	case o.BudgetTokens > 0 && o.EffortExplicit:
		return e.lacks("reasoning_budget", budgetField, "takes a thinking level or a budget, not both")
	case o.BudgetTokens > 0:
		n, note := adapters.FitBudget(o.BudgetTokens, o.MaxOutputTokens, true)
		if n == 0 {
			return e.lacks("reasoning_budget", budgetField, "always thinks, and "+note)
		}
		if t.budget = &n; note != "" {
			e.adjust(note)
		}
		return nil
	case o.EffortWord == "" && o.Effort > llmdv1.ReasoningEffort_REASONING_EFFORT_HIGH:
		return e.lacks("reasoning_effort", "generation.reasoning.effort", "has no thinking level "+profile.EffortName(o.Effort))
	}
	t.level = strings.ToUpper(o.EffortWord)
	if t.level == "" {
		t.level = strings.ToUpper(profile.EffortName(o.Effort))
	}
	return nil
}

// budget sets the thinking budget: the caller's, else the effort's.
func (e *encoder) budget(t *thinkingConfig) error {
	o, table := e.call.Options, e.model.budgets()
	n := table.of(o.Effort)
	if o.BudgetTokens > 0 {
		n = o.BudgetTokens
		if n < table.least || table.most > 0 && n > table.most {
			return e.lacks("reasoning_budget", "generation.reasoning.budget_tokens",
				fmt.Sprintf("takes a thinking budget of %d to %d tokens", table.least, table.most))
		}
	}
	t.budget = &n
	// The limit of the answer includes its thoughts.
	fit, note := adapters.FitBudget(n, o.MaxOutputTokens, o.BudgetTokens > 0)
	switch {
	case note == "":
		return nil
	case fit == 0 && table.always:
		fit, note = table.least, fmt.Sprintf("the thinking budget is %d tokens, the least there is, to fit the output limit of %d", table.least, o.MaxOutputTokens)
	case fit == 0:
		n, t.include = 0, false
		e.effective.ReasoningEffort = llmdv1.ReasoningEffort_REASONING_EFFORT_NONE
		e.effective.ReasoningDisabledReason = note
		return nil
	}
	n = fit
	e.adjust(note)
	return nil
}

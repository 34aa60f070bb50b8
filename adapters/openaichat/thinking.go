package openaichat

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Names of the values that a chat template can be given.
const (
	varEnabled = "thinking.enabled"
	varEffort  = "thinking.effort"
	varBudget  = "thinking.budget"
)

// thinking is what the host is to be told.
type thinking struct {
	on     bool
	word   string // the effort; with !on the word for "off", if there is one
	budget int32  // tokens; 0 = none
	reason string // why it is off, where the caller did not say so
}

// told is what could be said of it in the host's format.
type told struct {
	state bool // whether to think
	level bool // how much
}

// thinking writes what the caller wishes, in one of the formats of hosts. Whether
// the host can be told is checked afterwards, once for all formats: an explicit
// wish is never dropped in silence.
func (e *encoder) thinking() error {
	if e.opts.Summary {
		e.adjust("reasoning.include_summary has no switch in this API: the host shows what it shows")
	}
	why := e.rejects()
	if !e.call.Model.Reasoning || e.opts.Thinking == adapters.ThinkingDefault && why == "" {
		return nil
	}
	t, err := e.plan(why)
	if err != nil {
		return err
	}
	said, err := e.writeThinking(t)
	if err != nil {
		return err
	}
	if field := e.budgetField(); t.budget > 0 && field != "" {
		e.w.Key(field)
		e.w.Int(int64(t.budget))
	}
	if !t.on {
		return e.checkOff(t, said)
	}
	return e.checkOn(t, said)
}

const (
	besideForced = "the host takes no thinking beside a forced tool choice"
	besideTools  = "the API takes no tools while the model reasons"
)

// rejects says why the model must not reason; empty = it may.
func (e *encoder) rejects() string {
	deepSeek := e.compat.ThinkingFormat == "deepseek" || e.compat.ThinkingFormat == "qwen"
	switch {
	// "Thinking mode does not support this tool_choice", also to a model that thinks
	// unasked: https://api-docs.deepseek.com/guides/thinking_mode,
	// https://help.aliyun.com/zh/model-studio/deep-thinking
	case e.opts.ToolMode == llmdv1.ToolMode_TOOL_MODE_REQUIRED && deepSeek:
		return besideForced
	// "Function tools with reasoning_effort are not supported":
	// https://github.com/openai/openai-openapi/issues/541
	case len(e.opts.Tools) > 0 && e.compat.RequiresReasoningOffWithTools && e.opts.Reasons(e.call.Model):
		return besideTools
	}
	return ""
}

// off turns thinking off, though the caller did not say so.
func (e *encoder) off(reason string) thinking {
	e.effect.ReasoningEffort = llmdv1.ReasoningEffort_REASONING_EFFORT_NONE
	e.effect.ReasoningDisabledReason = reason
	return thinking{word: e.call.Model.EffortWord(llmdv1.ReasoningEffort_REASONING_EFFORT_NONE), reason: reason}
}

// plan decides about the budget. One that leaves no room for an answer is shrunk;
// where that would leave too little, thinking is turned off, as where the host rejects
// it, for which rejected says why. Tools do not turn off what was asked for: they may be
// there in all requests of a conversation.
func (e *encoder) plan(rejected string) (thinking, error) {
	t := thinking{on: e.opts.Thinking == adapters.ThinkingOn, word: e.opts.EffortWord}
	switch {
	case e.opts.Thinking == adapters.ThinkingOff:
		return t, nil
	case rejected != "" && !e.call.Model.SupportsEffort(llmdv1.ReasoningEffort_REASONING_EFFORT_NONE):
		return t, adapters.Unsupported("reasoning", "reasoning",
			fmt.Sprintf("%s, and model %q always thinks", rejected, e.call.Model.ID))
	case rejected == besideTools && t.on:
		return t, adapters.Unsupported("reasoning", "reasoning", rejected+"; the Responses API does")
	case rejected != "":
		return e.off(rejected), nil
	}
	if t.word == "" {
		t.word = profile.EffortName(e.opts.Effort)
	}
	explicit := e.opts.BudgetTokens > 0
	carried := e.budgetField() != "" || e.templateHas(varBudget)
	switch {
	case explicit && !carried && e.compat.ThinkingFormat == "openrouter" && e.opts.EffortExplicit:
		return t, adapters.Unsupported("reasoning_budget", "reasoning.budget_tokens", "the host takes an effort or a thinking budget, not both")
	case explicit && !carried && !e.budgetAsEffort():
		return t, adapters.Unsupported("reasoning_budget", "reasoning.budget_tokens",
			fmt.Sprintf("provider %q takes no thinking budget", e.call.Model.Provider))
	case explicit:
		t.budget = e.opts.BudgetTokens
	case carried:
		t.budget = adapters.DefaultBudget(e.opts.Effort)
	default:
		return t, nil
	}
	var note string
	t.budget, note = adapters.FitBudget(t.budget, cmp.Or(e.opts.MaxOutputTokens, e.call.Model.KnownMaxOutput()), explicit)
	switch {
	case note == "" || !explicit:
		// A budget that stands for an effort is no wish of the caller's.
	case t.budget > 0:
		e.adjust(note)
	default:
		return e.off(note), nil
	}
	return t, nil
}

// budgetField is the host's own field for a budget; empty = it has none.
func (e *encoder) budgetField() string {
	if e.compat.ThinkingTokenBudgetField == "" && e.compat.SupportsThinkingTokenBudget {
		return "thinking_token_budget"
	}
	return e.compat.ThinkingTokenBudgetField
}

// budgetAsEffort: OpenRouter takes a budget in the place of an effort, never both.
// https://openrouter.ai/docs/use-cases/reasoning-tokens
func (e *encoder) budgetAsEffort() bool {
	return e.compat.ThinkingFormat == "openrouter" && !e.opts.EffortExplicit
}

// checkOff refuses "off" where nothing could be sent: a model that reasons by
// default would do so all the same.
func (e *encoder) checkOff(t thinking, said told) error {
	switch {
	case said.state:
		return nil
	case t.reason != "" && e.opts.BudgetTokens > 0:
		return adapters.Unsupported("reasoning_budget", "reasoning.budget_tokens", t.reason+", and the host cannot be told not to think")
	case t.reason != "":
		return adapters.Unsupported("reasoning", "reasoning", t.reason+", and the host cannot be told not to think")
	}
	return adapters.Unsupported("reasoning_effort", "reasoning.effort",
		fmt.Sprintf("model %q reasons and its host cannot be told not to", e.call.Model.ID))
}

// checkOn makes sure that an effort which the caller named is not lost. A host
// without levels is told to think, and the caller is told that it has none; only
// where nothing at all could be said is the effort refused.
func (e *encoder) checkOn(t thinking, said told) error {
	if !e.opts.EffortExplicit || said.level {
		return nil
	}
	switch {
	case t.budget > 0 && e.opts.BudgetTokens == 0:
		e.adjust(fmt.Sprintf("reasoning.effort %s is sent as a budget of %d tokens", profile.EffortName(e.opts.Effort), t.budget))
	case said.state:
		e.adjust(fmt.Sprintf("reasoning.effort %s: the host has no levels, thinking is switched on", profile.EffortName(e.opts.Effort)))
	default:
		return adapters.Unsupported("reasoning_effort", "reasoning.effort",
			fmt.Sprintf("the host of model %q cannot be told an effort", e.call.Model.ID))
	}
	return nil
}

// writeThinking writes the format of the host. The formats are what hosts
// document: https://platform.openai.com/docs/guides/reasoning (openai),
// https://openrouter.ai/docs/use-cases/reasoning-tokens (openrouter),
// https://api-docs.deepseek.com/guides/thinking_mode (deepseek),
// https://docs.z.ai/guides/capabilities/thinking-mode (zai),
// https://help.aliyun.com/zh/model-studio/deep-thinking (qwen),
// https://docs.together.ai/docs/inference/chat/reasoning (together), and
// https://docs.vllm.ai/en/latest/features/reasoning_outputs.html (templates).
func (e *encoder) writeThinking(t thinking) (told, error) {
	w := &e.w
	switch f := e.compat.ThinkingFormat; f {
	case "", "openai":
		return e.effort(t, told{}), nil
	case "openrouter":
		return e.openRouter(t), nil
	case "deepseek":
		return e.effortIfOn(t, e.thinkingType(t, "")), nil
	case "zai":
		// Thoughts of earlier turns are kept, as the history sends them back.
		return e.effortIfOn(t, e.thinkingType(t, `,"clear_thinking":false`)), nil
	case "qwen":
		w.Key("enable_thinking")
		w.Bool(t.on)
		return e.effortIfOn(t, told{state: true}), nil
	case "qwen-chat-template":
		w.Key("chat_template_kwargs")
		w.Raw(`{"enable_thinking":` + strconv.FormatBool(t.on) + `,"preserve_thinking":true}`)
		return told{state: true}, nil
	case "chat-template":
		return e.template("chat_template_kwargs", e.compat.ChatTemplateKwargs, t)
	case "baseten":
		said, err := e.template("chat_template_args", e.compat.ChatTemplateArgs, t)
		return e.effort(t, said), err
	case "together":
		w.Key("reasoning")
		w.Raw(`{"enabled":` + strconv.FormatBool(t.on) + `}`)
		return e.effortIfOn(t, told{state: true}), nil
	case "string-thinking":
		w.Member("thinking", wordOrNone(t))
		return told{state: true, level: t.on}, nil
	case "ant-ling":
		return e.antLing(t), nil
	default:
		return told{}, fmt.Errorf("openaichat: unknown thinking format %q", f)
	}
}

// effort adds reasoning_effort, where the host knows it. "Off" is an effort only
// where the model has a word for it.
func (e *encoder) effort(t thinking, said told) told {
	if e.compat.SupportsReasoningEffort && t.word != "" {
		e.w.Member("reasoning_effort", t.word)
		said.state, said.level = true, t.on
	}
	return said
}

// effortIfOn is effort for formats that have a switch of their own for "off".
func (e *encoder) effortIfOn(t thinking, said told) told {
	if !t.on {
		return said
	}
	return e.effort(t, said)
}

// thinkingType writes the switch that DeepSeek and Z.ai share; more are members
// that stand beside "enabled".
func (e *encoder) thinkingType(t thinking, more string) told {
	e.w.Key("thinking")
	if t.on {
		e.w.Raw(`{"type":"enabled"` + more + `}`)
	} else {
		e.w.Raw(`{"type":"disabled"}`)
	}
	return told{state: true}
}

// openRouter writes an effort, or a budget in its place.
func (e *encoder) openRouter(t thinking) told {
	w := &e.w
	w.Key("reasoning")
	w.BeginObject()
	if t.on && e.opts.BudgetTokens > 0 && e.budgetField() == "" {
		w.Key("max_tokens")
		w.Int(int64(t.budget))
	} else {
		w.Member("effort", wordOrNone(t))
	}
	w.EndObject()
	return told{state: true, level: t.on}
}

// antLing has words only for the levels that the model maps; it is always on.
func (e *encoder) antLing(t thinking) told {
	if !t.on || e.opts.EffortWord == "" {
		return told{}
	}
	e.w.Key("reasoning")
	e.w.BeginObject()
	e.w.Member("effort", t.word)
	e.w.EndObject()
	return told{state: true, level: true}
}

// wordOrNone is the word for formats in which "none" is a level like the others.
func wordOrNone(t thinking) string {
	if t.word == "" {
		return "none"
	}
	return t.word
}

// templateHas says whether the host's chat template is given a value.
func (e *encoder) templateHas(name string) bool {
	for _, a := range e.templateArgs() {
		if a.Var == name {
			return true
		}
	}
	return false
}

// templateArgs are the arguments that the host's format uses; the other list may
// be set, too, and is not read.
func (e *encoder) templateArgs() profile.TemplateArgs {
	switch e.compat.ThinkingFormat {
	case "chat-template":
		return e.compat.ChatTemplateKwargs
	case "baseten":
		return e.compat.ChatTemplateArgs
	}
	return nil
}

// template writes the arguments of the host's chat template, or nothing if none
// is left.
func (e *encoder) template(field string, args profile.TemplateArgs, t thinking) (said told, err error) {
	var object jsonwire.Writer
	empty := true
	for _, a := range args {
		if a.OmitWhenOff {
			// Being there or not is the switch.
			said.state = true
			if !t.on {
				continue
			}
		}
		value, err := templateValue(a, t)
		if err != nil {
			return told{}, err
		}
		if value == "" {
			continue
		}
		said.state = said.state || a.Var == varEnabled || a.Var == varEffort
		said.level = said.level || t.on && a.Var == varEffort
		if empty {
			object.BeginObject()
			empty = false
		}
		object.Key(a.Name)
		object.Raw(value)
	}
	if !empty {
		object.EndObject()
		e.w.Key(field)
		e.w.RawBytes(object.Bytes())
	}
	return said, nil
}

// templateValue is one argument as JSON; empty = it has no value now.
func templateValue(a profile.TemplateArg, t thinking) (string, error) {
	switch a.Var {
	case "":
		return string(a.Constant), nil
	case varEnabled:
		return strconv.FormatBool(t.on), nil
	case varEffort:
		if t.word == "" {
			return "", nil
		}
		return string(jsonwire.AppendString(nil, t.word)), nil
	case varBudget:
		if t.budget == 0 {
			return "", nil
		}
		return strconv.Itoa(int(t.budget)), nil
	}
	return "", fmt.Errorf("openaichat: unknown variable %q of a chat template", a.Var)
}

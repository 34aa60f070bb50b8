package openaichat

import (
	"errors"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

const (
	effortNone = llmdv1.ReasoningEffort_REASONING_EFFORT_NONE
	effortLow  = llmdv1.ReasoningEffort_REASONING_EFFORT_LOW
	effortHigh = llmdv1.ReasoningEffort_REASONING_EFFORT_HIGH
)

// said is what a body holds beyond the members of every body.
func said(t *testing.T, body string) string {
	t.Helper()
	ms, err := jsonwire.Members([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range ms {
		switch m.Key {
		case "model", "stream", "stream_options", "messages":
		default:
			out = append(out, m.Key+"="+string(m.Value))
		}
	}
	return strings.Join(out, " ")
}

// TestThinkingFormats is the table of wire formats: what is sent with the effort
// "high" and with "off". "!" means that it is refused.
func TestThinkingFormats(t *testing.T) {
	template := profile.TemplateArgs{
		{Name: "thinking", Var: varEnabled}, {Name: "effort", Var: varEffort}, {Name: "x", Constant: `{"a": 1}`}, {Name: "only", Constant: `1`, OmitWhenOff: true},
	}
	words := profile.Efforts{effortHigh: {Word: "hi"}, effortNone: {Word: "nope"}}
	for name, c := range map[string]struct {
		set     func(*profile.Compat)
		efforts profile.Efforts
		on, off string
	}{
		"openai":            {nil, nil, `reasoning_effort="high"`, "!"},
		"openai, words":     {nil, words, `reasoning_effort="hi"`, `reasoning_effort="nope"`},
		"openai, no effort": {func(c *profile.Compat) { c.SupportsReasoningEffort = false }, words, "!", "!"},
		"unset":             {func(c *profile.Compat) { c.ThinkingFormat = "" }, nil, `reasoning_effort="high"`, "!"},
		"openrouter":        {format("openrouter"), nil, `reasoning={"effort":"high"}`, `reasoning={"effort":"none"}`},
		"openrouter, words": {format("openrouter"), words, `reasoning={"effort":"hi"}`, `reasoning={"effort":"nope"}`},
		"deepseek":          {format("deepseek"), nil, `thinking={"type":"enabled"} reasoning_effort="high"`, `thinking={"type":"disabled"}`},
		"zai":               {format("zai"), nil, `thinking={"type":"enabled","clear_thinking":false} reasoning_effort="high"`, `thinking={"type":"disabled"}`},
		"zai, no effort": {
			func(c *profile.Compat) { c.ThinkingFormat, c.SupportsReasoningEffort = "zai", false }, nil,
			`thinking={"type":"enabled","clear_thinking":false}`, `thinking={"type":"disabled"}`,
		},
		"qwen":               {format("qwen"), words, `enable_thinking=true reasoning_effort="hi"`, `enable_thinking=false`},
		"qwen-chat-template": {format("qwen-chat-template"), nil, `chat_template_kwargs={"enable_thinking":true,"preserve_thinking":true}`, `chat_template_kwargs={"enable_thinking":false,"preserve_thinking":true}`},
		"chat-template": {
			func(c *profile.Compat) { c.ThinkingFormat, c.ChatTemplateKwargs = "chat-template", template }, nil,
			`chat_template_kwargs={"thinking":true,"effort":"high","x":{"a": 1},"only":1}`, `chat_template_kwargs={"thinking":false,"x":{"a": 1}}`,
		},
		"chat-template, words": {func(c *profile.Compat) {
			c.ThinkingFormat, c.ChatTemplateKwargs = "chat-template", profile.TemplateArgs{{Name: "e", Var: varEffort}}
		}, words, `chat_template_kwargs={"e":"hi"}`, `chat_template_kwargs={"e":"nope"}`},
		"chat-template, by being there": {func(c *profile.Compat) {
			c.ThinkingFormat, c.ChatTemplateKwargs = "chat-template", profile.TemplateArgs{{Name: "t", Var: varEnabled, OmitWhenOff: true}}
		}, nil, `chat_template_kwargs={"t":true}`, ``},
		"chat-template, constants": {func(c *profile.Compat) {
			c.ThinkingFormat, c.ChatTemplateKwargs = "chat-template", profile.TemplateArgs{{Name: "t", Constant: "1"}}
		}, nil, "!", "!"},
		"chat-template, empty": {format("chat-template"), nil, "!", "!"},
		"chat-template, unknown variable": {func(c *profile.Compat) {
			c.ThinkingFormat, c.ChatTemplateKwargs = "chat-template", profile.TemplateArgs{{Name: "t", Var: "thinking.mood"}}
		}, nil, "?", "?"},
		"baseten": {
			func(c *profile.Compat) { c.ThinkingFormat, c.ChatTemplateArgs = "baseten", template[:1] }, nil,
			`chat_template_args={"thinking":true} reasoning_effort="high"`, `chat_template_args={"thinking":false}`,
		},
		"baseten, words": {
			func(c *profile.Compat) { c.ThinkingFormat, c.ChatTemplateArgs = "baseten", template[:1] }, words,
			`chat_template_args={"thinking":true} reasoning_effort="hi"`, `chat_template_args={"thinking":false} reasoning_effort="nope"`,
		},
		"together":               {format("together"), nil, `reasoning={"enabled":true} reasoning_effort="high"`, `reasoning={"enabled":false}`},
		"string-thinking":        {format("string-thinking"), nil, `thinking="high"`, `thinking="none"`},
		"string-thinking, words": {format("string-thinking"), words, `thinking="hi"`, `thinking="nope"`},
		"ant-ling":               {format("ant-ling"), nil, "!", "!"},
		"ant-ling, words":        {format("ant-ling"), words, `reasoning={"effort":"hi"}`, "!"},
		"unknown":                {format("telepathy"), nil, "?", "?"},
		"a budget field": {
			func(c *profile.Compat) { c.ThinkingFormat, c.ThinkingTokenBudgetField = "qwen", "thinking_budget" }, nil,
			`enable_thinking=true reasoning_effort="high" thinking_budget=16384`, `enable_thinking=false`,
		},
		"the usual budget field": {
			func(c *profile.Compat) { c.SupportsThinkingTokenBudget, c.SupportsReasoningEffort = true, false }, nil,
			`thinking_token_budget=16384`, "!",
		},
	} {
		for effort, want := range map[llmdv1.ReasoningEffort]string{effortHigh: c.on, effortNone: c.off} {
			m, g := model(), ask()
			m.Reasoning, m.Efforts = true, c.efforts
			if c.set != nil {
				c.set(&m.Compat)
			}
			g.Reasoning = &llmdv1.ReasoningConfig{Effort: effort}
			r, err := request(t, m, g)
			var capability *adapters.CapabilityError
			switch {
			case want == "!":
				if !errors.As(err, &capability) || capability.Field != "generation.reasoning.effort" {
					t.Errorf("%s, %s: %v, want a refusal", name, effort, err)
				}
			case want == "?":
				if err == nil || errors.As(err, &capability) {
					t.Errorf("%s, %s: %v, want a fault of the profile", name, effort, err)
				}
			case err != nil:
				t.Errorf("%s, %s: %v", name, effort, err)
			default:
				if got := said(t, string(r.Body)); got != want {
					t.Errorf("%s, %s: %s, want %s", name, effort, got, want)
				}
				if r.Effective.GetReasoningEffort() != effort {
					t.Errorf("%s: effective effort %s", name, r.Effective.GetReasoningEffort())
				}
			}
		}
		m, g := model(), ask()
		m.Reasoning = true
		if c.set != nil {
			c.set(&m.Compat)
		}
		if got := said(t, encode(t, m, g)); got != "" {
			t.Errorf("%s: %s is sent without a wish", name, got)
		}
		m.Reasoning = false
		g.Reasoning = &llmdv1.ReasoningConfig{Effort: effortNone}
		if got := said(t, encode(t, m, g)); got != "" {
			t.Errorf("%s: %s is sent to a model that does not reason", name, got)
		}
	}
}

func format(f string) func(*profile.Compat) { return func(c *profile.Compat) { c.ThinkingFormat = f } }

// TestOpaque: what GitHub Copilot gave goes back beside the thoughts, if they had words.
func TestOpaque(t *testing.T) {
	for thoughts, want := range map[string]string{
		"a": `"reasoning_text":"a","reasoning_opaque":"O\"",`,
		" ": `"reasoning_opaque":"O\"",`,
	} {
		g := ask()
		g.Context.Messages = append(g.Context.Messages, assistantMessage(assistantThinking(thoughts, formatOpaque, `O"`), assistantCall("1", "f", "{}")))
		if body := encode(t, model(), g); !strings.Contains(body, `{"role":"assistant","content":null,`+want+`"tool_calls"`) {
			t.Errorf("%s: %s", thoughts, body)
		}
	}
}

// TestThoughtSignature: what Databricks gave beside a call goes back there.
func TestThoughtSignature(t *testing.T) {
	call := assistantCall("1", "f", "{}")
	call.GetToolCall().Signature = &llmdv1.Signature{Data: []byte("S"), Format: formatThought}
	g := ask()
	g.Context.Messages = append(g.Context.Messages, assistantMessage(call))
	want := strings.TrimSuffix(callJSON("1"), "}") + `,"thoughtSignature":"S"}`
	if body := encode(t, model(), g); !strings.Contains(body, `"tool_calls":[`+want+`]`) {
		t.Errorf("%s, want %s", body, want)
	}
}

func TestThinkingBudget(t *testing.T) {
	field := func(c *profile.Compat) { c.ThinkingFormat, c.ThinkingTokenBudgetField = "qwen", "thinking_budget" }
	for name, c := range map[string]struct {
		set     func(*profile.Compat)
		effort  llmdv1.ReasoningEffort
		budget  int32
		limit   int32 // of the caller
		want    string
		refused string
		adjusts int
		off     bool
		guessed bool // the model's limit
	}{
		"sent":                       {set: field, budget: 3000, want: `enable_thinking=true reasoning_effort="high" thinking_budget=3000`},
		"small":                      {set: field, budget: 5, want: `enable_thinking=true reasoning_effort="high" thinking_budget=5`},
		"with an effort":             {set: field, effort: effortLow, budget: 3000, want: `enable_thinking=true reasoning_effort="low" thinking_budget=3000`},
		"shrunk":                     {set: field, budget: 9000, limit: 4096, want: `max_completion_tokens=4096 enable_thinking=true reasoning_effort="high" thinking_budget=3072`, adjusts: 1},
		"by the model":               {set: field, budget: 90000, want: `enable_thinking=true reasoning_effort="high" thinking_budget=30976`, adjusts: 1},
		"by a guess":                 {set: field, budget: 90000, guessed: true, want: `enable_thinking=true reasoning_effort="high" thinking_budget=90000`},
		"no room":                    {set: field, budget: 9000, limit: 1024, want: `max_completion_tokens=1024 enable_thinking=false`, off: true},
		"little room":                {set: field, budget: 9000, limit: 1025, want: `max_completion_tokens=1025 enable_thinking=true reasoning_effort="high" thinking_budget=1024`, adjusts: 1},
		"no room, no off":            {set: func(c *profile.Compat) { c.ThinkingTokenBudgetField = "thinking_budget" }, budget: 9000, limit: 1000, refused: "generation.reasoning.budget_tokens"},
		"of the effort":              {set: field, effort: effortLow, want: `enable_thinking=true reasoning_effort="low" thinking_budget=2048`},
		"of the effort, shrunk":      {set: field, effort: effortHigh, limit: 2048, want: `max_completion_tokens=2048 enable_thinking=true reasoning_effort="high" thinking_budget=1024`},
		"of the effort, no room":     {set: field, effort: effortLow, limit: 1000, want: `max_completion_tokens=1000 enable_thinking=true reasoning_effort="low"`},
		"for the effort":             {set: func(c *profile.Compat) { field(c); c.SupportsReasoningEffort = false }, effort: effortLow, want: `enable_thinking=true thinking_budget=2048`, adjusts: 1},
		"no field":                   {budget: 3000, refused: "generation.reasoning.budget_tokens"},
		"openrouter":                 {set: format("openrouter"), budget: 3000, want: `reasoning={"max_tokens":3000}`},
		"openrouter, with an effort": {set: format("openrouter"), effort: effortHigh, budget: 3000, refused: "generation.reasoning.budget_tokens"},
		"in a template": {set: func(c *profile.Compat) {
			c.ThinkingFormat, c.ChatTemplateKwargs = "chat-template", profile.TemplateArgs{{Name: "b", Var: varBudget, OmitWhenOff: true}}
		}, budget: 3000, want: `chat_template_kwargs={"b":3000}`},
		"levels: switched on only": {set: format("qwen-chat-template"), effort: effortLow, want: `chat_template_kwargs={"enable_thinking":true,"preserve_thinking":true}`, adjusts: 1},
	} {
		m, g := model(), ask()
		m.Reasoning, m.MaxOutput, m.OutputGuessed = true, 32000, c.guessed
		if c.set != nil {
			c.set(&m.Compat)
		}
		g.Reasoning = &llmdv1.ReasoningConfig{Effort: c.effort}
		if c.budget > 0 {
			g.Reasoning.BudgetTokens = new(c.budget)
		}
		if c.limit > 0 {
			g.Config = &llmdv1.GenerationConfig{MaxOutputTokens: new(c.limit)}
		}
		r, err := request(t, m, g)
		var capability *adapters.CapabilityError
		if c.refused != "" {
			if !errors.As(err, &capability) || capability.Field != c.refused {
				t.Errorf("%s: %v, want a refusal", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := said(t, string(r.Body)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		e := r.Effective
		if len(e.GetAdjustments()) != c.adjusts || c.off != (e.GetReasoningDisabledReason() != "") || c.off != (e.GetReasoningEffort() == effortNone) {
			t.Errorf("%s: effective %v", name, e)
		}
	}
}

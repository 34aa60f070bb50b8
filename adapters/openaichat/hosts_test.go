package openaichat

import (
	"errors"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// TestToolsOrReasoning: "Function tools with reasoning_effort are not supported for
// gpt-5.6 in /v1/chat/completions. To use function tools, use /v1/responses or set
// reasoning_effort to 'none'", also where the request names no effort and the model has
// one by default.
func TestToolsOrReasoning(t *testing.T) {
	none := profile.Efforts{effortNone: {Word: "none"}}
	always := profile.Efforts{effortNone: {Unsupported: true}}
	for name, c := range map[string]struct {
		efforts   profile.Efforts
		byDefault bool
		effort    llmdv1.ReasoningEffort
		tools     bool
		want      string // reasoning_effort; "!" = refused
		off       bool
	}{
		"no tools":                      {efforts: none, byDefault: true, effort: effortHigh, want: `"high"`},
		"no tools, no wish":             {efforts: none, byDefault: true},
		"no wish, reasons by default":   {efforts: none, byDefault: true, tools: true, want: `"none"`, off: true},
		"no wish, does not":             {efforts: none, tools: true},
		"asked to reason":               {efforts: none, tools: true, effort: effortHigh, want: "!"},
		"asked not to":                  {efforts: none, byDefault: true, tools: true, effort: effortNone, want: `"none"`},
		"always reasons":                {efforts: always, tools: true, want: "!"},
		"always reasons, asked to":      {efforts: always, tools: true, effort: effortHigh, want: "!"},
		"always reasons, without tools": {efforts: always, effort: effortHigh, want: `"high"`},
	} {
		m, g := model(), ask()
		m.Reasoning, m.Efforts = true, c.efforts
		m.Compat.RequiresReasoningOffWithTools, m.Compat.ReasonsByDefault = true, c.byDefault
		g.Reasoning = &llmdv1.ReasoningConfig{Effort: c.effort}
		g.Config = &llmdv1.GenerationConfig{Temperature: new(0.5)}
		if c.tools {
			g.Context.Tools = []*llmdv1.Tool{{Name: "f"}}
		}
		r, err := request(t, m, g)
		var capability *adapters.CapabilityError
		switch {
		case c.want == "!":
			if !errors.As(err, &capability) || capability.Field != "generation.reasoning" {
				t.Errorf("%s: %v, want a refusal", name, err)
			}
			continue
		case err != nil:
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := member(t, string(r.Body), "reasoning_effort"); got != c.want {
			t.Errorf("%s: reasoning_effort %s, want %s", name, got, c.want)
		}
		reasons := c.want == `"high"` || c.want == "" && c.byDefault
		if got := member(t, string(r.Body), "temperature"); (got == "") != reasons {
			t.Errorf("%s: temperature %q", name, got)
		}
		if e := r.Effective; c.off != (e.GetReasoningDisabledReason() == besideTools) || c.off && e.GetReasoningEffort() != effortNone {
			t.Errorf("%s: effective %v", name, e)
		}
	}
}

// TestToolChoiceFormats: LM Studio says "Invalid tool_choice type: 'object'. Supported
// string values: none, auto, required", and llama.cpp reads an object as "auto". Z.ai says
// "Tool choice must be auto".
func TestToolChoiceFormats(t *testing.T) {
	mode := func(m llmdv1.ToolMode) *llmdv1.ToolChoice {
		return &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: m}}
	}
	named := &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_ToolName{ToolName: "g"}}
	for name, c := range map[string]struct {
		format string
		choice *llmdv1.ToolChoice
		want   string // "!" = refused
		tools  int
	}{
		"words, named":    {"words", named, `"required"`, 1},
		"words, required": {"words", mode(llmdv1.ToolMode_TOOL_MODE_REQUIRED), `"required"`, 2},
		"words, none":     {"words", mode(llmdv1.ToolMode_TOOL_MODE_NONE), `"none"`, 2},
		"auto, named":     {"auto", named, "!", 0},
		"auto, required":  {"auto", mode(llmdv1.ToolMode_TOOL_MODE_REQUIRED), "!", 0},
		"auto, auto":      {"auto", mode(llmdv1.ToolMode_TOOL_MODE_AUTO), `"auto"`, 2},
		"auto, none":      {"auto", mode(llmdv1.ToolMode_TOOL_MODE_NONE), "", 0},
		"auto, no wish":   {"auto", nil, "", 2},
	} {
		m, g := model(), ask()
		m.Compat.ToolChoiceFormat = c.format
		g.Context.Tools = []*llmdv1.Tool{{Name: "f"}, {Name: "g"}}
		g.ToolChoice = c.choice
		r, err := request(t, m, g)
		var capability *adapters.CapabilityError
		switch {
		case c.want == "!":
			if !errors.As(err, &capability) || capability.Field != "generation.tool_choice" {
				t.Errorf("%s: %v, want a refusal", name, err)
			}
			continue
		case err != nil:
			t.Errorf("%s: %v", name, err)
			continue
		}
		body := string(r.Body)
		if got := member(t, body, "tool_choice"); got != c.want {
			t.Errorf("%s: tool_choice %s, want %s", name, got, c.want)
		}
		if n := strings.Count(member(t, body, "tools"), `"function":{`); n != c.tools || len(r.Effective.GetToolNames()) != c.tools {
			t.Errorf("%s: %d tools, told of %v", name, n, r.Effective.GetToolNames())
		}
	}
}

// TestHostsWithout: what a host does not know is not sent, or refused where it matters.
func TestHostsWithout(t *testing.T) {
	m, g := model(), ask()
	m.Compat.SupportsParallelToolCalls = false
	g.Context.Tools = []*llmdv1.Tool{{Name: "f"}}
	g.Config = &llmdv1.GenerationConfig{ParallelToolCalls: new(false)}
	r, err := request(t, m, g)
	if err != nil || member(t, string(r.Body), "parallel_tool_calls") != "" || len(r.Effective.GetAdjustments()) != 1 {
		t.Errorf("%v, %v", r, err)
	}
	m, g = model(), ask()
	m.Compat.SupportsJSONSchema = false
	g.Config = &llmdv1.GenerationConfig{OutputJsonSchema: `{"type":"object"}`}
	_, err = request(t, m, g)
	var capability *adapters.CapabilityError
	if !errors.As(err, &capability) || capability.Field != "generation.config.output_json_schema" {
		t.Errorf("%v, want a refusal", err)
	}
}

// TestExplicitCache: from GPT-5.6 on it is "prompt_cache_retention is not supported on
// this model". https://platform.openai.com/docs/guides/prompt-caching
func TestExplicitCache(t *testing.T) {
	for retention, want := range map[llmdv1.CacheRetention]string{
		llmdv1.CacheRetention_CACHE_RETENTION_NONE:  `{"mode":"explicit"}`,
		llmdv1.CacheRetention_CACHE_RETENTION_SHORT: "",
		llmdv1.CacheRetention_CACHE_RETENTION_LONG:  `{"ttl":"30m"}`,
	} {
		m, g := model(), ask()
		m.Compat.SupportsExplicitPromptCacheMode = true
		g.Cache = &llmdv1.CacheConfig{Retention: retention}
		body := encode(t, m, g)
		if got := member(t, body, "prompt_cache_options"); got != want || member(t, body, "prompt_cache_retention") != "" {
			t.Errorf("%v: %s", retention, body)
		}
	}
}

// TestKimi: a call of another model, or one that Kimi did not think before, is "thinking
// is enabled but reasoning_content is missing in assistant tool call message", and an
// empty text is no reasoning to it. Names of tools begin with a letter there:
// https://platform.kimi.ai/docs/api/chat
func TestKimi(t *testing.T) {
	m, g := model(), ask(assistantMessage(assistantCall("1", "f", "{}")), resultMessage("1", "f", []string{"x"}))
	m.Reasoning, m.Compat.SchemaDialect, m.Compat.RequiresReasoningContentOnAssistantMessages = true, "moonshot", true
	if body := encode(t, m, g); !strings.Contains(body, `"content":null,"reasoning_content":" ","tool_calls":`) {
		t.Error(body)
	}
	if !New().Constraints(m).ToolNames.LetterFirst || New().Constraints(model()).ToolNames.LetterFirst {
		t.Error("names of tools")
	}
}

// TestAlternatingTurns: Perplexity says "After the (optional) system message(s), user or
// tool message(s) should alternate with assistant message(s)", and so do the templates of
// some models on hosts of one's own.
func TestAlternatingTurns(t *testing.T) {
	m := model()
	m.Compat.RequiresAlternatingTurns = true
	if c := New().Constraints(m); !c.MergeTurns || !c.UserFirst || c.Prefill {
		t.Errorf("%+v", c)
	}
	g := ask(assistantMessage(assistantCall("1", "f", "{}")), resultMessage("1", "f", []string{"x"}, picture1()), userMessage([]string{"and?"}))
	want := `{"role":"tool","content":"x","tool_call_id":"1"},{"role":"user","content":[{"type":"text","text":"Attached image(s) from tool result:"},` +
		pictureJSON + `,{"type":"text","text":"and?"}]}]}`
	if body := encode(t, m, g); !strings.HasSuffix(body, want) {
		t.Error(body)
	}
}

// TestGrammars: llama.cpp refuses a request for one tool with an expression that it cannot
// translate: "Pattern must start with '^' and end with '$'".
func TestGrammars(t *testing.T) {
	m, g := model(), ask()
	m.Compat.SchemaDialect = "llamacpp"
	g.Context.Tools = []*llmdv1.Tool{{Name: "f", ParametersJsonSchema: `{"type":"object","properties":{"a":{"type":"string","pattern":"\\S"}}}`}}
	g.Config = &llmdv1.GenerationConfig{OutputJsonSchema: `{"type":"object","properties":{"a":{"type":"string","maxLength":9999},"n":{"type":"integer","minimum":1,"exclusiveMinimum":true}}}`}
	r, err := request(t, m, g)
	if err != nil || strings.Contains(string(r.Body), "pattern") || strings.Contains(string(r.Body), "maxLength") || len(r.Effective.GetAdjustments()) != 3 {
		t.Errorf("%v, %s", err, r.Body)
	}
	// What an old draft says otherwise is not left out.
	if !strings.Contains(string(r.Body), `"exclusiveMinimum":1`) {
		t.Error(string(r.Body))
	}
}

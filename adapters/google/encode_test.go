package google

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// setup builds a call for a model; the generation may be changed by edit.
func setup(t *testing.T, a *Adapter, id string, edit func(*llmdv1.Generation)) *adapters.Call {
	t.Helper()
	m := &profile.Model{ID: id, Provider: "google", API: a.API(), Reasoning: true, Input: []llmdv1.Modality{llmdv1.Modality_MODALITY_IMAGE}}
	g := &llmdv1.Generation{Context: &llmdv1.Context{Messages: []*llmdv1.Message{user("hi")}}}
	if edit != nil {
		edit(g)
	}
	o, err := adapters.Negotiate(g, g.GetContext(), m)
	if err != nil {
		t.Fatal(err)
	}
	return &adapters.Call{Generation: g, Context: g.GetContext(), Model: m, Options: o}
}

func encode(t *testing.T, a *Adapter, id string, edit func(*llmdv1.Generation)) (*adapters.Request, error) {
	t.Helper()
	call := setup(t, a, id, edit)
	before := proto.CloneOf(call.Generation)
	r, err := a.Encode(call)
	if diff := cmp.Diff(before, call.Generation, protocmp.Transform()); diff != "" {
		t.Errorf("Encode changed the call:\n%s", diff)
	}
	if err == nil && !json.Valid(r.Body) {
		t.Errorf("not valid JSON: %s", r.Body)
	}
	return r, err
}

func user(texts ...string) *llmdv1.Message {
	m := &llmdv1.UserMessage{}
	for _, s := range texts {
		m.Content = append(m.Content, &llmdv1.UserContent{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: s}}})
	}
	return &llmdv1.Message{Message: &llmdv1.Message_User{User: m}}
}

const hiContents = `"contents":[{"role":"user","parts":[{"text":"hi"}]}]`

func config(g *llmdv1.Generation) *llmdv1.GenerationConfig {
	if g.Config == nil {
		g.Config = &llmdv1.GenerationConfig{}
	}
	return g.Config
}

func reasoning(e llmdv1.ReasoningEffort, budget int32, summary bool) func(*llmdv1.Generation) {
	return func(g *llmdv1.Generation) {
		g.Reasoning = &llmdv1.ReasoningConfig{Effort: e, IncludeSummary: summary}
		if budget > 0 {
			g.Reasoning.BudgetTokens = &budget
		}
	}
}

func tool(name, schema string, strict llmdv1.StrictMode) *llmdv1.Tool {
	return &llmdv1.Tool{Name: name, Description: "d", ParametersJsonSchema: schema, Strict: strict}
}

const (
	none, minimal = llmdv1.ReasoningEffort_REASONING_EFFORT_NONE, llmdv1.ReasoningEffort_REASONING_EFFORT_MINIMAL
	low, high     = llmdv1.ReasoningEffort_REASONING_EFFORT_LOW, llmdv1.ReasoningEffort_REASONING_EFFORT_HIGH
	noEffort      = llmdv1.ReasoningEffort_REASONING_EFFORT_UNSPECIFIED
)

func TestEncodeOptions(t *testing.T) {
	f := func(edits ...func(*llmdv1.Generation)) func(*llmdv1.Generation) {
		return func(g *llmdv1.Generation) {
			for _, e := range edits {
				e(g)
			}
		}
	}
	limit := func(n int32) func(*llmdv1.Generation) {
		return func(g *llmdv1.Generation) { config(g).MaxOutputTokens = &n }
	}
	for _, c := range []struct {
		name, model string
		edit        func(*llmdv1.Generation)
		want        string // the body
	}{
		{"nothing", "gemini-2.5-flash", nil, `{` + hiContents + `}`},
		{
			"system", "gemini-2.5-flash", func(g *llmdv1.Generation) { g.Context.SystemPrompt = "be <kind>" },
			`{"systemInstruction":{"parts":[{"text":"be <kind>"}]},` + hiContents + `}`,
		},
		{"sampling", "gemini-2.5-flash", func(g *llmdv1.Generation) {
			c := config(g)
			c.Temperature, c.TopP, c.TopK = new(0.0), new(0.95), proto.Int32(3)
			c.MaxOutputTokens, c.StopSequences, c.Seed = proto.Int32(100), []string{"a", "b"}, proto.Int64(-7)
			c.ParallelToolCalls = new(true)
		}, `{` + hiContents + `,"generationConfig":{"temperature":0,"topP":0.95,"topK":3,"maxOutputTokens":100,"stopSequences":["a","b"],"seed":-7}}`},
		{
			"schema of the output", "gemini-2.5-flash", func(g *llmdv1.Generation) { config(g).OutputJsonSchema = `{ "type" : "object" }` },
			`{` + hiContents + `,"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{ "type" : "object" }}}`,
		},
		{
			"tier", "gemini-2.5-flash", func(g *llmdv1.Generation) { config(g).ServiceTier = llmdv1.ServiceTier_SERVICE_TIER_FLEX },
			`{` + hiContents + `,"serviceTier":"flex"}`,
		},
		{"own options", "gemini-2.5-flash", func(g *llmdv1.Generation) {
			config(g).TopK = proto.Int32(3)
			g.ProviderOptionsJson = map[string]string{"google": `{"generationConfig":{"topK":4,"logprobs": 2},"labels":{}}`, "openai": `{`}
		}, `{` + hiContents + `,"generationConfig":{"topK":4,"logprobs":2},"labels":{}}`},

		{"effort as a level", "gemini-3-flash-preview", reasoning(low, 0, false), `{` + hiContents + `,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"LOW"}}}`},
		{"newest model", "models/gemini-flash-latest", reasoning(minimal, 0, false), `{` + hiContents + `,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"MINIMAL"}}}`},
		{"gemma", "gemma-4-31b-it", reasoning(high, 0, false), `{` + hiContents + `,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"}}}`},
		{"budget alone, level model", "gemini-3-pro-preview", reasoning(noEffort, 500, false), `{` + hiContents + `,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":500}}}`},
		{"effort as a budget", "gemini-2.5-pro", reasoning(high, 0, false), `{` + hiContents + `,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":32768}}}`},
		{"lite", "gemini-2.5-flash-lite", reasoning(minimal, 0, false), `{` + hiContents + `,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":512}}}`},
		{"flash", "gemini-2.5-flash-preview-09-2025", reasoning(minimal, 0, false), `{` + hiContents + `,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":128}}}`},
		{"what builds on Gemini 3", "gemini-robotics-er-2-preview", reasoning(low, 0, false), `{` + hiContents + `,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"LOW"}}}`},
		{"unknown model", "gemini-robotics-er", reasoning(high, 0, false), `{` + hiContents + `,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":-1}}}`},
		{"own budget wins", "gemini-2.5-flash", reasoning(low, 5000, false), `{` + hiContents + `,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":5000}}}`},
		{"off", "gemini-2.5-flash", reasoning(none, 0, false), `{` + hiContents + `,"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}`},
		{"summary alone", "gemini-3-pro-preview", reasoning(noEffort, 0, true), `{` + hiContents + `,"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}`},
		{"budget below the limit", "gemini-2.5-flash", f(reasoning(high, 0, false), limit(4000)), `{` + hiContents + `,"generationConfig":{"maxOutputTokens":4000,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":2976}}}`},
		{"little room", "gemini-2.5-flash", f(reasoning(high, 0, false), limit(1025)), `{` + hiContents + `,"generationConfig":{"maxOutputTokens":1025,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":1024}}}`},
		{"no room", "gemini-2.5-flash", f(reasoning(high, 0, false), limit(1024)), `{` + hiContents + `,"generationConfig":{"maxOutputTokens":1024,"thinkingConfig":{"thinkingBudget":0}}}`},
		{"no room, always thinks", "gemini-2.5-pro", f(reasoning(high, 0, false), limit(1000)), `{` + hiContents + `,"generationConfig":{"maxOutputTokens":1000,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":128}}}`},
		{"retention", "gemini-2.5-flash", func(g *llmdv1.Generation) {
			g.Cache = &llmdv1.CacheConfig{Retention: llmdv1.CacheRetention_CACHE_RETENTION_NONE}
		}, `{` + hiContents + `}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := encode(t, New(), c.model, c.edit)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(r.Body); got != c.want {
				t.Errorf("body is\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestEncodeRefusals(t *testing.T) {
	for _, c := range []struct {
		model, capability, field string
		edit                     func(*llmdv1.Generation)
	}{
		{"gemini-2.5-flash", "parallel_tool_calls", "generation.config.parallel_tool_calls", func(g *llmdv1.Generation) {
			config(g).ParallelToolCalls = new(false)
			g.Context.Tools = []*llmdv1.Tool{tool("a", "", 0)}
		}},
		{"gemini-2.5-flash", "verbosity", "generation.config.verbosity", func(g *llmdv1.Generation) { config(g).Verbosity = llmdv1.Verbosity_VERBOSITY_LOW }},
		{"gemini-2.5-flash", "user", "generation.user", func(g *llmdv1.Generation) { g.User = "u" }},
		{"gemini-2.5-flash", "cache_retention", "generation.cache.retention", func(g *llmdv1.Generation) {
			g.Cache = &llmdv1.CacheConfig{Retention: llmdv1.CacheRetention_CACHE_RETENTION_LONG}
		}},
		{"gemini-2.5-flash", "stop_sequences", "generation.config.stop_sequences", func(g *llmdv1.Generation) { config(g).StopSequences = strings.Split("a b c d e f", " ") }},
		{"gemini-2.5-flash", "seed", "generation.config.seed", func(g *llmdv1.Generation) { config(g).Seed = proto.Int64(1 << 31) }},
		{"gemini-2.5-pro", "reasoning_effort", "generation.reasoning.effort", reasoning(none, 0, false)},
		{"gemini-3-pro-preview", "reasoning_effort", "generation.reasoning.effort", reasoning(none, 0, false)},
		{"gemini-2.5-flash", "reasoning_budget", "generation.reasoning.budget_tokens", reasoning(noEffort, 24577, false)},
		{"gemini-2.5-flash-lite", "reasoning_budget", "generation.reasoning.budget_tokens", reasoning(noEffort, 511, false)},
		{"gemini-3-pro-preview", "reasoning_budget", "generation.reasoning.budget_tokens", reasoning(low, 500, false)},
		{"gemma-4-31b-it", "reasoning_budget", "generation.reasoning.budget_tokens", reasoning(noEffort, 500, false)},
		{"gemini-4-argon", "reasoning_budget", "generation.reasoning.budget_tokens", reasoning(noEffort, 500, false)},
		{"gemini-2.5-flash", "strict_tools", "generation.context.tools[1].strict", func(g *llmdv1.Generation) {
			g.Context.Tools = []*llmdv1.Tool{tool("a", "", 0), tool("b", "", llmdv1.StrictMode_STRICT_MODE_REQUIRE)}
		}},
	} {
		_, err := encode(t, New(), c.model, c.edit)
		var e *adapters.CapabilityError
		if !errors.As(err, &e) || e.Capability != c.capability || e.Field != c.field {
			t.Errorf("%s %s: %v", c.model, c.capability, err)
		}
	}
	for _, c := range []struct {
		field string
		edit  func(*llmdv1.Generation)
	}{
		{"generation.config.output_json_schema", func(g *llmdv1.Generation) { config(g).OutputJsonSchema = `[]` }},
		{"generation.context.tools[0].parameters_json_schema", func(g *llmdv1.Generation) { g.Context.Tools = []*llmdv1.Tool{tool("a", `{"a":}`, 0)} }},
		{"generation.provider_options_json[google]", func(g *llmdv1.Generation) { g.ProviderOptionsJson = map[string]string{"google": "{"} }},
	} {
		_, err := encode(t, New(), "gemini-2.5-flash", c.edit)
		var e *adapters.FieldError
		if !errors.As(err, &e) || e.Field != c.field {
			t.Errorf("%s: %v", c.field, err)
		}
	}
}

func TestModelsThatDoNotReason(t *testing.T) {
	call := setup(t, New(), "gemini-2.0-flash", reasoning(none, 0, false))
	call.Model.Reasoning = false
	r, err := New().Encode(call)
	if err != nil || string(r.Body) != `{`+hiContents+`}` {
		t.Errorf("off: %v, %v", r, err)
	}
}

// TestEffortWords: a profile may spell a level its own way, also that of "off".
func TestEffortWords(t *testing.T) {
	for effort, word := range map[llmdv1.ReasoningEffort]string{none: "minimal", llmdv1.ReasoningEffort_REASONING_EFFORT_MAX: "high"} {
		call := setup(t, New(), "gemini-3-pro-preview", nil)
		call.Model.Efforts = profile.Efforts{effort: {Word: word}}
		call.Generation.Reasoning = &llmdv1.ReasoningConfig{Effort: effort}
		o, err := adapters.Negotiate(call.Generation, call.Context, call.Model)
		if err != nil {
			t.Fatal(err)
		}
		call.Options = o
		r, err := New().Encode(call)
		if err != nil || !strings.Contains(string(r.Body), `"thinkingLevel":"`+strings.ToUpper(word)+`"`) {
			t.Errorf("%v: %v, %v", effort, r, err)
		}
		if strings.Contains(string(r.Body), "includeThoughts") != (effort != none) {
			t.Errorf("%v: %s", effort, r.Body)
		}
	}
}

func TestEncodeTools(t *testing.T) {
	prefer, require := llmdv1.StrictMode_STRICT_MODE_PREFER, llmdv1.StrictMode_STRICT_MODE_REQUIRE
	two := func(strict llmdv1.StrictMode) []*llmdv1.Tool {
		return []*llmdv1.Tool{tool("a", `{"type": "object"}`, strict), {Name: "b"}}
	}
	const a = `{"name":"a","description":"d","parametersJsonSchema":{"type": "object"}}`
	const both = `"tools":[{"functionDeclarations":[` + a + `,{"name":"b"}]}]`
	mode := func(word, rest string) string {
		return `,"toolConfig":{"functionCallingConfig":{"mode":"` + word + `"` + rest + `}}`
	}
	by := func(m llmdv1.ToolMode) *llmdv1.ToolChoice {
		return &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: m}}
	}
	for _, c := range []struct {
		name, model string
		strict      llmdv1.StrictMode
		choice      *llmdv1.ToolChoice
		want        string
	}{
		{"no rule", "gemini-2.5-flash", 0, nil, both},
		{"auto", "gemini-2.5-flash", 0, by(llmdv1.ToolMode_TOOL_MODE_AUTO), both + mode("AUTO", "")},
		{"none", "gemini-2.5-flash", require, by(llmdv1.ToolMode_TOOL_MODE_NONE), both + mode("NONE", "")},
		{"any", "gemini-2.5-flash", require, by(llmdv1.ToolMode_TOOL_MODE_REQUIRED), both + mode("ANY", "")},
		{
			"by name", "gemini-2.5-flash", 0, &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_ToolName{ToolName: "a"}},
			`"tools":[{"functionDeclarations":[` + a + `]}]` + mode("ANY", `,"allowedFunctionNames":["a"]`),
		},
		{"strict", "gemini-3-flash-preview", require, nil, both + mode("VALIDATED", "")},
		{"strict and auto", "gemini-3.1-pro", prefer, by(llmdv1.ToolMode_TOOL_MODE_AUTO), both + mode("VALIDATED", "")},
		{"preferred in vain", "gemini-2.5-flash", prefer, nil, both},
	} {
		r, err := encode(t, New(), c.model, func(g *llmdv1.Generation) {
			g.Context.Tools, g.ToolChoice = two(c.strict), c.choice
		})
		if want := `{` + c.want + `,` + hiContents + `}`; err != nil || string(r.Body) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, r.Body, want)
		}
	}
}

func TestRequest(t *testing.T) {
	for id, want := range map[string]string{
		"gemini-2.5-flash":                "/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
		"models/gemini-1.5-flash":         "/models/gemini-1.5-flash:streamGenerateContent?alt=sse",
		"google/gemini-3.1-pro-preview":   "/models/gemini-3.1-pro-preview:streamGenerateContent?alt=sse",
		"publishers/google/models/gemini": "/models/gemini:streamGenerateContent?alt=sse",
		"a/b?c d":                         "/models/a%2Fb%3Fc%20d:streamGenerateContent?alt=sse",
	} {
		r, err := encode(t, New(), id, nil)
		if err != nil || r.Path != want || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v, path %q", id, err, r.Path)
		}
	}
	// Vertex is told of a tier by a header, and of the usual one not at all.
	for tier, want := range map[llmdv1.ServiceTier]string{
		llmdv1.ServiceTier_SERVICE_TIER_FAST: "priority", llmdv1.ServiceTier_SERVICE_TIER_FLEX: "flex",
		llmdv1.ServiceTier_SERVICE_TIER_STANDARD: "", llmdv1.ServiceTier_SERVICE_TIER_UNSPECIFIED: "",
	} {
		r, err := encode(t, NewVertex(), "gemini-2.5-flash", func(g *llmdv1.Generation) { config(g).ServiceTier = tier })
		if err != nil || r.Header.Get(tierHeader) != want || string(r.Body) != `{`+hiContents+`}` || r.Effective.GetServiceTier() != tier {
			t.Errorf("%v: %v, %q, %s", tier, err, r.Header.Get(tierHeader), r.Body)
		}
	}
}

func TestEffective(t *testing.T) {
	r, err := encode(t, New(), "gemini-2.5-flash", func(g *llmdv1.Generation) {
		reasoning(high, 0, false)(g)
		config(g).MaxOutputTokens = proto.Int32(4000)
		g.Context.Tools = []*llmdv1.Tool{tool("a", "", 0)}
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &llmdv1.EffectiveOptions{
		ReasoningEffort: high, MaxOutputTokens: 4000, ToolNames: []string{"a"},
		Adjustments: []string{"the thinking budget is 2976 tokens instead of 24576, to fit the output limit of 4000"},
	}
	if diff := cmp.Diff(want, r.Effective, protocmp.Transform()); diff != "" {
		t.Errorf("shrunk (-want +got):\n%s", diff)
	}
	r, err = encode(t, New(), "gemini-2.5-flash", func(g *llmdv1.Generation) {
		reasoning(high, 0, false)(g)
		config(g).MaxOutputTokens = proto.Int32(100)
	})
	if err != nil {
		t.Fatal(err)
	}
	want = &llmdv1.EffectiveOptions{ReasoningEffort: none, MaxOutputTokens: 100, ReasoningDisabledReason: "an output limit of 100 tokens leaves no room for the least thinking budget, 1,024 tokens"}
	if diff := cmp.Diff(want, r.Effective, protocmp.Transform()); diff != "" {
		t.Errorf("off (-want +got):\n%s", diff)
	}
}

func TestConstraints(t *testing.T) {
	constraints := func(id string) adapters.Constraints {
		return New().Constraints(&profile.Model{ID: id, Provider: "google", API: geminiAPI, Endpoint: "e"})
	}
	c := constraints("gemini-2.5-flash")
	if c.CallSignature != nil || c.ToolCallIDs != (adapters.IDRule{}) || !c.Prefill || !c.MergeTurns || !c.UserFirst || !c.ToolErrorFlag || !c.ProviderContent || c.Images {
		t.Errorf("2.5: %+v", c)
	}
	// https://ai.google.dev/api/caching#Part: "A base64-encoded string".
	for data, ok := range map[string]bool{"QUI=": true, "QUI": true, "_-8=": true, bypassSignature: true, "not base64": false, "A": false, "": false} {
		if c.Carries(&llmdv1.Signature{Data: []byte(data), Format: signatureFormat}) != ok {
			t.Errorf("%q is carried: %v", data, !ok)
		}
	}
	for id, prefill := range map[string]bool{
		"gemini-3-pro-preview": true, "gemini-3.1-pro": true, "gemini-3.5-flash": true, "gemini-robotics-er-2-preview": true,
		"gemini-3.5-flash-lite": false, "gemini-3.6-flash": false, "gemini-4-argon": false, "gemini-flash-latest": false,
	} {
		c := constraints(id)
		want := &llmdv1.Signature{Data: []byte("skip_thought_signature_validator"), Format: "google.thought", Api: geminiAPI, Provider: "google", Model: id, Endpoint: "e"}
		if c.Prefill != prefill || !proto.Equal(c.CallSignature, want) || c.ToolCallIDs.MaxLen != 64 {
			t.Errorf("%s: %+v", id, c)
		}
	}
}

// A name that Google would refuse is refused here, naming the tool.
func TestToolNames(t *testing.T) {
	for name, ok := range map[string]bool{"look": true, "_look": true, "1st": false, "-x": false} {
		_, err := encode(t, New(), "gemini-2.5-flash", func(g *llmdv1.Generation) {
			g.Context.Tools = []*llmdv1.Tool{tool("first", "{}", 0), tool(name, "{}", 0)}
		})
		e, refused := errors.AsType[*adapters.CapabilityError](err)
		if ok != (err == nil) || refused && e.Field != "generation.context.tools[1].name" {
			t.Errorf("%q: %v", name, err)
		}
	}
}

package mistral_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/mistral"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Histories are built with these.
var (
	userMessage      = adaptertest.User
	userText         = adaptertest.UserText
	userImage        = adaptertest.UserImage
	assistantMessage = adaptertest.Assistant
	assistantText    = adaptertest.Says
	assistantCall    = adaptertest.Calls
	resultText       = adaptertest.ResultText
	resultImage      = adaptertest.ResultImage
)

const (
	none   = llmdv1.ReasoningEffort_REASONING_EFFORT_NONE
	low    = llmdv1.ReasoningEffort_REASONING_EFFORT_LOW
	medium = llmdv1.ReasoningEffort_REASONING_EFFORT_MEDIUM
	high   = llmdv1.ReasoningEffort_REASONING_EFFORT_HIGH
)

func model() *profile.Model {
	return &profile.Model{
		ID: "m1", Provider: "mistral", API: "mistral-conversations", Reasoning: true,
		Input:  []llmdv1.Modality{llmdv1.Modality_MODALITY_TEXT, llmdv1.Modality_MODALITY_IMAGE},
		Compat: profile.Defaults("mistral-conversations"),
	}
}

func ask(more ...*llmdv1.Message) *llmdv1.Generation {
	return &llmdv1.Generation{Context: &llmdv1.Context{Messages: append([]*llmdv1.Message{userMessage(userText("hi"))}, more...)}}
}

func assistantThinking(text, signature string) *llmdv1.AssistantContent {
	t := &llmdv1.ThinkingContent{Thinking: text}
	if signature != "" {
		t.Signature = &llmdv1.Signature{Format: "mistral.thinking", Data: []byte(signature)}
	}
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: t}}
}

func assistantOwn(raw string) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ProviderContent{ProviderContent: &llmdv1.ProviderContent{RawJson: []byte(raw)}}}
}

func result(id, name string, content ...*llmdv1.ToolResultContent) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: &llmdv1.ToolResultMessage{ToolCallId: id, ToolName: name, Content: content}}}
}

func png() *llmdv1.ImageContent {
	return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: []byte("\x89PNG\r\n\x1a\n")}, MimeType: "image/jpeg"}
}

func link(uri string) *llmdv1.ImageContent {
	return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: uri}}
}

// pngJSON is png on the wire: the bytes decide about the type.
const pngJSON = `{"type":"image_url","image_url":"data:image/png;base64,iVBORw0KGgo="}`

func request(t *testing.T, m *profile.Model, g *llmdv1.Generation) (*adapters.Request, error) {
	t.Helper()
	return adaptertest.Encode(t, mistral.New(), g, m)
}

// member is one member of a body as text; empty = absent.
func member(t *testing.T, body []byte, key string) string {
	t.Helper()
	ms, err := jsonwire.Members(body)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range ms {
		if m.Key == key {
			return string(m.Value)
		}
	}
	return ""
}

// TestBody: one whole body, byte for byte. The order is part of prompt prefixes.
func TestBody(t *testing.T) {
	m := model()
	m.Efforts = profile.Efforts{none: {Word: "none"}, low: {Unsupported: true}}
	g := ask()
	g.Context.SystemPrompt = "Be <brief>."
	g.Context.Tools = []*llmdv1.Tool{{Name: "f", Description: "d", ParametersJsonSchema: `{ "type":"object" }`}, {Name: "g", Strict: llmdv1.StrictMode_STRICT_MODE_PREFER}}
	g.ConversationId = "conv"
	g.Config = &llmdv1.GenerationConfig{
		Temperature: new(0.1), TopP: proto.Float64(1), TopK: proto.Int32(3), MaxOutputTokens: proto.Int32(100), StopSequences: []string{"\n", "b"}, Seed: proto.Int64(7),
		OutputJsonSchema: `{"type":"object" }`, ParallelToolCalls: new(false), ServiceTier: llmdv1.ServiceTier_SERVICE_TIER_STANDARD,
	}
	g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: llmdv1.ToolMode_TOOL_MODE_AUTO}}
	g.Reasoning = &llmdv1.ReasoningConfig{Effort: high}
	want := `{"model":"m1","stream":true,"max_tokens":100,"temperature":0.1,"top_p":1,"top_k":3,"random_seed":7,"stop":["\n","b"],` +
		`"reasoning_effort":"high","prompt_cache_key":"conv",` +
		`"response_format":{"type":"json_schema","json_schema":{"name":"output","schema":{"type":"object" },"strict":true}},` +
		`"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{ "type":"object" },"strict":false}},` +
		`{"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{}},"strict":false}}],"tool_choice":"auto","parallel_tool_calls":false,` +
		`"messages":[{"role":"system","content":"Be <brief>."},{"role":"user","content":"hi"}]}`
	r, err := request(t, m, g)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(r.Body)); d != "" {
		t.Error(d)
	}
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}, "X-Affinity": {"conv"}}
	if d := cmp.Diff(header, r.Header); d != "" || r.Path != "/chat/completions" {
		t.Errorf("path %q, header %s", r.Path, d)
	}
	effective := &llmdv1.EffectiveOptions{
		ReasoningEffort: high, MaxOutputTokens: 100, ToolNames: []string{"f", "g"}, ServiceTier: llmdv1.ServiceTier_SERVICE_TIER_STANDARD,
	}
	if d := cmp.Diff(effective, r.Effective, protocmp.Transform()); d != "" {
		t.Errorf("effective: %s", d)
	}
}

// TestMembers: an option and the members it becomes; empty = none.
func TestMembers(t *testing.T) {
	tools := func(g *llmdv1.Generation) { g.Context.Tools = []*llmdv1.Tool{{Name: "f"}, {Name: "g"}} }
	mode := func(m llmdv1.ToolMode) func(*profile.Model, *llmdv1.Generation) {
		return func(_ *profile.Model, g *llmdv1.Generation) {
			tools(g)
			g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: m}}
		}
	}
	effort := func(e llmdv1.ReasoningEffort, efforts profile.Efforts) func(*profile.Model, *llmdv1.Generation) {
		return func(m *profile.Model, g *llmdv1.Generation) {
			m.Efforts = efforts
			g.Reasoning = &llmdv1.ReasoningConfig{Effort: e}
		}
	}
	tier := func(known bool, s llmdv1.ServiceTier) func(*profile.Model, *llmdv1.Generation) {
		return func(m *profile.Model, g *llmdv1.Generation) {
			m.Compat.SupportsServiceTier = known
			g.Config = &llmdv1.GenerationConfig{ServiceTier: s}
		}
	}
	strict := func(s llmdv1.StrictMode) func(*profile.Model, *llmdv1.Generation) {
		return func(m *profile.Model, g *llmdv1.Generation) {
			m.Compat.SupportsStrictMode = true
			g.Context.Tools = []*llmdv1.Tool{{Name: "f", Strict: s}}
		}
	}
	function := func(strict string) string {
		return `[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}},"strict":` + strict + `}}]`
	}
	const strictFunction = `[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{},"required":[],"additionalProperties":false},"strict":true}}]`
	four := profile.Efforts{none: {Unsupported: true}, medium: {Word: "mid"}}
	for name, c := range map[string]struct {
		set  func(*profile.Model, *llmdv1.Generation)
		want map[string]string
	}{
		"nothing asked":     {func(*profile.Model, *llmdv1.Generation) {}, map[string]string{"stream": "true", "max_tokens": "", "tools": "", "tool_choice": "", "reasoning_effort": "", "prompt_mode": "", "prompt_cache_key": "", "service_tier": ""}},
		"tools, no rule":    {mode(llmdv1.ToolMode_TOOL_MODE_UNSPECIFIED), map[string]string{"tool_choice": "", "parallel_tool_calls": ""}},
		"tools none":        {mode(llmdv1.ToolMode_TOOL_MODE_NONE), map[string]string{"tool_choice": `"none"`}},
		"tools required":    {mode(llmdv1.ToolMode_TOOL_MODE_REQUIRED), map[string]string{"tool_choice": `"any"`}},
		"a word of its own": {effort(medium, four), map[string]string{"reasoning_effort": `"mid"`, "prompt_mode": ""}},
		"the usual word":    {effort(low, four), map[string]string{"reasoning_effort": `"low"`, "prompt_mode": ""}},
		"off by its word":   {effort(none, profile.Efforts{none: {Word: "off"}}), map[string]string{"reasoning_effort": `"off"`}},
		"off":               {effort(none, profile.Efforts{low: {Unsupported: true}}), map[string]string{"reasoning_effort": `"none"`}},
		"prompt mode":       {effort(low, nil), map[string]string{"reasoning_effort": "", "prompt_mode": `"reasoning"`}},
		"prompt mode off":   {effort(none, nil), map[string]string{"reasoning_effort": "", "prompt_mode": "null"}},
		"it does not reason": {func(m *profile.Model, g *llmdv1.Generation) {
			m.Reasoning = false
			g.Reasoning = &llmdv1.ReasoningConfig{Effort: none}
		}, map[string]string{"reasoning_effort": "", "prompt_mode": ""}},
		"one tool": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.Context.Tools = []*llmdv1.Tool{{Name: "g"}, {Name: "f"}}
			g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_ToolName{ToolName: "f"}}
		}, map[string]string{"tool_choice": `{"type":"function","function":{"name":"f"}}`, "tools": function("false")}},
		"strict off":              {strict(llmdv1.StrictMode_STRICT_MODE_OFF), map[string]string{"tools": function("false")}},
		"strict preferred":        {strict(llmdv1.StrictMode_STRICT_MODE_PREFER), map[string]string{"tools": strictFunction}},
		"strict required":         {strict(llmdv1.StrictMode_STRICT_MODE_REQUIRE), map[string]string{"tools": strictFunction}},
		"fast tier":               {tier(true, llmdv1.ServiceTier_SERVICE_TIER_FAST), map[string]string{"service_tier": `"auto"`}},
		"standard tier":           {tier(true, llmdv1.ServiceTier_SERVICE_TIER_STANDARD), map[string]string{"service_tier": `"standard_only"`}},
		"standard tier elsewhere": {tier(false, llmdv1.ServiceTier_SERVICE_TIER_STANDARD), map[string]string{"service_tier": ""}},
		"a long key": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.Cache = &llmdv1.CacheConfig{SessionKey: strings.Repeat("é", 70)}
		}, map[string]string{"prompt_cache_key": `"` + strings.Repeat("é", 64) + `"`}},
		"no caching": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.Cache = &llmdv1.CacheConfig{SessionKey: "k", Retention: llmdv1.CacheRetention_CACHE_RETENTION_NONE}
		}, map[string]string{"prompt_cache_key": ""}},
		"no key in the body": {func(m *profile.Model, g *llmdv1.Generation) {
			m.Compat.PromptCacheKeyMode, g.ConversationId = "disabled", "k"
		}, map[string]string{"prompt_cache_key": ""}},
		"options of the provider": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.ProviderOptionsJson = map[string]string{"mistral": `{"stream":false,"safe_prompt":true,"messages":null}`, "openai": `{"n":2}`}
		}, map[string]string{"stream": "true", "safe_prompt": "true", "n": "", "messages": ""}},
	} {
		m, g := model(), ask()
		c.set(m, g)
		r, err := request(t, m, g)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for key, want := range c.want {
			if got := member(t, r.Body, key); got != want {
				t.Errorf("%s: %s is %s, want %s", name, key, got, want)
			}
		}
	}
}

// TestAdjustments: what is not quite as asked is said.
func TestAdjustments(t *testing.T) {
	m, g := model(), ask()
	m.Compat.SupportsServiceTier = true
	g.Reasoning = &llmdv1.ReasoningConfig{Effort: low, IncludeSummary: true}
	g.Config = &llmdv1.GenerationConfig{ServiceTier: llmdv1.ServiceTier_SERVICE_TIER_FAST}
	r, err := request(t, m, g)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(r.Effective.GetAdjustments(), "\n")
	for _, word := range []string{"include_summary", "effort low", "service_tier"} {
		if !strings.Contains(all, word) {
			t.Errorf("nothing about %s in %q", word, all)
		}
	}
}

// TestRefused: what the API cannot carry is an error that names the field.
func TestRefused(t *testing.T) {
	config := func(c *llmdv1.GenerationConfig) func(*profile.Model, *llmdv1.Generation) {
		return func(_ *profile.Model, g *llmdv1.Generation) { g.Config = c }
	}
	for name, c := range map[string]struct {
		set        func(*profile.Model, *llmdv1.Generation)
		capability string // empty = a FieldError
		field      string
	}{
		"verbosity":     {config(&llmdv1.GenerationConfig{Verbosity: llmdv1.Verbosity_VERBOSITY_LOW}), "verbosity", "generation.config.verbosity"},
		"seed":          {config(&llmdv1.GenerationConfig{Seed: proto.Int64(-1)}), "seed", "generation.config.seed"},
		"flex tier":     {config(&llmdv1.GenerationConfig{ServiceTier: llmdv1.ServiceTier_SERVICE_TIER_FLEX}), "service_tier", "generation.config.service_tier"},
		"fast tier":     {config(&llmdv1.GenerationConfig{ServiceTier: llmdv1.ServiceTier_SERVICE_TIER_FAST}), "service_tier", "generation.config.service_tier"},
		"output schema": {config(&llmdv1.GenerationConfig{OutputJsonSchema: `[]`}), "", "generation.config.output_json_schema"},
		"user":          {func(_ *profile.Model, g *llmdv1.Generation) { g.User = "u" }, "user", "generation.user"},
		"retention": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.Cache = &llmdv1.CacheConfig{Retention: llmdv1.CacheRetention_CACHE_RETENTION_LONG}
		}, "cache_retention", "generation.cache.retention"},
		"budget": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.Reasoning = &llmdv1.ReasoningConfig{BudgetTokens: proto.Int32(2048)}
		}, "reasoning_budget", "generation.reasoning.budget_tokens"},
		"strict tool": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.Context.Tools = []*llmdv1.Tool{{Name: "f"}, {Name: "g", Strict: llmdv1.StrictMode_STRICT_MODE_REQUIRE}}
		}, "strict_tools", "generation.context.tools[1].strict"},
		"tool's schema": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.Context.Tools = []*llmdv1.Tool{{Name: "f", ParametersJsonSchema: `{`}}
		}, "", "generation.context.tools[0].parameters_json_schema"},
		"no tool": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: llmdv1.ToolMode_TOOL_MODE_REQUIRED}}
		}, "", "generation.tool_choice"},
		"provider options": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.ProviderOptionsJson = map[string]string{"mistral": `[]`}
		}, "", "generation.provider_options_json[mistral]"},
		"image uri": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.Context.Messages = append(g.Context.Messages, userMessage(userText("a"), userImage(link("gs://b"))))
		}, "", "generation.context.messages[1].user.content[1].image.uri"},
		"image without bytes": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.Context.Messages = append(g.Context.Messages, result("a", "f", resultImage(&llmdv1.ImageContent{MimeType: "image/png"})))
		}, "", "generation.context.messages[1].tool_result.content[0].image.data"},
		"image without type": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.Context.Messages = append(g.Context.Messages, userMessage(userImage(link("data:;base64,QUJD"))))
		}, "", "generation.context.messages[1].user.content[0].image.mime_type"},
	} {
		m, g := model(), ask()
		c.set(m, g)
		_, err := request(t, m, g)
		var capability *adapters.CapabilityError
		var field *adapters.FieldError
		switch {
		case errors.As(err, &capability):
			if capability.Capability != c.capability || capability.Field != c.field {
				t.Errorf("%s: %s at %s, want %s at %s", name, capability.Capability, capability.Field, c.capability, c.field)
			}
		case errors.As(err, &field):
			if c.capability != "" || field.Field != c.field {
				t.Errorf("%s: field %s, want %s %s", name, field.Field, c.capability, c.field)
			}
		default:
			t.Errorf("%s: %v", name, err)
		}
	}
}

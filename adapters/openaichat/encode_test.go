package openaichat

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

const png = "\x89PNG\r\n\x1a\n"

func picture1() *llmdv1.ImageContent {
	return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: []byte(png)}, MimeType: "image/jpeg"}
}

// pictureJSON is it on the wire: the bytes decide about the type.
const pictureJSON = `{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}`

func ask(more ...*llmdv1.Message) *llmdv1.Generation {
	return &llmdv1.Generation{Context: &llmdv1.Context{Messages: append([]*llmdv1.Message{userMessage([]string{"hi"})}, more...)}}
}

// member is one member of a body as text; empty = absent.
func member(t *testing.T, body, key string) string {
	t.Helper()
	ms, err := jsonwire.Members([]byte(body))
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
	m.Reasoning = true
	m.Compat.SupportsStore, m.Compat.SupportsDeveloperRole, m.Compat.SupportsServiceTier, m.Compat.SupportsVerbosity = true, true, true, true
	m.Compat.PromptCacheKeyMode = "enabled"
	m.Compat.SupportsStrictMode, m.Compat.SupportsTemperature = true, true
	m.ID = "gpt-5-mini"
	g := ask()
	g.Context.SystemPrompt = "Be <brief>."
	g.Context.Tools = []*llmdv1.Tool{{Name: "f", Description: "d", ParametersJsonSchema: `{ "type":"object" }`}, {Name: "g"}}
	g.ConversationId, g.User = "conv", "u1"
	g.Config = &llmdv1.GenerationConfig{
		Temperature: new(0.1), TopP: proto.Float64(1), MaxOutputTokens: proto.Int32(100), StopSequences: []string{"\n"}, Seed: proto.Int64(-7),
		OutputJsonSchema: `{"type":"object","properties":{},"required":[],"additionalProperties":false }`, ParallelToolCalls: new(false),
		ServiceTier: llmdv1.ServiceTier_SERVICE_TIER_FLEX, Verbosity: llmdv1.Verbosity_VERBOSITY_LOW,
	}
	g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: llmdv1.ToolMode_TOOL_MODE_AUTO}}
	g.Reasoning = &llmdv1.ReasoningConfig{Effort: llmdv1.ReasoningEffort_REASONING_EFFORT_LOW}
	want := `{"model":"gpt-5-mini","stream":true,"stream_options":{"include_usage":true},"store":false,"max_completion_tokens":100,"temperature":0.1,"top_p":1,"seed":-7,"stop":["\n"],` +
		`"reasoning_effort":"low","service_tier":"flex","verbosity":"low","user":"u1","prompt_cache_key":"conv",` +
		`"response_format":{"type":"json_schema","json_schema":{"name":"output","strict":true,"schema":{"type":"object","properties":{},"required":[],"additionalProperties":false }}},` +
		`"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{ "type":"object" ,"properties":{}},"strict":false}},` +
		`{"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{}},"strict":false}}],"tool_choice":"auto","parallel_tool_calls":false,` +
		`"messages":[{"role":"developer","content":"Be <brief>."},{"role":"user","content":"hi"}]}`
	r, err := request(t, m, g)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(r.Body)); d != "" {
		t.Error(d)
	}
	if r.Path != "/chat/completions" || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Accept") != "text/event-stream" {
		t.Errorf("path %q, header %v", r.Path, r.Header)
	}
	e := r.Effective
	if e.GetMaxOutputTokens() != 100 || e.GetReasoningEffort() != llmdv1.ReasoningEffort_REASONING_EFFORT_LOW || len(e.GetToolNames()) != 2 ||
		e.GetServiceTier() != llmdv1.ServiceTier_SERVICE_TIER_FLEX || len(e.GetAdjustments()) != 0 {
		t.Errorf("effective %v", e)
	}
}

// TestMembers: an option and the member it becomes; empty = none.
func TestMembers(t *testing.T) {
	long := &llmdv1.CacheConfig{Retention: llmdv1.CacheRetention_CACHE_RETENTION_LONG, SessionKey: "s"}
	strict := func(mode llmdv1.StrictMode, schema string) func(*profile.Model, *llmdv1.Generation) {
		return func(m *profile.Model, g *llmdv1.Generation) {
			m.Compat.SupportsStrictMode = true
			g.Context.Tools = []*llmdv1.Tool{{Name: "f", ParametersJsonSchema: schema, Strict: mode}}
		}
	}
	tools := func(g *llmdv1.Generation) { g.Context.Tools = []*llmdv1.Tool{{Name: "f"}, {Name: "g"}} }
	none := &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: llmdv1.ToolMode_TOOL_MODE_NONE}}
	named := &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_ToolName{ToolName: "g"}}
	required := &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: llmdv1.ToolMode_TOOL_MODE_REQUIRED}}
	for name, c := range map[string]struct {
		set  func(*profile.Model, *llmdv1.Generation)
		want map[string]string
	}{
		"no usage": {func(m *profile.Model, _ *llmdv1.Generation) { m.Compat.SupportsUsageInStreaming = false }, map[string]string{"stream_options": "", "store": ""}},
		"max_tokens": {func(m *profile.Model, g *llmdv1.Generation) {
			m.Compat.MaxTokensField = "max_tokens"
			g.Config = &llmdv1.GenerationConfig{MaxOutputTokens: proto.Int32(9)}
		}, map[string]string{"max_tokens": "9"}},
		"no limit":       {func(m *profile.Model, _ *llmdv1.Generation) { m.MaxOutput, m.ContextWindow = 100, 1000 }, map[string]string{"max_completion_tokens": ""}},
		"tools none":     {func(_ *profile.Model, g *llmdv1.Generation) { tools(g); g.ToolChoice = none }, map[string]string{"tool_choice": `"none"`}},
		"tools required": {func(_ *profile.Model, g *llmdv1.Generation) { tools(g); g.ToolChoice = required }, map[string]string{"tool_choice": `"required"`}},
		"one tool":       {func(_ *profile.Model, g *llmdv1.Generation) { tools(g); g.ToolChoice = named }, map[string]string{"tool_choice": `{"type":"function","function":{"name":"g"}}`, "tools": `[{"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{}}}}]`}},
		"choice without tools": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.ToolChoice = none
			g.Config = &llmdv1.GenerationConfig{ParallelToolCalls: new(true)}
		}, map[string]string{"tool_choice": "", "tools": "", "parallel_tool_calls": ""}},
		"tool stream":           {func(m *profile.Model, g *llmdv1.Generation) { tools(g); m.Compat.ZaiToolStream = true }, map[string]string{"tool_stream": "true"}},
		"strict off":            {strict(llmdv1.StrictMode_STRICT_MODE_OFF, ""), map[string]string{"tools": `[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}},"strict":false}}]`}},
		"strict, no parameters": {strict(llmdv1.StrictMode_STRICT_MODE_REQUIRE, ""), map[string]string{"tools": `[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{},"required":[],"additionalProperties":false},"strict":true}}]`}},
		"strict preferred":      {strict(llmdv1.StrictMode_STRICT_MODE_PREFER, `{"type":"object","oneOf":[]}`), map[string]string{"tools": `[{"type":"function","function":{"name":"f","parameters":{"type":"object","oneOf":[],"properties":{}},"strict":false}}]`}},
		"what OpenAI refuses at the top": {func(m *profile.Model, g *llmdv1.Generation) {
			m.Compat.SupportsDeveloperRole = true
			g.Context.Tools = []*llmdv1.Tool{{Name: "f", ParametersJsonSchema: `{"type":"object","oneOf":[{"properties":{"a":{"type":"string"}}}]}`}}
		}, map[string]string{"tools": `[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}}]`}},
		"key, short":          {func(_ *profile.Model, g *llmdv1.Generation) { g.ConversationId = "s" }, map[string]string{"prompt_cache_key": "", "prompt_cache_retention": ""}},
		"key, long":           {func(_ *profile.Model, g *llmdv1.Generation) { g.Cache = long }, map[string]string{"prompt_cache_key": `"s"`, "prompt_cache_retention": `"24h"`}},
		"key, long, disabled": {func(m *profile.Model, g *llmdv1.Generation) { m.Compat.PromptCacheKeyMode = "disabled"; g.Cache = long }, map[string]string{"prompt_cache_key": "", "prompt_cache_retention": `"24h"`}},
		"key, none": {func(m *profile.Model, g *llmdv1.Generation) {
			m.Compat.PromptCacheKeyMode, g.ConversationId = "enabled", "s"
			g.Cache = &llmdv1.CacheConfig{Retention: llmdv1.CacheRetention_CACHE_RETENTION_NONE}
		}, map[string]string{"prompt_cache_key": ""}},
		"key, cut": {func(m *profile.Model, g *llmdv1.Generation) {
			m.Compat.PromptCacheKeyMode, g.ConversationId = "enabled", strings.Repeat("é", 70)
		}, map[string]string{"prompt_cache_key": `"` + strings.Repeat("é", 64) + `"`}},
		"routing": {func(m *profile.Model, _ *llmdv1.Generation) {
			priority := -1
			m.Compat.OpenRouterRouting, m.Compat.VercelGatewayRouting, m.Compat.VLLMPriority = `{"order": ["a"]}`, `{"only":["b"]}`, &priority
		}, map[string]string{"provider": `{"order": ["a"]}`, "providerOptions": `{"gateway":{"only":["b"]}}`, "priority": "-1"}},
		"standard tier anywhere": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.Config = &llmdv1.GenerationConfig{ServiceTier: llmdv1.ServiceTier_SERVICE_TIER_STANDARD}
		}, map[string]string{"service_tier": ""}},
		"fast tier": {func(m *profile.Model, g *llmdv1.Generation) {
			m.Compat.SupportsServiceTier = true
			g.Config = &llmdv1.GenerationConfig{ServiceTier: llmdv1.ServiceTier_SERVICE_TIER_FAST}
		}, map[string]string{"service_tier": `"priority"`}},
		"provider options": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.ProviderOptionsJson = map[string]string{"lab": `{"top_k":5,"stream":false,"stream_options":null}`, "other": `[`}
		}, map[string]string{"top_k": "5", "stream": "true", "stream_options": ""}},
		"a schema that is not strict": {func(m *profile.Model, g *llmdv1.Generation) {
			m.Compat.SupportsStrictMode = true
			g.Config = &llmdv1.GenerationConfig{OutputJsonSchema: `{"type":"object"}`}
		}, map[string]string{"response_format": `{"type":"json_schema","json_schema":{"name":"output","schema":{"type":"object"}}}`}},
		"no tools, but a history of calls": {func(m *profile.Model, g *llmdv1.Generation) {
			m.Compat.RequiresToolsWithToolHistory = true
			g.Context.Messages = append(g.Context.Messages, assistantMessage(assistantCall("1", "f", "")), resultMessage("1", "f", nil))
		}, map[string]string{"tools": "[]"}},
		"no tools, no calls": {func(m *profile.Model, _ *llmdv1.Generation) { m.Compat.RequiresToolsWithToolHistory = true }, map[string]string{"tools": ""}},
	} {
		m, g := model(), ask()
		c.set(m, g)
		body := encode(t, m, g)
		for key, want := range c.want {
			if got := member(t, body, key); got != want {
				t.Errorf("%s: %s is %s, want %s", name, key, got, want)
			}
		}
	}
}

// TestRefused: what cannot be carried is refused and named, never dropped.
func TestRefused(t *testing.T) {
	config := func(c *llmdv1.GenerationConfig) func(*profile.Model, *llmdv1.Generation) {
		return func(_ *profile.Model, g *llmdv1.Generation) { g.Config = c }
	}
	for name, c := range map[string]struct {
		set   func(*profile.Model, *llmdv1.Generation)
		field string
	}{
		"top_k":               {config(&llmdv1.GenerationConfig{TopK: proto.Int32(3)}), "generation.config.top_k"},
		"stops":               {config(&llmdv1.GenerationConfig{StopSequences: make([]string, 5)}), "generation.config.stop_sequences"},
		"tier":                {config(&llmdv1.GenerationConfig{ServiceTier: llmdv1.ServiceTier_SERVICE_TIER_FLEX}), "generation.config.service_tier"},
		"schema":              {config(&llmdv1.GenerationConfig{OutputJsonSchema: `[]`}), "generation.config.output_json_schema"},
		"verbosity of a host": {config(&llmdv1.GenerationConfig{Verbosity: llmdv1.Verbosity_VERBOSITY_LOW}), "generation.config.verbosity"},
		"verbosity of a model": {func(m *profile.Model, g *llmdv1.Generation) {
			m.Compat.SupportsVerbosity = true
			g.Config = &llmdv1.GenerationConfig{Verbosity: llmdv1.Verbosity_VERBOSITY_LOW}
		}, "generation.config.verbosity"},
		"retention": {func(m *profile.Model, g *llmdv1.Generation) {
			m.Compat.SupportsLongCacheRetention = false
			g.Cache = &llmdv1.CacheConfig{Retention: llmdv1.CacheRetention_CACHE_RETENTION_LONG}
		}, "generation.cache.retention"},
		"strict tools of a host": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.Context.Tools = []*llmdv1.Tool{{Name: "f"}, {Name: "g", Strict: llmdv1.StrictMode_STRICT_MODE_REQUIRE}}
			g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_ToolName{ToolName: "g"}}
		}, "generation.context.tools[1].strict"},
		"strict tools of a schema": {func(m *profile.Model, g *llmdv1.Generation) {
			m.Compat.SupportsStrictMode = true
			g.Context.Tools = []*llmdv1.Tool{{Name: "f", ParametersJsonSchema: `{"type":"object","additionalProperties":true}`, Strict: llmdv1.StrictMode_STRICT_MODE_REQUIRE}}
		}, "generation.context.tools[0].strict"},
		"a tool's schema": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.Context.Tools = []*llmdv1.Tool{{Name: "f", ParametersJsonSchema: `{"type":`}}
		}, "generation.context.tools[0].parameters_json_schema"},
		"no tool to call": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: llmdv1.ToolMode_TOOL_MODE_REQUIRED}}
		}, "generation.tool_choice"},
		"provider options": {func(_ *profile.Model, g *llmdv1.Generation) { g.ProviderOptionsJson = map[string]string{"lab": "["} }, "generation.provider_options_json[lab]"},
		"an image's URL": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.Context.Messages = []*llmdv1.Message{userMessage([]string{"a"}, &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: "gs://x"}})}
		}, "generation.context.messages[0].user.content[1].image.uri"},
		"an image's type": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.Context.Messages = append(g.Context.Messages, resultMessage("1", "f", nil, &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: []byte("BM")}}))
		}, "generation.context.messages[1].tool_result.content[0].image.mime_type"},
		"a broken list of details": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.Context.Messages = append(g.Context.Messages, assistantMessage(assistantThinking("", formatDetails, `[{`)))
		}, "generation.context.messages[1].assistant.content[0].thinking.signature.data"},
		"a broken list of blocks": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.Context.Messages = append(g.Context.Messages, assistantMessage(assistantThinking("", formatBlocks, `[],"role":"user"`)))
		}, "generation.context.messages[1].assistant.content[0].thinking.signature.data"},
		"a broken signature of a text": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.Context.Messages = append(g.Context.Messages, assistantMessage(signedText("a", `1,"role":"user"`)))
		}, "generation.context.messages[1].assistant.content[0].text.signature.data"},
		"a broken signature of a call": {func(_ *profile.Model, g *llmdv1.Generation) {
			g.Context.Messages = append(g.Context.Messages, assistantMessage(googleCall("1", `{}}`)))
		}, "generation.context.messages[1].assistant.content[0].tool_call.signature.data"},
	} {
		m, g := model(), ask()
		c.set(m, g)
		_, err := request(t, m, g)
		var capability *adapters.CapabilityError
		var field *adapters.FieldError
		switch {
		case errors.As(err, &capability) && capability.Field == c.field:
		case errors.As(err, &field) && field.Field == c.field:
		default:
			t.Errorf("%s: %v, want the field %s", name, err, c.field)
		}
	}
}

func TestSessionHeaders(t *testing.T) {
	for format, want := range map[string][]string{
		"openrouter":       {"X-Session-Id"},
		"openai":           {"Session_id", "X-Client-Request-Id", "X-Session-Affinity"},
		"openai-nosession": {"X-Client-Request-Id", "X-Session-Affinity"},
	} {
		m, g := model(), ask()
		m.Compat.SendSessionAffinityHeaders, m.Compat.SessionAffinityFormat = true, format
		g.ConversationId = "a b\né"
		r, err := request(t, m, g)
		if err != nil {
			t.Fatal(err)
		}
		h := http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}}
		for _, k := range want {
			h[k] = []string{"a+b%0A%C3%A9"}
		}
		if d := cmp.Diff(h, r.Header); d != "" {
			t.Errorf("%s: %s", format, d)
		}
		g.Cache = &llmdv1.CacheConfig{Retention: llmdv1.CacheRetention_CACHE_RETENTION_NONE}
		if r, err = request(t, m, g); err != nil || len(r.Header) != 2 {
			t.Errorf("%s: without caching: %v, %v", format, r.Header, err)
		}
	}
}

func TestHistory(t *testing.T) {
	call := assistantCall("c1", "f", `{ "a" : 1.0 }`)
	for name, c := range map[string]struct {
		set  func(*profile.Model)
		in   []*llmdv1.Message
		want string
	}{
		"assistant texts are one string, blank ones gone": {
			nil,
			[]*llmdv1.Message{assistantMessage(assistantText("a"), assistantText(" \n"), assistantText("b"))},
			`{"role":"assistant","content":"ab"}`,
		},
		"a call": {
			nil,
			[]*llmdv1.Message{assistantMessage(call, assistantCall("c2", "g", "")), resultMessage("c1", "f", []string{"x", "y"}), resultMessage("c2", "g", nil)},
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{ \"a\" : 1.0 }"}},{"id":"c2","type":"function","function":{"name":"g","arguments":"{}"}}]},` +
				`{"role":"tool","content":"x\ny","tool_call_id":"c1"},{"role":"tool","content":"(no tool output)","tool_call_id":"c2"}`,
		},
		"content not null": {
			func(m *profile.Model) { m.Compat.RequiresNonNullAssistantContent = true },
			[]*llmdv1.Message{assistantMessage(call)},
			`{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{ \"a\" : 1.0 }"}}]}`,
		},
		"names of tools": {
			func(m *profile.Model) { m.Compat.RequiresToolResultName = true },
			[]*llmdv1.Message{resultMessage("c1", "f", []string{"x"})},
			`{"role":"tool","name":"f","content":"x","tool_call_id":"c1"}`,
		},
		"images follow the group": {
			nil,
			[]*llmdv1.Message{resultMessage("c1", "f", []string{"x"}, picture1()), resultMessage("c2", "f", []string{" "}, picture1()), userMessage([]string{"and?"})},
			`{"role":"tool","content":"x","tool_call_id":"c1"},{"role":"tool","content":"(see attached image)","tool_call_id":"c2"},` +
				`{"role":"user","content":[{"type":"text","text":"Attached image(s) from tool result:"},` + pictureJSON + `,` + pictureJSON + `]},{"role":"user","content":"and?"}`,
		},
		"an assistant between results and user": {
			func(m *profile.Model) { m.Compat.RequiresAssistantAfterToolResult = true },
			[]*llmdv1.Message{assistantMessage(call), resultMessage("c1", "f", []string{"x"}), userMessage([]string{"and?"}), resultMessage("c2", "f", nil, picture1())},
			`{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{ \"a\" : 1.0 }"}}]},{"role":"tool","content":"x","tool_call_id":"c1"},` +
				`{"role":"assistant","content":"I have processed the tool results."},{"role":"user","content":"and?"},{"role":"tool","content":"(see attached image)","tool_call_id":"c2"},` +
				`{"role":"assistant","content":"I have processed the tool results."},{"role":"user","content":[{"type":"text","text":"Attached image(s) from tool result:"},` + pictureJSON + `]}`,
		},
		"user parts": {
			nil,
			[]*llmdv1.Message{userMessage([]string{"a", "", " "}, picture1()), userMessage([]string{"", ""}), userMessage([]string{""})},
			`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":" "},` + pictureJSON + `]},{"role":"user","content":""}`,
		},
		"thinking in its field": {
			nil,
			[]*llmdv1.Message{assistantMessage(assistantThinking("a", formatField, "reasoning_content"), assistantThinking(" ", "", ""), assistantThinking("b", formatField, "reasoning"), assistantText("x"))},
			`{"role":"assistant","content":"x","reasoning_content":"a\nb"}`,
		},
		"thinking alone is no turn": {
			nil,
			[]*llmdv1.Message{assistantMessage(assistantThinking("a", formatField, "reasoning")), userMessage([]string{"x"})},
			`{"role":"user","content":"x"}`,
		},
		"details byte for byte": {
			nil,
			[]*llmdv1.Message{assistantMessage(assistantThinking("", formatDetails, `[ {"b":1.0,"a":"\u00e9<"} ]`), assistantThinking("t", formatField, "reasoning"), assistantText("x"))},
			`{"role":"assistant","content":"x","reasoning":"t","reasoning_details":[ {"b":1.0,"a":"\u00e9<"} ]}`,
		},
		"details of two thoughts": {
			nil,
			[]*llmdv1.Message{assistantMessage(assistantThinking("", formatDetails, ` [{"a":1.0}] `), assistantThinking("", formatDetails, `[]`), assistantThinking("", formatDetails, `[{"b":1}]`), assistantText("x"))},
			`{"role":"assistant","content":"x","reasoning_details":[{"a":1.0},{"b":1}]}`,
		},
		"blocks of thinking": {
			nil,
			[]*llmdv1.Message{assistantMessage(assistantThinking("a", formatBlocks, `[{"type":"thinking","thinking":"a","signature":"S"}]`), assistantThinking("", formatBlocks, `[{"type":"redacted_thinking","data":"D"}]`), assistantCall("1", "f", "{}"))},
			`{"role":"assistant","content":null,"thinking_blocks":[{"type":"thinking","thinking":"a","signature":"S"},{"type":"redacted_thinking","data":"D"}],"tool_calls":[` + callJSON("1") + `]}`,
		},
		"details of calls": {
			nil,
			[]*llmdv1.Message{assistantMessage(signedCall("1", `{"type":"reasoning.encrypted"}`), signedCall("2", ` [ {"x":1} ] `), signedCall("3", `[]`), signedCall("4", `"`))},
			`{"role":"assistant","content":null,"reasoning_details":[{"type":"reasoning.encrypted"}, {"x":1} ],"tool_calls":[` + callJSON("1") + `,` + callJSON("2") + `,` + callJSON("3") + `,` + callJSON("4") + `]}`,
		},
		"what Google signed": {
			nil,
			[]*llmdv1.Message{assistantMessage(signedText("x", `{ "google":{"thought_signature":"S"}}`), googleCall("1", `{"vertex":{"thought_signature":"T"}}`), assistantCall("2", "f", "{}"))},
			`{"role":"assistant","content":"x","extra_content":{ "google":{"thought_signature":"S"}},"tool_calls":[` +
				`{"id":"1","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"vertex":{"thought_signature":"T"}}},` + callJSON("2") + `]}`,
		},
		"an id with a signature": {
			nil,
			[]*llmdv1.Message{assistantMessage(longCall("call_1", "__thought__U0lH"), assistantCall("2", "f", "{}")), resultMessage("2", "f", []string{"b"}), resultMessage("call_1", "f", []string{"a"})},
			`{"role":"assistant","content":null,"tool_calls":[` + callJSON("call_1__thought__U0lH") + `,` + callJSON("2") + `]},` +
				`{"role":"tool","content":"b","tool_call_id":"2"},{"role":"tool","content":"a","tool_call_id":"call_1__thought__U0lH"}`,
		},
		"an empty text that Google signed": {
			nil,
			[]*llmdv1.Message{assistantMessage(signedText("", `{"google":{"thought_signature":"S"}}`), assistantCall("2", "f", "{}"))},
			`{"role":"assistant","content":null,"extra_content":{"google":{"thought_signature":"S"}},"tool_calls":[` + callJSON("2") + `]}`,
		},
		"thinking as text": {
			func(m *profile.Model) { m.Compat.RequiresThinkingAsText = true },
			[]*llmdv1.Message{assistantMessage(assistantThinking("a", "", ""), assistantText("x"), assistantThinking("b", formatField, "reasoning"), assistantText("y"))},
			`{"role":"assistant","content":[{"type":"text","text":"a\n\nb"},{"type":"text","text":"x"},{"type":"text","text":"y"}]}`,
		},
		"an empty reasoning_content": {
			func(m *profile.Model) { m.Compat.RequiresReasoningContentOnAssistantMessages, m.Reasoning = true, true },
			[]*llmdv1.Message{assistantMessage(assistantText("x")), assistantMessage(assistantThinking("a", formatField, "reasoning_content"), assistantText("y"))},
			`{"role":"assistant","content":"x","reasoning_content":""},{"role":"assistant","content":"y","reasoning_content":"a"}`,
		},
	} {
		m := model()
		if c.set != nil {
			c.set(m)
		}
		body := encode(t, m, &llmdv1.Generation{Context: &llmdv1.Context{Messages: c.in}})
		if got, want := member(t, body, "messages"), "["+c.want+"]"; got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
}

// signedText and googleCall are what Google signs.
func signedText(text, extra string) *llmdv1.AssistantContent {
	b := assistantText(text)
	b.GetText().Signature = &llmdv1.Signature{Format: formatExtra, Data: []byte(extra)}
	return b
}

func googleCall(id, extra string) *llmdv1.AssistantContent {
	b := assistantCall(id, "f", "{}")
	b.GetToolCall().Signature = &llmdv1.Signature{Format: formatExtra, Data: []byte(extra)}
	return b
}

func signedCall(id, data string) *llmdv1.AssistantContent {
	c := assistantCall(id, "f", "{}")
	c.GetToolCall().Signature = &llmdv1.Signature{Format: formatDetails, Data: []byte(data)}
	return c
}

func callJSON(id string) string {
	return `{"id":"` + id + `","type":"function","function":{"name":"f","arguments":"{}"}}`
}

func longCall(id, tail string) *llmdv1.AssistantContent {
	c := assistantCall(id, "f", "{}")
	c.GetToolCall().Signature = &llmdv1.Signature{Format: formatCallID, Data: []byte(tail)}
	return c
}

func TestCacheMarkers(t *testing.T) {
	const marker, long = `"cache_control":{"type":"ephemeral"}`, `"cache_control":{"type":"ephemeral","ttl":"1h"}`
	gen := func(last *llmdv1.Message) *llmdv1.Generation {
		g := ask(last)
		g.Context.SystemPrompt = "S"
		g.Context.Tools = []*llmdv1.Tool{{Name: "f"}, {Name: "g"}}
		return g
	}
	const system = `{"role":"system","content":[{"type":"text","text":"S",` + marker + `}]}`
	for name, c := range map[string]struct {
		last *llmdv1.Message
		want string
	}{
		"a result":       {resultMessage("1", "f", []string{"x"}), `{"role":"user","content":"hi"},{"role":"tool","content":[{"type":"text","text":"x",` + marker + `}],"tool_call_id":"1"}`},
		"text and image": {userMessage([]string{"a", "b"}, picture1()), `{"role":"user","content":"hi"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b",` + marker + `},` + pictureJSON + `]}`},
		"no text":        {assistantMessage(assistantCall("1", "f", "")), `{"role":"user","content":[{"type":"text","text":"hi",` + marker + `}]},{"role":"assistant","content":null,"tool_calls":[` + callJSON("1") + `]}`},
	} {
		m := model()
		m.Compat.CacheControlFormat = "anthropic"
		body := encode(t, m, gen(c.last))
		if got, want := member(t, body, "messages"), "["+system+","+c.want+"]"; got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
		if tools := member(t, body, "tools"); strings.Count(tools, marker) != 1 || !strings.HasSuffix(tools, `},`+marker+`}]`) {
			t.Errorf("%s: tools %s", name, tools)
		}
		g := gen(c.last)
		g.Cache = &llmdv1.CacheConfig{Retention: llmdv1.CacheRetention_CACHE_RETENTION_LONG}
		if body := encode(t, m, g); strings.Count(body, long) != 3 {
			t.Errorf("%s: long retention: %s", name, body)
		}
		g.Cache.Retention = llmdv1.CacheRetention_CACHE_RETENTION_NONE
		if body := encode(t, m, g); strings.Contains(body, "cache_control") {
			t.Errorf("%s: without caching: %s", name, body)
		}
	}
}

func TestConstraints(t *testing.T) {
	m := model()
	if c := New().Constraints(m); c.ToolCallIDs != (adapters.IDRule{}) || !c.Images || c.UnsignedThinking || !c.Prefill || c.ToolErrorFlag || c.MergeTurns {
		t.Errorf("%+v", c)
	}
	m.Compat.SupportsDeveloperRole, m.Compat.RequiresThinkingAsText, m.Input = true, true, nil
	if c := New().Constraints(m); c.ToolCallIDs != (adapters.IDRule{MaxLen: 40, WordChars: true}) || c.Images || !c.UnsignedThinking {
		t.Errorf("%+v", c)
	}
}

func TestDecodeError(t *testing.T) {
	up := New().DecodeError(400, http.Header{"X-Request-Id": {"req_1"}}, []byte(`{"error":{"message":"bad","type":"invalid_request_error","code":"c"}}`))
	if up.RequestID != "req_1" || up.Status != 400 || up.Type != "c" || up.Message != "bad" || up.Reason != adapters.ReasonRejectedRequest {
		t.Errorf("%+v", up)
	}
	if up := New().DecodeError(502, nil, []byte("<html>")); up == nil || up.Status != 502 || strings.Contains(up.Message, "<") {
		t.Errorf("%+v", up)
	}
}

// TestEncodeIsPure: the same call gives the same bytes, and is not changed.
func TestEncodeIsPure(t *testing.T) {
	m, g := model(), ask(assistantMessage(assistantThinking("a", formatField, "reasoning"), assistantCall("1", "f", `{"b":1,"a":2}`)), resultMessage("1", "f", nil, picture1()))
	m.Compat.CacheControlFormat = "anthropic"
	before := proto.Clone(g)
	one, two := encode(t, m, g), encode(t, m, g)
	if one != two || !proto.Equal(before, g) || !json.Valid([]byte(one)) {
		t.Error("not pure")
	}
}

// TestTextBytes: what a writer makes room for is what it takes, and not much more.
func TestTextBytes(t *testing.T) {
	g := ask()
	for range 100 {
		g.Context.Messages = append(g.Context.Messages,
			userMessage([]string{strings.Repeat("A few words, and one \"quoted\".\n", 20)}),
			assistantMessage(assistantCall("call_1", "write", `{"text":"`+strings.Repeat("words ", 100)+`"}`)),
			resultMessage("call_1", "write", []string{strings.Repeat("done ", 50)}))
	}
	room, took := (&adapters.Call{Context: g.GetContext()}).TextBytes(), len(encode(t, model(), g))
	if took > room || room > took*5/4 {
		t.Errorf("room for %d bytes, %d are written", room, took)
	}
}

// TestDraft: schemas are held to the rules of who made the model, whatever host it is at.
func TestDraft(t *testing.T) {
	const in = `{"type":"object","properties":{"a":{"type":"array","items":[{}]}},"anyOf":[{"required":["a"]}]}`
	for name, want := range map[string]string{
		"gpt-4.1":                     `{"type":"object","properties":{"a":{"type":"array","prefixItems":[{}],"items":{}}}}`,
		"openai/o3":                   `{"type":"object","properties":{"a":{"type":"array","prefixItems":[{}],"items":{}}}}`,
		"anthropic/claude-sonnet-4.5": `{"type":"object","properties":{"a":{"type":"array","prefixItems":[{}]}}}`,
		"openai/gpt-oss-120b":         in,
		"qwen3-14b-claude-distill":    in,
		"m1":                          in,
	} {
		m := model()
		m.ID = name
		g := ask()
		g.Context.Tools = []*llmdv1.Tool{{Name: "f", ParametersJsonSchema: in}}
		if body := encode(t, m, g); !strings.Contains(body, `"parameters":`+want) {
			t.Errorf("%s: %s", name, body)
		}
	}
}

// TestPatterns: OpenAI refuses a request for a regular expression that its engine does not
// read, https://github.com/tombii/better-ccflare/issues/357 and
// https://github.com/BerriAI/litellm/pull/40485. Others get what the caller gave.
func TestPatterns(t *testing.T) {
	const in = `{"type":"object","properties":{"to":{"type":"string","pattern":"^(?!\\.)\\S+@\\S+$"},"id":{"type":"string","pattern":"^\\d+$"}}}`
	const regular = `{"type":"object","properties":{"to":{"type":"string"},"id":{"type":"string","pattern":"^\\d+$"}}}`
	for name, want := range map[string]string{"gpt-4.1": regular, "openai/gpt-5.4": regular, "claude-sonnet-4.5": in, "m1": in} {
		m := model()
		m.ID, m.Compat.SupportsStrictMode = name, true
		for _, strict := range []llmdv1.StrictMode{0, llmdv1.StrictMode_STRICT_MODE_PREFER} {
			g := ask()
			g.Context.Tools = []*llmdv1.Tool{{Name: "f", ParametersJsonSchema: in, Strict: strict}}
			if body := encode(t, m, g); !strings.Contains(body, `"parameters":`+want+`,"strict":false`) {
				t.Errorf("%s, %v: %s", name, strict, body)
			}
		}
		g := ask()
		g.Config = &llmdv1.GenerationConfig{OutputJsonSchema: in}
		r, err := request(t, m, g)
		if err != nil {
			t.Fatal(err)
		}
		told := strings.Contains(strings.Join(r.Effective.GetAdjustments(), "\n"), "output_json_schema: regular expressions of the schema are left out")
		if !strings.Contains(string(r.Body), `"schema":`+want) || told != (want == regular) {
			t.Errorf("%s: %v %s", name, r.Effective.GetAdjustments(), r.Body)
		}
	}
}

// TestDialects: hosts check schemas by rules of their own, see [schema.DeepSeekDraft] and
// [schema.MoonshotDraft]. The top of parameters is an object's to Moonshot.
func TestDialects(t *testing.T) {
	const in = `{"properties":{"a":{"description":"x"},"b":{"type":"string","pattern":"[[]"},"c":{"type":"string"}},"anyOf":[{"required":["a"]},{"properties":{"d":{"type":"null"}}}]}`
	for dialect, want := range map[string]string{
		"":         `{"type":"object",` + in[1:],
		"deepseek": `{"type":"object",` + strings.Replace(in[1:], "[[]", `[\\[]`, 1),
		"moonshot": `{"type":"object","properties":{"a":{"description":"x","anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"},{"type":"array"},{"type":"null"}]},` +
			`"b":{"type":"string","pattern":"[[]"},"c":{"type":"string"},"d":{"type":"null"}}}`,
	} {
		m := model()
		m.Compat.SchemaDialect = dialect
		g := ask()
		g.Context.Tools = []*llmdv1.Tool{{Name: "f", ParametersJsonSchema: in}}
		g.Config = &llmdv1.GenerationConfig{OutputJsonSchema: `{"type":"object","properties":{"b":{"pattern":"[[]"}}}`}
		answer := map[string]string{
			"deepseek": `{"type":"object","properties":{"b":{"pattern":"[\\[]"}}}`, "moonshot": `{"type":"object","properties":{"b":{"type":"string","pattern":"[[]"}}}`,
		}[dialect]
		if body := encode(t, m, g); !strings.Contains(body, `"parameters":`+want+`}`) || !strings.Contains(body, `"schema":`+answer) {
			t.Errorf("%s: %s", dialect, body)
		}
	}
}

// TestStrictRules: a model is held to schemas by the rules of its maker, which hosts hand on:
// "For 'integer' type, property 'minimum' is not supported", and no more than 16 values of
// several types, https://docs.anthropic.com/en/docs/build-with-claude/structured-outputs.
func TestStrictRules(t *testing.T) {
	const bound = `{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"],"additionalProperties":false}`
	const may = `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"},"d":{"type":"string"},"e":{"type":"string"},"f":{"type":"string"}}}`
	for name, want := range map[string]struct {
		answer bool
		strict int
	}{"anthropic/claude-sonnet-4.5": {false, 2}, "openai/gpt-5.4": {true, 4}} {
		m := model()
		m.ID, m.Compat.SupportsStrictMode = name, true
		g := ask()
		g.Config = &llmdv1.GenerationConfig{OutputJsonSchema: bound}
		if body := encode(t, m, g); strings.Contains(body, `"strict":true,"schema":`+bound) != want.answer {
			t.Errorf("%s: %s", name, body)
		}
		g = ask()
		for _, in := range []string{bound, may, may, may} {
			g.Context.Tools = append(g.Context.Tools, &llmdv1.Tool{Name: "f" + strconv.Itoa(len(g.Context.Tools)), ParametersJsonSchema: in, Strict: llmdv1.StrictMode_STRICT_MODE_PREFER})
		}
		g.Context.Tools[3].Strict = llmdv1.StrictMode_STRICT_MODE_REQUIRE
		body := encode(t, m, g)
		if got := strings.Count(body, `"strict":true`); got != want.strict || !strings.HasSuffix(strings.Split(body, `}}],"messages"`)[0], `"strict":true`) {
			t.Errorf("%s: %d are strict: %s", name, got, body)
		}
	}
}

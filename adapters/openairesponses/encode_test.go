package openairesponses

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// gpt is a model with all that the API can do; change may take some of it away.
func gpt(change ...func(*profile.Model)) *profile.Model {
	m := &profile.Model{
		ID: "gpt-5", Provider: "openai", API: apiOpenAI, Reasoning: true, Compat: profile.Defaults(apiOpenAI),
		Input: []llmdv1.Modality{llmdv1.Modality_MODALITY_TEXT, llmdv1.Modality_MODALITY_IMAGE},
	}
	m.Compat.SupportsStrictMode, m.Compat.SupportsServiceTier, m.Compat.SupportsVerbosity = true, true, true
	for _, c := range change {
		c(m)
	}
	return m
}

func user(s string) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: []*llmdv1.UserContent{
		{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: s}}},
	}}}}
}

// ask is a request with one question; change adds to it.
func ask(change ...func(*llmdv1.Generation)) *llmdv1.Generation {
	g := &llmdv1.Generation{Context: &llmdv1.Context{Messages: []*llmdv1.Message{user("Hi")}}, Config: &llmdv1.GenerationConfig{}}
	for _, c := range change {
		c(g)
	}
	return g
}

func config(f func(*llmdv1.GenerationConfig)) func(*llmdv1.Generation) {
	return func(g *llmdv1.Generation) { f(g.Config) }
}

func effort(e llmdv1.ReasoningEffort) func(*llmdv1.Generation) {
	return func(g *llmdv1.Generation) { g.Reasoning = &llmdv1.ReasoningConfig{Effort: e} }
}

func tool(schema string, strict llmdv1.StrictMode) func(*llmdv1.Generation) {
	return func(g *llmdv1.Generation) {
		g.Context.Tools = append(g.Context.Tools, &llmdv1.Tool{Name: "look", Description: "Looks.", ParametersJsonSchema: schema, Strict: strict})
	}
}

const (
	head     = `{"model":"gpt-5","stream":true,"store":false,`
	include  = `"include":["reasoning.encrypted_content"],`
	hi       = `"input":[{"role":"user","content":[{"type":"input_text","text":"Hi"}]}]}`
	strictly = `{ "type": "object", "properties": {"q": {"type":"string"}}, "required": ["q"], "additionalProperties": false }`
	loosely  = `{"type":"object","properties":{"q":{"type":"string"}}}`
	// OpenAI: "regex lookaround is not supported", https://github.com/tombii/better-ccflare/issues/357.
	around    = `{"type":"object","properties":{"q":{"type":"string","pattern":"^(?!-)"}}}`
	never     = `{"type":"object","properties":{"q":{"oneOf":[]}}}`
	toolStart = `"tools":[{"type":"function","name":"look","description":"Looks.","parameters":`
)

// alwaysReasons: OpenAI's first models that reason.
func alwaysReasons(m *profile.Model) {
	m.Compat.SupportsTemperature = false
	m.Efforts = profile.Efforts{llmdv1.ReasoningEffort_REASONING_EFFORT_NONE: {Unsupported: true}}
}

func TestEncodeOptions(t *testing.T) {
	plain := func(m *profile.Model) { m.ID, m.Reasoning = "gpt-4.1", false }
	cache := func(r llmdv1.CacheRetention) func(*llmdv1.Generation) {
		return func(g *llmdv1.Generation) {
			g.Cache = &llmdv1.CacheConfig{Retention: r, SessionKey: strings.Repeat("é", 70)}
		}
	}
	key := strings.Repeat("é", 64)
	explicit := func(m *profile.Model) { m.Compat.SupportsExplicitPromptCacheMode = true }
	for name, c := range map[string]struct {
		g     *llmdv1.Generation
		m     *profile.Model
		azure bool
		want  string
	}{
		"nothing":                  {ask(), gpt(), false, head + include + hi},
		"a model without thinking": {ask(), gpt(plain), false, `{"model":"gpt-4.1","stream":true,"store":false,` + hi},
		"another name on the wire": {ask(), gpt(func(m *profile.Model) { m.WireModel = "my-deployment" }), true, `{"model":"my-deployment","stream":true,"store":false,` + include + hi},
		"effort":                   {ask(effort(llmdv1.ReasoningEffort_REASONING_EFFORT_LOW)), gpt(), false, head + `"reasoning":{"effort":"low","summary":"auto"},` + include + hi},
		"the model's own word": {ask(effort(llmdv1.ReasoningEffort_REASONING_EFFORT_MAX)), gpt(func(m *profile.Model) {
			m.Efforts = profile.Efforts{llmdv1.ReasoningEffort_REASONING_EFFORT_MAX: {Word: "xhigh"}}
		}), false, head + `"reasoning":{"effort":"xhigh","summary":"auto"},` + include + hi},
		"off":                      {ask(effort(llmdv1.ReasoningEffort_REASONING_EFFORT_NONE)), gpt(), false, head + `"reasoning":{"effort":"none"},` + hi},
		"off where it always is":   {ask(effort(llmdv1.ReasoningEffort_REASONING_EFFORT_NONE)), gpt(plain), false, `{"model":"gpt-4.1","stream":true,"store":false,` + hi},
		"a summary of the default": {ask(func(g *llmdv1.Generation) { g.Reasoning = &llmdv1.ReasoningConfig{IncludeSummary: true} }), gpt(), false, head + `"reasoning":{"summary":"auto"},` + include + hi},
		"sampling": {ask(config(func(c *llmdv1.GenerationConfig) {
			c.MaxOutputTokens, c.Temperature, c.TopP = proto.Int32(16), proto.Float64(0), new(0.5)
		})), gpt(), false, head + `"max_output_tokens":16,"temperature":0,"top_p":0.5,` + include + hi},
		"no temperature beside thinking": {
			ask(config(func(c *llmdv1.GenerationConfig) { c.Temperature = proto.Float64(1) })),
			gpt(alwaysReasons), false, head + include + hi,
		},
		"temperature where the model need not reason": {
			ask(config(func(c *llmdv1.GenerationConfig) { c.Temperature = proto.Float64(1) })),
			gpt(func(m *profile.Model) { m.Compat.SupportsTemperature = false }), false, head + `"temperature":1,` + include + hi,
		},
		"temperature without thinking": {
			ask(effort(llmdv1.ReasoningEffort_REASONING_EFFORT_NONE), config(func(c *llmdv1.GenerationConfig) { c.Temperature = proto.Float64(1) })),
			gpt(func(m *profile.Model) { m.Compat.SupportsTemperature = false }), false, head + `"temperature":1,"reasoning":{"effort":"none"},` + hi,
		},
		"format and verbosity": {ask(config(func(c *llmdv1.GenerationConfig) {
			c.OutputJsonSchema, c.Verbosity = strictly, llmdv1.Verbosity_VERBOSITY_LOW
		})), gpt(), false, head + include + `"text":{"format":{"type":"json_schema","name":"output","strict":true,"schema":` + strictly + `},"verbosity":"low"},` + hi},
		"a format that cannot be enforced": {
			ask(config(func(c *llmdv1.GenerationConfig) { c.OutputJsonSchema = loosely })), gpt(), false,
			head + include + `"text":{"format":{"type":"json_schema","name":"output","strict":false,"schema":` + loosely + `}},` + hi,
		},
		"tier and user": {
			ask(func(g *llmdv1.Generation) { g.User = "u-1" }, config(func(c *llmdv1.GenerationConfig) { c.ServiceTier = llmdv1.ServiceTier_SERVICE_TIER_FAST })), gpt(), false,
			head + include + `"service_tier":"priority","user":"u-1",` + hi,
		},
		"standard tier": {
			ask(config(func(c *llmdv1.GenerationConfig) { c.ServiceTier = llmdv1.ServiceTier_SERVICE_TIER_STANDARD })), gpt(), false,
			head + include + `"service_tier":"default",` + hi,
		},
		"standard tier at Azure": {ask(config(func(c *llmdv1.GenerationConfig) { c.ServiceTier = llmdv1.ServiceTier_SERVICE_TIER_STANDARD })), gpt(), true, head + include + hi},
		"cache":                  {ask(cache(llmdv1.CacheRetention_CACHE_RETENTION_UNSPECIFIED)), gpt(), false, head + include + `"prompt_cache_key":"` + key + `",` + hi},
		"cache, long":            {ask(cache(llmdv1.CacheRetention_CACHE_RETENTION_LONG)), gpt(), false, head + include + `"prompt_cache_key":"` + key + `","prompt_cache_retention":"24h",` + hi},
		"cache, none":            {ask(cache(llmdv1.CacheRetention_CACHE_RETENTION_NONE)), gpt(), false, head + include + hi},
		"cache, explicit, long":  {ask(cache(llmdv1.CacheRetention_CACHE_RETENTION_LONG)), gpt(explicit), false, head + include + `"prompt_cache_key":"` + key + `","prompt_cache_options":{"ttl":"30m"},` + hi},
		"cache, explicit, none":  {ask(cache(llmdv1.CacheRetention_CACHE_RETENTION_NONE)), gpt(explicit), false, head + include + `"prompt_cache_options":{"mode":"explicit"},` + hi},
		"cache, key disabled":    {ask(cache(llmdv1.CacheRetention_CACHE_RETENTION_SHORT)), gpt(func(m *profile.Model) { m.Compat.PromptCacheKeyMode = "disabled" }), false, head + include + hi},
		"cache at Azure":         {ask(cache(llmdv1.CacheRetention_CACHE_RETENTION_SHORT)), gpt(explicit), true, head + include + `"prompt_cache_key":"` + key + `",` + hi},
		"a tool":                 {ask(tool(loosely, 0)), gpt(), false, head + include + toolStart + loosely + `,"strict":false}],` + hi},
		"a strict tool":          {ask(tool(strictly, llmdv1.StrictMode_STRICT_MODE_REQUIRE)), gpt(), false, head + include + toolStart + strictly + `,"strict":true}],` + hi},
		"strict if it can be":    {ask(tool(never, llmdv1.StrictMode_STRICT_MODE_PREFER)), gpt(), false, head + include + toolStart + never + `,"strict":false}],` + hi},
		"an expression for another maker's model": {
			ask(tool(around, llmdv1.StrictMode_STRICT_MODE_OFF)), gpt(func(m *profile.Model) { m.ID = "grok-4.5" }), false,
			strings.Replace(head, "gpt-5", "grok-4.5", 1) + include + toolStart + around + `,"strict":false}],` + hi,
		},
		"an expression for a host of OpenAI's": {
			ask(tool(around, llmdv1.StrictMode_STRICT_MODE_OFF)), gpt(func(m *profile.Model) { m.ID, m.Compat.SchemaDialect = "mine", "openai" }), false,
			strings.Replace(head, "gpt-5", "mine", 1) + include + toolStart + loosely + `,"strict":false}],` + hi,
		},
		"an expression that is not read": {ask(tool(around, llmdv1.StrictMode_STRICT_MODE_PREFER)), gpt(), false, head + include + toolStart + loosely + `,"strict":false}],` + hi},
		"an expression that is not read, for the answer": {
			ask(config(func(c *llmdv1.GenerationConfig) { c.OutputJsonSchema = around })), gpt(), true,
			head + include + `"text":{"format":{"type":"json_schema","name":"output","strict":false,"schema":` + loosely + `}},` + hi,
		},
		"made strict": {ask(tool(loosely, llmdv1.StrictMode_STRICT_MODE_PREFER)), gpt(), false, head + include + toolStart +
			`{"type":"object","properties":{"q":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["q"],"additionalProperties":false},"strict":true}],` + hi},
		"no strict mode": {
			ask(tool(strictly, llmdv1.StrictMode_STRICT_MODE_PREFER)), gpt(func(m *profile.Model) { m.Compat.SupportsStrictMode = false }), false,
			head + include + toolStart + strictly + `}],` + hi,
		},
		"no parameters": {ask(tool("", llmdv1.StrictMode_STRICT_MODE_REQUIRE)), gpt(), false, head + include + toolStart + noParameters + `,"strict":true}],` + hi},
		"tool choice": {ask(tool(loosely, 0), func(g *llmdv1.Generation) {
			g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_ToolName{ToolName: "look"}}
			g.Config.ParallelToolCalls = new(false)
		}), gpt(), false, head + include + toolStart + loosely + `,"strict":false}],"tool_choice":{"type":"function","name":"look"},"parallel_tool_calls":false,` + hi},
		"tool mode": {ask(tool(loosely, 0), func(g *llmdv1.Generation) {
			g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: llmdv1.ToolMode_TOOL_MODE_NONE}}
		}), gpt(), false, head + include + toolStart + loosely + `,"strict":false}],"tool_choice":"none",` + hi},
		"any tool": {ask(tool(loosely, 0), func(g *llmdv1.Generation) {
			g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: llmdv1.ToolMode_TOOL_MODE_REQUIRED}}
		}), gpt(), false, head + include + toolStart + loosely + `,"strict":false}],"tool_choice":"required",` + hi},
		"tool mode without tools": {ask(func(g *llmdv1.Generation) {
			g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: llmdv1.ToolMode_TOOL_MODE_AUTO}}
		}), gpt(), false, head + include + hi},
		"the caller's own options": {ask(func(g *llmdv1.Generation) {
			g.ProviderOptionsJson = map[string]string{"openai": `{"stream":false,"truncation":"auto","include":["x"]}`, "azure": `{"no":1}`}
		}), gpt(), false, head + `"include":["x"],` + strings.TrimSuffix(hi, "}") + `,"truncation":"auto"}`},
	} {
		t.Run(name, func(t *testing.T) {
			a := New()
			if c.azure {
				a = NewAzure()
			}
			if d := cmp.Diff(c.want, string(encode(t, a, c.g, c.m).Body)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestEncodeRefusals(t *testing.T) {
	only := func(f func(*profile.Compat)) *profile.Model { return gpt(func(m *profile.Model) { f(&m.Compat) }) }
	for name, c := range map[string]struct {
		g     *llmdv1.Generation
		m     *profile.Model
		azure bool
		field string
		value bool // a FieldError, not a CapabilityError
	}{
		"top_k":             {ask(config(func(c *llmdv1.GenerationConfig) { c.TopK = proto.Int32(1) })), gpt(), false, "generation.config.top_k", false},
		"seed":              {ask(config(func(c *llmdv1.GenerationConfig) { c.Seed = proto.Int64(0) })), gpt(), false, "generation.config.seed", false},
		"stop_sequences":    {ask(config(func(c *llmdv1.GenerationConfig) { c.StopSequences = []string{"x"} })), gpt(), false, "generation.config.stop_sequences", false},
		"a limit too small": {ask(config(func(c *llmdv1.GenerationConfig) { c.MaxOutputTokens = proto.Int32(15) })), gpt(), false, "generation.config.max_output_tokens", false},
		"no limit":          {ask(config(func(c *llmdv1.GenerationConfig) { c.MaxOutputTokens = proto.Int32(99) })), only(func(c *profile.Compat) { c.SupportsMaxOutputTokens = false }), false, "generation.config.max_output_tokens", false},
		"budget":            {ask(func(g *llmdv1.Generation) { g.Reasoning = &llmdv1.ReasoningConfig{BudgetTokens: proto.Int32(2048)} }), gpt(), false, "generation.reasoning.budget_tokens", false},
		"top_p":             {ask(config(func(c *llmdv1.GenerationConfig) { c.TopP = proto.Float64(1) })), gpt(alwaysReasons), false, "generation.config.top_p", false},
		"verbosity":         {ask(config(func(c *llmdv1.GenerationConfig) { c.Verbosity = llmdv1.Verbosity_VERBOSITY_LOW })), gpt(func(m *profile.Model) { m.ID = "gpt-50" }), false, "generation.config.verbosity", false},
		"tier":              {ask(config(func(c *llmdv1.GenerationConfig) { c.ServiceTier = llmdv1.ServiceTier_SERVICE_TIER_FLEX })), only(func(c *profile.Compat) { c.SupportsServiceTier = false }), false, "generation.config.service_tier", false},
		"tier at Azure":     {ask(config(func(c *llmdv1.GenerationConfig) { c.ServiceTier = llmdv1.ServiceTier_SERVICE_TIER_FAST })), gpt(), true, "generation.config.service_tier", false},
		"long cache": {ask(func(g *llmdv1.Generation) {
			g.Cache = &llmdv1.CacheConfig{Retention: llmdv1.CacheRetention_CACHE_RETENTION_LONG}
		}), only(func(c *profile.Compat) { c.SupportsLongCacheRetention = false }), false, "generation.cache.retention", false},
		"long cache, Azure": {ask(func(g *llmdv1.Generation) {
			g.Cache = &llmdv1.CacheConfig{Retention: llmdv1.CacheRetention_CACHE_RETENTION_LONG}
		}), gpt(), true, "generation.cache.retention", false},
		"strict schema":    {ask(tool(never, llmdv1.StrictMode_STRICT_MODE_REQUIRE)), gpt(), false, "generation.context.tools[0].strict", false},
		"strict host":      {ask(tool(strictly, llmdv1.StrictMode_STRICT_MODE_REQUIRE)), only(func(c *profile.Compat) { c.SupportsStrictMode = false }), false, "generation.context.tools[0].strict", false},
		"tool schema":      {ask(tool(`{"type":`, 0)), gpt(), false, "generation.context.tools[0].parameters_json_schema", true},
		"output schema":    {ask(config(func(c *llmdv1.GenerationConfig) { c.OutputJsonSchema = `[]` })), gpt(), false, "generation.config.output_json_schema", true},
		"provider options": {ask(func(g *llmdv1.Generation) { g.ProviderOptionsJson = map[string]string{"openai": `{`} }), gpt(), false, "generation.provider_options_json[openai]", true},
		"no tool to call": {ask(func(g *llmdv1.Generation) {
			g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: llmdv1.ToolMode_TOOL_MODE_REQUIRED}}
		}), gpt(), false, "generation.tool_choice", true},
		"an image elsewhere": {ask(func(g *llmdv1.Generation) {
			g.Context.Messages[0].GetUser().Content = append(g.Context.Messages[0].GetUser().Content, &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: "gs://a/b"}}}})
		}), gpt(), false, "generation.context.messages[0].user.content[1].image.uri", true},
	} {
		t.Run(name, func(t *testing.T) {
			a := New()
			if c.azure {
				a = NewAzure()
			}
			_, err := tryEncode(t, a, c.g, c.m)
			var ce *adapters.CapabilityError
			var fe *adapters.FieldError
			switch {
			case !c.value && errors.As(err, &ce) && ce.Field == c.field && ce.Capability != "":
			case c.value && errors.As(err, &fe) && fe.Field == c.field:
			default:
				t.Errorf("%#v", err)
			}
		})
	}
}

func TestEffective(t *testing.T) {
	m := gpt(func(m *profile.Model) { m.Compat.SupportsTemperature = false })
	e := encode(t, New(), ask(effort(llmdv1.ReasoningEffort_REASONING_EFFORT_HIGH), config(func(c *llmdv1.GenerationConfig) {
		c.Temperature, c.MaxOutputTokens = new(0.3), proto.Int32(500)
	}), tool(loosely, 0)), m).Effective
	if e.GetReasoningEffort() != llmdv1.ReasoningEffort_REASONING_EFFORT_HIGH || e.GetMaxOutputTokens() != 500 || len(e.GetAdjustments()) != 1 || len(e.GetToolNames()) != 1 {
		t.Errorf("%v", e)
	}
}

func TestHeader(t *testing.T) {
	g := ask(func(g *llmdv1.Generation) { g.ConversationId = "c 1\n" })
	for format, want := range map[string]map[string]string{
		"openai":           {"Session-Id": "c+1%0A", "X-Client-Request-Id": "c+1%0A", "X-Session-Id": ""},
		"openai-nosession": {"Session-Id": "", "X-Client-Request-Id": "c+1%0A", "X-Session-Id": ""},
		"openrouter":       {"Session-Id": "", "X-Client-Request-Id": "", "X-Session-Id": "c+1%0A"},
	} {
		m := gpt(func(m *profile.Model) { m.Compat.SessionAffinityFormat = format })
		for name, value := range want {
			if got := encode(t, New(), g, m).Header.Get(name); got != value {
				t.Errorf("%s: %s is %q, want %q", format, name, got, value)
			}
		}
	}
	h := encode(t, NewAzure(), g, gpt()).Header
	if len(h) != 2 || h.Get("Content-Type") != "application/json" {
		t.Errorf("Azure: %v", h)
	}
}

// TestEncodeHistory: each history as the list of items that is sent.
func TestEncodeHistory(t *testing.T) {
	own := func(content ...*llmdv1.AssistantContent) *llmdv1.Message {
		return &llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: &llmdv1.AssistantMessage{
			Api: apiOpenAI, Provider: "openai", Model: "gpt-5", Content: content,
		}}}
	}
	sig := func(format, data string) *llmdv1.Signature {
		if data == "" {
			return nil
		}
		return &llmdv1.Signature{Format: format, Data: []byte(data), Api: apiOpenAI, Provider: "openai", Model: "gpt-5"}
	}
	said := func(s, ref string) *llmdv1.AssistantContent {
		return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{Text: s, Signature: sig(formatMessage, ref)}}}
	}
	thinks := func(item string) *llmdv1.AssistantContent {
		return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: &llmdv1.ThinkingContent{Signature: sig(formatReasoning, item)}}}
	}
	calls := func(id, args, item string) *llmdv1.AssistantContent {
		return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: &llmdv1.ToolCall{
			Id: id, Name: "look", ArgumentsJson: args, ToolNamespace: "ns", Signature: sig(formatItemID, item),
		}}}
	}
	provider := func(kind, data string) *llmdv1.AssistantContent {
		return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ProviderContent{ProviderContent: &llmdv1.ProviderContent{Type: kind, RawJson: []byte(data)}}}
	}
	png := []byte("\x89PNG\r\n\x1a\n")
	result := func(content ...*llmdv1.ToolResultContent) *llmdv1.Message {
		return &llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: &llmdv1.ToolResultMessage{ToolCallId: "call_1", Content: content}}}
	}
	textResult := func(s string) *llmdv1.ToolResultContent {
		return &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Text{Text: &llmdv1.TextContent{Text: s}}}
	}
	imageResult := &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Image{Image: &llmdv1.ImageContent{
		Source: &llmdv1.ImageContent_Data{Data: png}, MimeType: "image/jpeg",
	}}}
	foreign := own(said("Aye.", ""), said("Nay.", ""), calls("call_1", "", ""))
	foreign.GetAssistant().Model = "another"
	another := func(m *llmdv1.Message) *llmdv1.Message {
		m.GetAssistant().Model = "another"
		return m
	}

	const rs = `{ "id":"rs_1","type":"reasoning", "summary":[],"encrypted_content":"E<&>" }`
	const web = `{"type":"web_search_call",  "id":"ws_1"}`
	const parts = `[{"type":"output_text", "text":"See.","annotations":[{"type":"url_citation"}]}]`
	const pngPart = `{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,iVBORw0KGgo="}`
	outputText := func(id, s string) string {
		return `{"type":"message","id":"` + id + `","role":"assistant","status":"completed","content":[{"type":"output_text","text":"` + s + `","annotations":[]}]}`
	}
	for name, c := range map[string]struct {
		messages []*llmdv1.Message
		want     []string
		rules    []string
	}{
		"images of a result between its texts": {
			[]*llmdv1.Message{result(textResult("before"), textResult("it:"), imageResult, textResult("after:"), imageResult, textResult("done"))},
			[]string{`{"type":"function_call_output","call_id":"call_1","output":[{"type":"input_text","text":"before\nit:"},` + pngPart + `,{"type":"input_text","text":"after:"},` + pngPart + `,{"type":"input_text","text":"done"}]}`},
			nil,
		},
		"reasoning and call": {
			[]*llmdv1.Message{own(thinks(rs), calls("call_1", `{ "q" : 1.0 }`, "fc_1"))},
			[]string{rs, `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"look","namespace":"ns","arguments":"{ \"q\" : 1.0 }"}`},
			nil,
		},
		// https://platform.openai.com/docs/guides/function-calling#custom-tools
		"a call of a custom tool": {
			[]*llmdv1.Message{own(calls("call_1", `{"input":"a\n\"b\""}`, "ctc_1")), result(textResult("done"))},
			[]string{
				`{"type":"custom_tool_call","id":"ctc_1","call_id":"call_1","name":"look","namespace":"ns","input":"a\n\"b\""}`,
				`{"type":"custom_tool_call_output","call_id":"call_1","output":"done"}`,
			},
			nil,
		},
		"a custom tool's call with other arguments": {
			[]*llmdv1.Message{own(calls("call_1", `{"input":1}`, "ctc_1")), result(textResult("done"))},
			[]string{
				`{"type":"function_call","call_id":"call_1","name":"look","namespace":"ns","arguments":"{\"input\":1}"}`,
				`{"type":"function_call_output","call_id":"call_1","output":"done"}`,
			},
			[]string{string(adapters.RuleItemID)},
		},
		"reasoning, search, commentary": {
			[]*llmdv1.Message{own(thinks(rs), provider("web_search_call", web), said("Yes.", `{"id":"msg_1","phase":"commentary"}`))},
			[]string{rs, web, `{"type":"message","id":"msg_1","role":"assistant","status":"completed","phase":"commentary","content":[{"type":"output_text","text":"Yes.","annotations":[]}]}`},
			nil,
		},
		"an answer that is there twice": {
			[]*llmdv1.Message{
				own(thinks(rs), said("Yes.", "msg_1"), calls("call_1", "{}", "fc_1")), user("On"),
				own(thinks(rs), provider("web_search_call", web), said("Yes.", "msg_1"), calls("call_2", "{}", "fc_1")),
				own(provider("web_search_call", web)),
			},
			[]string{
				rs, outputText("msg_1", "Yes."), `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"look","namespace":"ns","arguments":"{}"}`,
				`{"role":"user","content":[{"type":"input_text","text":"On"}]}`,
				web, outputText("msg_llmd_2", "Yes."), `{"type":"function_call","call_id":"call_2","name":"look","namespace":"ns","arguments":"{}"}`,
			},
			[]string{string(adapters.RuleItemDuplicate), string(adapters.RuleItemDuplicate), string(adapters.RuleItemDuplicate), string(adapters.RuleItemDuplicate)},
		},
		"reasoning at the end": {
			[]*llmdv1.Message{own(said("Yes.", "msg_1"), thinks(rs))},
			[]string{outputText("msg_1", "Yes.")},
			[]string{string(adapters.RuleReasoningOrphan)},
		},
		"a turn of reasoning alone": {[]*llmdv1.Message{own(thinks(rs), thinks(rs)), user("Hi")}, []string{`{"role":"user","content":[{"type":"input_text","text":"Hi"}]}`}, []string{string(adapters.RuleItemDuplicate), string(adapters.RuleReasoningOrphan)}},
		"reasoning that holds nothing": {
			[]*llmdv1.Message{own(thinks(`{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":null}`), said("Yes.", `{"id":"msg_1"}`), calls("call_1", "", "fc_1"))},
			[]string{outputText("msg_llmd_0", "Yes."), `{"type":"function_call","call_id":"call_1","name":"look","namespace":"ns","arguments":"{}"}`},
			[]string{string(adapters.RuleReasoningEmpty), string(adapters.RuleReasoningEmpty), string(adapters.RuleReasoningEmpty)},
		},
		"thinking without its item": {
			[]*llmdv1.Message{own(thinks(""), calls("call_1", "{}", "fc_1"))},
			[]string{`{"type":"function_call","call_id":"call_1","name":"look","namespace":"ns","arguments":"{}"}`},
			[]string{string(adapters.RuleReasoningEmpty)},
		},
		"citations": {
			[]*llmdv1.Message{own(said("See.", `{"id":"msg_1"}`), provider(kindMessageContent, parts))},
			[]string{`{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":` + parts + `}`},
			nil,
		},
		"citations of another text": {
			[]*llmdv1.Message{own(said("Changed.", `{"id":"msg_1"}`), provider(kindMessageContent, parts))},
			[]string{outputText("msg_1", "Changed.")},
			[]string{string(adapters.RuleContentOrphan)},
		},
		"an id that is too long": {
			[]*llmdv1.Message{own(said("Yes.", `{"id":"`+strings.Repeat("x", 65)+`"}`))},
			// SHA-256 of 65 times "x", its first 16 bytes in base 36.
			[]string{outputText("msg_"+longID, "Yes.")},
			[]string{"item.id_normalized"},
		},
		"another model's turn": {
			[]*llmdv1.Message{user("Hi"), foreign},
			[]string{`{"role":"user","content":[{"type":"input_text","text":"Hi"}]}`, outputText("msg_llmd_1", "Aye."), outputText("msg_llmd_1_1", "Nay."), `{"type":"function_call","call_id":"call_1","name":"look","arguments":"{}"}`},
			nil,
		},
		"another model's search, which it reasoned before": {
			[]*llmdv1.Message{another(reasoned(own(provider("web_search_call", web), said("See.", ""))))},
			[]string{outputText("msg_llmd_0", "See.")},
			[]string{"provider_content.orphan"},
		},
		"another model's search": {
			[]*llmdv1.Message{another(own(provider("web_search_call", web), said("See.", "")))},
			[]string{web, outputText("msg_llmd_0", "See.")},
			nil,
		},
		"a search whose reasoning the client lost": {
			[]*llmdv1.Message{reasoned(own(provider("web_search_call", web), said("See.", `{"id":"msg_1"}`)))},
			[]string{outputText("msg_llmd_0", "See.")},
			[]string{"provider_content.orphan", "reasoning_item.empty"},
		},
		"words and calls whose reasoning the client lost": {
			[]*llmdv1.Message{reasoned(own(said("Yes.", `{"id":"msg_1"}`), calls("call_1", "{}", "fc_1")))},
			[]string{outputText("msg_llmd_0", "Yes."), `{"type":"function_call","call_id":"call_1","name":"look","namespace":"ns","arguments":"{}"}`},
			[]string{"reasoning_item.empty", "reasoning_item.empty"},
		},
		"an item id of another shape": {
			[]*llmdv1.Message{own(calls("call_1", "{}", "0b-uuid"))},
			[]string{`{"type":"function_call","call_id":"call_1","name":"look","namespace":"ns","arguments":"{}"}`},
			[]string{"item.id_normalized"},
		},
		"text results": {
			[]*llmdv1.Message{result(textResult("a\u2028<b>"), textResult("c"))},
			[]string{`{"type":"function_call_output","call_id":"call_1","output":"a` + "\u2028" + `<b>\nc"}`},
			nil,
		},
		"no result": {[]*llmdv1.Message{result(textResult(" "))}, []string{`{"type":"function_call_output","call_id":"call_1","output":"(no tool output)"}`}, []string{"text.placeholder"}},
		"a result with an image": {
			[]*llmdv1.Message{result(imageResult, textResult("look"))},
			[]string{`{"type":"function_call_output","call_id":"call_1","output":[` + pngPart + `,{"type":"input_text","text":"look"}]}`},
			nil,
		},
		"an image alone": {[]*llmdv1.Message{result(imageResult)}, []string{`{"type":"function_call_output","call_id":"call_1","output":[` + pngPart + `]}`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := &llmdv1.Generation{Context: &llmdv1.Context{Messages: c.messages}}
			before := proto.Clone(g)
			r := encode(t, New(), g, gpt())
			want := head + include + `"input":[` + strings.Join(c.want, ",") + `]}`
			if d := cmp.Diff(want, string(r.Body)); d != "" {
				t.Error(d)
			}
			var rules []string
			for _, ch := range r.Changes {
				rules = append(rules, ch.GetRule())
			}
			if d := cmp.Diff(c.rules, rules); d != "" {
				t.Errorf("changes: %s", d)
			}
			if !proto.Equal(before, g) {
				t.Error("the request was changed")
			}
		})
	}
}

const longID = "8u0xuemfr15zbxp49dq54md4l"

func TestSystemPrompt(t *testing.T) {
	g := ask(func(g *llmdv1.Generation) { g.Context.SystemPrompt = "Be \"kind\"." })
	for role, m := range map[string]*profile.Model{
		"developer": gpt(),
		"system":    gpt(func(m *profile.Model) { m.Compat.SupportsDeveloperRole = false }),
	} {
		if body := string(encode(t, New(), g, m).Body); !strings.Contains(body, `"input":[{"role":"`+role+`","content":"Be \"kind\"."},`) {
			t.Error(body)
		}
	}
}

// TestSignatureErrors: opaque state that is not what the API gave cannot be sent.
func TestSignatureErrors(t *testing.T) {
	for want, b := range map[string]*llmdv1.AssistantContent{
		"generation.context.messages[0].assistant.content[0].thinking.signature.data": {Block: &llmdv1.AssistantContent_Thinking{Thinking: &llmdv1.ThinkingContent{
			Signature: &llmdv1.Signature{Format: formatReasoning, Data: []byte(`{"a":`)},
		}}},
		"generation.context.messages[0].assistant.content[0].provider_content.raw_json": {Block: &llmdv1.AssistantContent_ProviderContent{ProviderContent: &llmdv1.ProviderContent{
			Type: "mcp_call", RawJson: []byte(`[`),
		}}},
	} {
		g := &llmdv1.Generation{Context: &llmdv1.Context{Messages: []*llmdv1.Message{{Message: &llmdv1.Message_Assistant{
			Assistant: &llmdv1.AssistantMessage{Content: []*llmdv1.AssistantContent{b}},
		}}}}}
		_, err := tryEncode(t, New(), g, gpt())
		var fe *adapters.FieldError
		if !errors.As(err, &fe) || fe.Field != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestConstraints(t *testing.T) {
	c := New().Constraints(gpt())
	if !c.Images || !c.ErrorResultImages || c.Prefill || c.MergeTurns || c.UserFirst || c.ToolErrorFlag || !c.ProviderContent || c.UnsignedThinking || len(c.SignatureFormats) != 3 || c.ToolCallIDs.MaxLen != 64 {
		t.Errorf("%+v", c)
	}
	if New().API() != "openai-responses" || NewAzure().API() != "azure-openai-responses" {
		t.Error("the ids of the APIs")
	}
}

// reasoned says of an answer that the model reasoned before it.
func reasoned(m *llmdv1.Message) *llmdv1.Message {
	m.GetAssistant().Usage = &llmdv1.Usage{ReasoningTokens: proto.Int32(64)}
	return m
}

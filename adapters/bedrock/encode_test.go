package bedrock

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Histories are built with these.
var (
	text          = adaptertest.UserText
	user          = adaptertest.User
	assistant     = adaptertest.Assistant
	said          = adaptertest.Says
	thought       = adaptertest.Thinks
	call          = adaptertest.Calls
	opaqueContent = adaptertest.Own
	returns       = adaptertest.ResultText
)

const (
	sonnet4 = "us.anthropic.claude-sonnet-4-20250514-v1:0"
	sonnet5 = "us.anthropic.claude-sonnet-5"
	llama   = "us.meta.llama3-3-70b-instruct-v1:0"
	nova2   = "us.amazon.nova-2-lite-v1:0"

	none    = llmdv1.ReasoningEffort_REASONING_EFFORT_NONE
	minimal = llmdv1.ReasoningEffort_REASONING_EFFORT_MINIMAL
	low     = llmdv1.ReasoningEffort_REASONING_EFFORT_LOW
	high    = llmdv1.ReasoningEffort_REASONING_EFFORT_HIGH
	xhigh   = llmdv1.ReasoningEffort_REASONING_EFFORT_XHIGH
)

// setup is a call to be encoded; the functions of a test case change it.
type setup struct {
	g *llmdv1.Generation
	m *profile.Model
}

// newSetup says "hi" without caching, to keep bodies short.
func newSetup(id string) *setup {
	return &setup{
		g: &llmdv1.Generation{
			Context: &llmdv1.Context{Messages: []*llmdv1.Message{user(text("hi"))}}, Config: &llmdv1.GenerationConfig{},
			Reasoning: &llmdv1.ReasoningConfig{}, Cache: &llmdv1.CacheConfig{Retention: llmdv1.CacheRetention_CACHE_RETENTION_NONE},
		},
		m: &profile.Model{
			ID: id, Provider: "amazon-bedrock", API: apiID, Reasoning: true, Source: "builtin",
			Input: []llmdv1.Modality{llmdv1.Modality_MODALITY_TEXT, llmdv1.Modality_MODALITY_IMAGE}, Compat: profile.Defaults(apiID),
		},
	}
}

func (s *setup) encode(t testing.TB) (*adapters.Request, error) {
	t.Helper()
	return adaptertest.Encode(t, New(), s.g, s.m)
}

func (s *setup) effort(e llmdv1.ReasoningEffort) { s.g.Reasoning.Effort = e }
func (s *setup) limit(n int32)                   { s.g.Config.MaxOutputTokens = new(n) }
func (s *setup) retain(r llmdv1.CacheRetention)  { s.g.Cache.Retention = r }
func (s *setup) mode(m llmdv1.ToolMode) {
	s.g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: m}}
}

func (s *setup) tool(name, schema string) {
	s.g.Context.Tools = append(s.g.Context.Tools, &llmdv1.Tool{Name: name, ParametersJsonSchema: schema})
}

func result(id string, failed bool, content ...*llmdv1.ToolResultContent) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: &llmdv1.ToolResultMessage{
		ToolCallId: id, ToolName: "f", IsError: failed, Content: content,
	}}}
}

// hi is the whole conversation of newSetup.
const hi = `"messages":[{"role":"user","content":[{"text":"hi"}]}]`

func TestEncode(t *testing.T) {
	withTool := func(s *setup) { s.tool("f", `{"type":"object"}`) }
	const tools = `"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}]`
	for name, c := range map[string]struct {
		model string
		with  func(*setup)
		want  string // the body
		says  string // of the adjustments or the reason for no thinking
	}{
		"nothing":         {model: llama, want: `{` + hi + `}`},
		"claude's limit":  {model: sonnet4, with: func(s *setup) { s.m.MaxOutput = 64000 }, want: `{"inferenceConfig":{"maxTokens":64000},` + hi + `}`},
		"a guessed limit": {model: sonnet4, with: func(s *setup) { s.m.MaxOutput, s.m.OutputGuessed = 64000, true }, want: `{` + hi + `}`},
		"a budget beside it": {
			model: sonnet4, with: func(s *setup) {
				s.m.MaxOutput, s.m.OutputGuessed, s.g.Reasoning.BudgetTokens = 64000, true, proto.Int32(20000)
			},
			want: `{"inferenceConfig":{"maxTokens":32000},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":20000}},` + hi + `}`,
		},
		"a large budget beside it": {
			model: sonnet4, with: func(s *setup) {
				s.m.MaxOutput, s.m.OutputGuessed, s.g.Reasoning.BudgetTokens = 64000, true, proto.Int32(40000)
			},
			want: `{"inferenceConfig":{"maxTokens":44096},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":40000}},` + hi + `}`,
		},
		"another's limit":  {model: llama, with: func(s *setup) { s.m.MaxOutput = 8192 }, want: `{` + hi + `}`},
		"a caller's limit": {model: llama, with: func(s *setup) { s.limit(7) }, want: `{"inferenceConfig":{"maxTokens":7},` + hi + `}`},
		"sampling": {model: llama, with: func(s *setup) {
			s.g.Config.Temperature, s.g.Config.TopP, s.g.Config.StopSequences = new(0.5), new(0.9), []string{"\n", "END"}
		}, want: `{"inferenceConfig":{"temperature":0.5,"topP":0.9,"stopSequences":["\n","END"]},` + hi + `}`},
		"claude's top_k": {model: sonnet4, with: func(s *setup) { s.g.Config.TopK = proto.Int32(40) }, want: `{"additionalModelRequestFields":{"top_k":40},` + hi + `}`},
		"nova's top_k":   {model: nova2, with: func(s *setup) { s.g.Config.TopK = proto.Int32(20) }, want: `{"additionalModelRequestFields":{"inferenceConfig":{"topK":20}},` + hi + `}`},
		"nova's tools": {
			model: "amazon.nova-pro-v1:0", with: func(s *setup) {
				s.tool("f", `{"$schema":"x","type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string"}}}`)
			},
			want: `{"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object","properties":{"a":{"type":"string"}}}}}}]},` + hi + `}`,
			says: `tool "f": $schema at the top of the schema is left out`,
		},
		"schema": {
			model: sonnet5, with: func(s *setup) { s.g.Config.OutputJsonSchema = `{"type": "object"}` },
			want: `{"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":"{\"type\": \"object\",\"additionalProperties\":false}"}}}},` + hi + `}`,
		},
		"tier": {model: "openai.gpt-oss-120b-1:0", with: func(s *setup) {
			s.m.Compat.SupportsServiceTier, s.g.Config.ServiceTier = true, llmdv1.ServiceTier_SERVICE_TIER_FLEX
		}, want: `{"serviceTier":{"type":"flex"},` + hi + `}`},
		"fast tier": {model: nova2, with: func(s *setup) {
			s.m.Compat.SupportsServiceTier, s.g.Config.ServiceTier = true, llmdv1.ServiceTier_SERVICE_TIER_FAST
		}, want: `{"serviceTier":{"type":"priority"},` + hi + `}`},
		"standard tier": {model: llama, with: func(s *setup) { s.g.Config.ServiceTier = llmdv1.ServiceTier_SERVICE_TIER_STANDARD }, want: `{` + hi + `}`},
		"user":          {model: llama, with: func(s *setup) { s.g.User = "u-1@x" }, want: `{"requestMetadata":{"user_id":"u-1@x"},` + hi + `}`},
		"system":        {model: llama, with: func(s *setup) { s.g.Context.SystemPrompt = "Be <brief>" }, want: `{"system":[{"text":"Be <brief>"}],` + hi + `}`},
		"blank system":  {model: llama, with: func(s *setup) { s.g.Context.SystemPrompt = " \n" }, want: `{` + hi + `}`},
		"provider options": {model: llama, with: func(s *setup) {
			s.g.ProviderOptionsJson = map[string]string{"amazon-bedrock": `{"guardrailConfig":{"guardrailIdentifier":"g"}}`}
		}, want: `{` + hi + `,"guardrailConfig":{"guardrailIdentifier":"g"}}`},

		"tools":              {model: llama, with: withTool, want: `{` + tools + `},` + hi + `}`},
		"tools, auto":        {model: llama, with: func(s *setup) { withTool(s); s.mode(llmdv1.ToolMode_TOOL_MODE_AUTO) }, want: `{` + tools + `,"toolChoice":{"auto":{}}},` + hi + `}`},
		"tools, required":    {model: llama, with: func(s *setup) { withTool(s); s.mode(llmdv1.ToolMode_TOOL_MODE_REQUIRED) }, want: `{` + tools + `,"toolChoice":{"any":{}}},` + hi + `}`},
		"tools, none":        {model: llama, with: func(s *setup) { withTool(s); s.mode(llmdv1.ToolMode_TOOL_MODE_NONE) }, want: `{` + hi + `}`},
		"one tool of claude": {model: sonnet4, with: oneTool, want: `{` + tools + `,"toolChoice":{"tool":{"name":"f"}}},` + hi + `}`},
		"one tool of llama":  {model: llama, with: oneTool, want: `{` + tools + `,"toolChoice":{"any":{}}},` + hi + `}`},
		"parallel calls":     {model: llama, with: func(s *setup) { withTool(s); s.g.Config.ParallelToolCalls = new(true) }, want: `{` + tools + `},` + hi + `}`},
		"no tools, no parallel calls": {
			model: llama, with: func(s *setup) { s.g.Config.ParallelToolCalls = new(false) }, want: `{` + hi + `}`,
		},
		"schemas keep their bytes": {
			model: llama, with: func(s *setup) { s.tool("f", `{"type":"object", "x":[1.0,"<>"] }`) },
			want: `{"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object", "x":[1.0,"<>"] }}}}]},` + hi + `}`,
		},
		"schema without a type": {
			model: llama, with: func(s *setup) { s.tool("f", `{"title":"T"}`); s.tool("g", ""); s.tool("h", "{}") },
			want: `{"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object","title":"T"}}}},` +
				`{"toolSpec":{"name":"g","inputSchema":{"json":{"type":"object","properties":{}}}}},` +
				`{"toolSpec":{"name":"h","inputSchema":{"json":{"type":"object","properties":{}}}}}]},` + hi + `}`,
		},
		"description": {
			model: llama, with: func(s *setup) { withTool(s); s.g.Context.Tools[0].Description = "does" },
			want: `{"toolConfig":{"tools":[{"toolSpec":{"name":"f","description":"does","inputSchema":{"json":{"type":"object"}}}}]},` + hi + `}`,
		},
		"blank description": {model: llama, with: func(s *setup) { withTool(s); s.g.Context.Tools[0].Description = " " }, want: `{` + tools + `},` + hi + `}`},
		"strict": {
			model: sonnet5, with: func(s *setup) {
				s.m.Compat.SupportsStrictMode = true
				s.tool("f", `{"properties":{"a":{"type":"string"}},"required":["a"]}`)
				s.g.Context.Tools[0].Strict = llmdv1.StrictMode_STRICT_MODE_REQUIRE
			},
			want: `{"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}},"strict":true}}]},` + hi + `}`,
		},
		"strict if possible": {
			model: sonnet5, with: func(s *setup) {
				s.m.Compat.SupportsStrictMode = true
				s.tool("f", `{"type":"object","properties":{"a":{"oneOf":[]}}}`)
				s.g.Context.Tools[0].Strict = llmdv1.StrictMode_STRICT_MODE_PREFER
			},
			want: `{"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object","properties":{"a":{"oneOf":[]}}}}}}]},` + hi + `}`,
		},

		"cache": {
			model: sonnet4, with: func(s *setup) {
				s.retain(llmdv1.CacheRetention_CACHE_RETENTION_UNSPECIFIED)
				s.g.Context.SystemPrompt = "S"
				withTool(s)
			},
			want: `{"system":[{"text":"S"},{"cachePoint":{"type":"default"}}],` + tools[:len(tools)-1] + `,{"cachePoint":{"type":"default"}}]},` +
				`"messages":[{"role":"user","content":[{"text":"hi"},{"cachePoint":{"type":"default"}}]}]}`,
		},
		"long cache": {
			model: "anthropic.claude-haiku-4-5-20251001-v1:0", with: func(s *setup) { s.retain(llmdv1.CacheRetention_CACHE_RETENTION_LONG) },
			want: `{"messages":[{"role":"user","content":[{"text":"hi"},{"cachePoint":{"type":"default","ttl":"1h"}}]}]}`,
		},
		"model without cache": {model: "anthropic.claude-3-haiku-20240307-v1:0", with: func(s *setup) { s.retain(llmdv1.CacheRetention_CACHE_RETENTION_SHORT) }, want: `{` + hi + `}`},

		"budget": {
			model: sonnet4, with: func(s *setup) { s.effort(low); s.limit(32000) },
			want: `{"inferenceConfig":{"maxTokens":32000},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":2048}},` + hi + `}`,
		},
		"budget without a limit": {
			model: sonnet4, with: func(s *setup) { s.g.Reasoning.BudgetTokens = proto.Int32(2000) },
			want: `{"inferenceConfig":{"maxTokens":32000},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":2000}},` + hi + `}`,
		},
		"budget and summary": {
			model: sonnet4, with: func(s *setup) { s.effort(low); s.limit(32000); s.g.Reasoning.IncludeSummary = true },
			want: `{"inferenceConfig":{"maxTokens":32000},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":2048,"display":"summarized"}},` + hi + `}`,
		},
		"budget and tools": {
			model: sonnet4, with: func(s *setup) { s.effort(low); s.limit(32000); withTool(s) },
			want: `{"inferenceConfig":{"maxTokens":32000},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":2048},"anthropic_beta":["interleaved-thinking-2025-05-14"]},` + tools + `},` + hi + `}`,
		},
		"budget and tools of old": {
			model: "us.anthropic.claude-3-7-sonnet-20250219-v1:0", with: func(s *setup) { s.effort(low); s.limit(32000); withTool(s) },
			want: `{"inferenceConfig":{"maxTokens":32000},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":2048}},` + tools + `},` + hi + `}`,
		},
		"budget shrinks": {
			model: sonnet4, with: func(s *setup) { s.effort(high); s.limit(4000) },
			want: `{"inferenceConfig":{"maxTokens":4000},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":2976}},` + hi + `}`,
			says: "2976 tokens instead of 16384",
		},
		"no room": {
			model: sonnet4, with: func(s *setup) { s.effort(high); s.limit(1024) },
			want: `{"inferenceConfig":{"maxTokens":1024},"additionalModelRequestFields":{"thinking":{"type":"disabled"}},` + hi + `}`,
			says: "no room",
		},
		"thinking off": {model: sonnet4, with: func(s *setup) { s.effort(none) }, want: `{"additionalModelRequestFields":{"thinking":{"type":"disabled"}},` + hi + `}`},
		"thinking and a forced call": {
			model: sonnet5, with: func(s *setup) { s.effort(high); oneTool(s) },
			want: `{"additionalModelRequestFields":{"thinking":{"type":"disabled"}},` + tools + `,"toolChoice":{"tool":{"name":"f"}}},` + hi + `}`,
			says: "forced tool choice",
		},
		"thinking and a forced call, both": {
			model: "us.anthropic.claude-fable-5", with: func(s *setup) {
				s.m.Compat.ForcedToolsBesideThinking, s.m.Efforts = true, profile.Efforts{none: {Unsupported: true}}
				oneTool(s)
			},
			want: `{` + tools + `,"toolChoice":{"tool":{"name":"f"}}},` + hi + `}`,
		},
		"temperature beside thinking": {
			model: sonnet4, with: func(s *setup) { s.effort(low); s.limit(32000); s.g.Config.Temperature = proto.Float64(0) },
			want: `{"inferenceConfig":{"maxTokens":32000},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":2048}},` + hi + `}`,
			says: "temperature is left out",
		},
		"adaptive": {
			model: sonnet5, with: func(s *setup) { s.effort(high); s.g.Reasoning.IncludeSummary = true },
			want: `{"additionalModelRequestFields":{"thinking":{"type":"adaptive","display":"summarized","block_binding":{"mismatch_behavior":"drop_block"}},` +
				`"output_config":{"effort":"high"},"anthropic_beta":["thinking-binding-controls-2026-08-01"]},` + hi + `}`,
		},
		"bound unasked": {
			model: "us.anthropic.claude-haiku-5-5", with: func(s *setup) {
				s.g.Context.Messages = append(s.g.Context.Messages, assistant(thought("a", reasoningFormat, "S"), said("a")), user(text("q")))
			},
			want: `{"additionalModelRequestFields":{"thinking":{"type":"adaptive","block_binding":{"mismatch_behavior":"drop_block"}},"anthropic_beta":["thinking-binding-controls-2026-08-01"]},` +
				`"messages":[{"role":"user","content":[{"text":"hi"}]},{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"a","signature":"S"}}},{"text":"a"}]},{"role":"user","content":[{"text":"q"}]}]}`,
		},
		"adaptive, minimal": {
			model: "anthropic.claude-opus-4-6-v1", with: func(s *setup) { s.effort(minimal) },
			want: `{"additionalModelRequestFields":{"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}},` + hi + `}`,
			says: "minimal is sent as low",
		},
		"adaptive in GovCloud": {
			model: "us-gov.anthropic.claude-sonnet-5", with: func(s *setup) { s.effort(high) },
			want: `{"additionalModelRequestFields":{"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}},` + hi + `}`,
		},
		"budget in GovCloud": {
			model: "us-gov.anthropic.claude-sonnet-4-20250514-v1:0", with: func(s *setup) { s.effort(low); s.limit(9000); s.g.Reasoning.IncludeSummary = true },
			want: `{"inferenceConfig":{"maxTokens":9000},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":2048}},` + hi + `}`,
		},
		"adaptive by configuration": {
			model: "anthropic.claude-next", with: func(s *setup) { s.m.Compat.ForceAdaptiveThinking = true; s.effort(low) },
			want: `{"additionalModelRequestFields":{"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}},` + hi + `}`,
		},
		"an ARN by its name": {
			model: "arn:aws:bedrock:us-east-1:1:application-inference-profile/x", with: func(s *setup) {
				s.m.DisplayName = "Claude Sonnet 4.6 (mine)"
				s.effort(low)
				s.retain(llmdv1.CacheRetention_CACHE_RETENTION_SHORT)
			},
			want: `{"additionalModelRequestFields":{"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}},` +
				`"messages":[{"role":"user","content":[{"text":"hi"},{"cachePoint":{"type":"default"}}]}]}`,
		},
		"nova thinks":         {model: nova2, with: func(s *setup) { s.effort(low) }, want: `{"additionalModelRequestFields":{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"low"}},` + hi + `}`},
		"nova does not":       {model: nova2, with: func(s *setup) { s.effort(none) }, want: `{"additionalModelRequestFields":{"reasoningConfig":{"type":"disabled"}},` + hi + `}`},
		"nova, hot":           {model: nova2, with: func(s *setup) { s.effort(high); s.g.Config.Temperature = proto.Float64(1) }, want: `{"additionalModelRequestFields":{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"high"}},` + hi + `}`, says: "temperature is left out"},
		"gpt-oss":             {model: "openai.gpt-oss-120b-1:0", with: func(s *setup) { s.effort(minimal) }, want: `{"additionalModelRequestFields":{"reasoning_effort":"low"},` + hi + `}`, says: "minimal is sent as low"},
		"gpt":                 {model: "us.openai.gpt-5.6-sol", with: func(s *setup) { s.effort(high) }, want: `{"additionalModelRequestFields":{"reasoning":{"effort":"high"}},` + hi + `}`},
		"gpt does not":        {model: "us.openai.gpt-5.6-sol", with: func(s *setup) { s.effort(none) }, want: `{"additionalModelRequestFields":{"reasoning":{"effort":"none"}},` + hi + `}`},
		"no thinker does not": {model: llama, with: func(s *setup) { s.m.Reasoning = false; s.effort(none) }, want: `{` + hi + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetup(c.model)
			if c.with != nil {
				c.with(s)
			}
			r, err := s.encode(t)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(r.Body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			said := strings.Join(r.Effective.GetAdjustments(), "\n") + r.Effective.GetReasoningDisabledReason()
			if c.says == "" && said != "" || !strings.Contains(said, c.says) {
				t.Errorf("says %q, want %q", said, c.says)
			}
		})
	}
}

func oneTool(s *setup) {
	s.tool("f", `{"type":"object"}`)
	s.tool("other", `{"type":"object"}`)
	s.g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_ToolName{ToolName: "f"}}
}

func TestEncodeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		model string
		with  func(*setup)
		field string // of the capability error, or of a field error with "!"
	}{
		"seed":               {llama, func(s *setup) { s.g.Config.Seed = proto.Int64(0) }, "generation.config.seed"},
		"verbosity":          {llama, func(s *setup) { s.g.Config.Verbosity = llmdv1.Verbosity_VERBOSITY_LOW }, "generation.config.verbosity"},
		"schema":             {llama, func(s *setup) { s.g.Config.OutputJsonSchema = "[]" }, "!generation.config.output_json_schema"},
		"user":               {llama, func(s *setup) { s.g.User = "né" }, "generation.user"},
		"long user":          {llama, func(s *setup) { s.g.User = strings.Repeat("u", 257) }, "generation.user"},
		"tier":               {llama, func(s *setup) { s.g.Config.ServiceTier = llmdv1.ServiceTier_SERVICE_TIER_FLEX }, "generation.config.service_tier"},
		"hot":                {llama, func(s *setup) { s.g.Config.Temperature = new(1.1) }, "generation.config.temperature"},
		"top_k":              {llama, func(s *setup) { s.g.Config.TopK = proto.Int32(1) }, "generation.config.top_k"},
		"no sampling":        {sonnet5, func(s *setup) { s.m.Compat.SupportsTemperature = false; s.g.Config.TopP = proto.Float64(1) }, "generation.config.top_p"},
		"no temperature":     {sonnet5, func(s *setup) { s.m.Compat.SupportsTemperature = false; s.g.Config.Temperature = proto.Float64(1) }, "generation.config.temperature"},
		"top_p and thinking": {sonnet5, func(s *setup) { s.effort(low); s.g.Config.TopP = new(0.9) }, "generation.config.top_p"},
		"top_k and thinking": {sonnet5, func(s *setup) { s.effort(low); s.g.Config.TopK = proto.Int32(1) }, "generation.config.top_k"},
		"blank stop":         {sonnet4, func(s *setup) { s.g.Config.StopSequences = []string{"a", "\n"} }, "generation.config.stop_sequences[1]"},
		"empty stop":         {llama, func(s *setup) { s.g.Config.StopSequences = []string{""} }, "generation.config.stop_sequences[0]"},
		"one call at most":   {llama, func(s *setup) { s.tool("f", ""); s.g.Config.ParallelToolCalls = new(false) }, "generation.config.parallel_tool_calls"},
		"no tool to call":    {llama, func(s *setup) { s.mode(llmdv1.ToolMode_TOOL_MODE_REQUIRED) }, "!generation.tool_choice"},
		"tool schema":        {llama, func(s *setup) { s.tool("f", "{") }, "!generation.context.tools[0].parameters_json_schema"},
		"strict": {llama, func(s *setup) {
			s.tool("f", "")
			s.g.Context.Tools[0].Strict = llmdv1.StrictMode_STRICT_MODE_REQUIRE
		}, "generation.context.tools[0].strict"},
		"forced, always thinking": {sonnet5, func(s *setup) {
			s.m.Efforts = profile.Efforts{none: {Unsupported: true}}
			s.tool("f", "")
			s.mode(llmdv1.ToolMode_TOOL_MODE_REQUIRED)
		}, "generation.tool_choice"},
		"long cache":          {sonnet4, func(s *setup) { s.retain(llmdv1.CacheRetention_CACHE_RETENTION_LONG) }, "generation.cache.retention"},
		"long cache of llama": {llama, func(s *setup) { s.retain(llmdv1.CacheRetention_CACHE_RETENTION_LONG) }, "generation.cache.retention"},
		"effort":              {"us.deepseek.r1-v1:0", func(s *setup) { s.effort(high) }, "generation.reasoning.effort"},
		"no effort":           {"us.deepseek.r1-v1:0", func(s *setup) { s.effort(none) }, "generation.reasoning.effort"},
		"gpt-oss off":         {"openai.gpt-oss-20b-1:0", func(s *setup) { s.effort(none) }, "generation.reasoning.effort"},
		"nova of old":         {"amazon.nova-pro-v1:0", func(s *setup) { s.effort(low) }, "generation.reasoning.effort"},
		"stops of gpt-oss":    {"openai.gpt-oss-120b-1:0", func(s *setup) { s.g.Config.StopSequences = []string{"x"} }, "generation.config.stop_sequences"},
		"budget of nova":      {nova2, func(s *setup) { s.g.Reasoning.BudgetTokens = proto.Int32(2000) }, "generation.reasoning.budget_tokens"},
		"budget of sonnet 5":  {sonnet5, func(s *setup) { s.g.Reasoning.BudgetTokens = proto.Int32(2000) }, "generation.reasoning.budget_tokens"},
		"small budget":        {sonnet4, func(s *setup) { s.g.Reasoning.BudgetTokens = proto.Int32(1023) }, "generation.reasoning.budget_tokens"},
		"budget of nothing":   {sonnet4, func(s *setup) { s.effort(none); s.g.Reasoning.BudgetTokens = proto.Int32(2000) }, "generation.reasoning.budget_tokens"},
		"nova's summary":      {nova2, func(s *setup) { s.effort(low); s.g.Reasoning.IncludeSummary = true }, "generation.reasoning.include_summary"},
		"nova's limit":        {nova2, func(s *setup) { s.effort(high); s.limit(9) }, "generation.config.max_output_tokens"},
		"nova's top_p":        {nova2, func(s *setup) { s.effort(high); s.g.Config.TopP = proto.Float64(1) }, "generation.config.top_p"},
		"GovCloud's summary":  {"us-gov.anthropic.claude-sonnet-5", func(s *setup) { s.effort(low); s.g.Reasoning.IncludeSummary = true }, "generation.reasoning.include_summary"},
		"always thinks": {"us.anthropic.claude-fable-5", func(s *setup) {
			s.m.Efforts = profile.Efforts{none: {Unsupported: true}}
			s.effort(low)
			oneTool(s)
		}, "generation.reasoning"},
		"prefill of sonnet 5": {sonnet5, func(s *setup) { s.g.Context.Messages = append(s.g.Context.Messages, assistant(said("So"))) }, "generation.context.messages[1]"},
		"prefill of thinking": {sonnet4, func(s *setup) {
			s.g.Context.Messages = append(s.g.Context.Messages, assistant(thought("a", reasoningFormat, "S"), said("So")))
		}, "generation.context.messages[1]"},
		"prefill and thinking": {sonnet4, func(s *setup) {
			s.effort(low)
			s.limit(9000)
			s.g.Context.Messages = append(s.g.Context.Messages, assistant(said("So")))
		}, "generation.context.messages[1]"},
		"provider options": {llama, func(s *setup) { s.g.ProviderOptionsJson = map[string]string{"amazon-bedrock": "["} }, "!generation.provider_options_json[amazon-bedrock]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetup(c.model)
			c.with(s)
			_, err := s.encode(t)
			var capability *adapters.CapabilityError
			var field *adapters.FieldError
			got := ""
			switch {
			case errors.As(err, &capability):
				got = capability.Field
			case errors.As(err, &field):
				got = "!" + field.Field
			}
			if got != c.field {
				t.Errorf("%v (%s), want %s", err, got, c.field)
			}
		})
	}
}

// TestPath: AWS clients escape all that is not unreserved in RFC 3986; recorded
// requests have "v1%3A0".
func TestPath(t *testing.T) {
	for id, want := range map[string]string{
		"us.anthropic.claude-3-7-sonnet-20250219-v1:0":                      "/model/us.anthropic.claude-3-7-sonnet-20250219-v1%3A0/converse-stream",
		"arn:aws:bedrock:us-east-1:1:inference-profile/us.a.b-c_d~e v1:0/é": "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.a.b-c_d~e%20v1%3A0%2F%C3%A9/converse-stream",
	} {
		r, err := newSetup(id).encode(t)
		if err != nil || r.Path != want {
			t.Errorf("%q, %v, want %q", r.Path, err, want)
		}
	}
	s := newSetup("alias")
	s.m.WireModel = "real"
	if r, err := s.encode(t); err != nil || r.Path != "/model/real/converse-stream" {
		t.Errorf("%q, %v", r.Path, err)
	}
}

func TestEffective(t *testing.T) {
	s := newSetup(sonnet4)
	s.effort(high)
	s.limit(1500)
	oneTool(s)
	r, err := s.encode(t)
	if err != nil {
		t.Fatal(err)
	}
	e := r.Effective
	if e.GetReasoningEffort() != none || e.GetReasoningDisabledReason() == "" || e.GetMaxOutputTokens() != 1500 || !cmp.Equal(e.GetToolNames(), []string{"f"}) {
		t.Errorf("effective is %v", e)
	}
	s = newSetup("anthropic.claude-opus-4-7")
	s.m.Efforts = profile.Efforts{xhigh: {Word: "xhigh"}}
	s.effort(xhigh)
	if r, err = s.encode(t); err != nil || r.Effective.GetReasoningEffort() != xhigh || !strings.Contains(string(r.Body), `"effort":"xhigh"`) {
		t.Errorf("%v: %s", err, r.Body)
	}
}

func TestTraits(t *testing.T) {
	for id, want := range map[string]traits{
		"anthropic.claude-3-5-haiku-20241022-v1:0":                {family: claude, major: 3, minor: 5, haiku: true},
		"us.anthropic.claude-3-7-sonnet-20250219-v1:0":            {family: claude, major: 3, minor: 7},
		"anthropic.claude-opus-4-20250514-v1:0":                   {family: claude, major: 4},
		"anthropic.claude-opus-4-6-v1":                            {family: claude, major: 4, minor: 6},
		"us.anthropic.claude-fable-5-1":                           {family: claude, major: 5, minor: 1},
		"anthropic/claude-sonnet-4.5":                             {family: claude, major: 4, minor: 5},
		"arn:aws-us-gov:bedrock:x/us-gov.anthropic.claude-opus-5": {family: claude, major: 5, government: true},
		"amazon.nova-pro-v1:0":                                    {family: nova, major: 1},
		"us.amazon.nova-2-lite-v1:0":                              {family: nova, major: 2},
		"openai.gpt-oss-20b-1:0":                                  {family: gptOSS},
		"openai.gpt-5.6-sol":                                      {family: gpt},
		"meta.llama3-2-1b-instruct-v1:0":                          {family: meta},
		"us.mistral.pixtral-large-2502-v1:0":                      {family: mistralAI},
		"writer.palmyra-x5-v1:0":                                  {family: writer},
		"qwen.qwen3-coder-480b-a35b-v1:0":                         {family: qwen},
		"zai.glm-5":                                               {family: glm},
		"moonshot.kimi-k2-thinking":                               {family: kimi},
		"deepseek.v3.2":                                           {},
	} {
		if got := traitsOf(&profile.Model{ID: id}); got != want {
			t.Errorf("%s: %+v, want %+v", id, got, want)
		}
	}
	if got := traitsOf(&profile.Model{ID: "team-claude", DisplayName: "Claude Opus 4.7"}); got.major != 4 || got.minor != 7 {
		t.Errorf("the name for people does not count: %+v", got)
	}
}

func TestConstraints(t *testing.T) {
	for id, want := range map[string]struct{ prefill, flag, unsigned bool }{
		sonnet4:                 {true, true, false},
		sonnet5:                 {false, true, false},
		nova2:                   {false, true, true},
		"amazon.nova-lite-v1:0": {true, true, true},
		llama:                   {false, false, true},
	} {
		c := New().Constraints(newSetup(id).m)
		if c.Prefill != want.prefill || c.ToolErrorFlag != want.flag || c.UnsignedThinking != want.unsigned || !c.MergeTurns || !c.UserFirst || !c.ProviderContent {
			t.Errorf("%s: %+v", id, c)
		}
		// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ReasoningContentBlock.html
		for data, ok := range map[string]bool{"cmVk": true, "red": false} {
			if c.Carries(&llmdv1.Signature{Data: []byte(data), Format: redactedFormat}) != ok || !c.Carries(&llmdv1.Signature{Data: []byte(data), Format: reasoningFormat}) {
				t.Errorf("%s: %q", id, data)
			}
		}
	}
}

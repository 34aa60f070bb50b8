package anthropic

import (
	"errors"
	"fmt"
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
	says          = adaptertest.Says
	thinks        = adaptertest.Thinks
	calls         = adaptertest.Calls
	opaqueContent = adaptertest.Own
	returns       = adaptertest.ResultText
)

// setup is a call to be encoded; the functions of a test case change it.
type setup struct {
	g *llmdv1.Generation
	m *profile.Model
}

func newSetup() *setup {
	return &setup{
		g: &llmdv1.Generation{Context: &llmdv1.Context{Messages: []*llmdv1.Message{user(text("hi"))}}, Config: &llmdv1.GenerationConfig{}, Reasoning: &llmdv1.ReasoningConfig{}},
		m: &profile.Model{
			ID: "claude-x", Provider: "anthropic", API: apiID, Reasoning: true, MaxOutput: 32000,
			Input: []llmdv1.Modality{llmdv1.Modality_MODALITY_TEXT, llmdv1.Modality_MODALITY_IMAGE}, Compat: profile.Defaults(apiID),
		},
	}
}

func (s *setup) encode(t testing.TB) (*adapters.Request, error) {
	t.Helper()
	return adaptertest.Encode(t, New(), s.g, s.m)
}

func result(id string, failed bool, content ...*llmdv1.ToolResultContent) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: &llmdv1.ToolResultMessage{ToolCallId: id, ToolName: "look", IsError: failed, Content: content}}}
}

func (s *setup) effort(e llmdv1.ReasoningEffort) { s.g.Reasoning.Effort = e }

func (s *setup) budget(n int32) { s.g.Reasoning.BudgetTokens = new(n) }

func (s *setup) limit(n int32) { s.g.Config.MaxOutputTokens = new(n) }

func (s *setup) adaptive(e llmdv1.ReasoningEffort) {
	s.m.Compat.ForceAdaptiveThinking = true
	s.m.Efforts = profile.Efforts{
		llmdv1.ReasoningEffort_REASONING_EFFORT_XHIGH: {}, llmdv1.ReasoningEffort_REASONING_EFFORT_MAX: {Word: "utmost"},
	}
	s.effort(e)
}

func (s *setup) tools(names ...string) {
	for _, n := range names {
		s.g.Context.Tools = append(s.g.Context.Tools, &llmdv1.Tool{Name: n, ParametersJsonSchema: `{"type":"object"}`})
	}
}

func (s *setup) mode(m llmdv1.ToolMode) {
	s.g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: m}}
}

func (s *setup) history(m ...*llmdv1.Message) { s.g.Context.Messages = m }

func (s *setup) uncached() {
	s.g.Cache = &llmdv1.CacheConfig{Retention: llmdv1.CacheRetention_CACHE_RETENTION_NONE}
}

const (
	effortNone    = llmdv1.ReasoningEffort_REASONING_EFFORT_NONE
	effortMinimal = llmdv1.ReasoningEffort_REASONING_EFFORT_MINIMAL
	effortLow     = llmdv1.ReasoningEffort_REASONING_EFFORT_LOW
	effortMedium  = llmdv1.ReasoningEffort_REASONING_EFFORT_MEDIUM
	effortHigh    = llmdv1.ReasoningEffort_REASONING_EFFORT_HIGH
	effortXHigh   = llmdv1.ReasoningEffort_REASONING_EFFORT_XHIGH
	effortMax     = llmdv1.ReasoningEffort_REASONING_EFFORT_MAX
)

// TestBody pins the whole text of a request that uses everything at once.
func TestBody(t *testing.T) {
	s := newSetup()
	s.g.Context.SystemPrompt = "Be <brief> & kind."
	s.g.Context.Tools = []*llmdv1.Tool{{Name: "look", Description: "Looks.", ParametersJsonSchema: `{ "type":"object", "z":1.0, "a":1e2 }`}, {Name: "ping"}}
	s.g.User = "u1"
	s.g.Config.StopSequences = []string{"END"}
	s.g.Config.OutputJsonSchema = `{"type": "object"}`
	s.budget(2048)
	r, err := s.encode(t)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"claude-x","max_tokens":32000,"stream":true,"stop_sequences":["END"],"thinking":{"type":"enabled","budget_tokens":2048},` +
		`"output_config":{"format":{"type":"json_schema","schema":{"type": "object","additionalProperties":false}}},"metadata":{"user_id":"u1"},` +
		`"system":[{"type":"text","text":"Be <brief> & kind.","cache_control":{"type":"ephemeral"}}],` +
		`"tools":[{"name":"look","description":"Looks.","input_schema":{ "type":"object", "z":1.0, "a":1e2 },"eager_input_streaming":true},` +
		`{"name":"ping","input_schema":{"type":"object","properties":{}},"eager_input_streaming":true,"cache_control":{"type":"ephemeral"}}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}]}`
	if d := cmp.Diff(want, string(r.Body)); d != "" {
		t.Error(d)
	}
	if r.Path != "/v1/messages" || r.Method != "" {
		t.Errorf("%s %s", r.Method, r.Path)
	}
	headers := map[string]string{
		"Content-Type": "application/json", "Accept": "text/event-stream", "Anthropic-Version": "2023-06-01", "Anthropic-Beta": "interleaved-thinking-2025-05-14",
	}
	for k, v := range headers {
		if r.Header.Get(k) != v {
			t.Errorf("header %s is %q, want %q", k, r.Header.Get(k), v)
		}
	}
	if len(r.Header) != len(headers) {
		t.Errorf("headers %v", r.Header)
	}
}

// TestOptions checks what each option adds, by fragments of the body and headers.
func TestOptions(t *testing.T) {
	one := proto.Float64(1)
	for name, c := range map[string]struct {
		set  func(*setup)
		want []string // in the body, or "header: value"
		not  []string // not in the body or headers
		said string   // in adjustments or the reason why thinking is off
	}{
		"nothing":       {func(*setup) {}, []string{`"max_tokens":32000,"stream":true,"messages"`}, []string{"thinking", "temperature", "tool", "beta"}, ""},
		"limit":         {func(s *setup) { s.limit(7) }, []string{`"max_tokens":7,`}, nil, ""},
		"unknown limit": {func(s *setup) { s.m.MaxOutput = 0 }, []string{`"max_tokens":4096,`}, nil, ""},
		"sampling": {func(s *setup) {
			s.g.Config.Temperature, s.g.Config.TopP, s.g.Config.TopK = proto.Float64(0), new(0.5), proto.Int32(40)
		}, []string{`"temperature":0,"top_p":0.5,"top_k":40,`}, nil, ""},

		"thinking off":     {func(s *setup) { s.effort(effortNone) }, []string{`"thinking":{"type":"disabled"}`}, nil, ""},
		"off by nature":    {func(s *setup) { s.m.Reasoning = false; s.effort(effortNone) }, nil, []string{"thinking"}, ""},
		"minimal budget":   {func(s *setup) { s.effort(effortMinimal) }, []string{`"budget_tokens":1024}`}, []string{"beta"}, ""},
		"low budget":       {func(s *setup) { s.effort(effortLow) }, []string{`"budget_tokens":2048}`}, nil, ""},
		"medium budget":    {func(s *setup) { s.effort(effortMedium) }, []string{`"budget_tokens":8192}`}, nil, ""},
		"high budget":      {func(s *setup) { s.effort(effortHigh) }, []string{`"thinking":{"type":"enabled","budget_tokens":16384}`}, nil, ""},
		"shrunk budget":    {func(s *setup) { s.effort(effortHigh); s.limit(8000) }, []string{`"max_tokens":8000,`, `"budget_tokens":6976}`}, nil, "6976 tokens instead of 16384"},
		"least budget":     {func(s *setup) { s.effort(effortHigh); s.limit(1025) }, []string{`"max_tokens":1025,`, `"budget_tokens":1024}`}, nil, "1024 tokens instead"},
		"no room":          {func(s *setup) { s.effort(effortHigh); s.limit(1024) }, []string{`"max_tokens":1024,`, `"type":"disabled"`}, nil, "leaves no room"},
		"explicit budget":  {func(s *setup) { s.budget(5000); s.limit(5001) }, []string{`"budget_tokens":5000}`}, nil, ""},
		"guessed limit":    {func(s *setup) { s.m.MaxOutput, s.m.OutputGuessed = 32768, true; s.budget(40000) }, []string{`"max_tokens":44096,`, `"budget_tokens":40000}`}, nil, ""},
		"too great budget": {func(s *setup) { s.budget(5000); s.limit(5000) }, []string{`"budget_tokens":3976}`}, nil, "3976 tokens instead of 5000"},
		"summary":          {func(s *setup) { s.effort(effortLow); s.g.Reasoning.IncludeSummary = true }, []string{`"budget_tokens":2048,"display":"summarized"}`}, nil, ""},
		"interleaved":      {func(s *setup) { s.effort(effortLow); s.tools("a") }, []string{"Anthropic-Beta: interleaved-thinking-2025-05-14"}, nil, ""},

		"adaptive minimal": {func(s *setup) { s.adaptive(effortMinimal) }, []string{`"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}`}, nil, "minimal is sent as low"},
		"adaptive medium":  {func(s *setup) { s.adaptive(effortMedium); s.tools("a") }, []string{`"output_config":{"effort":"medium"}`}, []string{"beta"}, ""},
		"adaptive xhigh":   {func(s *setup) { s.adaptive(effortXHigh) }, []string{`"output_config":{"effort":"xhigh"}`}, nil, ""},
		"adaptive word":    {func(s *setup) { s.adaptive(effortMax) }, []string{`"output_config":{"effort":"utmost"}`}, nil, ""},
		"binding": {
			func(s *setup) { s.m.Compat.BindsThinking = true; s.adaptive(effortHigh) },
			[]string{`"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}},"output_config":{"effort":"high"}`, "Anthropic-Beta: thinking-binding-controls-2026-08-01"},
			nil, "",
		},
		"binding unasked": {
			func(s *setup) {
				s.m.Compat.BindsThinking = true
				s.adaptive(0)
				s.history(user(text("q")), assistant(thinks("a", thinkingFormat, "S"), says("a")), user(text("q")))
			},
			[]string{`"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}},`, "Anthropic-Beta: thinking-binding-controls-2026-08-01"},
			[]string{"effort"},
			"",
		},
		"nothing that is bound": {func(s *setup) {
			s.m.Compat.BindsThinking = true
			s.adaptive(0)
			s.m.Efforts[effortNone] = profile.EffortWord{Unsupported: true}
		}, nil, []string{"thinking"}, ""},
		"adaptive default": {func(s *setup) { s.adaptive(0) }, nil, []string{"thinking", "effort"}, ""},
		"adaptive off":     {func(s *setup) { s.adaptive(effortNone) }, []string{`"type":"disabled"`}, []string{"effort"}, ""},

		"temperature beside thinking": {func(s *setup) { s.effort(effortHigh); s.g.Config.Temperature = new(0.7) }, nil, []string{`"temperature"`}, "temperature is left out"},
		"default temperature":         {func(s *setup) { s.effort(effortHigh); s.g.Config.Temperature = one }, []string{`"temperature":1,`}, nil, ""},
		"top_p beside thinking":       {func(s *setup) { s.effort(effortHigh); s.g.Config.TopP = new(0.95) }, []string{`"top_p":0.95,`}, nil, ""},
		"temperature when thinking had to go": {func(s *setup) {
			s.effort(effortHigh)
			s.limit(100)
			s.g.Config.Temperature = new(0.5)
		}, []string{`"temperature":0.5,`}, nil, "leaves no room"},

		"tool choice auto":     {func(s *setup) { s.tools("a"); s.mode(llmdv1.ToolMode_TOOL_MODE_AUTO) }, []string{`"tool_choice":{"type":"auto"}`}, nil, ""},
		"tool choice none":     {func(s *setup) { s.tools("a"); s.mode(llmdv1.ToolMode_TOOL_MODE_NONE) }, []string{`"tools":[{"name":"a"`, `"tool_choice":{"type":"none"}`}, nil, ""},
		"tool choice required": {func(s *setup) { s.tools("a"); s.mode(llmdv1.ToolMode_TOOL_MODE_REQUIRED) }, []string{`"tool_choice":{"type":"any"}`}, nil, ""},
		"tool choice by name": {func(s *setup) {
			s.tools("a", "b")
			s.g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_ToolName{ToolName: "b"}}
		}, []string{`"tools":[{"name":"b"`, `"tool_choice":{"type":"tool","name":"b"}`}, []string{`"name":"a"`}, ""},
		"no tools, no choice": {func(s *setup) { s.mode(llmdv1.ToolMode_TOOL_MODE_NONE) }, nil, []string{"tool"}, ""},
		"one call at a time":  {func(s *setup) { s.tools("a"); s.g.Config.ParallelToolCalls = new(false) }, []string{`"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`}, nil, ""},
		"one required call": {func(s *setup) {
			s.tools("a")
			s.mode(llmdv1.ToolMode_TOOL_MODE_REQUIRED)
			s.g.Config.ParallelToolCalls = new(false)
		}, []string{`"tool_choice":{"type":"any","disable_parallel_tool_use":true}`}, nil, ""},
		"no call is not parallel": {func(s *setup) {
			s.tools("a")
			s.mode(llmdv1.ToolMode_TOOL_MODE_NONE)
			s.g.Config.ParallelToolCalls = new(false)
		}, []string{`"tool_choice":{"type":"none"}`}, nil, ""},
		"parallel calls": {func(s *setup) { s.tools("a"); s.g.Config.ParallelToolCalls = new(true) }, nil, []string{"tool_choice"}, ""},
		"forced choice beside thinking": {
			func(s *setup) { s.effort(effortHigh); s.tools("a"); s.mode(llmdv1.ToolMode_TOOL_MODE_REQUIRED) },
			[]string{`"thinking":{"type":"disabled"}`, `"type":"any"`},
			[]string{"beta"},
			"forced tool choice",
		},
		"forced choice, and it thinks": {
			func(s *setup) {
				s.adaptive(effortHigh)
				s.m.Compat.ForcedToolsBesideThinking = true
				s.m.Efforts[effortNone] = profile.EffortWord{Unsupported: true}
				s.tools("a")
				s.mode(llmdv1.ToolMode_TOOL_MODE_REQUIRED)
			},
			[]string{`"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}`, `"tool_choice":{"type":"any"}`},
			nil,
			"",
		},
		"forced choice beside adaptive thinking": {
			func(s *setup) { s.adaptive(effortHigh); s.tools("a"); s.mode(llmdv1.ToolMode_TOOL_MODE_REQUIRED) },
			[]string{`"thinking":{"type":"disabled"}`},
			[]string{"effort"},
			"forced tool choice",
		},
		"late tool streaming": {
			func(s *setup) { s.m.Compat.SupportsEagerToolInputStreaming = false; s.tools("a") },
			[]string{"Anthropic-Beta: fine-grained-tool-streaming-2025-05-14"},
			[]string{"eager"},
			"",
		},
		"late tool streaming without tools": {func(s *setup) { s.m.Compat.SupportsEagerToolInputStreaming = false }, nil, []string{"beta"}, ""},
		"schema without type":               {func(s *setup) { s.tools("a"); s.g.Context.Tools[0].ParametersJsonSchema = ` { "properties": {}}` }, []string{`"input_schema":{"type":"object", "properties": {}}`}, nil, ""},
		"empty schema":                      {func(s *setup) { s.tools("a"); s.g.Context.Tools[0].ParametersJsonSchema = `{ }` }, []string{`"input_schema":{"type":"object","properties":{}}`}, nil, ""},

		"fast": {
			func(s *setup) {
				s.m.Compat.SupportsServiceTier = true
				s.g.Config.ServiceTier = llmdv1.ServiceTier_SERVICE_TIER_FAST
			},
			[]string{`"speed":"fast"`, "Anthropic-Beta: fast-mode-2026-02-01"},
			nil, "",
		},
		"vertex": {
			func(s *setup) { s.m.ID, s.m.Compat.MessagesDialect = "claude-x@20260101", "vertex" },
			[]string{`{"anthropic_version":"vertex-2023-10-16","max_tokens":`, "/models/claude-x@20260101:streamRawPredict\n"},
			[]string{`"model"`, "anthropic-version"},
			"",
		},
		"standard":  {func(s *setup) { s.g.Config.ServiceTier = llmdv1.ServiceTier_SERVICE_TIER_STANDARD }, nil, []string{"speed", "tier", "beta"}, ""},
		"fallbacks": {func(s *setup) { s.m.Compat.AllowedFallbackModels = []string{"b", "c"} }, []string{`"fallbacks":[{"model":"b"},{"model":"c"}]`, "server-side-fallback-2026-07-01"}, nil, ""},
		"several betas": {func(s *setup) {
			s.m.Compat.SupportsServiceTier = true
			s.g.Config.ServiceTier = llmdv1.ServiceTier_SERVICE_TIER_FAST
			s.tools("a")
			s.effort(effortLow)
		}, []string{"Anthropic-Beta: fast-mode-2026-02-01,interleaved-thinking-2025-05-14"}, nil, ""},

		"blank system": {func(s *setup) { s.g.Context.SystemPrompt = " \n" }, nil, []string{"system"}, ""},
		"no cache":     {func(s *setup) { s.uncached(); s.tools("a"); s.g.Context.SystemPrompt = "x" }, nil, []string{"cache_control"}, ""},
		"long cache": {func(s *setup) {
			s.g.Cache = &llmdv1.CacheConfig{Retention: llmdv1.CacheRetention_CACHE_RETENTION_LONG}
		}, []string{`"text":"hi","cache_control":{"type":"ephemeral","ttl":"1h"}`}, nil, ""},
		"no marker on tools": {func(s *setup) { s.m.Compat.SupportsCacheControlOnTools = false; s.tools("a") }, []string{`"eager_input_streaming":true}]`}, nil, ""},
		"session":            {func(s *setup) { s.m.Compat.SendSessionAffinityHeaders = true; s.g.ConversationId = "c 1" }, []string{"X-Session-Affinity: c+1"}, nil, ""},
		"session elsewhere": {func(s *setup) {
			s.m.Compat.SendSessionAffinityHeaders, s.m.Compat.SessionAffinityFormat = true, "openrouter"
			s.g.Cache = &llmdv1.CacheConfig{SessionKey: strings.Repeat("k", 300)}
		}, []string{"X-Session-Id: " + strings.Repeat("k", 256)}, []string{strings.Repeat("k", 257)}, ""},
		"session without cache": {func(s *setup) { s.m.Compat.SendSessionAffinityHeaders = true; s.g.ConversationId = "c1"; s.uncached() }, nil, []string{"c1"}, ""},

		"provider options": {func(s *setup) {
			s.g.ProviderOptionsJson = map[string]string{"anthropic": `{"stream":false,"service_tier":"standard_only","max_tokens":null}`, "other": `{"x":1}`}
		}, []string{`"stream":true`, `"service_tier":"standard_only"`}, []string{"max_tokens", `"x"`}, ""},
	} {
		s := newSetup()
		c.set(s)
		r, err := s.encode(t)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		all := r.Path + "\n" + string(r.Body)
		for k := range r.Header {
			all += "\n" + k + ": " + r.Header.Get(k)
		}
		for _, w := range c.want {
			if !strings.Contains(all, w) {
				t.Errorf("%s: %s is not in %s", name, w, all)
			}
		}
		for _, n := range c.not {
			if strings.Contains(strings.ToLower(all), n) {
				t.Errorf("%s: %s is in %s", name, n, all)
			}
		}
		said := r.Effective.GetReasoningDisabledReason() + strings.Join(r.Effective.GetAdjustments(), "; ")
		if !strings.Contains(said, c.said) || c.said == "" && said != "" {
			t.Errorf("%s: it says %q, want %q", name, said, c.said)
		}
		if off := r.Effective.GetReasoningDisabledReason() != ""; off && r.Effective.GetReasoningEffort() != effortNone {
			t.Errorf("%s: thinking is off, but the effort said is %v", name, r.Effective.GetReasoningEffort())
		}
	}
}

func TestEffective(t *testing.T) {
	s := newSetup()
	s.adaptive(effortMinimal)
	s.tools("b", "a")
	r, err := s.encode(t)
	if err != nil {
		t.Fatal(err)
	}
	e := r.Effective
	if e.GetReasoningEffort() != effortLow || e.GetMaxOutputTokens() != 32000 || strings.Join(e.GetToolNames(), ",") != "b,a" {
		t.Errorf("%v", e)
	}
}

// TestRefused checks that no explicit value is dropped in silence.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		set   func(*setup)
		field string // below "generation."
		says  string
	}{
		"seed":      {func(s *setup) { s.g.Config.Seed = proto.Int64(0) }, "config.seed", ""},
		"verbosity": {func(s *setup) { s.g.Config.Verbosity = llmdv1.Verbosity_VERBOSITY_LOW }, "config.verbosity", ""},
		"flex":      {func(s *setup) { s.g.Config.ServiceTier = llmdv1.ServiceTier_SERVICE_TIER_FLEX }, "config.service_tier", ""},
		"fast": {func(s *setup) {
			s.g.Config.ServiceTier = llmdv1.ServiceTier_SERVICE_TIER_FAST
		}, "config.service_tier", ""},
		"temperature":     {func(s *setup) { s.m.Compat.SupportsTemperature = false; s.g.Config.Temperature = proto.Float64(1) }, "config.temperature", ""},
		"top_p":           {func(s *setup) { s.m.Compat.SupportsTemperature = false; s.g.Config.TopP = proto.Float64(1) }, "config.top_p", ""},
		"top_k":           {func(s *setup) { s.m.Compat.SupportsTemperature = false; s.g.Config.TopK = proto.Int32(1) }, "config.top_k", ""},
		"hot":             {func(s *setup) { s.g.Config.Temperature = new(1.5) }, "config.temperature", "at most 1"},
		"top_k thinking":  {func(s *setup) { s.effort(effortHigh); s.g.Config.TopK = proto.Int32(5) }, "config.top_k", ""},
		"top_p thinking":  {func(s *setup) { s.adaptive(effortHigh); s.g.Config.TopP = new(0.9) }, "config.top_p", ""},
		"blank stop":      {func(s *setup) { s.g.Config.StopSequences = []string{"a", "\n"} }, "config.stop_sequences[1]", ""},
		"adaptive budget": {func(s *setup) { s.adaptive(0); s.budget(2048) }, "reasoning.budget_tokens", ""},
		"forced, always thinking": {func(s *setup) {
			s.adaptive(0)
			s.m.Efforts = profile.Efforts{llmdv1.ReasoningEffort_REASONING_EFFORT_NONE: {Unsupported: true}}
			s.tools("a")
			s.mode(llmdv1.ToolMode_TOOL_MODE_REQUIRED)
		}, "tool_choice", "always thinks"},
		"tiny budget":    {func(s *setup) { s.budget(1023) }, "reasoning.budget_tokens", "1,024"},
		"budget without": {func(s *setup) { s.effort(effortNone); s.budget(2048) }, "reasoning.budget_tokens", ""},
		"long cache": {func(s *setup) {
			s.m.Compat.SupportsLongCacheRetention = false
			s.g.Cache = &llmdv1.CacheConfig{Retention: llmdv1.CacheRetention_CACHE_RETENTION_LONG}
		}, "cache.retention", ""},
		"always thinking": {func(s *setup) {
			s.adaptive(effortHigh)
			s.m.Efforts[effortNone] = profile.EffortWord{Unsupported: true}
			s.tools("a")
			s.mode(llmdv1.ToolMode_TOOL_MODE_REQUIRED)
		}, "reasoning", "forced tool choice"},
		"required, no tool": {func(s *setup) { s.mode(llmdv1.ToolMode_TOOL_MODE_REQUIRED) }, "tool_choice", ""},
		"schema":            {func(s *setup) { s.tools("a", "b"); s.g.Context.Tools[1].ParametersJsonSchema = `{"type":` }, "context.tools[1].parameters_json_schema", ""},
		"schema of a list":  {func(s *setup) { s.tools("a"); s.g.Context.Tools[0].ParametersJsonSchema = `[]` }, "context.tools[0].parameters_json_schema", ""},
		"output schema":     {func(s *setup) { s.g.Config.OutputJsonSchema = `{} x` }, "config.output_json_schema", ""},
		"provider options":  {func(s *setup) { s.g.ProviderOptionsJson = map[string]string{"anthropic": `[`} }, "provider_options_json[anthropic]", ""},
		"strict, host":      {func(s *setup) { s.tools("a"); s.g.Context.Tools[0].Strict = llmdv1.StrictMode_STRICT_MODE_REQUIRE }, "context.tools[0].strict", `tool "a"`},
		"strict, schema": {func(s *setup) {
			s.m.Compat.SupportsStrictTools = true
			s.tools("a")
			s.g.Context.Tools[0].ParametersJsonSchema = `{"properties":{"x":{"oneOf":[]}}}`
			s.g.Context.Tools[0].Strict = llmdv1.StrictMode_STRICT_MODE_REQUIRE
		}, "context.tools[0].strict", `tool "a": keyword "oneOf" at "/properties/x"`},
		"prefill thinking": {func(s *setup) { s.history(user(text("q")), assistant(says("a"))); s.effort(effortHigh) }, "context.messages[1]", "thinking"},
		"prefill adaptive": {func(s *setup) { s.history(user(text("q")), assistant(says("a"))); s.adaptive(0) }, "context.messages[1]", "claude-x"},
		"prefill of thinking": {func(s *setup) {
			s.history(user(text("q")), assistant(thinks("a", thinkingFormat, "S"), says("a")))
		}, "context.messages[1]", "thinking"},
		"prefill schema": {func(s *setup) { s.history(user(text("q")), assistant(says("a"))); s.g.Config.OutputJsonSchema = `{}` }, "context.messages[1]", "schema"},
	} {
		s := newSetup()
		c.set(s)
		_, err := s.encode(t)
		var capability *adapters.CapabilityError
		var field *adapters.FieldError
		got, detail := "", ""
		switch {
		case errors.As(err, &capability):
			got, detail = capability.Field, capability.Detail
			if capability.Capability == "" {
				t.Errorf("%s: no capability is named", name)
			}
		case errors.As(err, &field):
			got, detail = field.Field, field.Detail
		}
		if got != "generation."+c.field || !strings.Contains(detail, c.says) {
			t.Errorf("%s: error %v for %q", name, err, got)
		}
	}
}

// TestStrict: a schema is made strict, or the tool is not; see package schema.
func TestStrict(t *testing.T) {
	s := newSetup()
	s.m.Compat.SupportsStrictTools = true
	for _, tl := range []struct {
		schema string
		mode   llmdv1.StrictMode
	}{
		{`{"properties":{"a":{"type":"string"}}}`, llmdv1.StrictMode_STRICT_MODE_REQUIRE},
		{"", llmdv1.StrictMode_STRICT_MODE_OFF},
		{`{"type":"object","properties":{"n":{"type":"number","minimum":1}}}`, llmdv1.StrictMode_STRICT_MODE_PREFER},
	} {
		s.g.Context.Tools = append(s.g.Context.Tools, &llmdv1.Tool{Name: "t", ParametersJsonSchema: tl.schema, Strict: tl.mode})
	}
	r, err := s.encode(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"input_schema":{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a"],"additionalProperties":false},"strict":true`,
		`"input_schema":{"type":"object","properties":{}},"eager`,
		`"input_schema":{"type":"object","properties":{"n":{"type":"number","minimum":1}}},"eager`,
	} {
		if !strings.Contains(string(r.Body), want) {
			t.Errorf("%s is not in %s", want, r.Body)
		}
	}
}

// TestStrictLimits: a request has at most 20 strict tools. Those that only prefer to be
// strict make room for those that must be, and one that must and cannot is refused.
// https://docs.anthropic.com/en/docs/build-with-claude/structured-outputs#schema-complexity-limits
func TestStrictLimits(t *testing.T) {
	for _, c := range []struct{ preferred, required, strict int }{{20, 0, 20}, {49, 0, 20}, {30, 3, 20}, {0, 20, 20}, {5, 21, -1}} {
		s := newSetup()
		s.m.Compat.SupportsStrictTools = true
		for i := range c.preferred + c.required {
			mode := llmdv1.StrictMode_STRICT_MODE_PREFER
			if i >= c.preferred {
				mode = llmdv1.StrictMode_STRICT_MODE_REQUIRE
			}
			s.g.Context.Tools = append(s.g.Context.Tools, &llmdv1.Tool{Name: fmt.Sprintf("t%02d", i), Strict: mode})
		}
		r, err := s.encode(t)
		if c.strict < 0 {
			if e, ok := errors.AsType[*adapters.CapabilityError](err); !ok || e.Capability != "strict_tools" {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		body := string(r.Body)
		if got := strings.Count(body, `"strict":true`); got != c.strict || strings.Count(body, `"name":"t`) != c.preferred+c.required {
			t.Errorf("%+v: %d are strict: %s", c, got, body)
		}
		for i := range c.required {
			if name := fmt.Sprintf(`"name":"t%02d","input_schema":{"type":"object","properties":{},"required":[],"additionalProperties":false},"strict":true`, c.preferred+i); !strings.Contains(body, name) {
				t.Errorf("%+v: no %s in %s", c, name, body)
			}
		}
	}
}

// TestDraft: schemas of older drafts go out as draft 2020-12, and the caller is told.
func TestDraft(t *testing.T) {
	s := newSetup()
	s.tools("a")
	s.g.Context.Tools[0].ParametersJsonSchema = `{"type":"object","properties":{"at":{"type":"array","items":[{"type":"number"}],"additionalItems":false}}}`
	r, err := s.encode(t)
	if err != nil {
		t.Fatal(err)
	}
	const want = `"input_schema":{"type":"object","properties":{"at":{"type":"array","prefixItems":[{"type":"number"}],"items":false}}}`
	said := strings.Join(r.Effective.GetAdjustments(), "; ")
	if !strings.Contains(string(r.Body), want) || !strings.Contains(said, `tool "a": items of the schema`) {
		t.Errorf("%s\n%s", r.Body, said)
	}
}

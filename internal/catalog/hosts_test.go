package catalog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmd-dev/llmd/adapters/profile"
)

// matrix is the table of OpenAI-compatible hosts: each class by provider id and
// by URL, and the flags in which it differs from an unknown host.
var matrix = []struct {
	class     string
	providers []string
	urls      []string
	differs   string
}{
	{"unknown", []string{"my-lab"}, []string{"https://llm.example.test/v1", "http://127.0.0.1:1"}, ""},
	{"openai", []string{"openai", "openai-chat"}, []string{"https://api.openai.com/v1"}, "dev strict tier cachekey=enabled schema=openai"},
	{"openrouter", []string{"openrouter"}, []string{"https://openrouter.ai/api/v1"}, "thinking=openrouter affinity=openrouter"},
	{"zai", []string{"zai", "zai-coding-cn"}, []string{"https://api.z.ai/api/paas/v4", "https://open.bigmodel.cn/api/paas/v4"}, "-store -effort max_tokens thinking=zai choice=auto"},
	{"together", []string{"together"}, []string{"https://api.together.ai/v1", "https://api.together.xyz/v1"}, "-store -effort max_tokens thinking=together -long"},
	{"moonshot", []string{"moonshotai", "moonshotai-cn"}, []string{"https://api.moonshot.ai/v1", "https://api.moonshot.cn/v1"}, "-store -effort max_tokens schema=moonshot"},
	{"kimi-code", nil, []string{"https://api.kimi.com/coding/v1"}, "schema=moonshot"},
	{"cf-w", []string{"cloudflare-workers-ai"}, []string{"https://api.cloudflare.com/client/v4/accounts/a/ai/v1"}, "-store -long"},
	{"cf-g", []string{"cloudflare-ai-gateway"}, []string{"https://gateway.ai.cloudflare.com/v1/a/g/compat"}, "-store -effort max_tokens -long"},
	{"nvidia", []string{"nvidia"}, []string{"https://integrate.api.nvidia.com/v1"}, "-store -effort max_tokens -long"},
	{"ant-ling", []string{"ant-ling"}, []string{"https://api.ant-ling.com/v1"}, "-store -effort max_tokens thinking=ant-ling -long"},
	{"cerebras", []string{"cerebras"}, []string{"https://api.cerebras.ai/v1"}, "-store -long"},
	{"groq", []string{"groq"}, []string{"https://api.groq.com/openai/v1"}, "-long"},
	{"deepseek", []string{"deepseek"}, []string{"https://api.deepseek.com", "https://API.DeepSeek.com:443/v1"}, "-store max_tokens thinking=deepseek reasoning_content schema=deepseek -schemas"},
	{"xai", []string{"xai"}, []string{"https://api.x.ai/v1"}, "-store -effort"},
	{"chutes", nil, []string{"https://llm.chutes.ai/v1"}, "-store max_tokens"},
	{"opencode", []string{"opencode", "opencode-go"}, []string{"https://opencode.ai/zen/v1"}, "-store"},
	// A name that only holds another is another host.
	{"look-alike", []string{"deepseek-proxy"}, []string{"https://deepseek.com.example.test/v1", "https://notdeepseek.com", "https://example.test/api.deepseek.com"}, ""},
}

// differences names the flags in which c is not an unknown host.
func differences(c profile.Compat) string {
	var d []string
	add := func(is bool, word string) {
		if is {
			d = append(d, word)
		}
	}
	add(!c.SupportsStore, "-store")
	add(c.SupportsDeveloperRole, "dev")
	add(!c.SupportsReasoningEffort, "-effort")
	add(c.MaxTokensField != "max_completion_tokens", c.MaxTokensField)
	add(c.ThinkingFormat != "openai", "thinking="+c.ThinkingFormat)
	add(c.RequiresReasoningContentOnAssistantMessages, "reasoning_content")
	add(c.SendSessionAffinityHeaders, "affinity="+c.SessionAffinityFormat)
	add(!c.SupportsLongCacheRetention, "-long")
	add(c.SupportsStrictMode, "strict")
	add(c.SupportsServiceTier, "tier")
	add(c.PromptCacheKeyMode != "auto", "cachekey="+c.PromptCacheKeyMode)
	add(c.SchemaDialect != "", "schema="+c.SchemaDialect)
	add(!c.SupportsJSONSchema, "-schemas")
	add(c.ToolChoiceFormat != "", "choice="+c.ToolChoiceFormat)
	slices.Sort(d)
	return strings.Join(d, " ")
}

// hostCompat are the flags of a model that is not described, so that no model of
// the list and no built-in provider has a say but the host's class.
func hostCompat(t *testing.T, api, provider, url, model string) profile.Compat {
	t.Helper()
	c := load(t, fmt.Sprintf("providers:\n  - {id: %s, api: %s, base_url: '%s', allow_unlisted_models: true}\n", provider, api, url))
	m, _ := resolve(t, c, provider+"/"+model)
	return m.Compat
}

func TestCompatMatrix(t *testing.T) {
	for _, tt := range matrix {
		want := strings.Fields(tt.differs)
		slices.Sort(want)
		for _, url := range tt.urls {
			if got := differences(hostCompat(t, "openai-completions", "somebody", url, "m")); got != strings.Join(want, " ") {
				t.Errorf("%s by URL %s: %s, want %s", tt.class, url, got, tt.differs)
			}
		}
		for _, provider := range tt.providers {
			got := differences(hostCompat(t, "openai-completions", provider, "http://127.0.0.1:1/v1", "m"))
			// The model list adds what it knows of the built-in hosts.
			for _, w := range want {
				if !slices.Contains(strings.Fields(got), w) {
					t.Errorf("%s by provider %s: %s, want %s", tt.class, provider, got, tt.differs)
				}
			}
		}
	}
}

// The flags that no host class changes.
func TestCompatDefaults(t *testing.T) {
	want := profile.Compat{
		SupportsStore: true, SupportsReasoningEffort: true, SupportsUsageInStreaming: true, SupportsFinishReason: true,
		MaxTokensField: "max_completion_tokens", ThinkingFormat: "openai", SessionAffinityFormat: "openai", SupportsLongCacheRetention: true,
		PromptCacheKeyMode: "auto", SupportsMaxOutputTokens: true, SupportsTemperature: true, SupportsParallelToolCalls: true, SupportsJSONSchema: true,
	}
	if diff := cmp.Diff(want, hostCompat(t, "openai-completions", "lab", "http://127.0.0.1:1", "m")); diff != "" {
		t.Errorf("openai-completions (-want +got):\n%s", diff)
	}
}

func TestOtherAPIs(t *testing.T) {
	for _, tt := range []struct {
		api, provider, url, model string
		check                     func(profile.Compat) bool
	}{
		{"openai-responses", "lab", "http://127.0.0.1:1", "m", func(c profile.Compat) bool {
			return c.SupportsDeveloperRole && c.SupportsMaxOutputTokens && c.SupportsLongCacheRetention && !c.SupportsStrictMode && !c.SupportsServiceTier && c.PromptCacheKeyMode == "auto"
		}},
		{"openai-responses", "openai", "http://127.0.0.1:1", "m", func(c profile.Compat) bool {
			return c.SupportsStrictMode && c.SupportsServiceTier && !c.SupportsVerbosity
		}},
		{"openai-responses", "openai", "http://127.0.0.1:1", "gpt-5.9-new", func(c profile.Compat) bool { return c.SupportsVerbosity }},
		{"openai-responses", "openai", "http://127.0.0.1:1", "gpt-50", func(c profile.Compat) bool { return !c.SupportsVerbosity }},
		{"openai-responses", "openai", "http://127.0.0.1:1", "GPT-5:free", func(c profile.Compat) bool { return c.SupportsVerbosity }},
		{"openai-responses", "lab", "http://127.0.0.1:1", "gpt-5", func(c profile.Compat) bool { return !c.SupportsVerbosity }},
		{"openai-completions", "openai-chat", "http://127.0.0.1:1", "gpt-5.6-sol", func(c profile.Compat) bool {
			return c.ReasonsByDefault && c.RequiresReasoningOffWithTools && !c.SupportsTemperature && c.SupportsDeveloperRole
		}},
		{"openai-completions", "openai-chat", "http://127.0.0.1:1", "gpt-6.1-terra", func(c profile.Compat) bool { return c.ReasonsByDefault && c.RequiresReasoningOffWithTools }},
		{"openai-completions", "openai-chat", "http://127.0.0.1:1", "gpt-5.4-mini", func(c profile.Compat) bool { return !c.ReasonsByDefault && c.RequiresReasoningOffWithTools }},
		{"openai-completions", "openai-chat", "http://127.0.0.1:1", "gpt-5.2", func(c profile.Compat) bool { return !c.ReasonsByDefault && !c.RequiresReasoningOffWithTools }},
		{"openai-completions", "openai-chat", "http://127.0.0.1:1", "o4-mini", func(c profile.Compat) bool { return !c.SupportsParallelToolCalls }},
		{"openai-responses", "openai", "http://127.0.0.1:1", "o4-mini", func(c profile.Compat) bool { return c.SupportsParallelToolCalls }},
		{"openai-responses", "openai", "http://127.0.0.1:1", "gpt-6-sol", func(c profile.Compat) bool { return c.ReasonsByDefault && !c.RequiresReasoningOffWithTools }},
		{"openai-responses", "openai", "http://127.0.0.1:1", "gpt-5.4", func(c profile.Compat) bool { return !c.ReasonsByDefault && !c.SupportsTemperature }},
		{"openai-completions", "moonshotai", "http://127.0.0.1:1", "kimi-k2.6", func(c profile.Compat) bool {
			return c.ReasonsByDefault && !c.SupportsTemperature && c.RequiresReasoningContentOnAssistantMessages && c.ToolChoiceFormat == ""
		}},
		{"openai-completions", "moonshotai", "http://127.0.0.1:1", "kimi-k3.1-pro", func(c profile.Compat) bool { return c.ToolChoiceFormat == "words" }},
		{"openai-completions", "groq", "http://127.0.0.1:1", "llama-3.3-70b-versatile", func(c profile.Compat) bool { return !c.SupportsJSONSchema }},
		{"openai-completions", "groq", "http://127.0.0.1:1", "openai/gpt-oss-20b", func(c profile.Compat) bool { return c.SupportsJSONSchema }},
		{"azure-openai-responses", "lab", "http://127.0.0.1:1", "m", func(c profile.Compat) bool { return c.SupportsDeveloperRole && c.SupportsStrictMode }},
		{"openai-completions", "openrouter", "http://127.0.0.1:1", "anthropic/claude-9", func(c profile.Compat) bool { return c.CacheControlFormat == "anthropic" }},
		{"openai-completions", "openrouter", "http://127.0.0.1:1", "anthropical/x", func(c profile.Compat) bool { return c.CacheControlFormat == "" }},
		{"openai-completions", "lab", "http://127.0.0.1:1", "anthropic/claude-9", func(c profile.Compat) bool { return c.CacheControlFormat == "" }},
		{"anthropic-messages", "lab", "http://127.0.0.1:1", "m", func(c profile.Compat) bool {
			return c.SupportsEagerToolInputStreaming && c.SupportsCacheControlOnTools && c.SupportsTemperature && c.SupportsLongCacheRetention &&
				!c.ForceAdaptiveThinking && !c.AllowEmptySignature && !c.SupportsStrictTools && !c.SendSessionAffinityHeaders
		}},
		{"anthropic-messages", "openrouter", "http://127.0.0.1:1", "m", func(c profile.Compat) bool {
			return c.SendSessionAffinityHeaders && c.SessionAffinityFormat == "openrouter"
		}},
		{"anthropic-messages", "lab", "http://127.0.0.1:1", "claude-opus-4.6", func(c profile.Compat) bool { return c.ForceAdaptiveThinking && c.SupportsTemperature }},
		{"anthropic-messages", "lab", "http://127.0.0.1:1", "claude-opus-4-60", func(c profile.Compat) bool { return !c.ForceAdaptiveThinking }},
		{"anthropic-messages", "lab", "http://127.0.0.1:1", "claude-sonnet-4-5", func(c profile.Compat) bool { return !c.ForceAdaptiveThinking }},
		{"anthropic-messages", "lab", "http://127.0.0.1:1", "us-Claude-Opus-4-6-20260101", func(c profile.Compat) bool { return c.SupportsServiceTier }},
		{"anthropic-messages", "anthropic", "http://127.0.0.1:1", "claude-opus-5-5", func(c profile.Compat) bool { return c.SupportsServiceTier }},
		{"anthropic-messages", "anthropic", "http://127.0.0.1:1", "claude-fable-5-2", func(c profile.Compat) bool { return c.SupportsServiceTier }},
		{"anthropic-messages", "anthropic", "http://127.0.0.1:1", "claude-fable-5-1", func(c profile.Compat) bool { return !c.SupportsServiceTier && !c.SupportsTemperature }},
		{"bedrock-converse-stream", "lab", "http://127.0.0.1:1", "us.openai.gpt-5.6-sol", func(c profile.Compat) bool { return !c.SupportsTemperature }},
		{"bedrock-converse-stream", "lab", "http://127.0.0.1:1", "openai.gpt-oss-120b-1:0", func(c profile.Compat) bool { return c.SupportsTemperature }},
		{"bedrock-converse-stream", "lab", "http://127.0.0.1:1", "xx.anthropic.claude-fable-5", func(c profile.Compat) bool { return !c.SupportsTemperature && c.ForcedToolsBesideThinking }},
		{"anthropic-messages", "anthropic", "http://127.0.0.1:1", "claude-opus-4-8", func(c profile.Compat) bool { return c.ForcedToolsBesideThinking }},
		{"anthropic-messages", "anthropic", "http://127.0.0.1:1", "claude-haiku-5-5", func(c profile.Compat) bool { return c.ForcedToolsBesideThinking }},
		{"anthropic-messages", "anthropic", "http://127.0.0.1:1", "claude-opus-5-5", func(c profile.Compat) bool { return !c.ForcedToolsBesideThinking }},
		{"anthropic-messages", "anthropic", "http://127.0.0.1:1", "claude-opus-4-7", func(c profile.Compat) bool { return !c.ForcedToolsBesideThinking }},
		{"anthropic-messages", "anthropic", "http://127.0.0.1:1", "claude-opus-4-8", func(c profile.Compat) bool { return !c.SupportsServiceTier }},
		{"anthropic-messages", "anthropic", "http://127.0.0.1:1", "claude-opus-4-60", func(c profile.Compat) bool { return !c.SupportsServiceTier }},
		{"anthropic-messages", "lab", "http://127.0.0.1:1", "anthropic/claude-opus-4-6", func(c profile.Compat) bool { return !c.SupportsServiceTier }},
		{"anthropic-messages", "lab", "http://127.0.0.1:1", "anthropic.claude-opus-4-6-v1", func(c profile.Compat) bool { return !c.SupportsServiceTier }},
		{"bedrock-converse-stream", "lab", "http://127.0.0.1:1", "xx.anthropic.claude-opus-4-8-v1:0", func(c profile.Compat) bool { return c.ForceAdaptiveThinking && !c.SupportsTemperature }},
		{"bedrock-converse-stream", "lab", "http://127.0.0.1:1", "amazon.nova-pro-v1:0", func(c profile.Compat) bool {
			return !c.ForceAdaptiveThinking && c.SupportsTemperature && !c.SupportsStrictMode
		}},
		{"mistral-conversations", "lab", "http://127.0.0.1:1", "m", func(c profile.Compat) bool { return !c.SupportsStrictMode }},
	} {
		if c := hostCompat(t, tt.api, tt.provider, tt.url, tt.model); !tt.check(c) {
			t.Errorf("%s %s %s: %+v", tt.api, tt.provider, tt.model, c)
		}
	}
}

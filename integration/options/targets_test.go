package options

import (
	"slices"
	"strings"
)

// target is one model at one host.
type target struct {
	// api is its wire API, label what it is called in tables and name its address.
	api, label, name string
}

// configuration reaches hosts of all wire APIs. Those that are built in bring the
// flags and models that users have; the others stand for a kind of host.
const configuration = `providers:
  - {id: anthropic, api_key: k}
  - {id: minimax, api_key: k}
  - id: claude-copy
    api: anthropic-messages
    base_url: https://claude.example/api
    api_key: k
    models: [{id: small-text, input: [text], context_window_tokens: 32000, max_output_tokens: 4000}]
  - id: openai-chat
    api: openai-completions
    base_url: https://api.openai.com/v1
    api_key: k
    models:
      - {id: gpt-4.1, input: [text, image], context_window_tokens: 1047576, max_output_tokens: 32768}
      - {id: gpt-5.4, reasoning: true, efforts: {none: none, minimal: null, xhigh: xhigh}, input: [text, image], context_window_tokens: 1050000, max_output_tokens: 128000}
      - {id: o3, reasoning: true, efforts: {none: null, minimal: null}, input: [text, image], context_window_tokens: 200000, max_output_tokens: 100000}
  - {id: openrouter, api_key: k}
  - {id: deepseek, api_key: k}
  - {id: zai, api_key: k}
  - {id: groq, api_key: k}
  - {id: together, api_key: k}
  - id: qwen
    api: openai-completions
    base_url: https://dashscope-intl.aliyuncs.com/compatible-mode/v1
    api_key: k
    compat: {supports_store: false, max_tokens_field: max_tokens, supports_reasoning_effort: false, thinking_format: qwen, thinking_token_budget_field: thinking_budget}
    models: [{id: qwen3-max, reasoning: true, context_window_tokens: 262144, max_output_tokens: 65536}]
  - id: vllm
    api_key: none
    compat:
      thinking_format: chat-template
      chat_template_kwargs: {enable_thinking: {$var: thinking.enabled}}
      supports_thinking_token_budget: true
    models: [{id: qwen3-32b, reasoning: true, context_window_tokens: 131072, max_output_tokens: 32768}]
  - id: some-host
    api: openai-completions
    base_url: https://llm.example/v1
    api_key: k
    models:
      - {id: reasoner, reasoning: true, input: [text, image], context_window_tokens: 128000, max_output_tokens: 32000}
      - {id: talker, context_window_tokens: 128000, max_output_tokens: 32000}
  - {id: openai, api_key: k}
  - {id: xai, api_key: k}
  - {id: azure, api_key: k, base_url: "https://res.openai.azure.com/openai/v1"}
  - id: some-responses
    api: openai-responses
    base_url: https://llm.example/v1
    api_key: k
    models: [{id: talker, context_window_tokens: 128000, max_output_tokens: 32000}]
  - {id: google, api_key: k}
  - {id: google-vertex, api_key: k}
  - {id: amazon-bedrock, api_key: k}
  - {id: mistral, api_key: k}
  - id: mistral-copy
    api: mistral-conversations
    base_url: https://mistral.example/v1
    api_key: k
    models: [{id: old-reasoner, reasoning: true, context_window_tokens: 128000, max_output_tokens: 32000}]
`

// The wire APIs.
const (
	apiAnthropic = "anthropic-messages"
	apiChat      = "openai-completions"
	apiResponses = "openai-responses"
	apiAzure     = "azure-openai-responses"
	apiGemini    = "google-generative-ai"
	apiVertex    = "google-vertex"
	apiBedrock   = "bedrock-converse-stream"
	apiMistral   = "mistral-conversations"
)

func targets() []target {
	return []target{
		{apiAnthropic, "sonnet-4.5", "anthropic/claude-sonnet-4-5"},
		{apiAnthropic, "opus-4.6", "anthropic/claude-opus-4-6"},
		{apiAnthropic, "opus-4.8", "anthropic/claude-opus-4-8"},
		{apiAnthropic, "opus-5.5", "anthropic/claude-opus-5-5"},
		{apiAnthropic, "minimax-m3", "minimax/MiniMax-M3"},
		{apiAnthropic, "copy", "claude-copy/small-text"},

		{apiChat, "openai:gpt-4.1", "openai-chat/gpt-4.1"},
		{apiChat, "openai:gpt-5.4", "openai-chat/gpt-5.4"},
		{apiChat, "openai:o3", "openai-chat/o3"},
		{apiChat, "openrouter:claude", "openrouter/anthropic/claude-sonnet-4.5"},
		{apiChat, "openrouter:gpt-5.4", "openrouter/openai/gpt-5.4"},
		{apiChat, "deepseek", "deepseek/deepseek-flash"},
		{apiChat, "zai:glm-4.7", "zai/glm-4.7"},
		{apiChat, "zai:glm-5.3", "zai/glm-5.3"},
		{apiChat, "groq:gpt-oss", "groq/openai/gpt-oss-120b"},
		{apiChat, "together:unlisted", "together/some/model"},
		{apiChat, "qwen", "qwen/qwen3-max"},
		{apiChat, "vllm", "vllm/qwen3-32b"},
		{apiChat, "host:reasoner", "some-host/reasoner"},
		{apiChat, "host:talker", "some-host/talker"},

		{apiResponses, "gpt-4.1", "openai/gpt-4.1"},
		{apiResponses, "gpt-5", "openai/gpt-5"},
		{apiResponses, "gpt-5.4", "openai/gpt-5.4"},
		{apiResponses, "gpt-6-sol", "openai/gpt-6-sol"},
		{apiResponses, "grok-4.5", "xai/grok-4.5"},
		{apiResponses, "host:talker", "some-responses/talker"},

		{apiAzure, "gpt-4.1", "azure/gpt-4.1"},
		{apiAzure, "gpt-5.4", "azure/gpt-5.4"},
		{apiAzure, "deployment", "azure/my-deployment"},

		{apiGemini, "2.5-flash", "google/gemini-2.5-flash"},
		{apiGemini, "2.5-pro", "google/gemini-2.5-pro"},
		{apiGemini, "3-flash", "google/gemini-3-flash-preview"},
		{apiGemini, "3.1-pro", "google/gemini-3.1-pro-preview"},
		{apiGemini, "4-neon", "google/gemini-4-neon"},

		{apiVertex, "2.5-flash", "google-vertex/gemini-2.5-flash"},
		{apiVertex, "3.1-pro", "google-vertex/gemini-3.1-pro-preview"},
		{apiVertex, "3.6-flash", "google-vertex/gemini-3.6-flash"},

		{apiBedrock, "sonnet-4.5", "amazon-bedrock/global.anthropic.claude-sonnet-4-5-20250929-v1:0"},
		{apiBedrock, "opus-4.8", "amazon-bedrock/global.anthropic.claude-opus-4-8"},
		{apiBedrock, "nova-2", "amazon-bedrock/us.amazon.nova-2-lite-v1:0"},
		{apiBedrock, "gpt-oss", "amazon-bedrock/openai.gpt-oss-120b-1:0"},
		{apiBedrock, "llama", "amazon-bedrock/meta.llama3-1-70b-instruct-v1:0"},

		{apiMistral, "magistral", "mistral/magistral-medium-latest"},
		{apiMistral, "large-4", "mistral/mistral-large-4"},
		{apiMistral, "small-3.2", "mistral/mistral-small-2506"},
		{apiMistral, "codestral", "mistral/codestral-latest"},
		{apiMistral, "old-reasoner", "mistral-copy/old-reasoner"},
	}
}

// apis are the wire APIs in the order of the targets.
func apis() []string {
	var all []string
	for _, t := range targets() {
		if !slices.Contains(all, t.api) {
			all = append(all, t.api)
		}
	}
	return all
}

// provider is the id of the target's provider.
func (t target) provider() string {
	id, _, _ := strings.Cut(t.name, "/")
	return id
}

// model is its id at the provider.
func (t target) model() string {
	_, id, _ := strings.Cut(t.name, "/")
	return id
}

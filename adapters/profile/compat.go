package profile

// Compat is what a host does otherwise than the owner of the wire API. The names
// in the configuration are the yaml tags. Package internal/catalog fills in the
// defaults for API and host before a configuration's own keys are laid over
// them, so that adapters read resolved values.
type Compat struct {
	// --- openai-completions ---

	// SupportsStore: send "store": false.
	SupportsStore bool `yaml:"supports_store"`
	// SupportsDeveloperRole: the system prompt of a reasoning model goes by role
	// "developer" (also openai-responses).
	SupportsDeveloperRole bool `yaml:"supports_developer_role"`
	// SupportsReasoningEffort: "reasoning_effort" is understood.
	SupportsReasoningEffort bool `yaml:"supports_reasoning_effort"`
	// SupportsUsageInStreaming: ask for usage with "stream_options".
	SupportsUsageInStreaming bool `yaml:"supports_usage_in_streaming"`
	// SupportsFinishReason: the host sends a finish_reason; where it does not,
	// "[DONE]" is the terminal marker.
	SupportsFinishReason bool `yaml:"supports_finish_reason"`
	// MaxTokensField is "max_tokens" or "max_completion_tokens".
	MaxTokensField string `yaml:"max_tokens_field"`
	// RequiresToolResultName: tool messages carry the tool's name.
	RequiresToolResultName bool `yaml:"requires_tool_result_name"`
	// RequiresAssistantAfterToolResult: a user message may not follow a tool
	// message directly.
	RequiresAssistantAfterToolResult bool `yaml:"requires_assistant_after_tool_result"`
	// RequiresAlternatingTurns: the user has the first turn and the last one, and no two
	// turns of one role follow each other.
	RequiresAlternatingTurns bool `yaml:"requires_alternating_turns"`
	// RequiresNonNullAssistantContent: "" instead of null.
	RequiresNonNullAssistantContent bool `yaml:"requires_non_null_assistant_content"`
	// RequiresToolsWithToolHistory: "tools": [] when only the history has tools.
	RequiresToolsWithToolHistory bool `yaml:"requires_tools_with_tool_history"`
	// RequiresThinkingAsText: thinking is replayed as text parts.
	RequiresThinkingAsText bool `yaml:"requires_thinking_as_text"`
	// RequiresReasoningContentOnAssistantMessages: a "reasoning_content" that says
	// nothing where there is none.
	RequiresReasoningContentOnAssistantMessages bool `yaml:"requires_reasoning_content_on_assistant_messages"`
	// RequiresReasoningOffWithTools: the model takes no tools while it reasons.
	RequiresReasoningOffWithTools bool `yaml:"requires_reasoning_off_with_tools"`
	// ToolChoiceFormat is "words" where "required" and "none" are understood and the
	// name of a tool is not, "auto" where the choice is always the model's; empty = all
	// are understood.
	ToolChoiceFormat string `yaml:"tool_choice_format"`
	// SupportsParallelToolCalls: "parallel_tool_calls" is understood; a model that does
	// not calls one tool at a time.
	SupportsParallelToolCalls bool `yaml:"supports_parallel_tool_calls"`
	// SupportsJSONSchema: an answer by a schema can be asked for.
	SupportsJSONSchema bool `yaml:"supports_json_schema"`
	// ThinkingFormat is how thinking is switched on and off: "openai",
	// "openrouter", "deepseek", "zai", "qwen", "qwen-chat-template",
	// "chat-template", "baseten", "together", "string-thinking" or "ant-ling".
	ThinkingFormat string `yaml:"thinking_format"`
	// ChatTemplateKwargs and ChatTemplateArgs are for the formats "chat-template"
	// and "baseten".
	ChatTemplateKwargs TemplateArgs `yaml:"chat_template_kwargs"`
	ChatTemplateArgs   TemplateArgs `yaml:"chat_template_args"`
	// ThinkingTokenBudgetField names the field for a thinking budget, such as
	// "thinking_budget"; empty = the host has none.
	ThinkingTokenBudgetField string `yaml:"thinking_token_budget_field"`
	// SupportsThinkingTokenBudget: the field is "thinking_token_budget".
	SupportsThinkingTokenBudget bool `yaml:"supports_thinking_token_budget"`
	// ZaiToolStream: send "tool_stream": true with tools.
	ZaiToolStream bool `yaml:"zai_tool_stream"`
	// SupportsStrictMode: functions may carry "strict" (also openai-responses,
	// bedrock and mistral).
	SupportsStrictMode bool `yaml:"supports_strict_mode"`
	// CacheControlFormat is "anthropic" for hosts that take cache_control markers.
	CacheControlFormat string `yaml:"cache_control_format"`
	// OpenRouterRouting and VercelGatewayRouting are sent as they are.
	OpenRouterRouting    RawJSON `yaml:"open_router_routing"`
	VercelGatewayRouting RawJSON `yaml:"vercel_gateway_routing"`
	// VLLMPriority is sent as "priority" when set.
	VLLMPriority *int `yaml:"vllm_priority"`

	// --- several APIs ---

	// SendSessionAffinityHeaders: send headers that keep a session on one replica.
	SendSessionAffinityHeaders bool `yaml:"send_session_affinity_headers"`
	// SessionAffinityFormat is "openai", "openai-nosession" or "openrouter".
	SessionAffinityFormat string `yaml:"session_affinity_format"`
	// SupportsLongCacheRetention: retention LONG can be asked for.
	SupportsLongCacheRetention bool `yaml:"supports_long_cache_retention"`
	// PromptCacheKeyMode is "auto", "enabled" or "disabled".
	PromptCacheKeyMode string `yaml:"prompt_cache_key_mode"`
	// SupportsServiceTier: "service_tier" is understood; with anthropic-messages: the
	// model has a fast mode.
	SupportsServiceTier bool `yaml:"supports_service_tier"`
	// SchemaDialect is "openai", "deepseek" or "moonshot" where schemas must be as that
	// maker of models takes them, "llamacpp" where that engine makes grammars of them;
	// empty = as the maker does that the model's name tells.
	SchemaDialect string `yaml:"schema_dialect"`
	// SupportsVerbosity: "verbosity" is understood.
	SupportsVerbosity bool `yaml:"supports_verbosity"`
	// ReasonsByDefault: the model reasons unless it is told not to. One that cannot be
	// told always does.
	ReasonsByDefault bool `yaml:"reasons_by_default"`
	// SupportsExplicitPromptCacheMode: caching is asked for by
	// "prompt_cache_options".
	SupportsExplicitPromptCacheMode bool `yaml:"supports_explicit_prompt_cache_mode"`

	// --- openai-responses ---

	// SupportsMaxOutputTokens: "max_output_tokens" is understood.
	SupportsMaxOutputTokens bool `yaml:"supports_max_output_tokens"`

	// --- anthropic-messages ---

	// SupportsEagerToolInputStreaming: tools carry "eager_input_streaming".
	SupportsEagerToolInputStreaming bool `yaml:"supports_eager_tool_input_streaming"`
	// SupportsCacheControlOnTools: the last tool may carry a cache marker.
	SupportsCacheControlOnTools bool `yaml:"supports_cache_control_on_tools"`
	// SupportsTemperature: the model takes a temperature; on OpenAI's APIs, also
	// while it reasons.
	SupportsTemperature bool `yaml:"supports_temperature"`
	// ForceAdaptiveThinking: thinking is "adaptive" with an effort instead of a
	// budget.
	ForceAdaptiveThinking bool `yaml:"force_adaptive_thinking"`
	// AllowEmptySignature: unsigned thinking goes back with an empty signature.
	AllowEmptySignature bool `yaml:"allow_empty_signature"`
	// BindsThinking: the model checks what stood before a block of thinking, and the host
	// takes the wish that one which fails is passed over instead of refused.
	BindsThinking bool `yaml:"binds_thinking"`
	// ForcedToolsBesideThinking: the model thinks adaptively also where it must call a
	// tool.
	ForcedToolsBesideThinking bool `yaml:"forced_tools_beside_thinking"`
	// SupportsStrictTools: tools may carry "strict".
	SupportsStrictTools bool `yaml:"supports_strict_tools"`
	// MessagesDialect is "vertex" where the API is spoken as Google Vertex AI does:
	// the model in the path, the version in the body; empty = as Anthropic does.
	MessagesDialect string `yaml:"messages_dialect"`
	// AllowedFallbackModels are sent as "fallbacks".
	AllowedFallbackModels []string `yaml:"allowed_fallback_models"`

	// --- accepted, without effect in this release ---

	SupportsOpenAIGrammarTools     bool `yaml:"supports_openai_grammar_tools"`
	SupportsMidConvoSystemMessages bool `yaml:"supports_mid_convo_system_messages"`
	SupportsMidConvoToolAdditions  bool `yaml:"supports_mid_convo_tool_additions"`
	SupportsMidConvoToolChanges    bool `yaml:"supports_mid_convo_tool_changes"`
	SupportsMidConvoEffort         bool `yaml:"supports_mid_convo_effort"`
	SupportsMessageThreads         bool `yaml:"supports_message_threads"`
	SupportsAdditionalTools        bool `yaml:"supports_additional_tools"`
	SupportsToolSearch             bool `yaml:"supports_tool_search"`
}

// RawJSON is a value of the configuration as JSON text; empty = unset.
type RawJSON string

// TemplateArgs are named values for a chat template, in order.
type TemplateArgs []TemplateArg

// TemplateArg is one of them.
type TemplateArg struct {
	// Name is the argument's name.
	Name string
	// Var is "thinking.enabled", "thinking.effort" or "thinking.budget"; empty
	// means that Constant is sent.
	Var string
	// OmitWhenOff leaves the argument out when thinking is off.
	OmitWhenOff bool
	// Constant is JSON text.
	Constant RawJSON
}

package profile

// Defaults are the flags for a host of an API that nothing else is known of. For
// openai-completions, which a hundred hosts speak in as many ways, they are the
// careful choice; the hosts that are known are laid over them by
// internal/catalog. An unknown API has the flags that all APIs share.
func Defaults(api string) Compat {
	c := Compat{
		SupportsUsageInStreaming:   true,
		SupportsFinishReason:       true,
		SupportsReasoningEffort:    true,
		MaxTokensField:             "max_completion_tokens",
		ThinkingFormat:             "openai",
		SessionAffinityFormat:      "openai",
		SupportsLongCacheRetention: true,
		PromptCacheKeyMode:         "auto",
		SupportsMaxOutputTokens:    true,
		SupportsTemperature:        true,
		SupportsParallelToolCalls:  true,
		SupportsJSONSchema:         true,
	}
	switch api {
	case "openai-completions":
		c.SupportsStore = true
	case "openai-responses":
		c.SupportsDeveloperRole = true
	case "azure-openai-responses":
		c.SchemaDialect = "openai"
		c.SupportsDeveloperRole = true
		c.SupportsStrictMode = true
	case "anthropic-messages":
		c.SupportsEagerToolInputStreaming = true
		c.SupportsCacheControlOnTools = true
	}
	return c
}

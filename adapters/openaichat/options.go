package openaichat

import (
	"fmt"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/profile"
	"github.com/llmd-dev/llmd/adapters/schema"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// maxStops is how many stop sequences the API takes.
// https://platform.openai.com/docs/api-reference/chat/create#chat-create-stop
const maxStops = 4

// sampling writes the output limit and the options of GenerationConfig that go by
// the same name everywhere.
func (e *encoder) sampling() error {
	c, w := e.config, &e.w
	if n := e.opts.MaxOutputTokens; n > 0 {
		field := e.compat.MaxTokensField
		if field == "" {
			field = "max_completion_tokens"
		}
		w.Key(field)
		w.Int(int64(n))
	}
	if c == nil {
		return nil
	}
	if err := e.call.Refuse("the API", "top_k"); err != nil {
		return err
	}
	if len(c.GetStopSequences()) > maxStops {
		return adapters.Unsupported("stop_sequences", "config.stop_sequences", fmt.Sprintf("the API takes at most %d", maxStops))
	}
	temperature, topP, err := e.call.OpenAISampling(e.rejects() == "" && e.opts.Reasons(e.call.Model), e.effect)
	if err != nil {
		return err
	}
	w.FloatIf("temperature", temperature)
	w.FloatIf("top_p", topP)
	if c.Seed != nil {
		w.Key("seed")
		w.Int(c.GetSeed())
	}
	w.StringsIf("stop", c.GetStopSequences())
	return nil
}

// hostOptions writes what only some hosts know.
func (e *encoder) hostOptions() error {
	w := &e.w
	tier, err := e.call.OpenAITier(e.compat.SupportsServiceTier)
	if err != nil {
		return err
	}
	w.MemberIf("service_tier", tier)
	if v := e.config.GetVerbosity(); v != llmdv1.Verbosity_VERBOSITY_UNSPECIFIED {
		if !e.call.Model.HasVerbosity() {
			return adapters.Unsupported("verbosity", "config.verbosity", fmt.Sprintf("model %q has no verbosity", e.call.Model.ID))
		}
		w.Member("verbosity", profile.VerbosityName(v))
	}
	// OpenAI splits "user" into safety_identifier and prompt_cache_key, but still
	// takes it, and other hosts know no other name.
	w.MemberIf("user", e.call.Generation.GetUser())
	if r := e.compat.OpenRouterRouting; r != "" {
		w.Key("provider")
		w.Raw(string(r))
	}
	if r := e.compat.VercelGatewayRouting; r != "" {
		w.Key("providerOptions")
		w.BeginObject()
		w.Key("gateway")
		w.Raw(string(r))
		w.EndObject()
	}
	if p := e.compat.VLLMPriority; p != nil {
		w.Key("priority")
		w.Int(int64(*p))
	}
	return nil
}

// caching writes the fields of OpenAI's prompt cache.
// https://platform.openai.com/docs/guides/prompt-caching
func (e *encoder) caching() error {
	long := e.opts.Retention == llmdv1.CacheRetention_CACHE_RETENTION_LONG
	if long && !e.compat.SupportsLongCacheRetention {
		return adapters.Unsupported("cache_retention", "cache.retention",
			fmt.Sprintf("provider %q has no long cache retention", e.call.Model.Provider))
	}
	if mode := e.compat.PromptCacheKeyMode; mode == "enabled" || long && mode != "disabled" {
		e.w.MemberIf("prompt_cache_key", e.opts.CacheKey(adapters.MaxCacheKey))
	}
	adapters.WriteOpenAIRetention(&e.w, e.opts.Retention, e.compat.SupportsExplicitPromptCacheMode)
	return nil
}

// cacheMarker is the text of a cache_control marker; empty where none are sent.
// https://openrouter.ai/docs/features/prompt-caching
func (e *encoder) cacheMarker() string {
	switch {
	case e.compat.CacheControlFormat != "anthropic", e.opts.Retention == llmdv1.CacheRetention_CACHE_RETENTION_NONE:
		return ""
	case e.opts.Retention == llmdv1.CacheRetention_CACHE_RETENTION_LONG:
		return `{"type":"ephemeral","ttl":"1h"}`
	}
	return `{"type":"ephemeral"}`
}

// responseFormat asks for an answer by a schema. It is enforced where the host
// can and the schema is within what can be enforced.
// https://platform.openai.com/docs/guides/structured-outputs
func (e *encoder) responseFormat() error {
	text, err := e.call.OutputSchema()
	if err != nil || text == "" {
		return err
	}
	if !e.compat.SupportsJSONSchema {
		return adapters.Unsupported("output_json_schema", "config.output_json_schema",
			fmt.Sprintf("provider %q gives no answers of model %q by a schema", e.call.Model.Provider, e.call.Model.ID))
	}
	switch e.call.Maker() {
	case "openai":
		text = adapters.OpenAIAnswer(text, true, e.adjust)
	case "deepseek":
		text = adapters.FitSchema(text, schema.DeepSeekDraft(), "output_json_schema", e.adjust)
	case "llamacpp":
		text = adapters.FitSchema(text, schema.Draft{}, "output_json_schema", e.adjust)
		text = adapters.GrammarSchema(text, "output_json_schema", e.adjust)
	case "moonshot":
		text = adapters.FitSchema(text, schema.MoonshotDraft(), "output_json_schema", e.adjust)
	}
	w := &e.w
	w.Key("response_format")
	w.BeginObject()
	w.Member("type", "json_schema")
	w.Key("json_schema")
	w.BeginObject()
	w.Member("name", "output")
	switch {
	case !e.compat.SupportsStrictMode:
	case schema.Holds(text, e.call.StrictRules()):
		w.Key("strict")
		w.Bool(true)
	default:
		e.adjust(adapters.LooseSchema)
	}
	w.Key("schema")
	w.Raw(text)
	w.EndObject()
	w.EndObject()
	return nil
}

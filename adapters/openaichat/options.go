package openaichat

import (
	"fmt"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonstream"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

const (
	// maxStops is how many stop sequences the API takes.
	// https://platform.openai.com/docs/api-reference/chat/create#chat-create-stop
	maxStops = 4
	// maxCacheKey is the longest prompt_cache_key, in code points.
	maxCacheKey = 64
)

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
	if c.TopK != nil {
		return unsupported("top_k", "generation.config.top_k", "the API has no top_k; a host that has one takes it by provider_options_json")
	}
	if len(c.GetStopSequences()) > maxStops {
		return unsupported("stop_sequences", "generation.config.stop_sequences", fmt.Sprintf("the API takes at most %d", maxStops))
	}
	if c.Temperature != nil {
		w.Key("temperature")
		w.Float(c.GetTemperature())
	}
	if c.TopP != nil {
		w.Key("top_p")
		w.Float(c.GetTopP())
	}
	if c.Seed != nil {
		w.Key("seed")
		w.Int(c.GetSeed())
	}
	if len(c.GetStopSequences()) > 0 {
		w.Key("stop")
		w.BeginArray()
		for _, s := range c.GetStopSequences() {
			w.String(s)
		}
		w.EndArray()
	}
	return nil
}

// hostOptions writes what only some hosts know.
func (e *encoder) hostOptions() error {
	w := &e.w
	if err := e.serviceTier(); err != nil {
		return err
	}
	if v := e.config.GetVerbosity(); v != llmdv1.Verbosity_VERBOSITY_UNSPECIFIED {
		if !e.compat.SupportsVerbosity || !isGPT5(e.call.Model.ID) {
			return unsupported("verbosity", "generation.config.verbosity", fmt.Sprintf("model %q has no verbosity", e.call.Model.ID))
		}
		w.Member("verbosity", enumWord(v.String(), "VERBOSITY_"))
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

// serviceTier: STANDARD is what a host without tiers has anyway.
// https://platform.openai.com/docs/api-reference/chat/create#chat-create-service_tier
func (e *encoder) serviceTier() error {
	tier := e.config.GetServiceTier()
	var word string
	switch tier {
	case llmdv1.ServiceTier_SERVICE_TIER_UNSPECIFIED:
		return nil
	case llmdv1.ServiceTier_SERVICE_TIER_STANDARD:
		word = "default"
	case llmdv1.ServiceTier_SERVICE_TIER_FAST:
		word = "priority"
	case llmdv1.ServiceTier_SERVICE_TIER_FLEX:
		word = "flex"
	}
	switch {
	case e.compat.SupportsServiceTier && word != "":
		e.w.Member("service_tier", word)
	case tier != llmdv1.ServiceTier_SERVICE_TIER_STANDARD:
		return unsupported("service_tier", "generation.config.service_tier",
			fmt.Sprintf("provider %q has no service tier %s", e.call.Model.Provider, enumWord(tier.String(), "SERVICE_TIER_")))
	}
	return nil
}

// caching writes the fields of OpenAI's prompt cache.
// https://platform.openai.com/docs/guides/prompt-caching
func (e *encoder) caching() error {
	long := e.opts.Retention == llmdv1.CacheRetention_CACHE_RETENTION_LONG
	if long && !e.compat.SupportsLongCacheRetention {
		return unsupported("cache_retention", "generation.cache.retention",
			fmt.Sprintf("provider %q has no long cache retention", e.call.Model.Provider))
	}
	if mode := e.compat.PromptCacheKeyMode; mode == "enabled" || long && mode != "disabled" {
		e.w.MemberIf("prompt_cache_key", e.cacheKey())
	}
	if long {
		e.w.Member("prompt_cache_retention", "24h")
	}
	return nil
}

// cacheKey is the session's key, cut to what the API takes; empty without caching.
func (e *encoder) cacheKey() string {
	if e.opts.Retention == llmdv1.CacheRetention_CACHE_RETENTION_NONE {
		return ""
	}
	n := 0
	for i := range e.opts.SessionKey {
		if n == maxCacheKey {
			return e.opts.SessionKey[:i]
		}
		n++
	}
	return e.opts.SessionKey
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
	schema := e.config.GetOutputJsonSchema()
	if schema == "" {
		return nil
	}
	if jsonstream.Object([]byte(schema)) != nil {
		return &adapters.FieldError{Field: "generation.config.output_json_schema", Detail: "not one JSON object"}
	}
	w := &e.w
	w.Key("response_format")
	w.BeginObject()
	w.Member("type", "json_schema")
	w.Key("json_schema")
	w.BeginObject()
	w.Member("name", "output")
	if e.compat.SupportsStrictMode && strictSchema(schema) == "" {
		w.Key("strict")
		w.Bool(true)
	}
	w.Key("schema")
	w.Raw(schema)
	w.EndObject()
	w.EndObject()
	return nil
}

// isGPT5 says whether an id names a model of the GPT-5 family, which alone has
// verbosity: "gpt-5" as a whole word, so neither gpt-50 nor gpt-5o.
func isGPT5(id string) bool {
	const name, boundary = "gpt-5", "/.:_-"
	id = strings.ToLower(id)
	for from := 0; ; {
		i := strings.Index(id[from:], name)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(name)
		if (i == 0 || strings.IndexByte(boundary, id[i-1]) >= 0) && (end == len(id) || strings.IndexByte(boundary, id[end]) >= 0) {
			return true
		}
		from = end
	}
}

// enumWord is an enum value as it is spelled on the wire.
func enumWord(name, prefix string) string { return strings.ToLower(strings.TrimPrefix(name, prefix)) }

// unsupported is the error for an explicit wish that cannot be carried.
func unsupported(capability, field, detail string) error {
	return &adapters.CapabilityError{Capability: capability, Field: field, Detail: detail}
}

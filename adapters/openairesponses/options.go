package openairesponses

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonstream"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

const (
	// minOutputTokens is the least max_output_tokens that the API takes.
	// https://platform.openai.com/docs/api-reference/responses/create#responses-create-max_output_tokens
	minOutputTokens = 16
	// maxCacheKey is the longest prompt_cache_key, in code points.
	maxCacheKey = 64
)

// sampling writes the output limit and what is said about sampling. The API has
// neither top_k nor stop sequences nor a seed.
func (e *encoder) sampling() error {
	c, w := e.config, &e.w
	if n := e.opts.MaxOutputTokens; n > 0 {
		const field = "generation.config.max_output_tokens"
		switch {
		case !e.compat.SupportsMaxOutputTokens:
			return unsupported("max_output_tokens", field, fmt.Sprintf("provider %q takes no output limit", e.call.Model.Provider))
		case n < minOutputTokens:
			return unsupported("max_output_tokens", field, fmt.Sprintf("the API takes no limit below %d, and an explicit limit is never raised", minOutputTokens))
		}
		w.Key("max_output_tokens")
		w.Int(int64(n))
	}
	if c == nil {
		return nil
	}
	switch {
	case c.TopK != nil:
		return unsupported("top_k", "generation.config.top_k", "the API has no top_k")
	case c.Seed != nil:
		return unsupported("seed", "generation.config.seed", "the API has no seed")
	case len(c.GetStopSequences()) > 0:
		return unsupported("stop_sequences", "generation.config.stop_sequences", "the API has no stop sequences")
	}
	return e.randomness()
}

// randomness writes temperature and top_p. A model whose profile says that it takes
// no temperature (OpenAI's reasoning models) takes neither beside thinking.
// https://platform.openai.com/docs/guides/latest-model
func (e *encoder) randomness() error {
	c, w := e.config, &e.w
	reasons := e.call.Model.Reasoning && e.opts.Thinking != adapters.ThinkingOff
	fixed := !e.compat.SupportsTemperature && (reasons || !e.call.Model.Reasoning)
	switch {
	case c.Temperature == nil:
	case !fixed:
		w.Key("temperature")
		w.Float(c.GetTemperature())
	case reasons:
		e.effect.Adjustments = append(e.effect.Adjustments, "temperature is left out: the model takes none beside thinking")
	default:
		return unsupported("temperature", "generation.config.temperature", fmt.Sprintf("model %q takes no temperature", e.call.Model.ID))
	}
	switch {
	case c.TopP == nil:
	case fixed:
		return unsupported("top_p", "generation.config.top_p", fmt.Sprintf("model %q takes no top_p", e.call.Model.ID))
	default:
		w.Key("top_p")
		w.Float(c.GetTopP())
	}
	return nil
}

// reasoning asks a model that reasons to do so as much as the caller wants. Its
// encrypted thoughts are asked for in any case: the next request needs them.
// https://platform.openai.com/docs/guides/reasoning
func (e *encoder) reasoning() error {
	if e.opts.BudgetTokens != 0 {
		return unsupported("reasoning_budget", "generation.reasoning.budget_tokens", "the API takes an effort, not a budget")
	}
	if !e.call.Model.Reasoning {
		return nil // only such models know the fields
	}
	w := &e.w
	var effort string
	summary := e.opts.Summary
	switch e.opts.Thinking {
	case adapters.ThinkingDefault:
	case adapters.ThinkingOff:
		effort, summary = cmp.Or(e.opts.EffortWord, "none"), false
	case adapters.ThinkingOn:
		effort, summary = cmp.Or(e.opts.EffortWord, profile.EffortName(e.opts.Effort)), true
	}
	if effort != "" || summary {
		w.Key("reasoning")
		w.BeginObject()
		w.MemberIf("effort", effort)
		if summary {
			w.Member("summary", "auto")
		}
		w.EndObject()
	}
	if e.opts.Thinking != adapters.ThinkingOff {
		w.Key("include")
		w.Raw(`["reasoning.encrypted_content"]`)
	}
	return nil
}

// text writes the format and the length of the answer.
// https://platform.openai.com/docs/guides/structured-outputs
func (e *encoder) text() error {
	schema, verbosity := e.config.GetOutputJsonSchema(), e.config.GetVerbosity()
	hasVerbosity := verbosity != llmdv1.Verbosity_VERBOSITY_UNSPECIFIED
	switch {
	case schema != "" && jsonstream.Object([]byte(schema)) != nil:
		return &adapters.FieldError{Field: "generation.config.output_json_schema", Detail: "not one JSON object"}
	case hasVerbosity && (!e.compat.SupportsVerbosity || !isGPT5(e.call.Model.ID)):
		return unsupported("verbosity", "generation.config.verbosity", fmt.Sprintf("model %q has no verbosity", e.call.Model.ID))
	case schema == "" && !hasVerbosity:
		return nil
	}
	w := &e.w
	w.Key("text")
	w.BeginObject()
	if schema != "" {
		w.Key("format")
		w.BeginObject()
		w.Member("type", "json_schema")
		w.Member("name", "output")
		if e.compat.SupportsStrictMode {
			w.Key("strict")
			w.Bool(strictSchema(schema) == "")
		}
		w.Key("schema")
		w.Raw(schema)
		w.EndObject()
	}
	if hasVerbosity {
		w.Member("verbosity", enumWord(verbosity.String(), "VERBOSITY_"))
	}
	w.EndObject()
	return nil
}

// serviceTier writes the class of service, and the end user. STANDARD is what a
// host without tiers has anyway.
// https://platform.openai.com/docs/api-reference/responses/create#responses-create-service_tier
func (e *encoder) serviceTier() error {
	tier := e.config.GetServiceTier()
	var word string
	switch tier {
	case llmdv1.ServiceTier_SERVICE_TIER_UNSPECIFIED:
	case llmdv1.ServiceTier_SERVICE_TIER_STANDARD:
		word = "default"
	case llmdv1.ServiceTier_SERVICE_TIER_FAST:
		word = "priority"
	case llmdv1.ServiceTier_SERVICE_TIER_FLEX:
		word = "flex"
	}
	switch {
	case e.compat.SupportsServiceTier && !e.azure:
		e.w.MemberIf("service_tier", word)
	case word != "" && word != "default":
		return unsupported("service_tier", "generation.config.service_tier",
			fmt.Sprintf("provider %q has no service tier %s", e.call.Model.Provider, enumWord(tier.String(), "SERVICE_TIER_")))
	}
	// OpenAI now splits "user" into safety_identifier and prompt_cache_key, but
	// still takes it, and other hosts know no other name.
	e.w.MemberIf("user", e.call.Generation.GetUser())
	return nil
}

// caching writes what is asked of the prompt cache, which works by itself.
// https://platform.openai.com/docs/guides/prompt-caching
func (e *encoder) caching() error {
	w := &e.w
	long := e.opts.Retention == llmdv1.CacheRetention_CACHE_RETENTION_LONG
	if long && (e.azure || !e.compat.SupportsLongCacheRetention) {
		return unsupported("cache_retention", "generation.cache.retention",
			fmt.Sprintf("provider %q has no long cache retention", e.call.Model.Provider))
	}
	if e.compat.PromptCacheKeyMode != "disabled" {
		w.MemberIf("prompt_cache_key", e.cacheKey())
	}
	explicit := e.compat.SupportsExplicitPromptCacheMode && !e.azure
	switch {
	case explicit && e.opts.Retention == llmdv1.CacheRetention_CACHE_RETENTION_NONE:
		// Only marked prefixes are cached then, and none is marked.
		w.Key("prompt_cache_options")
		w.Raw(`{"mode":"explicit"}`)
	case explicit && long:
		w.Key("prompt_cache_options")
		w.Raw(`{"ttl":"30m"}`)
	case long:
		w.Member("prompt_cache_retention", "24h")
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

// isGPT5 says whether an id names a model of the GPT-5 family, which alone has
// verbosity: "gpt-5" as a whole word, so neither gpt-50 nor gpt-5o.
func isGPT5(id string) bool {
	const word, edges = "gpt-5", "/.:_-"
	id = strings.ToLower(id)
	for at := 0; ; {
		i := strings.Index(id[at:], word)
		if i < 0 {
			return false
		}
		begin, end := at+i, at+i+len(word)
		if (begin == 0 || strings.IndexByte(edges, id[begin-1]) >= 0) && (end == len(id) || strings.IndexByte(edges, id[end]) >= 0) {
			return true
		}
		at = end
	}
}

// enumWord is an enum value as it is spelled on the wire.
func enumWord(name, prefix string) string { return strings.ToLower(strings.TrimPrefix(name, prefix)) }

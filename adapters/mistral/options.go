package mistral

import (
	"fmt"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonstream"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// maxCacheKey is the longest prompt_cache_key, in code points. Mistral names no
// limit; this is that of the API which the field comes from.
const maxCacheKey = 64

// refuse names the explicit options that the API has no field for. Unknown fields
// are errors there, so they cannot be tried.
func (e *encoder) refuse() error {
	c := e.config
	switch {
	case c != nil && c.TopK != nil:
		return unsupported("top_k", "generation.config.top_k", "the API has no top_k")
	case c.GetVerbosity() != llmdv1.Verbosity_VERBOSITY_UNSPECIFIED:
		return unsupported("verbosity", "generation.config.verbosity", "the API has no verbosity")
	case c != nil && c.GetSeed() < 0:
		return unsupported("seed", "generation.config.seed", "the API takes no negative seed")
	case e.call.Generation.GetUser() != "":
		return unsupported("user", "generation.user", "the API has no field for the end user")
	case e.opts.Retention == llmdv1.CacheRetention_CACHE_RETENTION_LONG:
		return unsupported("cache_retention", "generation.cache.retention", "the API caches for a time of its own choice")
	case e.opts.BudgetTokens > 0:
		return unsupported("thinking_budget", "generation.reasoning.budget_tokens", "the API takes no thinking budget")
	}
	return nil
}

// sampling writes the output limit and the values of GenerationConfig.
// https://docs.mistral.ai/api/#tag/chat
func (e *encoder) sampling() error {
	c, w := e.config, &e.w
	if n := e.opts.MaxOutputTokens; n > 0 {
		w.Key("max_tokens")
		w.Int(int64(n))
	}
	if c == nil {
		return nil
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
		w.Key("random_seed")
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

// thinking switches reasoning. Models with efforts of their own take
// reasoning_effort; the others, the first reasoning models, take a prompt mode that
// is on or off. https://docs.mistral.ai/capabilities/reasoning/
func (e *encoder) thinking() error {
	if e.opts.Summary {
		e.adjust("reasoning.include_summary has no switch in this API: it shows the thinking itself")
	}
	if !e.call.Model.Reasoning || e.opts.Thinking == adapters.ThinkingDefault {
		return nil
	}
	effort := e.opts.Effort
	if e.opts.Thinking == adapters.ThinkingOff {
		effort = llmdv1.ReasoningEffort_REASONING_EFFORT_NONE
	}
	switch {
	case len(e.call.Model.Efforts) > 0:
		word := e.opts.EffortWord
		if word == "" {
			word = profile.EffortName(effort)
		}
		e.w.Member("reasoning_effort", word)
	case e.opts.Thinking == adapters.ThinkingOff:
		e.w.Key("prompt_mode")
		e.w.Null()
	default:
		e.w.Member("prompt_mode", "reasoning")
		e.adjust(fmt.Sprintf("reasoning.effort %s: the model has no levels, reasoning is switched on", profile.EffortName(effort)))
	}
	return nil
}

// serviceTier: "auto" is priority for accounts that have it, and standard for the
// others; hosts other than Mistral's own do not know the field.
// https://docs.mistral.ai/inference/priority-tier
func (e *encoder) serviceTier() error {
	known := e.call.Model.Compat.SupportsServiceTier
	switch tier := e.config.GetServiceTier(); {
	case tier == llmdv1.ServiceTier_SERVICE_TIER_UNSPECIFIED:
	case known && tier == llmdv1.ServiceTier_SERVICE_TIER_FAST:
		e.w.Member("service_tier", "auto")
		e.adjust("service_tier fast is asked for as auto: the account must be entitled to it")
	case known && tier == llmdv1.ServiceTier_SERVICE_TIER_STANDARD:
		e.w.Member("service_tier", "standard_only")
	case tier != llmdv1.ServiceTier_SERVICE_TIER_STANDARD:
		name := strings.ToLower(strings.TrimPrefix(tier.String(), "SERVICE_TIER_"))
		return unsupported("service_tier", "generation.config.service_tier",
			fmt.Sprintf("provider %q has no service tier %s", e.call.Model.Provider, name))
	}
	return nil
}

// caching names the session, whose requests share the beginning of their prompt.
// https://docs.mistral.ai/studio-api/conversations/advanced/prompt-caching
func (e *encoder) caching() error {
	if e.call.Model.Compat.PromptCacheKeyMode != "disabled" {
		e.w.MemberIf("prompt_cache_key", e.cacheKey())
	}
	return nil
}

// cacheKey is the session's key, cut; empty without caching.
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

// responseFormat asks for an answer by a schema.
// https://docs.mistral.ai/capabilities/structured-output/custom_structured_output/
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
	w.Key("schema")
	w.Raw(schema)
	w.Key("strict")
	w.Bool(true)
	w.EndObject()
	w.EndObject()
	return nil
}

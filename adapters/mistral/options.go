package mistral

import (
	"fmt"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// maxTemperature is that of the API; the contract goes to 2.
// https://docs.mistral.ai/api/#tag/chat
const maxTemperature = 1.5

// refuse names the explicit options that the API has no field for. Unknown fields
// are errors there, so they cannot be tried.
func (e *encoder) refuse() error {
	if err := e.call.Refuse("the API", "verbosity", "user", "cache_retention", "reasoning_budget"); err != nil {
		return err
	}
	switch {
	case e.config.GetSeed() < 0:
		return adapters.Unsupported("seed", "config.seed", "the API takes no negative seed")
	case e.config.GetTemperature() > maxTemperature:
		return adapters.Unsupported("temperature", "config.temperature", "the API takes a temperature of at most 1.5")
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
	w.FloatIf("temperature", c.Temperature)
	w.FloatIf("top_p", c.TopP)
	if c.TopK != nil {
		w.Key("top_k")
		w.Int(int64(c.GetTopK()))
	}
	if c.Seed != nil {
		w.Key("random_seed")
		w.Int(c.GetSeed())
	}
	w.StringsIf("stop", c.GetStopSequences())
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
		return e.call.LacksTier()
	}
	return nil
}

// caching names the session, whose requests share the beginning of their prompt.
// Mistral names no limit for the key; OpenAI's, whose field it is, will do.
// https://docs.mistral.ai/studio-api/conversations/advanced/prompt-caching
func (e *encoder) caching() error {
	if e.call.Model.Compat.PromptCacheKeyMode != "disabled" {
		e.w.MemberIf("prompt_cache_key", e.opts.CacheKey(adapters.MaxCacheKey))
	}
	return nil
}

// responseFormat asks for an answer by a schema.
// https://docs.mistral.ai/capabilities/structured-output/custom_structured_output/
func (e *encoder) responseFormat() error {
	schema, err := e.call.OutputSchema()
	if err != nil || schema == "" {
		return err
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

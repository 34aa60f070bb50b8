package openairesponses

import (
	"cmp"
	"fmt"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/profile"
	"github.com/llmd-dev/llmd/adapters/schema"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// minOutputTokens is the least max_output_tokens that the API takes.
// https://platform.openai.com/docs/api-reference/responses/create#responses-create-max_output_tokens
const minOutputTokens = 16

// sampling writes the output limit and what is said about sampling. The API has
// neither top_k nor stop sequences nor a seed.
func (e *encoder) sampling() error {
	w := &e.w
	if n := e.opts.MaxOutputTokens; n > 0 {
		const field = "config.max_output_tokens"
		switch {
		case !e.compat.SupportsMaxOutputTokens:
			return adapters.Unsupported("max_output_tokens", field, fmt.Sprintf("provider %q takes no output limit", e.call.Model.Provider))
		case n < minOutputTokens:
			return adapters.Unsupported("max_output_tokens", field, fmt.Sprintf("the API takes no limit below %d, and an explicit limit is never raised", minOutputTokens))
		}
		w.Key("max_output_tokens")
		w.Int(int64(n))
	}
	if err := e.call.Refuse("the API", "top_k", "seed", "stop_sequences"); err != nil {
		return err
	}
	temperature, topP, err := e.call.OpenAISampling(e.opts.Reasons(e.call.Model), e.effect)
	if err != nil {
		return err
	}
	w.FloatIf("temperature", temperature)
	w.FloatIf("top_p", topP)
	return nil
}

// reasoning asks a model that reasons to do so as much as the caller wants. Its
// encrypted thoughts are asked for in any case: the next request needs them.
// https://platform.openai.com/docs/guides/reasoning
func (e *encoder) reasoning() error {
	if err := e.call.Refuse("the API", "reasoning_budget"); err != nil {
		return err
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
	text, err := e.call.OutputSchema()
	if text != "" {
		text = adapters.OpenAIAnswer(text, e.call.Maker() == "openai", func(s string) { e.effect.Adjustments = append(e.effect.Adjustments, s) })
	}
	verbosity := e.config.GetVerbosity()
	hasVerbosity := verbosity != llmdv1.Verbosity_VERBOSITY_UNSPECIFIED
	switch {
	case err != nil:
		return err
	case hasVerbosity && !e.call.Model.HasVerbosity():
		return adapters.Unsupported("verbosity", "config.verbosity", fmt.Sprintf("model %q has no verbosity", e.call.Model.ID))
	case text == "" && !hasVerbosity:
		return nil
	}
	w := &e.w
	w.Key("text")
	w.BeginObject()
	if text != "" {
		w.Key("format")
		w.BeginObject()
		w.Member("type", "json_schema")
		w.Member("name", "output")
		if e.compat.SupportsStrictMode {
			strict := schema.Holds(text, e.call.StrictRules())
			w.Key("strict")
			w.Bool(strict)
			if !strict {
				e.effect.Adjustments = append(e.effect.Adjustments, adapters.LooseSchema)
			}
		}
		w.Key("schema")
		w.Raw(text)
		w.EndObject()
	}
	if hasVerbosity {
		w.Member("verbosity", profile.VerbosityName(verbosity))
	}
	w.EndObject()
	return nil
}

// serviceTier writes the class of service, and the end user.
func (e *encoder) serviceTier() error {
	tier, err := e.call.OpenAITier(e.compat.SupportsServiceTier && !e.azure)
	if err != nil {
		return err
	}
	e.w.MemberIf("service_tier", tier)
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
		return adapters.Unsupported("cache_retention", "cache.retention",
			fmt.Sprintf("provider %q has no long cache retention", e.call.Model.Provider))
	}
	if e.compat.PromptCacheKeyMode != "disabled" {
		w.MemberIf("prompt_cache_key", e.opts.CacheKey(adapters.MaxCacheKey))
	}
	adapters.WriteOpenAIRetention(w, e.opts.Retention, e.compat.SupportsExplicitPromptCacheMode && !e.azure)
	return nil
}

package anthropic

import (
	"fmt"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/turns"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

const (
	maxTemperature     = 1.0  // of this API; the contract goes to 2
	minThinkingTopP    = 0.95 // the least top_p beside thinking
	defaultTemperature = 1.0  // the only temperature beside thinking
)

// sampling is what is sent of the sampling parameters; nil = not sent.
type sampling struct {
	temperature, topP *float64
	topK              *int32
	stop              []string
}

// decideUnsupported refuses what the API has no field for.
// https://docs.anthropic.com/en/api/messages.
func (r *request) decideUnsupported() error {
	if err := r.call.Refuse("the Messages API", "seed", "verbosity"); err != nil {
		return err
	}
	var err error
	r.schema, err = r.call.ClosedOutputSchema()
	return err
}

// decideSpeed sets both halves of fast mode, the field and its header, or neither. The
// newest models need no header, and mind none.
// https://docs.anthropic.com/en/docs/build-with-claude/fast-mode.
func (r *request) decideSpeed() error {
	switch r.call.Generation.GetConfig().GetServiceTier() {
	case llmdv1.ServiceTier_SERVICE_TIER_FLEX:
		return adapters.Unsupported("service_tier", "config.service_tier", "the Messages API has no flex tier")
	case llmdv1.ServiceTier_SERVICE_TIER_FAST:
		if !r.call.Model.Compat.SupportsServiceTier {
			return adapters.Unsupported("service_tier", "config.service_tier", fmt.Sprintf("model %q has no fast mode", r.call.Model.ID))
		}
		r.fast = true
		r.betas = append(r.betas, betaFast)
	default: // the standard tier needs no asking
	}
	return nil
}

// decideFallbacks names the models that the provider may answer with instead.
func (r *request) decideFallbacks() error {
	if r.fallbacks = r.call.Model.Compat.AllowedFallbackModels; len(r.fallbacks) > 0 {
		r.betas = append(r.betas, betaFallback)
	}
	return nil
}

// caches says whether the caller wants any caching.
func (r *request) caches() bool {
	return r.call.Options.Retention != llmdv1.CacheRetention_CACHE_RETENTION_NONE
}

// decideCache makes the marker. It is written at no more than three places: the
// system prompt, the last tool and the last user turn; the API allows four.
// https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching.
func (r *request) decideCache() error {
	switch {
	case !r.caches():
		return nil
	case r.call.Options.Retention != llmdv1.CacheRetention_CACHE_RETENTION_LONG:
		r.marker = `{"type":"ephemeral"}`
	case r.call.Model.Compat.SupportsLongCacheRetention:
		r.marker = `{"type":"ephemeral","ttl":"1h"}`
	case r.call.Options.RetentionExplicit:
		return adapters.Unsupported("cache_retention", "cache.retention", "the host keeps no cache for an hour")
	default:
		r.marker = `{"type":"ephemeral"}`
	}
	return nil
}

// decideSampling checks what the caller set against the model and thinking.
// https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking#feature-compatibility.
func (r *request) decideSampling() error {
	c := r.call.Generation.GetConfig()
	if c == nil {
		return nil
	}
	if err := r.checkSampling(c); err != nil {
		return err
	}
	r.sampling = sampling{temperature: c.Temperature, topP: c.TopP, topK: c.TopK, stop: c.GetStopSequences()}
	if r.thinking.on() && c.Temperature != nil && *c.Temperature != defaultTemperature {
		r.sampling.temperature = nil
		r.adjust("temperature is left out: the API takes none beside thinking")
	}
	if r.sampling.temperature != nil && c.TopP != nil && oneSampler(r.call.Model.ID) {
		return adapters.Unsupported("top_p", "config.top_p", "the model takes a temperature or a top_p, not both")
	}
	return nil
}

// oneSampler: since Opus 4.1 Claude takes temperature or top_p. Later models than
// these take neither.
// https://docs.anthropic.com/en/docs/about-claude/models/migrating-to-claude-4.
func oneSampler(id string) bool {
	words := "-" + strings.NewReplacer(".", "-", "/", "-", ":", "-", "@", "-").Replace(strings.ToLower(id)) + "-"
	return strings.Contains(words, "claude") &&
		(strings.Contains(words, "-4-1-") || strings.Contains(words, "-4-5-") || strings.Contains(words, "-4-6-"))
}

// checkSampling refuses what the API would refuse or, worse, ignore.
func (r *request) checkSampling(c *llmdv1.GenerationConfig) error {
	if err := r.call.RefuseSampling(); err != nil {
		return err
	}
	switch {
	case c.GetTemperature() > maxTemperature:
		return adapters.Unsupported("temperature", "config.temperature", "the Messages API takes a temperature of at most 1")
	case c.TopP != nil && r.thinking.on() && *c.TopP < minThinkingTopP:
		return adapters.Unsupported("top_p", "config.top_p", "beside thinking the Messages API takes a top_p of at least 0.95")
	case c.TopK != nil && r.thinking.on():
		return adapters.Unsupported("top_k", "config.top_k", "beside thinking the Messages API takes no top_k")
	}
	for i, s := range c.GetStopSequences() {
		if turns.Blank(s) {
			return adapters.Unsupported("stop_sequences", fmt.Sprintf("config.stop_sequences[%d]", i),
				"the Messages API takes no stop sequence that is only white space")
		}
	}
	return nil
}

// write writes what is set, each value in its shortest form.
func (s *sampling) write(w *jsonwire.Writer) {
	w.FloatIf("temperature", s.temperature)
	w.FloatIf("top_p", s.topP)
	if s.topK != nil {
		w.Key("top_k")
		w.Int(int64(*s.topK))
	}
	w.StringsIf("stop_sequences", s.stop)
}

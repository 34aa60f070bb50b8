package bedrock

import (
	"fmt"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/turns"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

const (
	maxTemperature     = 1.0  // of Converse; the contract goes to 2
	minThinkingTopP    = 0.95 // the least top_p beside Claude's thinking
	defaultTemperature = 1.0  // the only temperature beside Claude's thinking
	maxMetadata        = 256  // letters of a value in requestMetadata

	// fallbackMaxTokens is what Claude is given where nobody knows its limit and a
	// thinking budget needs one; every Claude that takes a budget takes it.
	// https://platform.claude.com/docs/en/about-claude/models/overview
	fallbackMaxTokens = 32000
	// answerTokens is what it is given beside a budget that leaves less of that.
	answerTokens = 4096
)

// sampling is what is sent of the sampling parameters; nil = not sent.
type sampling struct {
	temperature, topP *float64
	topK              *int32
	stop              []string
}

// decideUnsupported refuses what Converse has no field for.
func (r *request) decideUnsupported() error {
	if err := r.call.Refuse("Converse", "seed", "verbosity"); err != nil {
		return err
	}
	var err error
	if r.schema, err = r.call.ClosedOutputSchema(); err != nil {
		return err
	}
	// The one place for an end user's id is what invocation logs are filtered by.
	// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html.
	user := r.call.Generation.GetUser()
	if len(user) > maxMetadata || strings.ContainsFunc(user, func(c rune) bool {
		return !adapters.WordChar(c) && !strings.ContainsRune(" \t\n\r\v\f:@$#=/+,.", c)
	}) {
		return adapters.Unsupported("user", "user", "requestMetadata takes at most 256 letters, digits, spaces and :_@$#=/+,-.")
	}
	return nil
}

// decideTier translates the tier. The default one needs no asking.
// https://docs.aws.amazon.com/bedrock/latest/userguide/service-tiers-inference.html.
func (r *request) decideTier() error {
	switch r.call.Generation.GetConfig().GetServiceTier() {
	case llmdv1.ServiceTier_SERVICE_TIER_FAST:
		r.tier = "priority"
	case llmdv1.ServiceTier_SERVICE_TIER_FLEX:
		r.tier = "flex"
	default:
		return nil
	}
	if !r.call.Model.Compat.SupportsServiceTier {
		return adapters.Unsupported("service_tier", "config.service_tier", fmt.Sprintf("model %q has the default tier alone", r.call.Model.ID))
	}
	return nil
}

// decideCache makes the marker. It is written at no more than three places: behind
// the system prompt, the tools and the last user turn; the API allows four.
func (r *request) decideCache() error {
	o := r.call.Options
	long := o.Retention == llmdv1.CacheRetention_CACHE_RETENTION_LONG
	canLong := r.traits.cachesLong() && r.call.Model.Compat.SupportsLongCacheRetention
	if long && !canLong && o.RetentionExplicit {
		return adapters.Unsupported("cache_retention", "cache.retention", fmt.Sprintf("no cache is kept for an hour for model %q", r.call.Model.ID))
	}
	switch {
	case o.Retention == llmdv1.CacheRetention_CACHE_RETENTION_NONE, !r.traits.caches():
	case long && canLong:
		r.marker = `{"cachePoint":{"type":"default","ttl":"1h"}}`
	default:
		r.marker = `{"cachePoint":{"type":"default"}}`
	}
	return nil
}

// decideLimit chooses maxTokens, which counts thinking. Other models than Claude
// take all they can by themselves; Claude would stop at a few thousand. A limit
// that was only guessed is not sent, as the API refuses one that is too high.
func (r *request) decideLimit() error {
	o := r.call.Options
	r.maxTokens = o.MaxOutputTokens
	if r.maxTokens == 0 && r.traits.family == claude && !r.call.Model.OutputGuessed {
		r.maxTokens = o.DefaultMaxOutputTokens
	}
	r.effective.MaxOutputTokens = r.maxTokens
	return nil
}

// decideSampling checks what the caller set against the model and thinking.
func (r *request) decideSampling() error {
	c := r.call.Generation.GetConfig()
	if c == nil {
		return nil
	}
	for _, check := range []func(*llmdv1.GenerationConfig) error{r.checkSampling, r.checkBesideThinking, r.checkStops} {
		if err := check(c); err != nil {
			return err
		}
	}
	r.sampling = sampling{temperature: c.Temperature, topP: c.TopP, topK: c.TopK, stop: c.GetStopSequences()}
	if c.Temperature == nil {
		return nil
	}
	if r.thinking.claudes() && *c.Temperature != defaultTemperature || r.thinking.mode == thinkingNovaHigh {
		r.sampling.temperature = nil
		r.adjust("temperature is left out: the model takes none beside thinking")
	}
	return nil
}

// checkSampling refuses what the model would refuse or, worse, ignore.
func (r *request) checkSampling(c *llmdv1.GenerationConfig) error {
	if err := r.call.RefuseSampling(); err != nil {
		return err
	}
	switch {
	case c.GetTemperature() > maxTemperature:
		return adapters.Unsupported("temperature", "config.temperature", "Converse takes a temperature of at most 1")
	case c.TopK != nil && r.traits.family != claude && r.traits.family != nova:
		return adapters.Unsupported("top_k", "config.top_k", "Converse has no top_k, and none is known for this model")
	case c.Temperature != nil && c.TopP != nil && r.traits.family == claude && r.traits.atLeast(4, 1) &&
		(!r.thinking.claudes() || *c.Temperature == defaultTemperature):
		// https://docs.anthropic.com/en/docs/about-claude/models/migrating-to-claude-4
		return adapters.Unsupported("top_p", "config.top_p", "the model takes a temperature or a top_p, not both")
	}
	return nil
}

// checkBesideThinking refuses what a thinking model refuses. Claude:
// https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html;
// Nova: https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html.
func (r *request) checkBesideThinking(c *llmdv1.GenerationConfig) error {
	high := r.thinking.mode == thinkingNovaHigh
	switch {
	case r.thinking.claudes() && c.TopP != nil && *c.TopP < minThinkingTopP:
		return adapters.Unsupported("top_p", "config.top_p", "beside thinking Claude takes a top_p of at least 0.95")
	case r.thinking.claudes() && c.TopK != nil, high && c.TopK != nil:
		return adapters.Unsupported("top_k", "config.top_k", "beside thinking the model takes no top_k")
	case high && c.TopP != nil:
		return adapters.Unsupported("top_p", "config.top_p", "beside high reasoning effort Nova takes no top_p")
	case high && c.MaxOutputTokens != nil:
		return adapters.Unsupported("max_output_tokens", "config.max_output_tokens", "beside high reasoning effort Nova takes no limit")
	}
	return nil
}

func (r *request) checkStops(c *llmdv1.GenerationConfig) error {
	if len(c.GetStopSequences()) > 0 && r.traits.neverStops() {
		return adapters.Unsupported("stop_sequences", "config.stop_sequences", fmt.Sprintf("model %q takes no stop sequences", r.call.Model.ID))
	}
	for i, s := range c.GetStopSequences() {
		if s == "" || r.traits.family == claude && turns.Blank(s) {
			return adapters.Unsupported("stop_sequences", fmt.Sprintf("config.stop_sequences[%d]", i), "the model takes no stop sequence that is empty or only white space")
		}
	}
	return nil
}

// writeTopK writes top_k as the model's own API names it.
// https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html
// https://docs.aws.amazon.com/nova/latest/userguide/complete-request-schema.html.
func (s *sampling) writeTopK(w *jsonwire.Writer, f family) {
	switch {
	case s.topK == nil:
	case f == nova:
		w.Key("inferenceConfig")
		w.BeginObject()
		w.Key("topK")
		w.Int(int64(*s.topK))
		w.EndObject()
	default:
		w.Key("top_k")
		w.Int(int64(*s.topK))
	}
}

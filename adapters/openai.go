package adapters

import (
	"fmt"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/profile"
	"github.com/llmd-dev/llmd/adapters/schema"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// What OpenAI's two APIs and those that imitate them have in common.

// MaxCacheKey is the longest prompt_cache_key, in code points.
// https://platform.openai.com/docs/guides/prompt-caching
const MaxCacheKey = 64

// LooseSchema says that the schema of an answer goes out as it is: made strict it would
// ask for other answers than the caller's.
// https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
const LooseSchema = "config.output_json_schema is asked for and not enforced: only one in strict form is"

// OpenAIAnswer is the schema of an answer in the words that OpenAI takes, which are those that
// it takes for tools; note is told what was put otherwise or left out. regular: regular
// expressions are OpenAI's to check.
func OpenAIAnswer(text string, regular bool, note func(string)) string {
	const what = "output_json_schema"
	text = FitSchema(text, schema.OpenAIDraft(), what, note)
	if regular {
		text = RegularSchema(text, what, note)
	}
	return text
}

// Maker is who made the model and so holds schemas to rules of its own, which hosts hand
// on; empty = none is known.
func (c *Call) Maker() string {
	name := strings.ToLower(c.Model.NameOnWire())
	name = name[strings.LastIndexByte(name, '/')+1:]
	series := len(name) > 1 && name[0] == 'o' && '1' <= name[1] && name[1] <= '9'
	compat := &c.Model.Compat
	switch {
	case strings.HasPrefix(name, "gpt-oss"): // runs anywhere
		return ""
	case compat.SchemaDialect != "":
		return compat.SchemaDialect
	case compat.SupportsDeveloperRole && c.Model.API == "openai-completions", // the role is OpenAI's own
		strings.HasPrefix(name, "gpt-"), strings.HasPrefix(name, "chatgpt-"), series:
		return "openai"
	case strings.Contains(name, "claude") && !strings.Contains(name, "distill"): // of its answers others were made
		return "anthropic"
	}
	return ""
}

// StrictRules is what the maker takes of a schema that the model is held to.
func (c *Call) StrictRules() schema.Rules {
	switch c.Maker() {
	case "openai":
		return schema.OpenAI()
	case "anthropic":
		return schema.Claude()
	}
	return schema.Compatible()
}

// OpenAITier is OpenAI's word for the service tier that the caller asked for; empty =
// none is sent. supported: the host has tiers. STANDARD is what one without has anyway.
// https://platform.openai.com/docs/api-reference/chat/create#chat-create-service_tier
func (c *Call) OpenAITier(supported bool) (string, error) {
	tier := c.Generation.GetConfig().GetServiceTier()
	switch {
	case supported && tier == llmdv1.ServiceTier_SERVICE_TIER_STANDARD:
		return "default", nil
	case supported && tier == llmdv1.ServiceTier_SERVICE_TIER_FAST:
		return "priority", nil
	case supported && tier == llmdv1.ServiceTier_SERVICE_TIER_FLEX:
		return "flex", nil
	case tier == llmdv1.ServiceTier_SERVICE_TIER_UNSPECIFIED, tier == llmdv1.ServiceTier_SERVICE_TIER_STANDARD:
		return "", nil
	}
	return "", c.LacksTier()
}

// WriteOpenAIRetention writes how long OpenAI's prompt cache, which works by itself, is to
// keep the request. explicit: the model has the newer words for it, and refuses the older.
// https://platform.openai.com/docs/guides/prompt-caching
func WriteOpenAIRetention(w *jsonwire.Writer, retention llmdv1.CacheRetention, explicit bool) {
	long := retention == llmdv1.CacheRetention_CACHE_RETENTION_LONG
	switch {
	case explicit && retention == llmdv1.CacheRetention_CACHE_RETENTION_NONE:
		// Only marked prefixes are cached then, and none is marked.
		w.Key("prompt_cache_options")
		w.Raw(`{"mode":"explicit"}`)
	case explicit && long:
		w.Key("prompt_cache_options")
		w.Raw(`{"ttl":"30m"}`)
	case long:
		w.Member("prompt_cache_retention", "24h")
	}
}

// OpenAISampling are the temperature and the top_p that are sent; nil = none. OpenAI's
// models take neither while they reason, and those whose profile says so never do.
// reasons: this one is going to.
// https://platform.openai.com/docs/guides/latest-model
func (c *Call) OpenAISampling(reasons bool, effective *llmdv1.EffectiveOptions) (temperature, topP *float64, err error) {
	config, m := c.Generation.GetConfig(), c.Model
	if config == nil {
		return nil, nil, nil
	}
	switch {
	case m.Compat.SupportsTemperature, m.Reasoning && !reasons:
		return config.Temperature, config.TopP, nil
	case config.TopP != nil && reasons:
		return nil, nil, Unsupported("top_p", "config.top_p", fmt.Sprintf("model %q takes no top_p beside thinking", m.ID))
	case config.TopP != nil:
		return nil, nil, Unsupported("top_p", "config.top_p", fmt.Sprintf("model %q takes no top_p", m.ID))
	case config.Temperature != nil && !reasons:
		return nil, nil, Unsupported("temperature", "config.temperature", fmt.Sprintf("model %q takes no temperature", m.ID))
	case config.Temperature != nil:
		effective.Adjustments = append(effective.Adjustments, "temperature is left out: the model takes none beside thinking")
	}
	return nil, nil, nil
}

// LacksTier is the error for a service tier that the provider does not have.
func (c *Call) LacksTier() error {
	return Unsupported("service_tier", "config.service_tier", fmt.Sprintf("provider %q has no service tier %s",
		c.Model.Provider, profile.TierName(c.Generation.GetConfig().GetServiceTier())))
}

// WriteOpenAIToolChoice writes the caller's rule; without one the API's own default
// applies. anyTool is the word for "one of the tools". A tool that must be called is
// the only one that is exposed, and is named all the same: not all hosts know the word.
// nested: its name stands within "function".
func WriteOpenAIToolChoice(w *jsonwire.Writer, o *Options, anyTool string, nested bool) {
	switch {
	case o.ToolMode == llmdv1.ToolMode_TOOL_MODE_AUTO:
		w.Member("tool_choice", "auto")
	case o.ToolMode == llmdv1.ToolMode_TOOL_MODE_NONE:
		w.Member("tool_choice", "none")
	case o.ToolMode != llmdv1.ToolMode_TOOL_MODE_REQUIRED:
	case o.ToolName == "":
		w.Member("tool_choice", anyTool)
	default:
		w.Key("tool_choice")
		w.BeginObject()
		w.Member("type", "function")
		if nested {
			w.Key("function")
			w.BeginObject()
		}
		w.Member("name", o.ToolName)
		if nested {
			w.EndObject()
		}
		w.EndObject()
	}
}

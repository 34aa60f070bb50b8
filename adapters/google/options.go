package google

import (
	"math"
	"net/http"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// maxStopSequences is how many the API takes.
//
// https://ai.google.dev/api/generate-content#generationconfig
const maxStopSequences = 5

// tierHeader asks Vertex for a tier; the Gemini API has a field for it.
//
// https://cloud.google.com/vertex-ai/generative-ai/docs/priority-paygo
const tierHeader = "X-Vertex-AI-LLM-Shared-Request-Type"

// refuse rejects the explicit options that the API has no place for.
func (e *encoder) refuse() error {
	g := e.call.Generation
	c := g.GetConfig()
	switch {
	case c != nil && c.ParallelToolCalls != nil && !c.GetParallelToolCalls():
		return e.lacks("parallel_tool_calls", "generation.config.parallel_tool_calls", "cannot be kept from calling tools in parallel")
	case c.GetVerbosity() != llmdv1.Verbosity_VERBOSITY_UNSPECIFIED:
		return e.lacks("verbosity", "generation.config.verbosity", "has no verbosity")
	case g.GetUser() != "":
		return e.lacks("user", "generation.user", "is reached by an API without a field for the end user")
	case e.call.Options.Retention == llmdv1.CacheRetention_CACHE_RETENTION_LONG:
		return e.lacks("cache_retention", "generation.cache.retention", "caches by itself and for a time of its own choice")
	case len(c.GetStopSequences()) > maxStopSequences:
		return e.lacks("stop_sequences", "generation.config.stop_sequences", "takes at most 5 stop sequences")
	case c != nil && c.Seed != nil && (c.GetSeed() > math.MaxInt32 || c.GetSeed() < math.MinInt32):
		return e.lacks("seed", "generation.config.seed", "takes a seed of 32 bits")
	}
	return nil
}

// generationConfig writes the sampling values and the shape of the answer.
func (e *encoder) generationConfig(thinking *thinkingConfig) error {
	c := e.call.Generation.GetConfig()
	var w jsonwire.Writer
	w.BeginObject()
	if c != nil && c.Temperature != nil {
		w.Key("temperature")
		w.Float(c.GetTemperature())
	}
	if c != nil && c.TopP != nil {
		w.Key("topP")
		w.Float(c.GetTopP())
	}
	if c != nil && c.TopK != nil {
		w.Key("topK")
		w.Int(int64(c.GetTopK()))
	}
	if n := e.call.Options.MaxOutputTokens; n > 0 {
		w.Key("maxOutputTokens")
		w.Int(int64(n))
	}
	writeStrings(&w, "stopSequences", c.GetStopSequences())
	if c != nil && c.Seed != nil {
		w.Key("seed")
		w.Int(c.GetSeed())
	}
	if schema := c.GetOutputJsonSchema(); schema != "" {
		text, err := rewriteSchema(schema)
		if err != nil {
			return &adapters.FieldError{Field: "generation.config.output_json_schema", Detail: "not one JSON object"}
		}
		w.Member("responseMimeType", "application/json")
		w.Key("responseJsonSchema")
		w.Raw(text)
	}
	thinking.write(&w)
	w.EndObject()
	if len(w.Bytes()) > len("{}") {
		e.w.Key("generationConfig")
		e.w.RawBytes(w.Bytes())
	}
	return nil
}

// serviceTier asks for a tier, in the way of the API.
//
// https://ai.google.dev/gemini-api/docs/flex-inference
func (e *encoder) serviceTier(h http.Header) {
	var word string
	switch e.call.Generation.GetConfig().GetServiceTier() {
	case llmdv1.ServiceTier_SERVICE_TIER_FLEX:
		word = "flex"
	case llmdv1.ServiceTier_SERVICE_TIER_FAST:
		word = "priority"
	case llmdv1.ServiceTier_SERVICE_TIER_STANDARD:
		word = "standard"
	default:
		return
	}
	switch {
	case e.api == geminiAPI:
		e.w.Member("serviceTier", word)
	case word != "standard": // which is what Vertex does without the header
		h.Set(tierHeader, word)
	}
}

func writeStrings(w *jsonwire.Writer, key string, list []string) {
	if len(list) == 0 {
		return
	}
	w.Key(key)
	w.BeginArray()
	for _, s := range list {
		w.String(s)
	}
	w.EndArray()
}

package google

import (
	"math"
	"net/http"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/schema"
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
	if err := e.call.Refuse("the API", "parallel_tool_calls", "verbosity", "user", "cache_retention"); err != nil {
		return err
	}
	c := e.call.Generation.GetConfig()
	switch {
	case len(c.GetStopSequences()) > maxStopSequences:
		return e.lacks("stop_sequences", "generation.config.stop_sequences", "takes at most 5 stop sequences")
	case c != nil && c.Seed != nil && (c.GetSeed() > math.MaxInt32 || c.GetSeed() < math.MinInt32):
		return e.lacks("seed", "generation.config.seed", "takes a seed of 32 bits")
	case c.GetOutputJsonSchema() != "" && len(e.call.Options.Tools) > 0 && e.model.family == "gemini" && !e.model.three():
		// "Function calling with a response mime type: 'application/json' is unsupported".
		// https://ai.google.dev/gemini-api/docs/structured-output#structured_outputs_with_tools
		return e.lacks("output_json_schema", "generation.config.output_json_schema", "gives no answer by a schema beside tools")
	}
	return nil
}

// generationConfig writes the sampling values and the shape of the answer.
func (e *encoder) generationConfig(thinking *thinkingConfig) error {
	c := e.call.Generation.GetConfig()
	var w jsonwire.Writer
	w.BeginObject()
	if c != nil {
		w.FloatIf("temperature", c.Temperature)
		w.FloatIf("topP", c.TopP)
	}
	if c != nil && c.TopK != nil {
		w.Key("topK")
		w.Int(int64(c.GetTopK()))
	}
	if n := e.call.Options.MaxOutputTokens; n > 0 {
		w.Key("maxOutputTokens")
		w.Int(int64(n))
	}
	w.StringsIf("stopSequences", c.GetStopSequences())
	if c != nil && c.Seed != nil {
		w.Key("seed")
		w.Int(c.GetSeed())
	}
	if text := c.GetOutputJsonSchema(); text != "" {
		text, err := rewriteSchema(adapters.FitSchema(text, schema.GoogleDraft(), "output_json_schema", e.adjust))
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

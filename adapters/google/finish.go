package google

import (
	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// finishReasons are the names of the terminal words by number. The two APIs number
// them differently.
//
// https://ai.google.dev/api/generate-content#FinishReason and
// https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/GenerateContentResponse#FinishReason
func finishReasons(api string) []string {
	if api == vertexAPI {
		return []string{
			"FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "BLOCKLIST",
			"PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL", "MODEL_ARMOR",
		}
	}
	return []string{
		"FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "LANGUAGE", "BLOCKLIST",
		"PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY", "UNEXPECTED_TOOL_CALL",
	}
}

// finish reports the terminal marker.
func (d *decoder) finish(c *candidate, sink *adapters.Sink) {
	name := c.FinishReason.name(finishReasons(d.api))
	switch name {
	case "", "FINISH_REASON_UNSPECIFIED":
		return
	case "STOP":
		sink.Stop(llmdv1.StopReason_STOP_REASON_STOP, name)
	case "MAX_TOKENS", "CONTINUATION":
		sink.Stop(llmdv1.StopReason_STOP_REASON_LENGTH, name)
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "JAILBREAK",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		sink.Fail(name, d.failure(adapters.ReasonContentFiltered, name, c.FinishMessage))
	default:
		sink.Fail(name, d.failure(adapters.ReasonProviderError, name, c.FinishMessage))
	}
	d.stopped = true
}

// failure is an error that Google told by a word instead of an error object.
func (d *decoder) failure(reason, word, message string) *adapters.UpstreamError {
	said := "Gemini stopped with " + word
	if message != "" {
		said += ": " + message
	}
	// Classify masks secrets and cuts; what it is was said by the word.
	err := adapters.Classify(adapters.ErrorFacts{API: d.api, Type: word, Message: said})
	err.Reason, err.RetryDelay = reason, nil
	return err
}

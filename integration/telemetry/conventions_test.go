package telemetry

// exceptions are the events of the GenAI conventions for a call that failed, by edition,
// and exceptionKeys their own attributes, copied by hand from
// https://github.com/open-telemetry/semantic-conventions-genai/blob/v0.1.0/docs/gen-ai/client-inference.md and
// https://github.com/open-telemetry/semantic-conventions/blob/v1.41.0/docs/gen-ai/gen-ai-exceptions.md.
// They may have those of the span beside.
var (
	exceptions = map[string][]string{
		"v0.1":  {"gen_ai.client.inference.exception"},
		"v1.41": {"gen_ai.client.operation.exception"},
		"both":  {"gen_ai.client.inference.exception", "gen_ai.client.operation.exception"},
	}
	exceptionKeys = []string{"exception.message", "exception.stacktrace", "exception.type"}
)

// goRuntime are the metrics of the Go runtime, copied by hand from
// https://opentelemetry.io/docs/specs/semconv/runtime/go-metrics/.
var goRuntime = []string{
	"go.memory.used", "go.memory.limit", "go.memory.allocated", "go.memory.allocations", "go.memory.gc.goal", "go.goroutine.count",
	"go.processor.limit", "go.schedule.duration", "go.config.gogc",
}

// conventions are the names that llmd may use of the GenAI conventions, copied by hand
// from the pages of
// https://github.com/open-telemetry/semantic-conventions-genai/tree/024a4f944a1291fcb627c9c47da69e79868dd15e/docs/gen-ai
// client-inference.md and gen-ai-token-metrics.md, and what they refer to.
var conventions = []string{
	// Attributes of the span gen_ai.client.inference.
	"error.type", "gen_ai.conversation.id", "gen_ai.operation.name", "gen_ai.output.type", "gen_ai.provider.name",
	"gen_ai.request.choice.count", "gen_ai.request.frequency_penalty", "gen_ai.request.max_tokens", "gen_ai.request.model",
	"gen_ai.request.presence_penalty", "gen_ai.request.previous_response.id", "gen_ai.request.reasoning.level", "gen_ai.request.seed",
	"gen_ai.request.stop_sequences", "gen_ai.request.stream", "gen_ai.request.temperature", "gen_ai.request.top_k", "gen_ai.request.top_p",
	"gen_ai.response.finish_reasons", "gen_ai.response.id", "gen_ai.response.model", "gen_ai.response.time_to_first_chunk",
	"gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_write.input_tokens", "gen_ai.usage.input_tokens",
	"gen_ai.usage.output_tokens", "gen_ai.usage.reasoning.output_tokens", "server.address", "server.port",
	// Metrics.
	"gen_ai.client.inference.duration", "gen_ai.client.inference.time_to_first_chunk", "gen_ai.client.inference.time_per_output_chunk",
	"gen_ai.client.inference.usage.input_tokens", "gen_ai.client.inference.usage.output_tokens",
	"gen_ai.client.inference.usage.cache_read.input_tokens", "gen_ai.client.inference.usage.cache_write.input_tokens",
	"gen_ai.client.inference.usage.reasoning.output_tokens", "gen_ai.client.inference.operation.input_tokens",
	"gen_ai.client.inference.operation.output_tokens",
}

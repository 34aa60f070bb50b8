package telemetry

// Attributes of the GenAI conventions. Their home is
// https://github.com/open-telemetry/semantic-conventions-genai (docs/gen-ai); those of
// v1.41 are in https://github.com/open-telemetry/semantic-conventions/tree/v1.41.0/docs/gen-ai.
const (
	attrOperation       = "gen_ai.operation.name"
	attrProviderName    = "gen_ai.provider.name"
	attrRequestModel    = "gen_ai.request.model"
	attrStream          = "gen_ai.request.stream"
	attrTemperature     = "gen_ai.request.temperature"
	attrTopP            = "gen_ai.request.top_p"
	attrTopK            = "gen_ai.request.top_k"
	attrMaxTokens       = "gen_ai.request.max_tokens"
	attrStopSequences   = "gen_ai.request.stop_sequences"
	attrSeed            = "gen_ai.request.seed"
	attrReasoningLevel  = "gen_ai.request.reasoning.level" // new in v0.1
	attrConversation    = "gen_ai.conversation.id"
	attrOutputType      = "gen_ai.output.type"
	attrResponseID      = "gen_ai.response.id"
	attrResponseModel   = "gen_ai.response.model"
	attrFinishReasons   = "gen_ai.response.finish_reasons"
	attrTimeToFirst     = "gen_ai.response.time_to_first_chunk"
	attrInputTokens     = "gen_ai.usage.input_tokens"
	attrOutputTokens    = "gen_ai.usage.output_tokens"
	attrCacheRead       = "gen_ai.usage.cache_read.input_tokens"
	attrCacheWrite      = "gen_ai.usage.cache_write.input_tokens"
	attrCacheCreation   = "gen_ai.usage.cache_creation.input_tokens" // v1.41's name of the one above
	attrReasoningTokens = "gen_ai.usage.reasoning.output_tokens"
	attrTokenType       = "gen_ai.token.type" // v1.41 only
	attrModality        = "gen_ai.token.modality"
	attrServerAddress   = "server.address"
	attrServerPort      = "server.port"
	attrErrorType       = "error.type"
	attrExceptionType   = "exception.type"
)

// Values of the conventions.
const (
	operationChat     = "chat"
	operationGenerate = "generate_content" // Google's own word
	finishError       = "error"
	modalityUnknown   = "unknown"
	tokenTypeInput    = "input"
	tokenTypeOutput   = "output"
)

// Metrics of the conventions, as of v0.1.
const (
	metricDuration        = "gen_ai.client.inference.duration"
	metricTimeToFirst     = "gen_ai.client.inference.time_to_first_chunk"
	metricTimePerChunk    = "gen_ai.client.inference.time_per_output_chunk"
	metricInputTokens     = "gen_ai.client.inference.usage.input_tokens"
	metricOutputTokens    = "gen_ai.client.inference.usage.output_tokens"
	metricCacheRead       = "gen_ai.client.inference.usage.cache_read.input_tokens"
	metricCacheWrite      = "gen_ai.client.inference.usage.cache_write.input_tokens"
	metricReasoningTokens = "gen_ai.client.inference.usage.reasoning.output_tokens"
	metricInputPerCall    = "gen_ai.client.inference.operation.input_tokens"
	metricOutputPerCall   = "gen_ai.client.inference.operation.output_tokens"
)

// The names of v1.41, where they are others.
const (
	metricDuration141     = "gen_ai.client.operation.duration"
	metricTimeToFirst141  = "gen_ai.client.operation.time_to_first_chunk"
	metricTimePerChunk141 = "gen_ai.client.operation.time_per_output_chunk"
	metricTokenUsage141   = "gen_ai.client.token.usage"
)

// The event of an attempt that failed, as of v0.1 and as of v1.41.
const (
	eventException    = "gen_ai.client.inference.exception"
	eventException141 = "gen_ai.client.operation.exception"
)

// Conventions says which edition of the GenAI conventions is spoken.
type Conventions string

// The editions.
const (
	ConventionsV01  Conventions = "v0.1"
	ConventionsV141 Conventions = "v1.41"
	ConventionsBoth Conventions = "both"
)

func (c Conventions) v01() bool  { return c != ConventionsV141 }
func (c Conventions) v141() bool { return c == ConventionsV141 || c == ConventionsBoth }

// secondBuckets are those of the conventions, and two more: an answer may take
// minutes.
func secondBuckets() []float64 {
	return []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68}
}

// tokenBuckets are those of the conventions.
func tokenBuckets() []float64 {
	return []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
}

// rpcBuckets stand in for those of the RPC conventions, which end at 10 s.
func rpcBuckets() []float64 {
	return []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}
}

// providerName is the conventions' name of a provider, its own id where they have
// none. What decides for the clouds is the API: the id may be anything.
func providerName(id, api string) string {
	switch api {
	case "azure-openai-responses":
		return "azure.ai.openai"
	case "bedrock-converse-stream":
		return "aws.bedrock"
	case "google-vertex":
		return "gcp.vertex_ai"
	case "google-generative-ai":
		return "gcp.gemini"
	case "mistral-conversations":
		return "mistral_ai"
	}
	switch id {
	case "xai":
		return "x_ai"
	case "moonshot", "moonshotai", "moonshotai-cn":
		return "moonshot_ai"
	case "google":
		return "gcp.gemini"
	case "mistral":
		return "mistral_ai"
	}
	return id // anthropic, openai, deepseek, groq, cohere and perplexity among them
}

func operation(api string) string {
	if api == "google-generative-ai" || api == "google-vertex" {
		return operationGenerate
	}
	return operationChat
}

package anthropic

import (
	"encoding/json"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/profile"
)

const (
	apiID = "anthropic-messages"
	path  = "/v1/messages"
	// version is the only one there is since 2023.
	// https://docs.anthropic.com/en/api/versioning.
	version = "2023-06-01"
	// vertexVersion is what Google Vertex AI takes in its place, in the body.
	// https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai.
	vertexVersion = "vertex-2023-10-16"

	thinkingFormat = "anthropic.thinking"
	redactedFormat = "anthropic.redacted_thinking"

	// citationsKind is llmd's own: the API has no such block, see the package
	// documentation.
	citationsKind = "text_citations"

	// maxIDLen and the letters of ids are what the API takes as tool_use.id.
	maxIDLen = 64
)

// Adapter implements [adapters.Adapter]. The zero value is ready.
type Adapter struct{}

// New returns the adapter.
func New() *Adapter { return &Adapter{} }

var _ adapters.Adapter = (*Adapter)(nil)

// API implements [adapters.Adapter].
func (*Adapter) API() string { return apiID }

// Framing implements [adapters.Adapter].
func (*Adapter) Framing() frame.Kind { return frame.SSE }

// Constraints implements [adapters.Adapter]. A trailing assistant turn is allowed
// here, because Encode can tell a prefill, which many models refuse, from a paused
// turn that is to go on.
func (*Adapter) Constraints(m *profile.Model) adapters.Constraints {
	return adapters.Constraints{
		ToolCallIDs:      adapters.IDRule{MaxLen: maxIDLen, WordChars: true},
		ToolNames:        adapters.NameRule{MaxLen: adapters.MaxToolName},
		Images:           m.TakesImages(),
		ImageTypes:       imageTypes(),
		MergeTurns:       true,
		UserFirst:        true,
		Prefill:          true,
		ToolErrorFlag:    true,
		SignatureFormats: []string{thinkingFormat, redactedFormat},
		UnsignedThinking: m.Compat.AllowEmptySignature,
		ProviderContent:  true,
		Pairs:            pairs(),
		// "The final block in an assistant message cannot be `thinking`" and
		// "The request body is not valid JSON: no low surrogate in string".
		AnswerAfterThinking: true,
		WholeSurrogates:     true,
	}
}

// pairs: "`web_search` tool use with id ... was found without a corresponding
// `web_search_tool_result` block", and each result "must have a corresponding
// `server_tool_use` block before it".
// https://github.com/AnswerDotAI/lisette/issues/90
// https://github.com/anthropics/claude-code/issues/69828.
func pairs() []adapters.Pair {
	return []adapters.Pair{
		{Call: "server_tool_use", Result: "*_tool_result", CallID: "id", ResultID: "tool_use_id"},
		{Call: "mcp_tool_use", Result: "mcp_tool_result", CallID: "id", ResultID: "tool_use_id"},
	}
}

// event is one frame. Which members are set depends on Type.
// https://docs.anthropic.com/en/docs/build-with-claude/streaming#event-types.
type event struct {
	Type         string          `json:"type"`
	Index        jsonwire.Number `json:"index"`
	Message      *message        `json:"message"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        delta           `json:"delta"`
	Usage        *usage          `json:"usage"`

	Transformations []transformation `json:"input_transformations"`
}

// bareError recognises an error body of a host that sends no type. Z.ai answers
// {"code":500,"msg":"404 NOT_FOUND","success":false} with a status of 200.
func (e *event) bareError(data []byte) bool {
	m := e.Message // an error's is a text
	return e.Type == "" && (m == nil || m.ID == "" && m.Content == nil && m.Usage == nil) && adapters.SaysError(data)
}

// message is message_start's, or a whole answer where a host does not stream.
type message struct {
	ID          string            `json:"id"`
	Model       string            `json:"model"`
	Content     []json.RawMessage `json:"content"`
	StopReason  string            `json:"stop_reason"`
	StopDetails *stopDetails      `json:"stop_details"`
	Usage       *usage            `json:"usage"`
	// Transformations is what was done to the request.
	Transformations []transformation `json:"input_transformations"`
}

// transformation is a block of the request that the model did not read as it was.
type transformation struct {
	Type   string `json:"type"`
	Reason string `json:"reason"`
}

// delta is that of content_block_delta or of message_delta.
type delta struct {
	Type        string          `json:"type"`
	Text        jsonwire.Text   `json:"text"`
	Thinking    jsonwire.Text   `json:"thinking"`
	PartialJSON jsonwire.Text   `json:"partial_json"`
	Signature   string          `json:"signature"`
	Citation    json.RawMessage `json:"citation"`

	StopReason  string       `json:"stop_reason"`
	StopDetails *stopDetails `json:"stop_details"`
}

// unknown says whether the delta is of a kind of the future.
func (d *delta) unknown() bool {
	switch d.Type {
	case "text_delta", "thinking_delta", "input_json_delta", "signature_delta", "citations_delta":
		return false
	}
	return true
}

// stopDetails says why a model refused.
type stopDetails struct {
	Explanation string `json:"explanation"`
}

// startedBlock is a content block as it begins; it may already hold something.
type startedBlock struct {
	Type      string            `json:"type"`
	Text      jsonwire.Text     `json:"text"`
	Citations []json.RawMessage `json:"citations"`
	Thinking  jsonwire.Text     `json:"thinking"`
	Signature string            `json:"signature"`
	Data      string            `json:"data"`
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Input     json.RawMessage   `json:"input"`
}

package bedrock

import (
	"encoding/base64"
	"encoding/json"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

const (
	apiID = "bedrock-converse-stream"

	reasoningFormat = "bedrock.reasoning"
	redactedFormat  = "bedrock.redacted"

	// maxIDLen and the letters of names and ids. The API takes points in ids, and Claude does
	// not; Kimi is used to those of its own, "functions.look:0".
	//
	//   - https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html
	//   - https://github.com/MoonshotAI/Kimi-K2/blob/main/docs/tool_call_guidance.md
	maxIDLen = 64

	// citationsKind is the API's block for a text with its sources.
	citationsKind = "citationsContent"
	imageKind     = "image"
)

// Adapter implements [adapters.Adapter]. The zero value is ready.
type Adapter struct{}

// New returns the adapter.
func New() *Adapter { return &Adapter{} }

var _ adapters.Adapter = (*Adapter)(nil)

// API implements [adapters.Adapter].
func (*Adapter) API() string { return apiID }

// Framing implements [adapters.Adapter].
func (*Adapter) Framing() frame.Kind { return frame.EventStream }

// Constraints implements [adapters.Adapter].
func (*Adapter) Constraints(m *profile.Model) adapters.Constraints {
	t := traitsOf(m)
	return adapters.Constraints{
		ToolCallIDs:       adapters.IDRule{MaxLen: maxIDLen, WordChars: true, Points: t.family == kimi},
		ToolNames:         adapters.NameRule{MaxLen: adapters.MaxToolName},
		Images:            m.TakesImages(),
		ImageTypes:        imageTypes(),
		ErrorResultImages: t.family != claude,
		MergeTurns:        true,
		UserFirst:         true,
		Prefill:           t.prefills(),
		ToolErrorFlag:     t.hasStatus(),
		SignatureFormats:  []string{reasoningFormat, redactedFormat},
		Carries:           carries,
		UnsignedThinking:  t.family != claude,
		ProviderContent:   true,
		Pairs:             []adapters.Pair{{Call: "toolUse", Result: "toolResult", CallID: "toolUseId", ResultID: "toolUseId"}},
		// Claude's own rules, which the API hands on.
		AnswerAfterThinking: t.family == claude,
		WholeSurrogates:     true,
	}
}

// carries says whether a signature can be sent: what is redacted is bytes.
func carries(s *llmdv1.Signature) bool {
	if s.GetFormat() != redactedFormat {
		return true
	}
	_, err := base64.StdEncoding.DecodeString(string(s.GetData()))
	return err == nil
}

// event is one frame. Which members are set depends on the frame's name, which the
// framing carries.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html.
type event struct {
	Index jsonwire.Number `json:"contentBlockIndex"`
	Start json.RawMessage `json:"start"`
	Delta delta           `json:"delta"`

	StopReason  string `json:"stopReason"`
	Usage       *usage `json:"usage"`
	ServiceTier struct {
		Type string `json:"type"`
	} `json:"serviceTier"`
}

// start is what contentBlockStart says of a client's call.
type start struct {
	ToolUse *toolUse `json:"toolUse"`
}

// toolUse is a call. Its type is empty or "tool_use" if the client is to make it.
type toolUse struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Type  string          `json:"type"`
	Input json.RawMessage `json:"input"` // of a whole block
}

// ofClient says whether the caller is to run the tool.
func (t *toolUse) ofClient() bool { return t.Type == "" || t.Type == "tool_use" }

// delta is a union: one member is set. Those of blocks without a type of their own
// are not named here.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlockDelta.html.
type delta struct {
	Text    *jsonwire.Text `json:"text"`
	ToolUse *struct {
		Input jsonwire.Text `json:"input"`
	} `json:"toolUse"`
	Reasoning *reasoning      `json:"reasoningContent"`
	Citation  json.RawMessage `json:"citation"`
}

// reasoning is a piece of thinking, or a whole block of it.
type reasoning struct {
	Text      jsonwire.Text `json:"text"`
	Signature string        `json:"signature"`
	Redacted  string        `json:"redactedContent"` // base64

	Whole *struct {
		Text      jsonwire.Text `json:"text"`
		Signature string        `json:"signature"`
	} `json:"reasoningText"`
}

// answer is a whole answer, as Converse gives it and as a host that does not stream
// may give it in place of a stream.
type answer struct {
	Output *struct {
		Message struct {
			Content []json.RawMessage `json:"content"`
		} `json:"message"`
	} `json:"output"`
}

// wholeBlock is a block of a whole answer.
type wholeBlock struct {
	Text      *jsonwire.Text `json:"text"`
	ToolUse   *toolUse       `json:"toolUse"`
	Reasoning *reasoning     `json:"reasoningContent"`
	Citations *struct {
		Content []struct {
			Text jsonwire.Text `json:"text"`
		} `json:"content"`
		Citations []json.RawMessage `json:"citations"`
	} `json:"citationsContent"`
}

package google

import (
	"encoding/json"
	"strconv"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// response is one frame of an answer, a GenerateContentResponse.
//
// https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse
type response struct {
	Candidates     []candidate     `json:"candidates"`
	PromptFeedback *promptFeedback `json:"promptFeedback"`
	UsageMetadata  json.RawMessage `json:"usageMetadata"`
	ModelVersion   jsonwire.Word   `json:"modelVersion"`
	ResponseID     jsonwire.Word   `json:"responseId"`
	Error          json.RawMessage `json:"error"`
}

type promptFeedback struct {
	BlockReason        word          `json:"blockReason"`
	BlockReasonMessage jsonwire.Word `json:"blockReasonMessage"`
}

type candidate struct {
	Index              jsonwire.Number `json:"index"`
	Content            content         `json:"content"`
	FinishReason       word            `json:"finishReason"`
	FinishMessage      jsonwire.Word   `json:"finishMessage"`
	GroundingMetadata  json.RawMessage `json:"groundingMetadata"`
	CitationMetadata   json.RawMessage `json:"citationMetadata"`
	URLContextMetadata json.RawMessage `json:"urlContextMetadata"`
}

type content struct {
	Parts []part `json:"parts"`
}

// part has one of the fields, or is of a kind that has no type here; such a one is
// read again as raw JSON. A text may be there, too: many writers do not leave out an
// empty one.
type part struct {
	Text             *jsonwire.Text `json:"text"`
	Thought          bool           `json:"thought"`
	ThoughtSignature string         `json:"thoughtSignature"`
	FunctionCall     *functionCall  `json:"functionCall"`

	InlineData          there `json:"inlineData"`
	FileData            there `json:"fileData"`
	ExecutableCode      there `json:"executableCode"`
	CodeExecutionResult there `json:"codeExecutionResult"`
	ToolCall            there `json:"toolCall"`
	ToolResponse        there `json:"toolResponse"`
}

// more says whether a part holds more than a text.
func (p *part) more() bool {
	return bool(p.InlineData || p.FileData || p.ExecutableCode || p.CodeExecutionResult || p.ToolCall || p.ToolResponse)
}

// there says whether a field has a value.
type there bool

// UnmarshalJSON implements json.Unmarshaler.
func (t *there) UnmarshalJSON(data []byte) error {
	*t = data[0] != 'n'
	return nil
}

// functionCall is a call, or with PartialArgs or WillContinue a piece of one.
//
// https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling#streaming-fc
type functionCall struct {
	ID           jsonwire.Word   `json:"id"`
	Name         jsonwire.Word   `json:"name"`
	Args         json.RawMessage `json:"args"`
	PartialArgs  []partialArg    `json:"partialArgs"`
	WillContinue bool            `json:"willContinue"`
}

// partialArg is the value, or a piece of the string, at a place in the arguments.
type partialArg struct {
	JSONPath     string          `json:"jsonPath"`
	StringValue  *jsonwire.Text  `json:"stringValue"`
	NumberValue  json.RawMessage `json:"numberValue"`
	BoolValue    *bool           `json:"boolValue"`
	NullValue    json.RawMessage `json:"nullValue"`
	WillContinue bool            `json:"willContinue"`
}

// usageMetadata is what was counted so far.
type usageMetadata struct {
	PromptTokenCount        jsonwire.Number  `json:"promptTokenCount"`
	CachedContentTokenCount jsonwire.Number  `json:"cachedContentTokenCount"`
	ToolUsePromptTokenCount jsonwire.Number  `json:"toolUsePromptTokenCount"`
	CandidatesTokenCount    jsonwire.Number  `json:"candidatesTokenCount"`
	ThoughtsTokenCount      *jsonwire.Number `json:"thoughtsTokenCount"`
	PromptTokensDetails     []modalityCount  `json:"promptTokensDetails"`
	ToolUsePromptDetails    []modalityCount  `json:"toolUsePromptTokensDetails"`
	CandidatesTokensDetails []modalityCount  `json:"candidatesTokensDetails"`
	ServiceTier             word             `json:"serviceTier"`
	TrafficType             word             `json:"trafficType"`
}

type modalityCount struct {
	Modality   word            `json:"modality"`
	TokenCount jsonwire.Number `json:"tokenCount"`
}

// word is the name of an enum's value. Some hosts send its number instead, which
// is kept as digits: what it means depends on the API.
type word string

// UnmarshalJSON implements json.Unmarshaler. What is neither name nor number says
// nothing.
func (w *word) UnmarshalJSON(data []byte) error {
	*w = ""
	if data[0] == '"' {
		var s string
		err := json.Unmarshal(data, &s)
		*w = word(s)
		return err
	}
	if data[0] == '-' || data[0] >= '0' && data[0] <= '9' {
		var n jsonwire.Number
		_ = n.UnmarshalJSON(data) // never fails
		*w = word(strconv.FormatInt(int64(n), 10))
	}
	return nil
}

// name is the word's name, by its number in an enum where it is one.
func (w word) name(enum []string) string {
	if n, err := strconv.Atoi(string(w)); err == nil && n >= 0 && n < len(enum) {
		return enum[n]
	}
	return string(w)
}

// blocks says whether the word is a reason to block a prompt.
func (w word) blocks() bool {
	return w != "" && w != "0" && w != "BLOCK_REASON_UNSPECIFIED" && w != "BLOCKED_REASON_UNSPECIFIED"
}

// isNumber says whether only the number of an enum's value is known.
func (w word) isNumber() bool {
	_, err := strconv.Atoi(string(w))
	return err == nil
}

// rawParts reads the parts of a frame's first candidates as raw JSON.
type rawParts struct {
	Candidates []struct {
		Content struct {
			Parts []json.RawMessage `json:"parts"`
		} `json:"content"`
	} `json:"candidates"`
}

// filled says whether raw JSON is there and is more than null or {}.
func filled(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null" && string(raw) != "{}"
}

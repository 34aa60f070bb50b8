package openaichat

import (
	"encoding/json"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// chunk is one frame, or a whole answer where a host did not stream.
// https://platform.openai.com/docs/api-reference/chat-streaming/streaming
type chunk struct {
	ID          jsonwire.Word `json:"id"`
	Model       jsonwire.Word `json:"model"`
	ServiceTier jsonwire.Word `json:"service_tier"`
	Choices     []choice      `json:"choices"`
	Usage       *usage        `json:"usage"`
	// XGroq holds Groq's usage where it was not asked for.
	// https://console.groq.com/docs/api-reference#chat-create
	XGroq *struct {
		Usage *usage `json:"usage"`
	} `json:"x_groq"`
	// Citations and SearchResults are Perplexity's sources, in every chunk anew.
	// https://docs.perplexity.ai/api-reference/chat-completions-post
	Citations     json.RawMessage `json:"citations"`
	SearchResults json.RawMessage `json:"search_results"`

	// An error, in the shapes that hosts give it.
	Error   json.RawMessage `json:"error"`
	Object  jsonwire.Word   `json:"object"` // "error" (vLLM)
	Type    jsonwire.Word   `json:"type"`   // "error"
	Message json.RawMessage `json:"message"`
	Detail  json.RawMessage `json:"detail"`
	// BaseResp is MiniMax's verdict, also under a status of 200.
	BaseResp struct {
		StatusCode jsonwire.Number `json:"status_code"`
	} `json:"base_resp"`
}

// choice is one of the answers. Only number 0 is read.
type choice struct {
	Index        jsonwire.Number `json:"index"`
	Delta        *delta          `json:"delta"`
	Message      *delta          `json:"message"` // where it is no stream
	FinishReason jsonwire.Word   `json:"finish_reason"`
	Usage        *usage          `json:"usage"` // Moonshot
	Error        json.RawMessage `json:"error"` // OpenRouter
}

// delta is a piece of a message, or a whole one.
type delta struct {
	Content          content           `json:"content"`
	Refusal          jsonwire.Word     `json:"refusal"`
	ReasoningContent content           `json:"reasoning_content"`
	Reasoning        content           `json:"reasoning"`
	ReasoningText    content           `json:"reasoning_text"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	ToolCalls        callDeltas        `json:"tool_calls"`
	FunctionCall     *functionDelta    `json:"function_call"` // before tools
	Annotations      []json.RawMessage `json:"annotations"`
	// Images and ExecutedTools are what some hosts made and did themselves.
	Images        json.RawMessage `json:"images"`
	ExecutedTools json.RawMessage `json:"executed_tools"`
}

// callDelta is a piece of a call. Which fields are there differs from host to
// host; see calls.
type callDelta struct {
	Index    *jsonwire.Number `json:"index"`
	ID       jsonwire.Word    `json:"id"`
	Function functionDelta    `json:"function"`

	second bool // it stands behind another one in the same delta
}

// callDeltas are pieces of calls, or one in the place of a list of one.
type callDeltas []callDelta

// UnmarshalJSON implements json.Unmarshaler.
func (v *callDeltas) UnmarshalJSON(b []byte) (err error) {
	*v, err = list[callDelta](b)
	return err
}

// functionDelta is what a call is made of.
type functionDelta struct {
	Name      jsonwire.Word `json:"name"`
	Arguments arguments     `json:"arguments"`
}

// arguments is a fragment of a call's arguments: a string, or from a few hosts the
// object itself, whose text is taken as it stands. An empty object is where others
// send an empty string: the fragments follow.
type arguments string

// UnmarshalJSON implements json.Unmarshaler.
func (v *arguments) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		return (*jsonwire.Text)(v).UnmarshalJSON(b)
	case '{', '[':
		*v = arguments(b)
	default:
		*v = ""
	}
	return nil
}

// content is a text, a list of parts or one part.
type content struct {
	text     string
	thinking string
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *content) UnmarshalJSON(b []byte) error {
	*v = content{}
	if b[0] == '"' {
		var t jsonwire.Text
		err := t.UnmarshalJSON(b)
		v.text = string(t)
		return err
	}
	parts, err := list[contentPart](b)
	var text, thinking strings.Builder
	for _, p := range parts {
		into := &text
		if p.Type == "thinking" || p.Type == "reasoning" {
			into = &thinking
		}
		thinking.WriteString(string(p.Thinking))
		thinking.WriteString(string(p.Summary))
		into.WriteString(string(p.Text))
		into.WriteString(string(p.Content))
	}
	v.text, v.thinking = text.String(), thinking.String()
	return err
}

// all is the text of what is known to be reasoning, however it is marked.
func (v *content) all() string { return v.thinking + v.text }

// contentPart is one part; a string among parts is a text.
type contentPart struct {
	Type     jsonwire.Word `json:"type"`
	Text     jsonwire.Word `json:"text"`
	Content  texts         `json:"content"`
	Thinking texts         `json:"thinking"`
	// Summary is Databricks' reasoning:
	// https://docs.databricks.com/aws/en/machine-learning/model-serving/query-reason-models
	Summary texts `json:"summary"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *contentPart) UnmarshalJSON(b []byte) error {
	if b[0] != '{' {
		return v.Text.UnmarshalJSON(b)
	}
	type plain contentPart
	return jsonwire.Unmarshal(b, (*plain)(v))
}

// texts is a text, or again a list of parts, which hold nothing but text: parts
// are read two levels deep and no deeper.
type texts string

// UnmarshalJSON implements json.Unmarshaler.
func (v *texts) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		return (*jsonwire.Text)(v).UnmarshalJSON(b)
	}
	parts, err := list[struct {
		Text jsonwire.Word `json:"text"`
	}](b)
	var text strings.Builder
	for _, p := range parts {
		text.WriteString(string(p.Text))
	}
	*v = texts(text.String())
	return err
}

// list reads a list, or one element in the place of a list of one. All else is
// empty.
func list[T any](b []byte) (out []T, err error) {
	switch b[0] {
	case '[':
		err = jsonwire.Unmarshal(b, &out)
	case '{':
		out = make([]T, 1)
		err = jsonwire.Unmarshal(b, &out[0])
	}
	return out, err
}

package openaichat

import (
	"bytes"
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
	XGroq struct {
		Usage *usage          `json:"usage"`
		Error json.RawMessage `json:"error"` // why a stream stopped early
	} `json:"x_groq"`
	sources

	// An error, in the shapes that hosts give it.
	Error  json.RawMessage `json:"error"`
	Object jsonwire.Word   `json:"object"` // "error" (vLLM)
	Type   jsonwire.Word   `json:"type"`   // "error"
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

// ended says whether the answer ends here. DashScope's own API says "null" where it does
// not, and hosts pass that on.
// https://help.aliyun.com/zh/model-studio/qwen-api-via-dashscope
func (c *choice) ended() bool { return c.FinishReason != "" && c.FinishReason != "null" }

// says: there is something of the answer in its delta.
func (c *choice) says() bool {
	d := c.Delta
	return d != nil && (d.Content.says() || d.Refusal != "" || len(d.ToolCalls) > 0 ||
		d.ReasoningContent.says() || d.Reasoning.says() || d.ReasoningText.says())
}

// delta is a piece of a message, or a whole one.
type delta struct {
	Content          content                `json:"content"`
	Refusal          jsonwire.Word          `json:"refusal"`
	ReasoningContent content                `json:"reasoning_content"`
	Reasoning        content                `json:"reasoning"`
	ReasoningText    content                `json:"reasoning_text"`
	ReasoningDetails items[json.RawMessage] `json:"reasoning_details"`
	ThinkingBlocks   items[json.RawMessage] `json:"thinking_blocks"`  // LiteLLM
	ReasoningOpaque  jsonwire.Word          `json:"reasoning_opaque"` // GitHub Copilot
	ToolCalls        items[callDelta]       `json:"tool_calls"`
	FunctionCall     *functionDelta         `json:"function_call"` // before tools
	Annotations      items[json.RawMessage] `json:"annotations"`
	ExtraContent     extraContent           `json:"extra_content"`
	// Images and ExecutedTools are what some hosts made and did themselves, Context what
	// Azure found in the caller's data, Audio a piece of what the model spoke.
	// https://learn.microsoft.com/azure/ai-foundry/openai/references/on-your-data
	Images        json.RawMessage `json:"images"`
	ExecutedTools json.RawMessage `json:"executed_tools"`
	Context       json.RawMessage `json:"context"`
	Audio         json.RawMessage `json:"audio"`
}

// callDelta is a piece of a call. Which fields are there differs from host to
// host; see calls.
type callDelta struct {
	Index    *jsonwire.Number `json:"index"`
	ID       jsonwire.Word    `json:"id"`
	Type     jsonwire.Word    `json:"type"`
	Function functionDelta    `json:"function"`
	Custom   *customDelta     `json:"custom"`
	Extra    extraContent     `json:"extra_content"`
	// Signature is Google's, too, as Databricks hands it on.
	// https://github.com/databricks/databricks-ai-bridge/pull/270
	Signature jsonwire.Word `json:"thoughtSignature"`

	second bool // it stands behind another one in the same delta
}

// says: an entry may be null, or hold nothing at all.
func (d *callDelta) says() bool {
	return d.Index != nil || d.ID != "" || d.Type != "" || d.Function != functionDelta{} || d.Custom != nil || d.signed()
}

func (d *callDelta) signed() bool { return d.Extra.raw != nil || d.Signature != "" }

// extraContent is what Google adds to a delta and to a call: whether the text is a
// thought, and the thought's signature, which goes back where it stood.
// https://ai.google.dev/gemini-api/docs/thought-signatures#openai
type extraContent struct {
	thought bool
	raw     json.RawMessage // as it came, if it holds a signature
}

// UnmarshalJSON implements json.Unmarshaler. The member is named after the platform:
// "google", and "vertex" on Vertex AI.
func (v *extraContent) UnmarshalJSON(b []byte) error {
	*v = extraContent{}
	var platforms map[string]struct {
		Thought   bool          `json:"thought"`
		Signature jsonwire.Word `json:"thought_signature"`
	}
	_ = json.Unmarshal(b, &platforms) // what fits is filled in
	for _, p := range platforms {
		v.thought = v.thought || p.Thought
		if p.Signature != "" {
			v.raw = bytes.Clone(b)
		}
	}
	return nil
}

// items are a list, or one element in the place of a list of one.
type items[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (v *items[T]) UnmarshalJSON(b []byte) (err error) {
	*v, err = list[T](b)
	return err
}

// functionDelta is what a call is made of.
type functionDelta struct {
	Name      jsonwire.Word `json:"name"`
	Arguments arguments     `json:"arguments"`
}

// customDelta is what a call of a custom tool is made of: a text takes the place of
// arguments. https://platform.openai.com/docs/guides/function-calling#custom-tools
type customDelta struct {
	Name  jsonwire.Word `json:"name"`
	Input jsonwire.Word `json:"input"`
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
	others   []otherPart
}

// otherPart is a part of a kind that is not read, such as Mistral's references, as it
// came.
type otherPart struct {
	kind string
	raw  json.RawMessage
	at   int // its place in the text
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
		thinking.WriteString(p.Thinking.text)
		thinking.WriteString(p.Summary.text)
		into.WriteString(string(p.Text))
		into.WriteString(p.Content.text)
		if p.raw != nil {
			v.others = append(v.others, otherPart{string(p.Type), p.raw, text.Len()})
		}
		for _, inner := range []texts{p.Thinking, p.Summary, p.Content} {
			for _, o := range inner.others {
				o.at = text.Len()
				v.others = append(v.others, o)
			}
		}
	}
	v.text, v.thinking = text.String(), thinking.String()
	return err
}

// says: there is anything in it.
func (v *content) says() bool { return v.text != "" || v.thinking != "" || v.others != nil }

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

	raw json.RawMessage // as it came, if it is of another kind
}

// isOther says whether a part names a kind and has nothing that is read.
func (v *contentPart) isOther() bool {
	switch v.Type {
	case "", "text", "output_text", "summary_text", "reasoning_text", "thinking", "reasoning":
		return false
	}
	return v.Text == "" && !v.Content.says() && !v.Thinking.says() && !v.Summary.says()
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *contentPart) UnmarshalJSON(b []byte) error {
	if b[0] != '{' {
		return v.Text.UnmarshalJSON(b)
	}
	type plain contentPart
	err := jsonwire.Unmarshal(b, (*plain)(v))
	if v.isOther() {
		v.raw = bytes.Clone(b)
	}
	return err
}

// texts is a text, or again a list of parts, which hold nothing but text: parts
// are read two levels deep and no deeper.
type texts struct {
	text   string
	others []otherPart
}

func (v *texts) says() bool { return v.text != "" || v.others != nil }

// UnmarshalJSON implements json.Unmarshaler.
func (v *texts) UnmarshalJSON(b []byte) error {
	*v = texts{}
	if b[0] == '"' {
		return (*jsonwire.Text)(&v.text).UnmarshalJSON(b)
	}
	parts, err := list[innerPart](b)
	var text strings.Builder
	for _, p := range parts {
		text.WriteString(string(p.Text))
		if p.raw != nil {
			v.others = append(v.others, otherPart{kind: string(p.Type), raw: p.raw})
		}
	}
	v.text = text.String()
	return err
}

// innerPart is a part within a part.
type innerPart struct {
	Type jsonwire.Word `json:"type"`
	Text jsonwire.Word `json:"text"`

	raw json.RawMessage // as it came, if it is of another kind
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *innerPart) UnmarshalJSON(b []byte) error {
	if b[0] != '{' {
		return v.Text.UnmarshalJSON(b)
	}
	type plain innerPart
	err := jsonwire.Unmarshal(b, (*plain)(v))
	if outer := (contentPart{Type: v.Type, Text: v.Text}); outer.isOther() {
		v.raw = bytes.Clone(b)
	}
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

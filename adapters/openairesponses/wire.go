package openairesponses

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// The ids of the API, the formats of its signatures (contract 2.15) and the kind
// of provider content that holds the parts of a message with citations.
const (
	apiOpenAI = "openai-responses"
	apiAzure  = "azure-openai-responses"

	formatReasoning = "openai.reasoning_item"
	formatMessage   = "openai.message"
	formatItemID    = "openai.item_id"

	kindMessageContent = "message_content"
)

// The types of items that have a type of their own in the contract.
const (
	itemReasoning = "reasoning"
	itemMessage   = "message"
	itemCall      = "function_call"
	itemCustom    = "custom_tool_call"
)

// event is one event of a stream. Names are spelled out only where they differ
// from the field's.
type event struct {
	Type         string
	Object       string // "response" where the whole answer is one document
	Response     *response
	OutputIndex  *jsonwire.Number `json:"output_index"`
	ItemID       string           `json:"item_id"`
	ContentIndex jsonwire.Number  `json:"content_index"`
	SummaryIndex jsonwire.Number  `json:"summary_index"`
	Item         json.RawMessage
	Delta        looseText
	Text         looseText
	Refusal      looseText
	Arguments    looseText
	Input        looseText // of a custom tool
	Part         *part
	Annotation   json.RawMessage
	// CallID and Name are a call's, in the event that ends its arguments.
	CallID string `json:"call_id"`
	Name   string
	Error  json.RawMessage
}

// response is the answer as a whole.
type response struct {
	ID, Model, Status string
	Error             json.RawMessage
	Incomplete        struct{ Reason string } `json:"incomplete_details"`
	Output            []json.RawMessage
	Usage             *usage
	ServiceTier       string `json:"service_tier"`
}

// item is one item of the output.
type item struct {
	Type, ID, Status string
	Phase            string // of a message
	Summary, Content parts
	Encrypted        string `json:"encrypted_content"`
	CallID           string `json:"call_id"`
	Name, Namespace  string // of a call
	Arguments        looseText
	Input            looseText // of a custom tool
}

// key is what tells the item from others. llama.cpp gives its calls no id, and refers to
// them by their call_id. https://github.com/ggml-org/llama.cpp/blob/master/tools/server/server-task.cpp
func (it *item) key() string { return cmp.Or(it.ID, it.CallID) }

// part is one part of a message, or of reasoning.
type part struct {
	Type          string
	Text, Refusal looseText
	Annotations   []json.RawMessage
}

// parts are a list of them; a host that has but one sends its text in their place.
type parts []part

// UnmarshalJSON implements json.Unmarshaler.
func (p *parts) UnmarshalJSON(data []byte) error {
	if data[0] != '"' {
		return json.Unmarshal(data, (*[]part)(p))
	}
	var text looseText
	err := text.UnmarshalJSON(data)
	*p = parts{{Text: text}}
	return err
}

// messageContent is the content of a message as it came.
type messageContent struct{ Content json.RawMessage }

// messageRef is the signature of a text: what its message is sent back with.
type messageRef struct{ ID, Phase string }

// readMessageRef reads a signature; the bare id is an older way to write it.
func readMessageRef(data []byte) messageRef {
	var ref messageRef
	if bytes.HasPrefix(data, []byte("{")) && json.Unmarshal(data, &ref) == nil {
		return ref
	}
	return messageRef{ID: string(data)}
}

// signature writes the reference; nil if it says nothing.
func (r messageRef) signature() []byte {
	if r == (messageRef{}) {
		return nil
	}
	var w jsonwire.Writer
	w.BeginObject()
	w.MemberIf("id", r.ID)
	w.MemberIf("phase", r.Phase)
	w.EndObject()
	return w.Bytes()
}

// looseText is a string, with halves of surrogate pairs as in [jsonwire.Text]. A
// host that sends another value there, such as arguments as an object instead of
// their text, means the text of that value.
type looseText string

// UnmarshalJSON implements json.Unmarshaler.
func (t *looseText) UnmarshalJSON(data []byte) error {
	if data[0] != '"' && data[0] != 'n' {
		*t = looseText(data)
		return nil
	}
	var s jsonwire.Text
	err := s.UnmarshalJSON(data)
	*t = looseText(s)
	return err
}

// filled says whether a value is there at all.
func filled(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

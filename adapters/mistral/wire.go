package mistral

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// event is one frame, or a whole answer where it was not streamed.
// https://docs.mistral.ai/api/#tag/chat
type event struct {
	ID          word            `json:"id"`
	Model       word            `json:"model"`
	Choices     []choice        `json:"choices"`
	Usage       json.RawMessage `json:"usage"`
	ServiceTier word            `json:"service_tier"`

	// An error, in the shapes that it has.
	Object  word            `json:"object"` // "error"
	Error   json.RawMessage `json:"error"`
	Message json.RawMessage `json:"message"`
	Detail  json.RawMessage `json:"detail"`
}

// choice is one of the answers. Only number 0 is read.
type choice struct {
	Index        number `json:"index"`
	Delta        *delta `json:"delta"`
	Message      *delta `json:"message"` // where it is no stream
	FinishReason word   `json:"finish_reason"`
}

// delta is a piece of a message, or a whole one.
type delta struct {
	Content   content     `json:"content"`
	ToolCalls []callDelta `json:"tool_calls"`
}

// callDelta is a call, or a piece of one.
type callDelta struct {
	Index    *number `json:"index"`
	ID       word    `json:"id"`
	Function struct {
		Name      word      `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`

	second bool // it stands behind another one in the same delta
}

// content is a text, or a list of chunks. Both come as pieces.
type content []piece

// piece is a part of the content: a text, thinking, or a chunk of another kind as
// JSON.
type piece struct {
	kind    pieceKind
	text    string
	thought *thoughtDelta
	name    string // the type of another chunk
	raw     []byte
}

type pieceKind uint8

const (
	pieceText pieceKind = iota
	pieceThinking
	pieceOther
)

// thoughtDelta is a thinking chunk: its elements, and its members that have no
// meaning here. Both may hold opaque state.
type thoughtDelta struct {
	elements []element
	members  []jsonwire.Member
}

// element is a text, or something else as JSON.
type element struct {
	text string
	raw  []byte
}

var (
	errContent = errors.New("mistral: content is neither text nor chunks")
	errChunk   = errors.New("mistral: a chunk is not an object")
)

// UnmarshalJSON implements json.Unmarshaler.
func (v *content) UnmarshalJSON(b []byte) error {
	*v = nil
	switch b[0] {
	case 'n': // null
		return nil
	case '"':
		var t jsonwire.Text
		err := t.UnmarshalJSON(b)
		*v = content{{text: string(t)}}
		return err
	case '{':
		p, err := readChunk(b)
		*v = content{p}
		return err
	case '[':
		var list []json.RawMessage
		if err := json.Unmarshal(b, &list); err != nil {
			return err
		}
		for _, raw := range list {
			p, err := readChunk(raw)
			if err != nil {
				return err
			}
			*v = append(*v, p)
		}
		return nil
	}
	return errContent
}

// chunkFields are the fields of a chunk that are read.
type chunkFields struct {
	Type     word            `json:"type"`
	Text     jsonwire.Text   `json:"text"`
	Thinking json.RawMessage `json:"thinking"`
	Closed   json.RawMessage `json:"closed"`
}

// readChunk reads one chunk; a text among chunks may be a bare string.
func readChunk(b []byte) (piece, error) {
	var c chunkFields
	switch b[0] {
	case '"', 'n': // null is the empty text
		err := c.Text.UnmarshalJSON(b)
		return piece{text: string(c.Text)}, err
	case '{':
	default:
		return piece{}, errChunk
	}
	// A field of another type than usual is a chunk of another kind.
	err := json.Unmarshal(b, &c)
	switch {
	case c.Type == "thinking":
		t, err := readThought(&c, b)
		return piece{kind: pieceThinking, thought: t}, err
	case err == nil && (c.Type == "text" || c.Type == "" && c.Text != ""):
		return piece{text: string(c.Text)}, nil
	case c.Type == "":
		c.Type = "chunk"
	}
	return piece{kind: pieceOther, name: string(c.Type), raw: slices.Clone(b)}, nil
}

// readThought reads a thinking chunk.
func readThought(c *chunkFields, b []byte) (*thoughtDelta, error) {
	t := &thoughtDelta{}
	if err := t.readElements(c.Thinking); err != nil {
		return nil, err
	}
	known := 1
	for _, field := range []json.RawMessage{c.Thinking, c.Closed} {
		if field != nil {
			known++
		}
	}
	if countMembers(b) == known {
		return t, nil
	}
	members, err := jsonwire.Members(b)
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		switch {
		case m.Key == "type", m.Key == "thinking", m.Key == "closed", string(m.Value) == "null":
		default:
			t.members = append(t.members, jsonwire.Member{Key: m.Key, Value: slices.Clone(m.Value)})
		}
	}
	return t, nil
}

// countMembers counts the members of a valid object. It spares the streams, in
// which chunks hold nothing unknown, a second and slower reading.
func countMembers(object []byte) int {
	n, depth := 0, 0
	for i := 0; i < len(object); i++ {
		switch object[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ':':
			if depth == 1 {
				n++
			}
		case '"':
			for i++; object[i] != '"'; i++ {
				if object[i] == '\\' {
					i++
				}
			}
		}
	}
	return n
}

// readElements reads the list of a thinking chunk. Early reasoning models sent a
// string in its place.
func (t *thoughtDelta) readElements(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	list := []json.RawMessage{b}
	if b[0] == '[' {
		if err := json.Unmarshal(b, &list); err != nil {
			return err
		}
	}
	for _, raw := range list {
		p, err := readChunk(raw)
		if err != nil {
			return err
		}
		if p.kind == pieceText {
			t.elements = append(t.elements, element{text: p.text})
		} else {
			t.elements = append(t.elements, element{raw: slices.Clone(raw)})
		}
	}
	return nil
}

// arguments is a fragment of a call's arguments: a string, or the object itself,
// whose text is taken as it stands. An empty object is where others send an empty
// string.
type arguments string

// UnmarshalJSON implements json.Unmarshaler.
func (v *arguments) UnmarshalJSON(b []byte) error {
	*v = ""
	switch b[0] {
	case '"':
		return (*jsonwire.Text)(v).UnmarshalJSON(b)
	case '{':
		if len(strings.TrimSpace(string(b[1:len(b)-1]))) > 0 {
			*v = arguments(b)
		}
	case '[':
		*v = arguments(b)
	}
	return nil
}

// word is a short string. A number is taken as its text, all else as empty.
type word string

// UnmarshalJSON implements json.Unmarshaler.
func (v *word) UnmarshalJSON(b []byte) error {
	*v = ""
	switch c := b[0]; {
	case c == '"':
		return (*jsonwire.Text)(v).UnmarshalJSON(b)
	case c >= '0' && c <= '9', c == '-':
		*v = word(b)
	}
	return nil
}

// number is an integer, also as 3.0 and "3". All else is 0.
type number int64

// UnmarshalJSON implements json.Unmarshaler.
func (v *number) UnmarshalJSON(b []byte) error {
	*v = 0
	s := strings.Trim(string(b), `"`)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		*v = number(n)
	} else if f, err := strconv.ParseFloat(s, 64); err == nil && f > -1<<53 && f < 1<<53 {
		*v = number(f)
	}
	return nil
}

// says: an empty value is like an absent one.
func says(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "{}", "[]", "false", "0":
		return false
	}
	return true
}

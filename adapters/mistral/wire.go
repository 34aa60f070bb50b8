package mistral

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// event is one frame, or a whole answer where it was not streamed.
// https://docs.mistral.ai/api/#tag/chat
type event struct {
	ID          jsonwire.Word   `json:"id"`
	Model       jsonwire.Word   `json:"model"`
	Choices     []choice        `json:"choices"`
	Usage       json.RawMessage `json:"usage"`
	ServiceTier jsonwire.Word   `json:"service_tier"`

	// An error, in the shapes that it has.
	Object  jsonwire.Word   `json:"object"` // "error"
	Error   json.RawMessage `json:"error"`
	Message json.RawMessage `json:"message"`
	Detail  json.RawMessage `json:"detail"`
}

// choice is one of the answers. Only number 0 is read.
type choice struct {
	Index        jsonwire.Number `json:"index"`
	Delta        *delta          `json:"delta"`
	Message      *delta          `json:"message"` // where it is no stream
	FinishReason jsonwire.Word   `json:"finish_reason"`
}

// ended says whether the answer ends here. "null" is what some hosts write for none.
func (c *choice) ended() bool { return c.FinishReason != "" && c.FinishReason != "null" }

// delta is a piece of a message, or a whole one.
type delta struct {
	Content   content     `json:"content"`
	ToolCalls []callDelta `json:"tool_calls"`
}

// callDelta is a call, or a piece of one.
type callDelta struct {
	Index    *jsonwire.Number `json:"index"`
	ID       jsonwire.Word    `json:"id"`
	Function struct {
		Name      jsonwire.Word `json:"name"`
		Arguments arguments     `json:"arguments"`
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
	Type     jsonwire.Word   `json:"type"`
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

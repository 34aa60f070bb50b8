package bedrock

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// opaqueDepth is how far down deltas are worked in: block, its kind, a list, an item
// of it. What lies deeper comes whole.
const opaqueDepth = 4

// opaque assembles a block that has no type of its own from its start and its deltas:
// objects are merged, lists grow, strings are continued, all else is replaced. The
// block is put together once, at its end.
type opaque struct {
	kind    byte // '{', '[', '"', '-' for other values; 0 = nothing yet
	members []opaqueMember
	places  map[string]*opaque // the values of members by key, where there are many
	items   []*opaque
	pieces  []string        // of a string
	raw     json.RawMessage // another value
}

type opaqueMember struct {
	key   string
	value *opaque
}

// add works a value in and returns how many values that were.
func (o *opaque) add(value json.RawMessage, depth int) (values int) {
	kind := kindOf(value)
	if depth == 0 && (kind == '{' || kind == '[') {
		kind = '-'
	}
	if kind == '[' && o.kind == '{' {
		// A delta of a result is a list, which is the result's content.
		return o.member("content").add(value, depth-1)
	}
	if kind == 0 {
		return 1
	}
	if kind != o.kind {
		*o = opaque{kind: kind}
	}
	switch kind {
	case '{':
		members, _ := jsonwire.Members(value) // valid, as it was read before
		for _, m := range members {
			values += o.member(m.Key).add(m.Value, depth-1)
		}
	case '[':
		var items []json.RawMessage
		_ = json.Unmarshal(value, &items) // likewise
		for _, item := range items {
			values += o.item(item, depth-1)
		}
	case '"':
		var text jsonwire.Text
		_ = text.UnmarshalJSON(value) // likewise
		o.pieces = append(o.pieces, string(text))
	default:
		o.raw = value
	}
	return values + 1
}

// kindOf says what a value is; 0 = null, which says nothing.
func kindOf(value json.RawMessage) byte {
	if len(value) == 0 || value[0] == 'n' {
		return 0
	}
	switch value[0] {
	case '{', '[', '"':
		return value[0]
	}
	return '-'
}

// fewMembers is how many members are searched one by one. Blocks have a handful.
const fewMembers = 16

// member finds a member or makes it.
func (o *opaque) member(key string) *opaque {
	if v := o.find(key); v != nil {
		return v
	}
	v := &opaque{}
	o.members = append(o.members, opaqueMember{key, v})
	switch {
	case o.places != nil:
		o.places[key] = v
	case len(o.members) > fewMembers:
		o.places = make(map[string]*opaque)
		for _, m := range o.members {
			o.places[m.key] = m.value
		}
	}
	return v
}

// find is the value of a member; nil if there is none.
func (o *opaque) find(key string) *opaque {
	if o.places != nil {
		return o.places[key]
	}
	for _, m := range o.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// item appends to a list. Texts are fragments of one text.
func (o *opaque) item(value json.RawMessage, depth int) (values int) {
	next := &opaque{}
	values = next.add(value, depth)
	if n := len(o.items); n > 0 && o.items[n-1].isText() && next.isText() {
		last := o.items[n-1].members[0].value
		last.pieces = append(last.pieces, next.members[0].value.pieces...)
		return values
	}
	o.items = append(o.items, next)
	return values
}

func (o *opaque) isText() bool {
	return o.kind == '{' && len(o.members) == 1 && o.members[0].key == "text" && o.members[0].value.kind == '"'
}

// assemble is the block's kind and the block as the API takes it back.
func (o *opaque) assemble() (kind string, block []byte) {
	for _, m := range o.members {
		if m.value.kind != 0 {
			kind = kindBy(kind, m.key)
		}
	}
	if kind == "" {
		kind = o.members[0].key
	}
	inner := o.member(kind)
	switch kind {
	case "toolUse":
		// The deltas spell the input, the block holds it.
		input := inner.member("input")
		if input.kind != '{' {
			text := strings.Join(input.pieces, "")
			*input = opaque{kind: '-', raw: adapters.WholeObject(text)}
		}
	case "toolResult":
		if content := inner.member("content"); content.kind == 0 {
			content.kind = '['
		}
	}
	var w jsonwire.Writer
	o.write(&w, "")
	return kind, w.Bytes()
}

func (o *opaque) write(w *jsonwire.Writer, key string) {
	switch o.kind {
	case 0:
		w.Null()
	case '{':
		w.BeginObject()
		for _, m := range o.members {
			w.Key(m.key)
			m.value.write(w, m.key)
		}
		w.EndObject()
	case '[':
		w.BeginArray()
		for _, item := range o.items {
			item.write(w, "")
		}
		w.EndArray()
	case '"':
		if key == "bytes" {
			w.String(joinBase64(o.pieces))
			return
		}
		w.String(jsonwire.Clean(strings.Join(o.pieces, "")))
	default:
		w.RawBytes(o.raw)
	}
}

// joinBase64 joins pieces that were encoded each for itself. One piece keeps its
// spelling.
func joinBase64(pieces []string) string {
	if len(pieces) == 1 {
		return pieces[0]
	}
	var data []byte
	for _, p := range pieces {
		d, err := base64.StdEncoding.DecodeString(p)
		if err != nil {
			return strings.Join(pieces, "") // cut anywhere, it seems
		}
		data = append(data, d...)
	}
	return base64.StdEncoding.EncodeToString(data)
}

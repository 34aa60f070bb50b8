package openaichat

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// details collects reasoning_details over a stream.
//
// A stream sends a text item in pieces, each with the same type and index; to go
// back they must be one item again, with the signature that came with the last
// piece. Encrypted items, and those of types not known here, are whole. An item
// that came in one piece keeps its bytes.
// https://openrouter.ai/docs/use-cases/reasoning-tokens#reasoning_details-array-structure
type details struct {
	items []*detail
	kept  int // bytes of them
}

// memberBytes is about what a member takes beside its text.
const memberBytes = 64

// detail is one item.
type detail struct {
	kind    string            // its type
	raw     json.RawMessage   // as it came, while it is one piece
	members []jsonwire.Member // all but the text
	places  map[string]int    // of members by key, where there are many
	text    strings.Builder   // WTF-8: a pair may be split over two pieces
}

// textKey is the member that holds the text; empty for items that come whole.
func (d *detail) textKey() string {
	switch d.kind {
	case "reasoning.text":
		return "text"
	case "reasoning.summary":
		return "summary"
	}
	return ""
}

// add takes one item or a piece of one. What is no object is not an item.
func (ds *details) add(raw json.RawMessage) {
	members, err := jsonwire.Members(raw)
	if err != nil {
		return
	}
	d := &detail{raw: raw}
	for _, m := range members {
		if m.Key == "type" {
			d.kind = textOf(m.Value)
		}
	}
	hasText := false
	for _, m := range members {
		if m.Key == d.textKey() && d.textKey() != "" {
			d.text.WriteString(textOf(m.Value))
			hasText = d.text.Len() > 0
		}
		d.append(m)
	}
	if n := len(ds.items); n > 0 && ds.items[n-1].continuedBy(d, hasText) {
		ds.kept += ds.items[n-1].merge(d)
		return
	}
	ds.items = append(ds.items, d)
	ds.kept += adapters.HeldValue + memberBytes*len(members) + len(raw)
}

// continuedBy says whether next is a further piece of d.
func (d *detail) continuedBy(next *detail, hasText bool) bool {
	if d.textKey() == "" || d.kind != next.kind {
		return false
	}
	// A signature ends a text; after it begins another one.
	signed := !blank(d.member("signature"))
	id, nextID := d.member("id"), next.member("id")
	return bytes.Equal(d.member("index"), next.member("index")) &&
		(blank(id) || blank(nextID) || bytes.Equal(id, nextID)) &&
		!(signed && hasText && !bytes.Equal(d.member("signature"), next.member("signature")))
}

// merge adds a further piece: its text at the end, of its members those that d
// lacks. It returns how many bytes are kept of it.
func (d *detail) merge(next *detail) (kept int) {
	d.raw = nil
	d.text.WriteString(next.text.String())
	kept = next.text.Len()
	for _, m := range next.members {
		i := d.find(m.Key)
		switch {
		case i < 0:
			d.append(m)
			kept += memberBytes + len(m.Key) + len(m.Value)
		case blank(d.members[i].Value):
			d.members[i].Value = m.Value
			kept += len(m.Value)
		}
	}
	return kept
}

// fewMembers is how many members are searched one by one. Items have a handful.
const fewMembers = 16

func (d *detail) append(m jsonwire.Member) {
	d.members = append(d.members, m)
	n := len(d.members)
	switch {
	case n <= fewMembers:
		return
	case d.places == nil:
		d.places = map[string]int{}
		for i := n - 1; i >= 0; i-- { // of a name said twice the first counts
			d.places[d.members[i].Key] = i
		}
	default:
		if _, ok := d.places[m.Key]; !ok {
			d.places[m.Key] = n - 1
		}
	}
}

// find is the place of a member; negative if there is none.
func (d *detail) find(key string) int {
	if d.places == nil {
		return slices.IndexFunc(d.members, func(m jsonwire.Member) bool { return m.Key == key })
	}
	if i, ok := d.places[key]; ok {
		return i
	}
	return -1
}

func (d *detail) member(key string) json.RawMessage {
	if i := d.find(key); i >= 0 {
		return d.members[i].Value
	}
	return nil
}

// json is the list to be sent back.
func (ds *details) json() []byte {
	var w jsonwire.Writer
	w.BeginArray()
	for _, d := range ds.items {
		if d.raw != nil {
			w.RawBytes(d.raw)
			continue
		}
		w.BeginObject()
		for _, m := range d.members {
			if m.Key == d.textKey() {
				w.Member(m.Key, jsonwire.Clean(d.text.String()))
				continue
			}
			w.Key(m.Key)
			w.RawBytes(m.Value)
		}
		w.EndObject()
	}
	w.EndArray()
	return w.Bytes()
}

// detailsOfCalls is a list made of items that stand on tool calls: some hosts give
// the encrypted item of a call with the call. Empty if there is none.
func detailsOfCalls(calls []*llmdv1.ToolCall) string {
	var lists []string
	for _, c := range calls {
		s := c.GetSignature()
		if s.GetFormat() != formatDetails || !json.Valid(s.GetData()) {
			continue
		}
		switch text := strings.TrimSpace(string(s.GetData())); text[0] {
		case '{':
			lists = append(lists, "["+text+"]")
		case '[':
			lists = append(lists, text)
		}
	}
	return joinArrays(lists)
}

// joinArrays makes one JSON array of several; empty if they hold nothing. A single one
// keeps its bytes.
func joinArrays(lists []string) string {
	if len(lists) == 1 {
		return lists[0]
	}
	var items []string
	for _, list := range lists {
		list = strings.TrimSpace(list)
		if inner := list[1 : len(list)-1]; strings.TrimSpace(inner) != "" {
			items = append(items, inner)
		}
	}
	if len(items) == 0 {
		return ""
	}
	return "[" + strings.Join(items, ",") + "]"
}

func isArray(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) && json.Valid(text)
}

// blank: absent, null and empty say the same.
func blank(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null" || string(raw) == `""`
}

func textOf(raw json.RawMessage) string {
	var t jsonwire.Text
	if t.UnmarshalJSON(raw) != nil {
		return ""
	}
	return string(t)
}

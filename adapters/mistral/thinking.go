package mistral

import (
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// thinking collects a block of thinking, for its signature.
type thinking struct {
	elements []element
	text     strings.Builder // behind the last of elements
	members  []jsonwire.Member
	places   map[string]int // of members by key
	kept     int            // bytes of what is not told yet
}

// add takes a piece and returns its text.
func (t *thinking) add(d *thoughtDelta) string {
	var said strings.Builder
	for _, el := range d.elements {
		if el.raw == nil {
			said.WriteString(el.text)
			t.text.WriteString(el.text)
			continue
		}
		t.flush()
		t.elements = append(t.elements, el)
		t.kept += adapters.HeldValue + len(el.raw)
	}
	for _, m := range d.members {
		t.set(m)
	}
	return said.String()
}

// set keeps a member; of those with one key the last counts.
func (t *thinking) set(m jsonwire.Member) {
	if i, ok := t.places[m.Key]; ok {
		t.kept += len(m.Value) - len(t.members[i].Value)
		t.members[i] = m
		return
	}
	if t.places == nil {
		t.places = make(map[string]int)
	}
	t.kept += adapters.HeldValue + len(m.Key) + len(m.Value)
	t.places[m.Key] = len(t.members)
	t.members = append(t.members, m)
}

func (t *thinking) flush() {
	if t.text.Len() > 0 {
		t.elements = append(t.elements, element{text: t.text.String()})
		t.text.Reset()
	}
}

// signature is the whole chunk as JSON, if there is more to it than text; else nil.
func (t *thinking) signature() []byte {
	if len(t.elements) == 0 && len(t.members) == 0 {
		return nil
	}
	t.flush()
	var w jsonwire.Writer
	w.BeginObject()
	w.Member("type", "thinking")
	w.Key("thinking")
	w.BeginArray()
	for _, el := range t.elements {
		if el.raw != nil {
			w.RawBytes(el.raw)
			continue
		}
		w.BeginObject()
		w.Member("type", "text")
		w.Member("text", jsonwire.Clean(el.text))
		w.EndObject()
	}
	w.EndArray()
	for _, m := range t.members {
		w.Key(m.Key)
		w.RawBytes(m.Value)
	}
	w.EndObject()
	return w.Bytes()
}

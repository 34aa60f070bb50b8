package openairesponses

import (
	"encoding/json"
	"slices"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// annotation is one that came in an event of its own.
type annotation struct {
	part jsonwire.Number // of the message
	raw  json.RawMessage
}

// annotate keeps an annotation until the message says its parts. Most hosts say it there
// once more.
func (t *items) annotate(e *event) {
	if s := t.find(e); s != nil && s.kind == itemMessage && !s.done && jsonwire.Says(e.Annotation) {
		s.cites = append(s.cites, annotation{e.ContentIndex, e.Annotation})
		t.kept += adapters.HeldValue + len(e.Annotation)
	}
}

// cite keeps all parts of a message that has more than its text: citations, or parts of
// other kinds.
func (t *items) cite(s *slot, it *item, raw json.RawMessage, sink *adapters.Sink) {
	var m messageContent
	more := it.more() || it.Type == itemMessage && len(s.cites) > 0 && len(it.Content) > 0
	if more && json.Unmarshal(raw, &m) == nil {
		if !slices.ContainsFunc(it.Content, func(p part) bool { return len(p.Annotations) > 0 }) {
			m.Content = annotated(m.Content, s.cites)
		}
		s.cited = true
		sink.ProviderContent(t.key(), kindMessageContent, m.Content)
	}
	for _, a := range s.cites {
		t.kept -= adapters.HeldValue + len(a.raw)
	}
	s.cites = nil
}

// annotated is a message's content with annotations in its parts.
func annotated(content json.RawMessage, cites []annotation) json.RawMessage {
	parts, err := jsonwire.Elements(content)
	if err != nil || len(cites) == 0 {
		return content
	}
	byPart := map[jsonwire.Number][]json.RawMessage{}
	for _, a := range cites {
		byPart[a.part] = append(byPart[a.part], a.raw)
	}
	var w jsonwire.Writer
	w.BeginArray()
	for i, p := range parts {
		members, err := jsonwire.Members(p.Value)
		own := byPart[jsonwire.Number(i)]
		if err != nil || own == nil {
			w.RawBytes(p.Value)
			continue
		}
		w.BeginObject()
		for _, m := range members {
			if m.Key != "annotations" {
				w.Key(m.Key)
				w.RawBytes(m.Value)
			}
		}
		w.Key("annotations")
		w.BeginArray()
		for _, raw := range own {
			w.RawBytes(raw)
		}
		w.EndArray()
		w.EndObject()
	}
	w.EndArray()
	return w.Bytes()
}

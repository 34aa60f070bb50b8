package anthropic

import (
	"encoding/json"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// blockKind says what an open block of an answer is.
type blockKind uint8

const (
	textBlock blockKind = iota
	thinkingBlock
	redactedBlock
	callBlock
	opaqueBlock
)

// openBlock is a block of an answer that has not ended.
type openBlock struct {
	kind blockKind
	// key is the decoder's number of the block.
	key int
	// signature is that of a thinking block so far; it counts only at the end.
	signature []byte
	// citations are those of a text block so far.
	citations []json.RawMessage
	// input is what a call began with. It is the whole of the arguments where no
	// fragments follow, as with calls that server-side code makes.
	input   json.RawMessage
	written bool // fragments came
	// opaque is a block without a type of its own; it is told only when it is whole.
	opaque opaque
	held   int // bytes of all these
}

// hold counts what is kept until the end.
func (b *openBlock) hold(bytes int, sink *adapters.Sink) {
	b.held += bytes
	sink.Hold(bytes)
}

// open begins a block and tells what it already holds.
func (b *openBlock) open(s *startedBlock, raw json.RawMessage, sink *adapters.Sink) {
	switch s.Type {
	case "text":
		b.kind = textBlock
		b.citations = s.Citations
		for _, c := range s.Citations {
			b.hold(adapters.HeldValue+len(c), sink)
		}
		sink.Text(b.key, string(s.Text))
	case "thinking":
		b.kind = thinkingBlock
		b.signature = []byte(s.Signature)
		b.hold(len(s.Signature), sink)
		sink.Thinking(b.key, string(s.Thinking))
	case "redacted_thinking":
		// No deltas follow: the ciphertext comes whole.
		b.kind = redactedBlock
		sink.Redacted(b.key)
		sink.Signature(b.key, redactedFormat, []byte(s.Data))
	case "tool_use":
		b.kind = callBlock
		b.input = s.Input
		b.hold(len(s.Input), sink)
		sink.ToolCall(b.key, s.ID, s.Name, "")
	default:
		b.kind = opaqueBlock
		b.opaque = opaque{kind: s.Type, raw: raw}
		b.hold(adapters.HeldValue+len(raw), sink)
	}
}

// add applies a delta, and says whether it is of a kind that the block has.
func (b *openBlock) add(d *delta, frame []byte, sink *adapters.Sink) bool {
	switch {
	case b.kind == opaqueBlock:
		b.hold(b.opaque.add(d, frame), sink)
	case d.Type == "text_delta" && b.kind == textBlock:
		if d.Text != "" {
			sink.Text(b.key, string(d.Text))
		}
	case d.Type == "citations_delta" && b.kind == textBlock:
		if jsonwire.Says(d.Citation) {
			b.citations = append(b.citations, d.Citation)
			b.hold(adapters.HeldValue+len(d.Citation), sink)
		}
	case d.Type == "thinking_delta" && b.kind == thinkingBlock:
		if d.Thinking != "" {
			sink.Thinking(b.key, string(d.Thinking))
		}
	case d.Type == "signature_delta" && b.kind == thinkingBlock:
		b.signature = append(b.signature, d.Signature...)
		b.hold(len(d.Signature), sink)
	case d.Type == "input_json_delta" && b.kind == callBlock:
		// A call without parameters gets one empty fragment, which must not hide
		// what the block began with.
		if d.PartialJSON != "" {
			b.written = true
			sink.Arguments(b.key, string(d.PartialJSON))
		}
	default:
		return false
	}
	return true
}

// end tells what only the end decides. next is a free key.
func (b *openBlock) end(next int, sink *adapters.Sink) {
	sink.Hold(-b.held)
	switch b.kind {
	case opaqueBlock:
		sink.ProviderContent(b.key, b.opaque.kind, b.opaque.assemble())
		return
	case textBlock, redactedBlock:
	case thinkingBlock:
		if len(b.signature) > 0 {
			sink.Signature(b.key, thinkingFormat, b.signature)
		}
	case callBlock:
		if arguments := adapters.WholeInput(b.input); !b.written && arguments != "" {
			sink.Arguments(b.key, arguments)
		}
	}
	sink.End(b.key)
	// After the end, so that the text's own place in the message comes first.
	if len(b.citations) > 0 {
		sink.ProviderContent(next, citationsKind, citationsBlock(b.citations))
	}
}

// citationsBlock keeps the citations of a text block.
func citationsBlock(citations []json.RawMessage) []byte {
	var w jsonwire.Writer
	w.BeginObject()
	w.Member("type", citationsKind)
	w.Key("citations")
	w.BeginArray()
	for _, c := range citations {
		w.RawBytes(c)
	}
	w.EndArray()
	w.EndObject()
	return w.Bytes()
}

// opaque assembles a block that has no type of its own: the block as it began,
// with what its deltas said. The API sends no whole block at the end, but takes
// back nothing else.
type opaque struct {
	kind  string
	raw   json.RawMessage
	input []byte // fragments of "input"
	// texts are other members that deltas carried: strings are continued, as
	// "content" of a compaction, anything else replaces what was there.
	texts  []member
	places map[string]int // of texts by key
}

// member is one member of a block as its deltas made it.
type member struct {
	key  string
	text []byte          // a string so far
	raw  json.RawMessage // another value
}

// add works a delta in and returns how many bytes are kept of it. Every kind of delta
// names the members it carries, so that kinds of the future can be kept as well.
func (o *opaque) add(d *delta, frame []byte) (kept int) {
	if d.Type == "input_json_delta" {
		o.input = append(o.input, d.PartialJSON...)
		return len(d.PartialJSON)
	}
	// Such deltas are few; they may be read twice.
	var e struct {
		Delta json.RawMessage `json:"delta"`
	}
	if json.Unmarshal(frame, &e) != nil {
		return 0
	}
	members, err := jsonwire.Members(e.Delta)
	if err != nil {
		return 0
	}
	for _, m := range members {
		if m.Key != "type" && string(m.Value) != "null" {
			o.member(m.Key).set(m.Value)
			kept += adapters.HeldValue + len(m.Key) + len(m.Value)
		}
	}
	return kept
}

// member finds a member or makes a new one.
func (o *opaque) member(key string) *member {
	i, ok := o.places[key]
	if !ok {
		if o.places == nil {
			o.places = make(map[string]int)
		}
		i = len(o.texts)
		o.places[key] = i
		o.texts = append(o.texts, member{key: key})
	}
	return &o.texts[i]
}

func (m *member) set(value json.RawMessage) {
	if value[0] != '"' {
		m.raw, m.text = value, nil
		return
	}
	var text jsonwire.Text
	_ = text.UnmarshalJSON(value) // a valid string
	m.text = append(m.text, text...)
}

// assemble is the whole block. Without deltas it keeps its bytes.
func (o *opaque) assemble() []byte {
	if len(o.input) == 0 && len(o.texts) == 0 {
		return o.raw
	}
	started, err := jsonwire.Members(o.raw)
	if err != nil {
		return o.raw
	}
	block := members{list: started, places: make(map[string]int, len(started))}
	for i, m := range started {
		block.places[m.Key] = i
	}
	if len(o.input) > 0 {
		block.set("input", adapters.WholeObject(string(o.input)))
	}
	for _, m := range o.texts {
		value := m.raw
		if value == nil {
			value = jsonwire.AppendString(nil, jsonwire.Clean(block.text(m.key)+string(m.text)))
		}
		block.set(m.key, value)
	}
	var w jsonwire.Writer
	w.BeginObject()
	for _, m := range block.list {
		w.Key(m.Key)
		w.RawBytes(m.Value)
	}
	w.EndObject()
	return w.Bytes()
}

// members are those of a block while its deltas are worked in.
type members struct {
	list   []jsonwire.Member
	places map[string]int // by key
}

// set sets a member in its place, or adds it at the end.
func (ms *members) set(key string, value json.RawMessage) {
	i, ok := ms.places[key]
	if !ok {
		i = len(ms.list)
		ms.places[key] = i
		ms.list = append(ms.list, jsonwire.Member{Key: key})
	}
	ms.list[i].Value = value
}

// text is the string that a member held when the block began.
func (ms *members) text(key string) string {
	i, ok := ms.places[key]
	if !ok || ms.list[i].Value[0] != '"' {
		return ""
	}
	var text jsonwire.Text
	_ = text.UnmarshalJSON(ms.list[i].Value) // a valid string
	return string(text)
}

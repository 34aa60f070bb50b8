package openairesponses

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// A piece of reasoning is one part of its summary, or of its content where a host
// shows what the model really thought.
type piece struct {
	from  source
	index jsonwire.Number
}

type source uint8

const (
	fromNowhere source = iota
	fromSummary
	fromContent
)

// between separates the pieces of reasoning.
const between = "\n\n"

// slot is one item while it comes in.
type slot struct {
	key    int             // the block's
	kind   string          // the item's type
	id     string          // the item's key, as it was last said
	number jsonwire.Number // its output_index; -1 = it came without
	// told: a call was announced; streamed: deltas came.
	told, streamed bool
	// name is a call's that came without the id which a call begins with.
	name string
	// input is that of a custom tool.
	input adapters.CustomInput
	// piece is where the last delta of reasoning belongs.
	piece piece
	// content is where the last delta of a message belongs.
	content jsonwire.Number
	// held are arguments that came whole with the call's beginning. Some hosts
	// send them again as deltas, or "{}" in their place.
	held string
	// whole is the text of a message of one part, as the end of that part said it.
	whole string
	// cites are the annotations of a message that came by themselves; cited: they, or the
	// message's own, were told.
	cites []annotation
	cited bool
	done  bool
	// readable: the reasoning that came can be given back without the provider's
	// memory.
	readable bool
}

// items are the items of the answer. output_index tells them apart: ids do not,
// as some hosts (GitHub Copilot) give an item a new one in every event.
type items struct {
	byIndex map[jsonwire.Number]*slot
	byID    map[string]*slot
	byKind  map[string][]*slot // in the order they came
	last    *slot
	keys    int
	// refused is the block of a refusal; -1 = there is none.
	refused int
	stray   bool // told of a delta that came too late
	kept    int  // bytes of what is remembered until later
}

func newItems() items {
	return items{byIndex: map[jsonwire.Number]*slot{}, byID: map[string]*slot{}, byKind: map[string][]*slot{}, refused: -1}
}

// key is a new block.
func (t *items) key() int {
	t.keys++
	return t.keys - 1
}

// find is the item that an event is about; nil = none that is known. An id that is known
// counts where one number stands for several items.
func (t *items) find(e *event) *slot {
	switch {
	case e.OutputIndex != nil:
		s := t.byIndex[*e.OutputIndex]
		if named := t.byID[e.ItemID]; s != nil && e.ItemID != "" && s.id != e.ItemID && named != nil && named.number == *e.OutputIndex {
			return named
		}
		return s
	case e.ItemID != "" && (t.byID[e.ItemID] != nil || t.last == nil || t.last.id != ""):
		return t.byID[e.ItemID]
	}
	return t.last // also where its beginning had no id, and its pieces have one
}

// slot is the item of a delta. One whose beginning did not come begins here; nil
// means that the item has ended, and the delta comes too late.
func (t *items) slot(e *event, kind string) *slot {
	s := t.find(e)
	switch {
	case s == nil || s.kind != kind:
		return t.open(e, kind, e.ItemID)
	case s.done:
		return nil
	}
	return s
}

func (t *items) open(e *event, kind, id string) *slot {
	s := &slot{key: t.key(), kind: kind, id: id, number: -1, content: -1}
	if e.OutputIndex != nil {
		s.number = *e.OutputIndex
		t.byIndex[s.number] = s
	}
	if id != "" {
		t.byID[id] = s
	}
	t.kept += 2*adapters.HeldValue + len(id)
	t.byKind[kind] = append(t.byKind[kind], s)
	t.last = s
	return s
}

// add begins an item.
func (t *items) add(e *event, sink *adapters.Sink) {
	var it item
	if !adapters.Readable(json.Unmarshal(e.Item, &it)) {
		return
	}
	s := t.find(e)
	if s != nil && s.done && s.kind == it.Type && s.id == it.key() && s.id != "" {
		return // its end came first
	}
	if s == nil || s.done || s.kind != it.Type || s.id != it.key() {
		s = t.open(e, it.Type, it.key())
	}
	switch it.Type {
	case itemReasoning:
		sink.Thinking(s.key, "")
	case itemMessage:
		sink.Text(s.key, "")
	case itemCall:
		s.told = true
		sink.ToolCall(s.key, it.callID(), it.Name, it.Namespace)
		t.firstArguments(s, string(it.Arguments), sink)
	case itemCustom:
		s.told = true
		sink.ToolCall(s.key, it.callID(), it.Name, it.Namespace)
		if it.Input != "" {
			sink.Arguments(s.key, s.input.Add(string(it.Input)))
		}
	}
}

// firstArguments takes what stands in a call's beginning, mostly nothing.
func (t *items) firstArguments(s *slot, arguments string, sink *adapters.Sink) {
	switch {
	case arguments == "" || s.streamed:
	case json.Valid([]byte(arguments)):
		t.kept += len(arguments) - len(s.held)
		s.held = adapters.InnerObject(arguments)
	default:
		s.streamed = true
		sink.Arguments(s.key, arguments)
	}
}

// callID is the id by which a result refers to the call.
func (it *item) callID() string {
	if it.CallID != "" {
		return it.CallID
	}
	return it.ID
}

// text takes a delta of a message.
func (t *items) text(e *event, delta looseText, sink *adapters.Sink) {
	s := t.slot(e, itemMessage)
	if s == nil {
		t.late(delta, sink)
		return
	}
	s.content = e.ContentIndex
	t.remember(s, "") // there is more than that part
	sink.Text(s.key, string(delta))
}

// wholeText takes a part of a message that may have come without deltas, or not with all
// of them. The item's last word, if one comes, says all parts once more.
func (t *items) wholeText(e *event, text looseText, sink *adapters.Sink) {
	s := t.slot(e, itemMessage)
	if s == nil || text == "" {
		return
	}
	if s.content != e.ContentIndex {
		t.text(e, text, sink)
	}
	if e.ContentIndex != 0 {
		text = ""
	}
	t.remember(s, string(text))
}

// remember keeps what the end of a part said of a message.
func (t *items) remember(s *slot, whole string) {
	t.kept += len(whole) - len(s.whole)
	s.whole = whole
}

// wholePart takes a part of a message, or of reasoning, in its last form.
func (t *items) wholePart(e *event, sink *adapters.Sink) {
	switch e.Part.Type {
	case "output_text":
		t.wholeText(e, e.Part.Text, sink)
	case "refusal":
		t.refusal(e)
		t.wholeText(e, e.Part.Refusal, sink)
	case "reasoning_text":
		t.wholeThought(e, piece{fromContent, e.ContentIndex}, e.Part.Text, sink)
	}
}

// refusal notes that a message is one.
func (t *items) refusal(e *event) {
	if s := t.slot(e, itemMessage); s != nil {
		t.refused = s.key
	}
}

// think takes a delta of reasoning. Where a host sends both a summary and what it
// summarises, what came first is shown, and the item's last word decides.
func (t *items) think(e *event, p piece, delta looseText, sink *adapters.Sink) {
	s := t.slot(e, itemReasoning)
	switch {
	case s == nil:
		t.late(delta, sink)
		return
	case s.streamed && s.piece.from != p.from:
		return
	case s.streamed && s.piece != p:
		sink.Thinking(s.key, between)
	}
	s.streamed, s.piece = true, p
	sink.Thinking(s.key, string(delta))
}

// wholeThought takes a piece of reasoning that may have come without deltas.
func (t *items) wholeThought(e *event, p piece, text looseText, sink *adapters.Sink) {
	if s := t.slot(e, itemReasoning); s != nil && s.piece != p && text != "" {
		t.think(e, p, text, sink)
	}
}

// call is the call whose arguments come; nil = it has ended. One whose beginning did
// not come opens without a name, which its last word says.
func (t *items) call(e *event, kind string, sink *adapters.Sink) *slot {
	s := t.slot(e, kind)
	if s != nil && !s.told {
		s.told = true
		sink.ToolCall(s.key, "", "", "")
	}
	if s != nil {
		s.streamed = true
	}
	return s
}

func (t *items) arguments(e *event, sink *adapters.Sink) {
	s := t.call(e, itemCall, sink)
	if s == nil {
		t.late(e.Delta, sink)
		return
	}
	sink.Arguments(s.key, string(e.Delta))
}

// input takes a piece of what goes to a custom tool.
func (t *items) input(e *event, sink *adapters.Sink) {
	s := t.call(e, itemCustom, sink)
	if s == nil {
		t.late(e.Delta, sink)
		return
	}
	sink.Arguments(s.key, s.input.Add(string(e.Delta)))
}

// late remarks on a delta of an item that has ended: its last word has said all.
func (t *items) late(delta looseText, sink *adapters.Sink) {
	if delta != "" {
		sink.Stray(&t.stray)
	}
}

func (t *items) wholeArguments(e *event, sink *adapters.Sink) {
	if e.Arguments == "" {
		return
	}
	if s := t.call(e, itemCall, sink); s != nil {
		t.nameCall(s, e, sink)
		sink.FinalArguments(s.key, adapters.InnerObject(string(e.Arguments)))
	}
}

func (t *items) wholeInput(e *event, sink *adapters.Sink) {
	if s := t.call(e, itemCustom, sink); s != nil {
		t.nameCall(s, e, sink)
		sink.FinalArguments(s.key, s.input.Whole(string(e.Input)))
	}
}

// nameCall takes what the end of the arguments says about the call. With its name it
// begins, and the id, which an item says, would come too late.
func (t *items) nameCall(s *slot, e *event, sink *adapters.Sink) {
	if e.CallID == "" {
		s.name = e.Name
		return
	}
	sink.ToolCall(s.key, e.CallID, e.Name, "")
}

// endItem takes an item's last word.
func (t *items) endItem(e *event, sink *adapters.Sink) {
	var it item
	if !adapters.Readable(json.Unmarshal(e.Item, &it)) || it.Type == "" {
		return
	}
	if e.ItemID == "" {
		e.ItemID = it.key()
	}
	s := t.find(e)
	if s != nil && s.done && s.id == it.key() && s.id != "" {
		return // said twice
	}
	if s == nil || s.done || s.kind != it.Type {
		s = t.open(e, it.Type, it.key())
	}
	t.finish(s, &it, e.Item, sink)
}

// finish turns an item into what is kept of it. One that the provider itself calls
// incomplete is not ended: how the answer ends decides what it is.
func (t *items) finish(s *slot, it *item, raw json.RawMessage, sink *adapters.Sink) {
	t.remember(s, "")
	if s.id != it.key() {
		t.kept += adapters.HeldValue + len(it.key())
	}
	s.done, s.id = true, it.key()
	if s.id != "" {
		t.byID[s.id] = s
	}
	switch it.Type {
	case itemReasoning:
		t.finishReasoning(s, it, raw, sink)
	case itemMessage:
		t.finishMessage(s, it, sink)
	case itemCall, itemCustom:
		t.finishCall(s, it, sink)
	default:
		sink.ProviderContent(s.key, it.Type, raw)
		return
	}
	if it.Status != "incomplete" {
		sink.End(s.key)
	}
	t.cite(s, it, raw, sink)
}

func (t *items) finishReasoning(s *slot, it *item, raw json.RawMessage, sink *adapters.Sink) {
	sink.Thinking(s.key, "")
	text := joined(it.Summary)
	if text == "" {
		text = joined(it.Content)
	}
	if text != "" {
		sink.FinalText(s.key, text)
	}
	s.readable = it.Encrypted != ""
	sink.Signature(s.key, formatReasoning, raw)
}

func (t *items) finishMessage(s *slot, it *item, sink *adapters.Sink) {
	sink.Text(s.key, "")
	var text strings.Builder
	for _, p := range it.Content {
		text.WriteString(string(p.Text))
		if p.Refusal != "" {
			t.refused = s.key
			text.WriteString(string(p.Refusal))
		}
	}
	if text.Len() > 0 {
		sink.FinalText(s.key, text.String())
	}
	if ref := (messageRef{ID: it.ID, Phase: it.Phase}).signature(); ref != nil {
		sink.Signature(s.key, formatMessage, ref)
	}
}

func (t *items) finishCall(s *slot, it *item, sink *adapters.Sink) {
	sink.ToolCall(s.key, it.callID(), cmp.Or(it.Name, s.name), it.Namespace)
	switch {
	case it.Type == itemCustom && it.Input != "":
		sink.FinalArguments(s.key, s.input.Whole(string(it.Input)))
	case it.Type == itemCustom:
		sink.Arguments(s.key, s.input.End())
	case it.Arguments != "":
		sink.FinalArguments(s.key, adapters.InnerObject(string(it.Arguments)))
	case !s.streamed && s.held != "":
		sink.FinalArguments(s.key, s.held)
	}
	if it.ID != "" {
		sink.Signature(s.key, formatItemID, []byte(it.ID))
	}
}

// more says whether a message has more than its text: citations, or parts of other kinds.
func (it *item) more() bool {
	return it.Type == itemMessage && slices.ContainsFunc(it.Content, func(p part) bool {
		switch p.Type {
		case "", "output_text", "text", "refusal":
			return len(p.Annotations) > 0
		}
		return p.Text == "" && p.Refusal == ""
	})
}

// joined is the text of reasoning.
func joined(parts []part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(between)
		}
		b.WriteString(string(p.Text))
	}
	return b.String()
}

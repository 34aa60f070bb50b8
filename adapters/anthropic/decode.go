package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// NewDecoder implements [adapters.Adapter].
func (*Adapter) NewDecoder(call *adapters.Call) adapters.Decoder {
	d := &decoder{open: map[int]*openBlock{}}
	if call != nil && call.Model != nil {
		d.provider = call.Model.Provider
	}
	return d
}

// DecodeError implements [adapters.Adapter].
// https://docs.anthropic.com/en/api/errors.
func (*Adapter) DecodeError(status int, header http.Header, body []byte) *adapters.UpstreamError {
	return adapters.ErrorFromBody(adapters.ErrorFacts{
		API: apiID, Status: status, RequestID: adapters.RequestID(header, "Request-Id", "X-Request-Id"),
	}, body)
}

// decoder reads one answer.
type decoder struct {
	provider string
	// open are the blocks that have not ended, by the provider's index.
	open  map[int]*openBlock
	next  int // the next free key
	usage usage
	// stop and refusal are what the answer ended with, until message_stop says
	// that it did end.
	stop    string
	refusal string
	done    bool
	stray   bool // told of a delta that belongs nowhere
	forgot  bool // told of thinking that was not read
	usual   usual
}

// Decode implements [adapters.Decoder].
func (d *decoder) Decode(f frame.Frame, sink *adapters.Sink) error {
	// "[DONE]" and the like are no events of this API, and after message_stop
	// nothing belongs to the answer.
	if d.done || !bytes.HasPrefix(bytes.TrimLeft(f.Data, " \t\r\n"), []byte("{")) {
		return nil
	}
	if f.Event != "" && !known(f.Event) {
		return nil // such as "ping"
	}
	// The name may be missing and the type, too; one of them is enough.
	if usualEvent(f.Event) {
		if e := d.usual.read(f.Data); e != nil {
			return d.dispatch(e, f, sink)
		}
	}
	e := &event{}
	if err := adapters.ReadFrame(f, e); err != nil {
		return err
	}
	if e.Type == "" {
		e.Type = f.Event
	}
	if e.Type == "error" || f.Event == "error" || e.bareError(f.Data) {
		return adapters.ErrorFromBody(adapters.ErrorFacts{API: apiID, Provider: d.provider}, f.Data)
	}
	return d.dispatch(e, f, sink)
}

// dispatch hands an event on. Events of other types say nothing.
func (d *decoder) dispatch(e *event, f frame.Frame, sink *adapters.Sink) error {
	switch e.Type {
	case startEvent:
		return d.start(e.Message, sink)
	case blockStartEvent:
		return d.startBlock(int(e.Index), e.ContentBlock, sink)
	case deltaEvent:
		if b := d.open[int(e.Index)]; b == nil || !b.add(&e.Delta, f.Data, sink) {
			d.lost(&e.Delta, sink)
		}
	case stopEvent:
		d.endBlock(int(e.Index), sink)
	case lastDeltaEvent:
		d.use(e.Usage, sink)
		d.stopped(e.Delta.StopReason, e.Delta.StopDetails)
		d.transformed(e.Transformations, sink)
	case endEvent:
		d.finish(sink)
	case "message":
		return d.whole(f, sink)
	}
	return nil
}

// start reads message_start, which holds content and a stop reason where the
// answer is ready before it begins, as between calls of server-side code.
func (d *decoder) start(m *message, sink *adapters.Sink) error {
	if m == nil {
		return nil
	}
	sink.IDs(m.ID, m.Model)
	d.use(m.Usage, sink)
	for i, raw := range m.Content {
		if err := d.startBlock(i, raw, sink); err != nil {
			return err
		}
		d.endBlock(i, sink)
	}
	d.stopped(m.StopReason, m.StopDetails)
	d.transformed(m.Transformations, sink)
	return nil
}

// transformed tells once of thinking in the request that the model did not read; where
// another model took over, the list comes again at the end. That it read some although
// the check failed changes nothing.
// https://platform.claude.com/docs/en/build-with-claude/preserved-thinking
func (d *decoder) transformed(list []transformation, sink *adapters.Sink) {
	dropped, changed := 0, false
	for _, t := range list {
		if t.Type == "thinking_dropped" {
			dropped++
			changed = changed || t.Reason == "prefix_binding_mismatch"
		}
	}
	why := "it may not read it"
	if changed {
		why = "what stood before it has changed"
	}
	if dropped > 0 && !d.forgot {
		d.forgot = true
		sink.Diagnostic(-1, "thinking_dropped", fmt.Sprintf("the model did not read earlier thinking, %d blocks of it: %s", dropped, why))
	}
}

// whole reads an answer of a host that does not stream.
func (d *decoder) whole(f frame.Frame, sink *adapters.Sink) error {
	var m message
	if err := adapters.ReadFrame(f, &m); err != nil {
		return err
	}
	if err := d.start(&m, sink); err != nil {
		return err
	}
	d.finish(sink)
	return nil
}

// startBlock opens a block under the provider's index.
func (d *decoder) startBlock(index int, raw json.RawMessage, sink *adapters.Sink) error {
	var s startedBlock
	if !s.readUsual(raw) {
		s = startedBlock{}
		if !adapters.Readable(jsonwire.Unmarshal(raw, &s)) || s.Type == "" {
			return nil // nothing that could be kept
		}
	}
	if s.Type == "fallback" {
		// Another model takes over. Before any content that is only a change of
		// the model's name; later the answer would be of two minds, and its
		// signatures of two issuers.
		if d.next == 0 {
			return nil
		}
		return &adapters.UpstreamError{
			Reason: adapters.ReasonProviderError, Type: s.Type,
			Message: "the provider changed the model in the middle of the answer",
		}
	}
	d.endBlock(index, sink) // where a host forgot to
	// A key of its own: hosts use an index again for a later block.
	b := &openBlock{key: d.key()}
	b.open(&s, raw, sink)
	d.open[index] = b
	return nil
}

// lost remarks on a delta that no block took, if it said something.
func (d *decoder) lost(t *delta, sink *adapters.Sink) {
	if t.Type != "" && t.Type != "signature_delta" && (t.unknown() || t.Text != "" || t.Thinking != "" || t.PartialJSON != "" || jsonwire.Says(t.Citation)) {
		sink.Stray(&d.stray)
	}
}

// endBlock ends a block; an index that is not open says nothing.
func (d *decoder) endBlock(index int, sink *adapters.Sink) {
	b := d.open[index]
	if b == nil {
		return
	}
	delete(d.open, index)
	next := d.next
	if len(b.citations) > 0 {
		next = d.key()
	}
	b.end(next, sink)
}

// key is a number that no block has had.
func (d *decoder) key() int {
	d.next++
	return d.next - 1
}

// use tells the usage so far. It comes early, with message_start, so that even an
// aborted answer has its input counted.
func (d *decoder) use(u *usage, sink *adapters.Sink) {
	if u == nil {
		return
	}
	d.usage.update(u)
	if m := d.usage.message(); m != nil {
		sink.Usage(m)
	}
	if u.Speed != "" {
		sink.ServiceTier(u.Speed)
	}
}

// stopped keeps the stop reason. It is told by finish alone: a body that ends after
// message_delta may lack blocks still.
func (d *decoder) stopped(word string, details *stopDetails) {
	if word != "" {
		d.stop = word
	}
	if details != nil && details.Explanation != "" {
		d.refusal = details.Explanation
	}
}

// finish reads the terminal marker. Blocks that a host never ended have ended now.
func (d *decoder) finish(sink *adapters.Sink) {
	inOrder := func(a, b int) int { return cmp.Compare(d.open[a].key, d.open[b].key) }
	for _, i := range slices.SortedFunc(maps.Keys(d.open), inOrder) {
		d.endBlock(i, sink)
	}
	d.done = true
	d.tellStop(sink)
	sink.Complete()
}

// tellStop translates the stop reason.
// https://docs.anthropic.com/en/api/handling-stop-reasons.
func (d *decoder) tellStop(sink *adapters.Sink) {
	switch d.stop {
	case "end_turn", "stop_sequence":
		sink.Stop(llmdv1.StopReason_STOP_REASON_STOP, d.stop)
	case "pause_turn":
		sink.Diagnostic(-1, d.stop, "the provider paused a long turn; send the conversation as it is to continue it")
		sink.Stop(llmdv1.StopReason_STOP_REASON_STOP, d.stop)
	case "compaction":
		sink.Diagnostic(-1, d.stop, "the provider paused after it had compacted the conversation; send it as it is to continue it")
		sink.Stop(llmdv1.StopReason_STOP_REASON_STOP, d.stop)
	case "max_tokens", "model_context_window_exceeded":
		sink.Stop(llmdv1.StopReason_STOP_REASON_LENGTH, d.stop)
	case "tool_use":
		sink.Stop(llmdv1.StopReason_STOP_REASON_TOOL_USE, d.stop)
	case "refusal", "sensitive": // the latter is a word of hosts
		message := adapters.MaskSecrets(d.refusal)
		if message == "" {
			message = "the model refused to complete the request"
		}
		sink.Fail(d.stop, &adapters.UpstreamError{Reason: adapters.ReasonContentFiltered, Type: d.stop, Message: message})
	case "":
		sink.Fail("", &adapters.UpstreamError{
			Reason: adapters.ReasonProviderError, Message: "the answer ended without a stop reason",
		})
	default:
		sink.Fail(d.stop, &adapters.UpstreamError{
			Reason: adapters.ReasonProviderError, Type: d.stop, Message: "the provider stopped for a reason that is not known",
		})
	}
}

// Finish implements [adapters.Decoder].
func (d *decoder) Finish(*adapters.Sink) error {
	if !d.done {
		return adapters.ErrTruncated
	}
	return nil
}

// known says whether an event's name is one whose data must be readable.
func known(name string) bool {
	switch name {
	case startEvent, blockStartEvent, deltaEvent, stopEvent, lastDeltaEvent, endEvent, "message", "error":
		return true
	}
	return false
}

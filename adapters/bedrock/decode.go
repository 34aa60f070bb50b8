package bedrock

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

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

// DecodeError implements [adapters.Adapter]. The kind of the error stands in a
// header, with a namespace behind a colon.
// https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html.
func (*Adapter) DecodeError(status int, header http.Header, body []byte) *adapters.UpstreamError {
	kind, _, _ := strings.Cut(header.Get("x-amzn-errortype"), ":")
	return adapters.ErrorFromBody(adapters.ErrorFacts{
		API: apiID, Status: status, Type: kind, RequestID: header.Get("x-amzn-requestid"),
	}, body)
}

// decoder reads one answer.
type decoder struct {
	provider string
	// open are the blocks that have not ended, by the provider's index.
	open map[int]*openBlock
	next int // the next free key
	// stopped and used: messageStop and metadata came.
	stopped, used bool
	stray         bool  // told of a delta that belongs nowhere
	late          bool  // told of content behind the end
	event         event // of the current frame, to use its memory again
}

// Decode implements [adapters.Decoder].
func (d *decoder) Decode(f frame.Frame, sink *adapters.Sink) error {
	if f.Exception || strings.HasSuffix(f.Event, "Exception") {
		if d.stopped {
			sink.Complete() // the answer is whole, its usage will not come
			return nil
		}
		return d.exception(f)
	}
	if f.Event != "" && !known(f.Event) {
		return nil
	}
	e := &d.event
	*e = event{}
	if err := adapters.ReadFrame(f, e); err != nil {
		return err
	}
	if d.stopped && f.Event != "metadata" {
		if f.Event == "contentBlockStart" || f.Event == "contentBlockDelta" {
			sink.Late(&d.late)
		}
		return nil // nothing else belongs to the answer
	}
	switch f.Event {
	case "contentBlockStart":
		d.startBlock(int(e.Index), e.Start, sink)
	case "contentBlockDelta":
		d.addDelta(e, f.Data, sink)
	case "contentBlockStop":
		d.endBlock(int(e.Index), sink)
	case "messageStop":
		d.finish(e.StopReason, sink)
	case "metadata":
		d.metadata(e, sink)
	case "":
		return d.whole(e, f, sink)
	}
	return nil
}

// exception reads a failure in the middle of an answer, which may quote the model's
// own.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html#API_runtime_ConverseStream_Errors.
func (d *decoder) exception(f frame.Frame) error {
	var x struct {
		Message         string `json:"message"`
		OriginalMessage string `json:"originalMessage"`
		OriginalStatus  int    `json:"originalStatusCode"`
	}
	facts := adapters.ErrorFacts{API: apiID, Provider: d.provider, Type: f.Event}
	if err := json.Unmarshal(f.Data, &x); !adapters.Readable(err) || x.OriginalMessage == "" {
		return adapters.ErrorFromBody(facts, f.Data)
	}
	facts.Message = x.Message
	if !strings.Contains(x.Message, x.OriginalMessage) {
		facts.Message = strings.TrimSpace(x.Message + " (" + x.OriginalMessage + ")")
	}
	if x.OriginalStatus != 0 {
		facts.Code = strconv.Itoa(x.OriginalStatus)
	}
	return adapters.Classify(facts)
}

// startBlock opens a call or a block without a type of its own. Other blocks open
// with their first delta.
func (d *decoder) startBlock(index int, raw json.RawMessage, sink *adapters.Sink) {
	var s start
	if len(raw) == 0 || !adapters.Readable(json.Unmarshal(raw, &s)) {
		return
	}
	if s.ToolUse != nil && kindOf(member(raw, "toolUse")) != '{' {
		return // no call at all
	}
	if s.ToolUse != nil && s.ToolUse.ofClient() {
		d.endBlock(index, sink) // where a host forgot to
		b := d.block(index, callBlock, sink)
		b.told = true
		sink.ToolCall(b.key, s.ToolUse.ID, s.ToolUse.Name, "")
		return
	}
	if strange(raw) != "" {
		d.endBlock(index, sink)
		d.block(index, opaqueBlock, sink).add(raw, sink)
	}
}

// addDelta works a delta in. Each kind of delta says to what kind of block it belongs;
// empty ones, which some writers put beside the others, say nothing.
func (d *decoder) addDelta(e *event, data []byte, sink *adapters.Sink) {
	t, index, some := &e.Delta, int(e.Index), false
	if t.Reasoning != nil {
		some = true
		d.reason(index, t.Reasoning, sink)
	}
	if jsonwire.Says(t.Citation) && t.Citation[0] == '{' {
		some = true
		d.block(index, textBlock, sink).cite(t.Citation, sink)
	}
	if t.Text != nil {
		some = true
		if *t.Text != "" {
			d.block(index, textBlock, sink).text(string(*t.Text), sink)
		}
	}
	if t.ToolUse != nil {
		some = d.addInput(index, string(t.ToolUse.Input), sink)
	}
	if some {
		return
	}
	// Such deltas are few; they may be read twice.
	var again struct {
		Delta json.RawMessage `json:"delta"`
	}
	if !adapters.Readable(json.Unmarshal(data, &again)) {
		return
	}
	if strange(again.Delta) != "" {
		d.block(index, opaqueBlock, sink).add(again.Delta, sink)
	}
}

// addInput adds to a client's call. It reports false for a call that the provider
// makes itself. A fragment for anything else belongs to nothing that was announced.
func (d *decoder) addInput(index int, fragment string, sink *adapters.Sink) bool {
	b := d.open[index]
	if b != nil && b.kind == opaqueBlock {
		return false
	}
	switch {
	case fragment == "":
	case b != nil && b.kind == callBlock:
		sink.Arguments(b.key, fragment)
	default:
		sink.Stray(&d.stray)
	}
	return true
}

// reason adds thinking, readable or not.
func (d *decoder) reason(index int, r *reasoning, sink *adapters.Sink) {
	if r.Redacted != "" {
		d.block(index, redactedBlock, sink).redact(r.Redacted, sink)
		return
	}
	if r.Text == "" && r.Signature == "" && r.Whole == nil {
		return
	}
	b := d.block(index, thinkingBlock, sink)
	b.think(string(r.Text), r.Signature, sink)
	if r.Whole != nil {
		b.think(string(r.Whole.Text), r.Whole.Signature, sink)
	}
}

// block is the open block of an index. One of another kind has ended: some models use
// an index again. Its key is its own.
func (d *decoder) block(index int, kind blockKind, sink *adapters.Sink) *openBlock {
	if b := d.open[index]; b != nil && b.kind == kind {
		return b
	}
	d.endBlock(index, sink)
	b := &openBlock{kind: kind, key: d.key()}
	b.hold(adapters.HeldValue, sink)
	d.open[index] = b
	return b
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

// finish reads the terminal marker. Blocks that were never ended have ended now.
func (d *decoder) finish(word string, sink *adapters.Sink) {
	if d.stopped {
		return
	}
	inOrder := func(a, b int) int { return cmp.Compare(d.open[a].key, d.open[b].key) }
	for _, i := range slices.SortedFunc(maps.Keys(d.open), inOrder) {
		d.endBlock(i, sink)
	}
	d.stopped = true
	tellStop(word, sink)
	if d.used {
		sink.Complete()
	}
}

// tellStop translates the stop reason.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_MessageStopEvent.html.
func tellStop(word string, sink *adapters.Sink) {
	fail := func(reason, message string) {
		sink.Fail(word, &adapters.UpstreamError{Reason: reason, Type: word, Message: message})
	}
	switch word {
	case "end_turn", "stop_sequence":
		sink.Stop(llmdv1.StopReason_STOP_REASON_STOP, word)
	case "tool_use":
		sink.Stop(llmdv1.StopReason_STOP_REASON_TOOL_USE, word)
	case "max_tokens", "model_context_window_exceeded":
		sink.Stop(llmdv1.StopReason_STOP_REASON_LENGTH, word)
	case "guardrail_intervened":
		fail(adapters.ReasonContentFiltered, "guardrail_intervened: a guardrail blocked or changed the answer")
	case "content_filtered":
		fail(adapters.ReasonContentFiltered, "content_filtered: the provider filtered the answer")
	case "refusal":
		fail(adapters.ReasonContentFiltered, "refusal: the model refused to complete the request")
	case "malformed_tool_use", "malformed_model_output":
		fail(adapters.ReasonProviderError, word+": the model's answer could not be read")
	case "":
		fail(adapters.ReasonProviderError, "the answer ended without a stop reason")
	default:
		fail(adapters.ReasonProviderError, "the provider stopped for a reason that is not known")
	}
}

// metadata is the last message.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamMetadataEvent.html.
func (d *decoder) metadata(e *event, sink *adapters.Sink) {
	if m := e.Usage.message(); m != nil {
		sink.Usage(m)
	}
	if e.ServiceTier.Type != "" {
		sink.ServiceTier(e.ServiceTier.Type)
	}
	d.used = true
	if d.stopped {
		sink.Complete()
	}
}

// whole reads a document in place of a stream: an answer, or else an error.
func (d *decoder) whole(e *event, f frame.Frame, sink *adapters.Sink) error {
	var a answer
	if !adapters.Readable(json.Unmarshal(f.Data, &a)) || a.Output == nil {
		return adapters.ErrorFromBody(adapters.ErrorFacts{API: apiID, Provider: d.provider}, f.Data)
	}
	for i, raw := range a.Output.Message.Content {
		d.wholeBlock(i, raw, sink)
		d.endBlock(i, sink)
	}
	d.metadata(e, sink)
	d.finish(e.StopReason, sink)
	return nil
}

func (d *decoder) wholeBlock(index int, raw json.RawMessage, sink *adapters.Sink) {
	var b wholeBlock
	if !adapters.Readable(json.Unmarshal(raw, &b)) {
		return
	}
	switch {
	case b.Text != nil:
		d.block(index, textBlock, sink).text(string(*b.Text), sink)
	case b.Reasoning != nil:
		d.reason(index, b.Reasoning, sink)
	case b.Citations != nil:
		o := d.block(index, textBlock, sink)
		for _, c := range b.Citations.Content {
			o.text(string(c.Text), sink)
		}
		for _, c := range b.Citations.Citations {
			o.cite(c, sink)
		}
	case b.ToolUse != nil && b.ToolUse.ofClient():
		d.startBlock(index, raw, sink)
		if input := adapters.WholeInput(b.ToolUse.Input); input != "" {
			sink.Arguments(d.open[index].key, input)
		}
	default:
		if kind := strange(raw); kind != "" {
			sink.ProviderContent(d.key(), kind, raw)
		}
	}
}

// Finish implements [adapters.Decoder].
func (d *decoder) Finish(*adapters.Sink) error {
	if !d.stopped {
		return adapters.ErrTruncated
	}
	return nil
}

// known says whether an event's name is one whose data must be readable.
func known(name string) bool {
	switch name {
	case "messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata":
		return true
	}
	return false
}

// strange is the kind of a block that has no type of its own here; empty = the union
// holds nothing, or something that is read elsewhere.
func strange(raw json.RawMessage) (kind string) {
	members, _ := jsonwire.Members(raw) // none if it is no object
	for _, m := range members {
		switch {
		case kindOf(m.Value) == 0:
		case m.Key == "text", m.Key == "reasoningContent", m.Key == "citation":
		default:
			kind = kindBy(kind, m.Key)
		}
	}
	return kind
}

// kindBy is what kind of block the members of a union come to, of which next is a further
// one. A kind that is known counts more than a name that is not and may be a remark beside
// it, and "__type" says nothing.
// https://github.com/aws/aws-sdk-kotlin/issues/1044.
func kindBy(kind, next string) string {
	known := next == "toolUse" || next == "toolResult"
	if next != "__type" && (kind == "" || known) {
		return next
	}
	return kind
}

package openaichat

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// none is the block number of what has not begun.
const none = -1

// NewDecoder implements adapters.Adapter.
func (*Adapter) NewDecoder(call *adapters.Call) adapters.Decoder {
	return &decoder{target: call.Model, text: none, thinking: none}
}

// decoder reads one answer. A message has one block of text and one of thinking,
// however its deltas interleave: hosts do not mark where a block ends. Only in a list
// of parts the order is said.
type decoder struct {
	target *profile.Model

	responseID, model, tier string

	blocks         int
	text, thinking int    // block numbers, or none
	field          string // the field that the thinking came in
	details        details
	signed         thinkingBlocks
	opaque         string // GitHub Copilot's
	unsigned       bool   // not all of these are told
	calls          calls
	refused        bool

	cited              sources // the last ones
	annotations, audio []json.RawMessage
	kept               int  // bytes of these
	held               int  // bytes of all that is kept, as they were last counted
	tagged             bool // a thought that Google marks is open

	began    bool   // a frame came that is no error
	earlier  bool   // an earlier frame had something of the answer
	unmarked bool   // a piece of the answer came without the terminal marker
	stopped  bool   // the terminal marker came
	ending   ending // what it came to
	late     bool   // content came behind it
	complete bool

	usual usual
}

// Decode implements adapters.Decoder.
func (d *decoder) Decode(f frame.Frame, sink *adapters.Sink) error {
	err := d.decode(f, sink)
	kept := d.kept + d.details.kept + d.signed.kept + d.calls.kept
	if d.unsigned {
		kept += len(d.opaque)
	}
	sink.Hold(kept - d.held)
	d.held = kept
	return err
}

func (d *decoder) decode(f frame.Frame, sink *adapters.Sink) error {
	data := bytes.TrimSpace(f.Data)
	switch {
	case string(data) == "[DONE]":
		d.done(sink)
		return nil
	case !d.stopped && errorInList(data):
		return adapters.ErrorFromBody(d.facts(), data)
	case len(data) == 0 || data[0] != '{':
		return nil
	}
	c := d.usual.read(data, d)
	if c == nil {
		c = &chunk{}
		if err := adapters.ReadFrame(f, c); err != nil && !d.stopped {
			return err
		}
	}
	if d.stopped {
		d.goOn(c, sink)
		if d.reported(c, sink) && !d.moreAfter(c) {
			d.finish(sink)
		}
		return nil
	}
	if err := d.errorIn(c, f.Event, data); err != nil {
		return err
	}
	began := d.began
	d.began = true
	d.identify(c, sink)
	reported := d.reported(c, sink)
	for i := range c.Choices {
		// Other numbers are other answers to the same request. GitHub Copilot splits one
		// answer over several: https://github.com/zeroclaw-labs/zeroclaw/pull/2136
		switch ch := &c.Choices[i]; {
		case ch.Index != 0:
		case d.stopped:
			d.further(ch, sink)
		default:
			d.choice(ch, sink)
			d.unmarked = d.unmarked || !ch.ended() && ch.says()
			switch failed := len(ch.Error) > 0 && jsonwire.Says(ch.Error); {
			case failed && (!ch.ended() || !began && d.blocks == 0):
				return d.failure(ch) // without a marker, or before anything of an answer came
			case failed:
				d.wrapUp(sink)
				sink.Fail(string(ch.FinishReason), d.failure(ch))
			case ch.ended():
				d.stop(ch, sink)
			}
		}
	}
	d.earlier = d.blocks > 0
	if d.stopped && reported && !d.moreAfter(c) {
		d.finish(sink)
	}
	return nil
}

// moreAfter says whether more of the answer may follow a chunk that has both a marker and
// the usage: where every piece of the answer so far had the marker.
func (d *decoder) moreAfter(c *chunk) bool {
	return !d.unmarked && slices.ContainsFunc(c.Choices, func(ch choice) bool { return ch.Index == 0 && ch.says() })
}

// Finish implements adapters.Decoder.
func (d *decoder) Finish(sink *adapters.Sink) error {
	if d.stopped {
		d.signLate(sink)
		return nil
	}
	d.calls.settle(adapters.InnerBeginning, sink)
	return adapters.ErrTruncated
}

// errorIn finds an error in the shapes of the hosts: {"error":...}, an event of
// that name, vLLM's {"object":"error",...}, and a message alone.
func (d *decoder) errorIn(c *chunk, event string, data []byte) error {
	bare := c.Choices == nil && c.Usage == nil && c.ID == "" && adapters.SaysError(data)
	if len(c.XGroq.Error) > 0 && jsonwire.Says(c.XGroq.Error) {
		return adapters.ErrorFromBody(d.facts(), inError(c.XGroq.Error))
	}
	if !jsonwire.Says(c.Error) && event != "error" && c.Object != "error" && c.Type != "error" && c.BaseResp.StatusCode == 0 && !bare {
		return nil
	}
	return adapters.ErrorFromBody(d.facts(), data)
}

// errorInList: Google writes an error as the only element of a list.
// https://github.com/aallam/openai-kotlin/issues/416
func errorInList(data []byte) bool {
	if len(data) == 0 || data[0] != '[' {
		return false
	}
	var list []json.RawMessage
	return json.Unmarshal(data, &list) == nil && len(list) > 0 && adapters.SaysError(list[0])
}

// failure is the error that stands in a choice.
// https://openrouter.ai/docs/api-reference/overview#completionsresponse-format
func (d *decoder) failure(c *choice) *adapters.UpstreamError {
	return adapters.ErrorFromBody(d.facts(), inError(c.Error))
}

// inError is the document that an error usually stands in.
func inError(raw json.RawMessage) []byte { return []byte(`{"error":` + string(raw) + `}`) }

// facts is what is known of any error here.
func (d *decoder) facts() adapters.ErrorFacts {
	return adapters.ErrorFacts{API: apiID, Provider: d.target.Provider}
}

// identify tells whose answer this is. Azure's first chunk has neither id nor
// model, so each is taken from the first chunk that has it.
func (d *decoder) identify(c *chunk, sink *adapters.Sink) {
	id, model := d.responseID, d.model
	if d.responseID == "" {
		d.responseID = string(c.ID)
	}
	if d.model == "" {
		d.model = string(c.Model)
	}
	if id != d.responseID || model != d.model {
		sink.IDs(d.responseID, d.model)
	}
	if t := string(c.ServiceTier); t != "" && t != d.tier {
		d.tier = t
		sink.ServiceTier(t)
	}
	if c != &d.usual.chunk { // which has none
		d.kept += d.cited.update(&c.sources)
	}
}

// reported passes a chunk's usage on and says whether there was any.
func (d *decoder) reported(c *chunk, sink *adapters.Sink) bool {
	m := c.Usage.message(d.model)
	if m == nil {
		m = c.XGroq.Usage.message(d.model)
	}
	for i := range c.Choices {
		if m == nil {
			m = c.Choices[i].Usage.message(d.model)
		}
	}
	if m != nil {
		sink.Usage(m)
	}
	return m != nil
}

// newBlock gives the next block's number; blocks open in the order of numbers.
func (d *decoder) newBlock() int { d.blocks++; return d.blocks - 1 }

// choice reads the delta of choice 0, reasoning before content: hosts put the last
// thought and the first word of the answer into one delta.
func (d *decoder) choice(c *choice, sink *adapters.Sink) {
	delta := c.Delta
	if delta == nil {
		// Perplexity repeats the whole message beside each delta; it counts only
		// where there is no stream.
		if delta = c.Message; delta == nil || d.earlier {
			return
		}
	}
	d.reasoning(delta, sink)
	d.content(delta, sink)
	if delta.Refusal != "" {
		d.refused = true
		d.say(string(delta.Refusal), sink)
	}
	for i, call := range delta.ToolCalls { // a copy: the frame may be read again
		call.second = i > 0
		d.calls.delta(&call, d.newBlock, sink)
	}
	if delta.FunctionCall != nil {
		index := legacyIndex
		d.calls.delta(&callDelta{Index: &index, Function: *delta.FunctionCall}, d.newBlock, sink)
	}
	for _, a := range delta.Annotations {
		if jsonwire.Says(a) {
			d.annotations = append(d.annotations, a)
			d.kept += adapters.HeldValue + len(a)
		}
	}
	if jsonwire.Says(delta.Audio) {
		d.audio = append(d.audio, delta.Audio)
		d.kept += adapters.HeldValue + len(delta.Audio)
	}
	d.keep("executed_tools", delta.ExecutedTools, sink)
	d.keep("images", delta.Images, sink)
	d.keep("context", delta.Context, sink)
}

// The tags that Google puts around the thoughts that it marks.
const (
	thoughtBegins = "<thought>"
	thoughtEnds   = "</thought>"
)

// content reads the text of a delta. Google sends thoughts as text, in tags and marked,
// and signs text as it signs calls.
func (d *decoder) content(delta *delta, sink *adapters.Sink) {
	text := delta.Content.text
	switch {
	case delta.ExtraContent.thought && text != "":
		if !d.tagged {
			text = strings.TrimPrefix(text, thoughtBegins)
			d.tagged = true
		}
		d.think(text, sink)
		d.keepParts(delta.Content.others, sink)
	case d.tagged && text != "":
		d.tagged = false
		text = strings.TrimPrefix(text, thoughtEnds)
		fallthrough
	default:
		d.sayParts(text, len(delta.Content.text)-len(text), delta.Content.others, sink)
	}
	if delta.ExtraContent.raw != nil {
		d.openText(sink)
		sink.Text(d.text, "")
		sink.Signature(d.text, formatExtra, delta.ExtraContent.raw)
	}
}

// sayParts adds to the text and keeps the parts of other kinds where they stand in it: a
// list of parts has an order. Of the text the first bytes were cut.
func (d *decoder) sayParts(text string, cut int, others []otherPart, sink *adapters.Sink) {
	said := 0
	for _, p := range others {
		at := max(p.at-cut, said)
		d.say(text[said:at], sink)
		said = at
		if d.text != none {
			sink.End(d.text)
			d.text = none
		}
		d.keep(p.kind, p.raw, sink)
	}
	d.say(text[said:], sink)
}

func (d *decoder) keepParts(others []otherPart, sink *adapters.Sink) {
	for _, p := range others {
		d.keep(p.kind, p.raw, sink)
	}
}

// reasoning reads the first field that holds any. Hosts that send two send the
// same text in both.
func (d *decoder) reasoning(delta *delta, sink *adapters.Sink) {
	field, from := "", &content{text: delta.Content.thinking} // what else it holds, content keeps
	switch {
	case delta.ReasoningContent.says():
		field, from = "reasoning_content", &delta.ReasoningContent
	case delta.Reasoning.says():
		field, from = "reasoning", &delta.Reasoning
	case delta.ReasoningText.says():
		field, from = "reasoning_text", &delta.ReasoningText
	}
	if text := from.all(); text != "" {
		d.think(text, sink)
		if d.field == "" {
			d.field = field
		}
	}
	d.keepParts(from.others, sink)
	d.seals(delta, sink)
}

// seals reads what the thinking goes back by, beside its words.
func (d *decoder) seals(delta *delta, sink *adapters.Sink) {
	for _, raw := range delta.ReasoningDetails {
		if jsonwire.Says(raw) {
			d.details.add(raw)
			d.seal(sink)
		}
	}
	for _, raw := range delta.ThinkingBlocks {
		if d.signed.add(raw) {
			d.seal(sink)
		}
	}
	if delta.ReasoningOpaque != "" {
		d.opaque = string(delta.ReasoningOpaque)
		d.seal(sink)
	}
}

func (d *decoder) seal(sink *adapters.Sink) {
	d.think("", sink)
	d.unsigned = true
}

// think adds to the thinking block, which details alone open, too: without a
// block their signature would have no place.
func (d *decoder) think(text string, sink *adapters.Sink) {
	switch {
	case d.thinking == none:
		d.calls.openWaiting(sink)
		d.thinking = d.newBlock()
	case text == "":
		return
	}
	sink.Thinking(d.thinking, text)
}

// say adds to the text. Most chunks hold an empty content beside something else,
// which opens nothing.
func (d *decoder) say(text string, sink *adapters.Sink) {
	if text == "" {
		return
	}
	d.openText(sink)
	sink.Text(d.text, text)
}

func (d *decoder) openText(sink *adapters.Sink) {
	if d.text == none {
		d.calls.openWaiting(sink)
		d.text = d.newBlock()
	}
}

// keep passes on what has no type in the contract, as it came.
func (d *decoder) keep(kind string, raw json.RawMessage, sink *adapters.Sink) {
	if len(raw) > 0 && jsonwire.Says(raw) {
		d.calls.openWaiting(sink)
		sink.ProviderContent(d.newBlock(), kind, raw)
	}
}

// stop reads the terminal marker.
func (d *decoder) stop(c *choice, sink *adapters.Sink) {
	d.wrapUp(sink)
	word := string(c.FinishReason)
	d.ending = meaning(word)
	switch {
	case d.ending.failure != "":
		d.fail(d.ending.failure, word, sink)
	default:
		d.succeed(d.ending.stop, word, sink)
	}
}

// ending is what a terminal marker comes to: a failure, or how the answer stopped.
type ending struct {
	stop    llmdv1.StopReason
	failure string
}

// meaning of a terminal word.
// https://platform.openai.com/docs/api-reference/chat-streaming/streaming names
// OpenAI's words, https://docs.z.ai/api-reference/llm/chat-completion "sensitive" and
// "model_context_window_exceeded", https://docs.x.ai/developers/rest-api-reference/inference/chat-completions
// "end_turn", and Hugging Face's servers the token or the sequence that ended the answer:
// https://huggingface.github.io/text-generation-inference. Gateways hand on Claude's words,
// Gemini's and those of Bedrock's guardrails, https://github.com/vercel/modelfusion/pull/343
// and https://github.com/pydantic/pydantic-ai/issues/7816, and Google says its own behind
// OpenAI's, as in "content_filter: RECITATION".
func meaning(word string) ending {
	kind, _, _ := strings.Cut(strings.ToLower(word), ":")
	switch kind {
	case "stop", "end", "end_turn", "eos", "eos_token", "stop_sequence":
		return ending{stop: llmdv1.StopReason_STOP_REASON_STOP}
	case "length", "max_tokens":
		return ending{stop: llmdv1.StopReason_STOP_REASON_LENGTH}
	case "tool_calls", "function_call", "tool_use":
		return ending{stop: llmdv1.StopReason_STOP_REASON_TOOL_USE}
	case "content_filter", "content_filtered", "sensitive", "refusal", "guardrail_intervened",
		"safety", "recitation", "blocklist", "prohibited_content", "spii":
		return ending{failure: adapters.ReasonContentFiltered}
	case "model_context_window_exceeded":
		return ending{failure: adapters.ReasonContextLengthExceeded}
	}
	return ending{failure: adapters.ReasonProviderError}
}

// wrapUp gives what is whole only when the answer is: arguments that were held
// back, the thinking's signature, what the answer cites.
func (d *decoder) wrapUp(sink *adapters.Sink) {
	first := !d.stopped
	d.stopped = true
	d.calls.end(sink)
	if first { // lists are told as a whole: not with each marker
		d.sign(sink)
	} else if !d.sealed() {
		d.signField(sink)
	}
	d.sources(sink)
}

func (d *decoder) sealed() bool {
	return len(d.details.items)+len(d.signed.items) > 0 || d.opaque != ""
}

// signLate gives the thinking what came of it behind the first marker.
func (d *decoder) signLate(sink *adapters.Sink) {
	if d.unsigned {
		d.sign(sink)
	}
}

// sign gives the thinking what it goes back by: the host's own list or word, or else the
// name of its field.
func (d *decoder) sign(sink *adapters.Sink) {
	switch {
	case len(d.details.items) > 0:
		sink.Signature(d.thinking, formatDetails, d.details.json())
	case len(d.signed.items) > 0:
		sink.Signature(d.thinking, formatBlocks, d.signed.json())
	case d.opaque != "":
		sink.Signature(d.thinking, formatOpaque, []byte(d.opaque))
	default:
		d.signField(sink)
	}
	d.unsigned = false
	d.details.kept = 0
	d.signed.told()
}

func (d *decoder) signField(sink *adapters.Sink) {
	if d.field != "" {
		sink.Signature(d.thinking, formatField, []byte(d.field))
	}
}

// succeed ends the answer. A refusal that ends like any answer is an answer, and
// worth a remark (contract 1.19).
func (d *decoder) succeed(reason llmdv1.StopReason, word string, sink *adapters.Sink) {
	if d.refused && reason == llmdv1.StopReason_STOP_REASON_STOP {
		sink.Diagnostic(d.text, "refusal", "the model refused; the text is its refusal")
	}
	sink.Stop(reason, word)
}

// fail ends the answer with the provider's own word, which no status goes with.
func (d *decoder) fail(reason, word string, sink *adapters.Sink) {
	facts := d.facts()
	facts.Code, facts.Message = word, "the provider ended the answer with finish_reason "+word
	sink.Fail(word, adapters.Failed(facts, reason))
}

// sources keeps what the answer cites.
func (d *decoder) sources(sink *adapters.Sink) {
	if raw := d.cited.json(); raw != nil {
		sink.ProviderContent(d.newBlock(), "citations", raw)
	}
	d.keepAll("annotations", d.annotations, sink)
	d.keepAll("audio", d.audio, sink)
	// A further marker tells what is new.
	d.cited, d.annotations, d.audio, d.kept = sources{}, nil, nil, 0
}

// keepAll keeps what came in pieces as a list of them.
func (d *decoder) keepAll(kind string, pieces []json.RawMessage, sink *adapters.Sink) {
	if pieces == nil {
		return
	}
	var w jsonwire.Writer
	w.BeginArray()
	for _, p := range pieces {
		w.RawBytes(p)
	}
	w.EndArray()
	sink.ProviderContent(d.newBlock(), kind, w.Bytes())
}

// goOn reads a chunk behind the terminal marker, where only the usage is of interest. But
// proxies stop with every call, or with every chunk, as old models of Google do: what stands
// in one chunk with a further marker belongs to the answer, and where the first ones say
// "stop" a last one tells more. What the thinking goes back by may come last of all.
// https://github.com/BerriAI/litellm/pull/31634 and
// https://github.com/BerriAI/litellm/issues/2195
func (d *decoder) goOn(c *chunk, sink *adapters.Sink) {
	for i := range c.Choices {
		if ch := &c.Choices[i]; ch.Index == 0 {
			d.further(ch, sink)
		}
	}
}

// further reads a choice behind one with the terminal marker.
func (d *decoder) further(c *choice, sink *adapters.Sink) {
	switch {
	case !c.says() && (c.Message == nil || d.earlier):
		if c.Delta != nil {
			d.seals(c.Delta, sink)
		}
		if c.ended() && d.ending.stop == llmdv1.StopReason_STOP_REASON_STOP && meaning(string(c.FinishReason)) != d.ending {
			d.stop(c, sink)
		}
	case c.ended():
		d.choice(c, sink)
		d.stop(c, sink)
	default:
		sink.Late(&d.late)
	}
}

// done reads "[DONE]", which is the terminal marker of hosts without a
// finish_reason, and the end in any case.
func (d *decoder) done(sink *adapters.Sink) {
	if !d.stopped && !d.target.Compat.SupportsFinishReason {
		d.wrapUp(sink)
		reason := llmdv1.StopReason_STOP_REASON_STOP
		if len(d.calls.list) > 0 {
			reason = llmdv1.StopReason_STOP_REASON_TOOL_USE
		}
		d.succeed(reason, "", sink)
	}
	d.finish(sink)
}

// finish says once that the rest of the body need not be waited for.
func (d *decoder) finish(sink *adapters.Sink) {
	if !d.complete {
		d.complete = true
		d.signLate(sink)
		sink.Complete()
	}
}

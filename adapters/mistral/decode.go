package mistral

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

var errNoChoices = errors.New("mistral: an event without choices")

// NewDecoder implements adapters.Adapter.
func (*Adapter) NewDecoder(call *adapters.Call) adapters.Decoder {
	return &decoder{provider: call.Model.Provider, prefix: prefill(call.Context)}
}

// decoder reads one answer.
type decoder struct {
	provider string
	// prefix is the beginning that the caller wrote, until the answer has begun;
	// space is what the API moves from its end to the text that follows.
	prefix, space string

	responseID, model, tier string

	blocks  int
	open    bool // a block of text or thinking is open, the last one
	thought *thinking
	calls   calls

	stopped  bool // the terminal marker came
	late     bool // content came behind it
	complete bool
	held     int // of what is kept, as it was last counted
}

// Decode implements adapters.Decoder.
func (d *decoder) Decode(f frame.Frame, sink *adapters.Sink) error {
	err := d.decode(f, sink)
	kept := d.calls.kept
	if d.thought != nil {
		kept += d.thought.kept
	}
	sink.Hold(kept - d.held)
	d.held = kept
	return err
}

func (d *decoder) decode(f frame.Frame, sink *adapters.Sink) error {
	data := bytes.TrimSpace(f.Data)
	switch {
	case string(data) == "[DONE]":
		d.finish(sink)
		return nil
	case len(data) == 0 || data[0] != '{' && data[0] != '[':
		return nil
	}
	var e event
	if err := adapters.ReadFrame(f, &e); err != nil && !d.stopped {
		return err
	}
	if d.stopped {
		d.goOn(&e, sink)
		if d.reported(&e, sink) {
			d.finish(sink)
		}
		return nil
	}
	if err := d.errorIn(&e, f.Event, data); err != nil {
		return err
	}
	if e.Choices == nil && !jsonwire.Says(e.Usage) {
		return adapters.NewFrameError(f, errNoChoices)
	}
	d.identify(&e, sink)
	reported := d.reported(&e, sink)
	// Others are other answers to the same request, even if a host does not number them.
	if i := slices.IndexFunc(e.Choices, func(c choice) bool { return c.Index == 0 }); i >= 0 {
		d.choice(&e.Choices[i], sink)
	}
	if d.stopped && reported {
		d.finish(sink)
	}
	return nil
}

// Finish implements adapters.Decoder.
func (d *decoder) Finish(sink *adapters.Sink) error {
	if d.stopped {
		return nil
	}
	d.calls.unquote(adapters.InnerBeginning, sink)
	return adapters.ErrTruncated
}

// errorIn finds an error: {"object":"error",...}, {"error":...}, an event of that
// name, or a message alone.
func (d *decoder) errorIn(e *event, name string, data []byte) error {
	bare := e.Choices == nil && !jsonwire.Says(e.Usage) && (jsonwire.Says(e.Message) || jsonwire.Says(e.Detail))
	if !jsonwire.Says(e.Error) && name != "error" && e.Object != "error" && !bare {
		return nil
	}
	return adapters.ErrorFromBody(d.facts(), data)
}

// facts is what is known of any error here.
func (d *decoder) facts() adapters.ErrorFacts {
	return adapters.ErrorFacts{API: apiID, Provider: d.provider}
}

// identify tells whose answer this is, once.
func (d *decoder) identify(e *event, sink *adapters.Sink) {
	id, model := d.responseID, d.model
	if id == "" {
		d.responseID = string(e.ID)
	}
	if model == "" {
		d.model = string(e.Model)
	}
	if id != d.responseID || model != d.model {
		sink.IDs(d.responseID, d.model)
	}
}

// reported passes an event's usage on and says whether there was any.
func (d *decoder) reported(e *event, sink *adapters.Sink) bool {
	tier := string(e.ServiceTier)
	var m *llmdv1.Usage
	if u := readUsage(e.Usage); u != nil {
		m = u.message()
		if u.ServiceTier != "" {
			tier = string(u.ServiceTier)
		}
	}
	if tier != "" && tier != d.tier {
		d.tier = tier
		sink.ServiceTier(tier)
	}
	if m != nil {
		sink.Usage(m)
	}
	return m != nil
}

// choice reads the answer: content before calls, as the API's own messages have it.
func (d *decoder) choice(c *choice, sink *adapters.Sink) {
	message := c.Delta
	if message == nil {
		message = c.Message
	}
	if message != nil {
		for i := range message.Content {
			d.piece(&message.Content[i], sink)
		}
		for i := range message.ToolCalls {
			message.ToolCalls[i].second = i > 0
			d.end(sink)
			d.calls.delta(&message.ToolCalls[i], d.newBlock, sink)
		}
	}
	if c.ended() {
		d.stop(string(c.FinishReason), sink)
	}
}

// goOn reads an event behind the terminal marker, where only the usage is of interest. But
// proxies stop with every call: what stands in one event with a further marker belongs to
// the answer. https://github.com/BerriAI/litellm/pull/31634
func (d *decoder) goOn(e *event, sink *adapters.Sink) {
	i := slices.IndexFunc(e.Choices, func(c choice) bool { return c.Index == 0 && c.says() })
	switch {
	case i < 0:
	case e.Choices[i].ended():
		d.choice(&e.Choices[i], sink)
	default:
		sink.Late(&d.late)
	}
}

// says: there is content in its delta.
func (c *choice) says() bool {
	return c.Delta != nil && (len(c.Delta.ToolCalls) > 0 || slices.ContainsFunc(c.Delta.Content, func(p piece) bool {
		return p.kind == pieceOther || p.text != "" || p.thought != nil && len(p.thought.elements) > 0
	}))
}

// newBlock gives the next block's number; blocks open in the order of numbers.
func (d *decoder) newBlock() int { d.blocks++; return d.blocks - 1 }

// piece reads a part of the content. Empty ones open nothing and end nothing.
func (d *decoder) piece(p *piece, sink *adapters.Sink) {
	switch p.kind {
	case pieceText:
		d.say(d.withoutPrefix(p.text), sink)
	case pieceThinking:
		d.think(p.thought, sink)
	case pieceOther:
		d.end(sink)
		sink.ProviderContent(d.newBlock(), p.name, p.raw)
	}
}

// withoutPrefix takes the caller's own beginning out of the answer, which repeats
// it in its first piece of text, with the white space at its end moved to the next.
func (d *decoder) withoutPrefix(text string) string {
	if text == "" {
		return ""
	}
	prefix, space := d.prefix, d.space
	d.prefix, d.space = "", ""
	trimmed := strings.TrimRightFunc(prefix, unicode.IsSpace)
	switch {
	case prefix != "" && text == prefix:
		return ""
	case prefix != "" && text == trimmed:
		d.space = prefix[len(trimmed):]
		return ""
	}
	return strings.TrimPrefix(text, space)
}

func (d *decoder) say(text string, sink *adapters.Sink) {
	if text == "" {
		return
	}
	if d.thought != nil {
		d.end(sink)
	}
	if !d.open {
		d.newBlock()
		d.open = true
	}
	sink.Text(d.blocks-1, text)
}

func (d *decoder) think(t *thoughtDelta, sink *adapters.Sink) {
	opaque := len(t.members) > 0
	said := false
	for _, el := range t.elements {
		opaque = opaque || el.raw != nil
		said = said || el.text != ""
	}
	if !opaque && !said {
		return
	}
	if d.thought == nil {
		d.end(sink)
		d.newBlock()
		d.open, d.thought = true, &thinking{}
	}
	sink.Thinking(d.blocks-1, d.thought.add(t))
}

// end ends the open block of text or thinking, as another kind of content begins.
func (d *decoder) end(sink *adapters.Sink) {
	if !d.open {
		return
	}
	if d.thought != nil {
		if s := d.thought.signature(); s != nil {
			sink.Signature(d.blocks-1, formatThinking, s)
		}
	}
	sink.End(d.blocks - 1)
	d.open, d.thought = false, nil
}

// stop reads the terminal marker.
// https://docs.mistral.ai/api/#tag/chat names the words.
func (d *decoder) stop(word string, sink *adapters.Sink) {
	d.stopped = true
	d.calls.settle(sink)
	reason := llmdv1.StopReason_STOP_REASON_STOP
	switch word {
	case "stop":
	case "length", "model_length":
		reason = llmdv1.StopReason_STOP_REASON_LENGTH
	case "tool_calls":
		reason = llmdv1.StopReason_STOP_REASON_TOOL_USE
	case "content_filter":
		d.fail(adapters.ReasonContentFiltered, word, sink)
		return
	default: // "error" among them
		d.fail(adapters.ReasonProviderError, word, sink)
		return
	}
	d.end(sink)
	sink.Stop(reason, word)
}

// fail ends the answer with the provider's own word, which no status goes with.
func (d *decoder) fail(reason, word string, sink *adapters.Sink) {
	facts := d.facts()
	facts.Code, facts.Message = word, "the provider ended the answer with finish_reason "+word
	sink.Fail(word, adapters.Failed(facts, reason))
}

// finish says once that the rest of the body need not be waited for.
func (d *decoder) finish(sink *adapters.Sink) {
	if !d.complete {
		d.complete = true
		sink.Complete()
	}
}

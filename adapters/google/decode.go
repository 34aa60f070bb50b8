package google

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// kind is the kind of the text that is being received.
type kind uint8

const (
	nothing kind = iota
	text
	thinking
)

// decoder reads one answer. It numbers blocks as it opens them: text goes on until
// a part of another kind comes.
type decoder struct {
	api     string
	blocks  int  // opened so far
	reading kind // of the open block, which is the last one
	call    *streamedCall
	stopped bool
	// Said with every frame; reported when new.
	responseID, model, tier string
	// metadata is what was last said about the whole answer, in the order of
	// metadataKinds.
	metadata [3]json.RawMessage
}

// NewDecoder implements adapters.Adapter.
func (a *Adapter) NewDecoder(*adapters.Call) adapters.Decoder { return &decoder{api: a.api} }

// Decode implements adapters.Decoder.
func (d *decoder) Decode(f frame.Frame, sink *adapters.Sink) error {
	data := bytes.TrimSpace(f.Data)
	if len(data) == 0 || string(data) == "[DONE]" {
		return nil
	}
	if data[0] != '[' {
		return d.response(f, data, sink)
	}
	// An array inside an event, as some proxies send for errors.
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return adapters.NewFrameError(f, err)
	}
	for _, r := range list {
		if err := d.response(f, r, sink); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) response(f frame.Frame, data []byte, sink *adapters.Sink) error {
	var r response
	if err := jsonwire.Unmarshal(data, &r); err != nil {
		return adapters.NewFrameError(f, err)
	}
	// What is no answer at all may be an error in the shape of a host.
	bare := r.Candidates == nil && r.PromptFeedback == nil && len(r.UsageMetadata) == 0 && adapters.SaysError(data)
	if filled(r.Error) || f.Event == "error" || bare {
		return adapters.ErrorFromBody(adapters.ErrorFacts{API: d.api}, data)
	}
	if p := r.PromptFeedback; p != nil && len(r.Candidates) == 0 && p.BlockReason.blocks() {
		return d.failure(adapters.ReasonPromptBlocked, string(p.BlockReason), string(p.BlockReasonMessage))
	}
	d.facts(&r, sink)
	// Others are other answers to the same request, even if a host does not number them.
	i := slices.IndexFunc(r.Candidates, func(c candidate) bool { return c.Index == 0 })
	if i < 0 {
		return nil
	}
	if err := d.candidate(&r.Candidates[i], i, data, sink); err != nil {
		return adapters.NewFrameError(f, err)
	}
	return nil
}

// facts reports what a frame says about the answer.
func (d *decoder) facts(r *response, sink *adapters.Sink) {
	id, model := cmp.Or(string(r.ResponseID), d.responseID), cmp.Or(string(r.ModelVersion), d.model)
	if id != d.responseID || model != d.model {
		d.responseID, d.model = id, model
		sink.IDs(id, model)
	}
	// Each frame counts anew, with other counts than the one before. What cannot be read
	// loses no content.
	var counted usageMetadata
	if !filled(r.UsageMetadata) || !adapters.Readable(json.Unmarshal(r.UsageMetadata, &counted)) {
		return
	}
	if tier := counted.tier(); tier != "" && tier != d.tier {
		d.tier = tier
		sink.ServiceTier(tier)
	}
	if u := counted.usage(); u != nil {
		sink.Usage(u)
	}
}

// candidate reads the answer's part of a frame. data is the frame, in which the
// candidate is the i-th.
func (d *decoder) candidate(c *candidate, i int, data []byte, sink *adapters.Sink) error {
	var raw []json.RawMessage // read when needed
	for j := range c.Content.Parts {
		p := &c.Content.Parts[j]
		if f := p.FunctionCall; f != nil && d.call == nil && f.isEmpty() && (p.Text != nil || p.more()) {
			p.FunctionCall = nil // an empty one beside something else says nothing
		}
		switch {
		case p.FunctionCall != nil:
			if p.Text != nil {
				// The signature stays with the call.
				d.text(&part{Thought: p.Thought}, string(*p.Text), sink)
				p.Text = nil
			}
			d.functionCall(p, sink)
		case p.Text != nil && !p.more():
			d.text(p, string(*p.Text), sink)
		default:
			if raw == nil {
				var again rawParts
				if err := json.Unmarshal(data, &again); err != nil {
					return err
				}
				if i < len(again.Candidates) {
					raw = again.Candidates[i].Content.Parts
				}
			}
			if j < len(raw) {
				d.otherPart(p, raw[j], sink)
			}
		}
	}
	for k, m := range [...]json.RawMessage{c.GroundingMetadata, c.CitationMetadata, c.URLContextMetadata} {
		if filled(m) {
			sink.Hold(len(m) - len(d.metadata[k]))
			d.metadata[k] = m
		}
	}
	d.finish(c, sink)
	return nil
}

// text goes on with the open block or begins one. An empty part says nothing
// unless it carries a signature, which belongs to the text before it.
func (d *decoder) text(p *part, s string, sink *adapters.Sink) {
	if s == "" && p.ThoughtSignature == "" {
		return
	}
	is := text
	if p.Thought {
		is = thinking
	}
	if d.reading != is {
		d.endText(sink)
		d.reading = is
		d.open()
	}
	block := d.blocks - 1
	if is == text {
		sink.Text(block, s)
	} else {
		sink.Thinking(block, s)
	}
	d.sign(block, p, sink)
}

// open numbers a new block.
func (d *decoder) open() int {
	d.blocks++
	return d.blocks - 1
}

// endText ends the block of text or thinking that is open. Nothing else is opened
// before that, so it is the last one.
func (d *decoder) endText(sink *adapters.Sink) {
	if d.reading != nothing {
		sink.End(d.blocks - 1)
		d.reading = nothing
	}
}

func (d *decoder) sign(block int, p *part, sink *adapters.Sink) {
	if p.ThoughtSignature != "" {
		sink.Signature(block, signatureFormat, []byte(p.ThoughtSignature))
	}
}

// otherPart keeps a part that has no type of its own. One that is nothing but a
// signature is an empty text.
func (d *decoder) otherPart(p *part, raw json.RawMessage, sink *adapters.Sink) {
	name := partKind(raw)
	if name == "" {
		d.text(p, "", sink)
		return
	}
	if p.Text != nil {
		// The signature stays with the rest.
		d.text(&part{Thought: p.Thought}, string(*p.Text), sink)
		raw = withoutText(raw)
	}
	d.endText(sink)
	sink.ProviderContent(d.open(), name, raw)
}

// withoutText is a part without its text.
func withoutText(raw json.RawMessage) json.RawMessage {
	members, err := jsonwire.Members(raw)
	if err != nil {
		return raw
	}
	var w jsonwire.Writer
	w.BeginObject()
	for _, m := range members {
		if m.Key != "text" {
			w.Key(m.Key)
			w.RawBytes(m.Value)
		}
	}
	w.EndObject()
	return w.Bytes()
}

// partKind is the name of what a part holds; empty if it holds nothing. A name that is
// known counts more than one that is not and may be a remark beside it.
func partKind(raw json.RawMessage) (kind string) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if t, err := decoder.Token(); err != nil || t != json.Delim('{') {
		return ""
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return ""
		}
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			return ""
		}
		name, _ := key.(string)
		switch {
		case string(value) == "null":
		case slices.Contains(partKinds(), name):
			return name
		case kind == "" && !slices.Contains(partExtras(), name):
			kind = name
		}
	}
	return kind
}

// partKinds are the names of the untyped content that [part] knows.
func partKinds() []string {
	return []string{"inlineData", "fileData", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"}
}

// partExtras are what stands beside the content of a part.
func partExtras() []string {
	return []string{"thought", "thoughtSignature", "text", "functionCall", "videoMetadata", "mediaResolution", "partMetadata"}
}

// Finish implements adapters.Decoder. Only now the last word about the whole
// answer is known.
func (d *decoder) Finish(sink *adapters.Sink) error {
	for k, m := range d.metadata {
		if filled(m) {
			sink.ProviderContent(d.open(), metadataKinds()[k], m)
		}
	}
	if !d.stopped {
		return adapters.ErrTruncated
	}
	return nil
}

// finishReasons are the names of the terminal words by number. The two APIs number
// them differently.
//
// https://ai.google.dev/api/generate-content#FinishReason and
// https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/GenerateContentResponse#FinishReason
func finishReasons(api string) []string {
	if api == vertexAPI {
		return []string{
			"FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "BLOCKLIST",
			"PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL", "MODEL_ARMOR",
		}
	}
	return []string{
		"FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "LANGUAGE", "BLOCKLIST",
		"PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY", "UNEXPECTED_TOOL_CALL",
	}
}

// finish reports the terminal marker.
func (d *decoder) finish(c *candidate, sink *adapters.Sink) {
	name := c.FinishReason.name(finishReasons(d.api))
	switch name {
	case "", "FINISH_REASON_UNSPECIFIED":
		return
	case "STOP":
		sink.Stop(llmdv1.StopReason_STOP_REASON_STOP, name)
	case "MAX_TOKENS", "CONTINUATION":
		sink.Stop(llmdv1.StopReason_STOP_REASON_LENGTH, name)
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "JAILBREAK",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		sink.Fail(name, d.failure(adapters.ReasonContentFiltered, name, string(c.FinishMessage)))
	default:
		sink.Fail(name, d.failure(adapters.ReasonProviderError, name, string(c.FinishMessage)))
	}
	d.stopped = true
}

// failure is an error that Google told by a word instead of an error object.
func (d *decoder) failure(reason, word, message string) *adapters.UpstreamError {
	said := "Gemini stopped with " + word
	if message != "" {
		said += ": " + message
	}
	return adapters.Failed(adapters.ErrorFacts{API: d.api, Type: word, Message: said}, reason)
}

package providersim

import (
	"bytes"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// bedrockWriter writes AWS event-stream messages.
type bedrockWriter struct {
	bytes.Buffer
	encoder *eventstream.Encoder
}

func (b *bedrockWriter) event(name string, fill func(w *jsonwire.Writer)) {
	var m eventstream.Message
	m.Headers.Set(":message-type", eventstream.StringValue("event"))
	m.Headers.Set(":event-type", eventstream.StringValue(name))
	m.Headers.Set(":content-type", eventstream.StringValue("application/json"))
	m.Payload = obj(func(w *jsonwire.Writer) {
		fill(w)
		w.Member("p", "abcdefgh") // padding, as the provider has it
	})
	_ = b.encoder.Encode(&b.Buffer, m) // a buffer takes everything
}

// bedrockStream: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html
func (r *request) bedrockStream(a *reply) []byte {
	b := &bedrockWriter{encoder: eventstream.NewEncoder()}
	b.event("messageStart", func(w *jsonwire.Writer) { w.Member("role", "assistant") })
	for i, p := range a.pieces {
		r.bedrockBlock(b, a, i, p)
	}
	stop := [...]string{"end_turn", "tool_use", "max_tokens", "content_filtered"}[a.end]
	b.event("messageStop", func(w *jsonwire.Writer) { w.Member("stopReason", stop) })
	b.event("metadata", func(w *jsonwire.Writer) {
		in(w, "usage", func() {
			integer(w, "inputTokens", tokens(string(r.raw)))
			integer(w, "outputTokens", a.tokens())
			integer(w, "totalTokens", tokens(string(r.raw))+a.tokens())
		})
		in(w, "metrics", func() { integer(w, "latencyMs", 1) })
	})
	return b.Bytes()
}

func (r *request) bedrockBlock(b *bedrockWriter, a *reply, i int, p said) {
	delta := func(fill func(w *jsonwire.Writer)) {
		b.event("contentBlockDelta", func(w *jsonwire.Writer) {
			integer(w, "contentBlockIndex", i)
			in(w, "delta", func() { fill(w) })
		})
	}
	reasoning := func(key, text string) {
		delta(func(w *jsonwire.Writer) { in(w, "reasoningContent", func() { w.Member(key, text) }) })
	}
	switch p.kind {
	case saidThinking:
		for _, t := range a.cut(p.text) {
			reasoning("text", t)
		}
		if isClaude(r.model) {
			reasoning("signature", r.sign("thinking", p.text))
		}
	case saidRedacted:
		reasoning("redactedContent", r.seal(p.text))
	case saidText:
		for _, t := range a.cut(p.text) {
			delta(func(w *jsonwire.Writer) { w.Member("text", t) })
		}
	case saidCall:
		b.event("contentBlockStart", func(w *jsonwire.Writer) {
			integer(w, "contentBlockIndex", i)
			in(w, "start", func() {
				in(w, "toolUse", func() {
					w.Member("toolUseId", "tooluse_"+p.id)
					w.Member("name", p.name)
				})
			})
		})
		for _, t := range a.cut(p.args) {
			delta(func(w *jsonwire.Writer) { in(w, "toolUse", func() { w.Member("input", t) }) })
		}
	case saidOwn, saidOwnResult: // this API has none that comes unasked
	}
	b.event("contentBlockStop", func(w *jsonwire.Writer) { integer(w, "contentBlockIndex", i) })
}

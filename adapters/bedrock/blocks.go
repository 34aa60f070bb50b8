package bedrock

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
	// told: the block was announced. Texts without a letter never are.
	told bool
	// signature is that of a thinking block so far; it counts only at the end.
	signature []byte
	// redacted are the pieces of a redacted block in base64.
	redacted []string
	// citations are those of a text block so far.
	citations []json.RawMessage
	// opaque is a block without a type of its own; it is told only when it is whole.
	opaque opaque
	held   int // bytes of all these
}

// hold counts what is kept until the end.
func (b *openBlock) hold(bytes int, sink *adapters.Sink) {
	b.held += bytes
	sink.Hold(bytes)
}

// cite keeps a citation.
func (b *openBlock) cite(citation json.RawMessage, sink *adapters.Sink) {
	b.citations = append(b.citations, citation)
	b.hold(adapters.HeldValue+len(citation), sink)
}

// add works a piece of a block without a type of its own in.
func (b *openBlock) add(value json.RawMessage, sink *adapters.Sink) {
	b.hold(len(value)+adapters.HeldValue*b.opaque.add(value, opaqueDepth), sink)
}

func (b *openBlock) text(text string, sink *adapters.Sink) {
	if text != "" {
		b.told = true
		sink.Text(b.key, text)
	}
}

// think adds thinking, which may be nothing but a signature.
func (b *openBlock) think(text, signature string, sink *adapters.Sink) {
	if text != "" || signature != "" && !b.told {
		b.told = true
		sink.Thinking(b.key, text)
	}
	b.signature = append(b.signature, signature...)
	b.hold(len(signature), sink)
}

func (b *openBlock) redact(data string, sink *adapters.Sink) {
	if !b.told {
		b.told = true
		sink.Redacted(b.key)
	}
	b.redacted = append(b.redacted, data)
	b.hold(len(data), sink)
}

// end tells what only the end decides. next is a free key.
func (b *openBlock) end(next int, sink *adapters.Sink) {
	sink.Hold(-b.held)
	switch {
	case b.kind == opaqueBlock:
		if b.opaque.kind == '{' && len(b.opaque.members) > 0 {
			kind, block := b.opaque.assemble()
			sink.ProviderContent(b.key, kind, block)
		}
		return
	case b.kind == thinkingBlock && len(b.signature) > 0:
		sink.Signature(b.key, reasoningFormat, b.signature)
	case b.kind == redactedBlock && b.told:
		sink.Signature(b.key, redactedFormat, []byte(joinBase64(b.redacted)))
	}
	if b.told {
		sink.End(b.key)
	}
	// After the end, so that the text's own place in the message comes first.
	if len(b.citations) > 0 {
		sink.ProviderContent(next, citationsKind, citationsBlock(b.citations))
	}
}

// citationsBlock keeps the citations of a text.
func citationsBlock(citations []json.RawMessage) []byte {
	var w jsonwire.Writer
	w.BeginObject()
	w.Key(citationsKind)
	w.BeginObject()
	w.Key("citations")
	w.BeginArray()
	for _, c := range citations {
		w.RawBytes(c)
	}
	w.EndArray()
	w.EndObject()
	w.EndObject()
	return w.Bytes()
}

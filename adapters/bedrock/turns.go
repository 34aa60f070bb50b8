package bedrock

import (
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/turns"
)

// writeTurns writes the conversation. The last user turn ends with the marker, so
// that the next request finds all of this one in the cache.
func (r *request) writeTurns(w *jsonwire.Writer) {
	lastUser := turns.LastUser(r.turns)
	w.Key("messages")
	w.BeginArray()
	for i, t := range r.turns {
		role := "user"
		if t.Assistant {
			role = "assistant"
		}
		w.BeginObject()
		w.Member("role", role)
		w.Key("content")
		w.BeginArray()
		for j := range t.Blocks {
			writeBlock(w, &t.Blocks[j], &r.traits)
		}
		if i == lastUser {
			r.writeMarker(w)
		}
		w.EndArray()
		w.EndObject()
	}
	w.EndArray()
}

// writeBlock writes a block. One of the provider's own keeps its bytes.
func writeBlock(w *jsonwire.Writer, b *turns.Block, t *traits) {
	if b.Kind == turns.Opaque {
		w.RawBytes(b.Raw)
		return
	}
	w.BeginObject()
	switch b.Kind {
	case turns.Opaque: // is whole
	case turns.Text:
		writeCited(w, b)
	case turns.Image:
		writeImage(w, b)
	case turns.Thinking, turns.Redacted:
		writeReasoning(w, b)
	case turns.Call:
		w.Key("toolUse")
		w.BeginObject()
		w.Member("toolUseId", b.ID)
		w.Member("name", b.Name)
		w.Key("input")
		w.RawBytes(b.Raw)
		w.EndObject()
	case turns.Result:
		writeResult(w, b, t)
	}
	w.EndObject()
}

// writeCited writes a text, with its sources if it has some.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_CitationsContentBlock.html.
func writeCited(w *jsonwire.Writer, b *turns.Block) {
	if b.Raw == nil {
		w.Member("text", b.Text)
		return
	}
	w.Key(citationsKind)
	w.BeginObject()
	w.Key("content")
	w.BeginArray()
	writeText(w, b.Text)
	w.EndArray()
	w.Key("citations")
	w.RawBytes(b.Raw)
	w.EndObject()
}

func writeImage(w *jsonwire.Writer, b *turns.Block) {
	w.Key(imageKind)
	w.BeginObject()
	w.Member("format", b.Image.Format())
	w.Key("source")
	w.BeginObject()
	w.Key("bytes")
	w.Base64("", b.Image.Data)
	w.EndObject()
	w.EndObject()
}

// writeReasoning writes signed thinking as it came: signed text is never cleaned, and
// is valid UTF-8 as all text of a message is.
func writeReasoning(w *jsonwire.Writer, b *turns.Block) {
	w.Key("reasoningContent")
	w.BeginObject()
	if b.Kind == turns.Redacted {
		w.Member("redactedContent", b.Signature)
	} else {
		w.Key("reasoningText")
		w.BeginObject()
		w.Member("text", b.Text)
		w.MemberIf("signature", b.Signature)
		w.EndObject()
	}
	w.EndObject()
}

// writeResult says aloud whether the tool failed, where the model can be told.
func writeResult(w *jsonwire.Writer, b *turns.Block, t *traits) {
	w.Key("toolResult")
	w.BeginObject()
	w.Member("toolUseId", b.ID)
	w.Key("content")
	w.BeginArray()
	for i := range b.Parts {
		writeBlock(w, &b.Parts[i], t)
	}
	w.EndArray()
	if t.hasStatus() {
		status := "success"
		if b.Failed {
			status = "error"
		}
		w.Member("status", status)
	}
	w.EndObject()
}

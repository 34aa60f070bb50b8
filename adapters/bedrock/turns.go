package bedrock

import (
	"encoding/json"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// writeTurns writes the conversation. The last user turn ends with the marker, so
// that the next request finds all of this one in the cache.
func (r *request) writeTurns(w *jsonwire.Writer) {
	lastUser := len(r.turns) - 1
	for lastUser >= 0 && r.turns[lastUser].assistant {
		lastUser--
	}
	w.Key("messages")
	w.BeginArray()
	for i, t := range r.turns {
		role := "user"
		if t.assistant {
			role = "assistant"
		}
		w.BeginObject()
		w.Member("role", role)
		w.Key("content")
		w.BeginArray()
		for j := range t.blocks {
			t.blocks[j].write(w, &r.traits)
		}
		if i == lastUser {
			r.writeMarker(w)
		}
		w.EndArray()
		w.EndObject()
	}
	w.EndArray()
}

// write writes a block. One of the provider's own keeps its bytes.
func (b *sentBlock) write(w *jsonwire.Writer, t *traits) {
	if b.kind == sendOpaque {
		w.RawBytes(b.raw)
		return
	}
	w.BeginObject()
	switch b.kind {
	case sendOpaque: // is whole
	case sendText:
		b.writeText(w)
	case sendImage:
		b.image.write(w)
	case sendThinking, sendRedacted:
		b.writeReasoning(w)
	case sendCall:
		w.Key("toolUse")
		w.BeginObject()
		w.Member("toolUseId", b.id)
		w.Member("name", b.name)
		w.Key("input")
		w.RawBytes(b.raw)
		w.EndObject()
	case sendResult:
		b.writeResult(w, t)
	}
	w.EndObject()
}

// writeText writes a text, with its sources if it has some.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_CitationsContentBlock.html.
func (b *sentBlock) writeText(w *jsonwire.Writer) {
	if b.raw == nil {
		w.Member("text", b.text)
		return
	}
	w.Key(citationsKind)
	w.BeginObject()
	w.Key("content")
	w.BeginArray()
	writeText(w, b.text)
	w.EndArray()
	w.Key("citations")
	w.RawBytes(b.raw)
	w.EndObject()
}

// writeReasoning writes signed thinking as it came: signed text is never cleaned, and
// is valid UTF-8 as all text of a message is.
func (b *sentBlock) writeReasoning(w *jsonwire.Writer) {
	w.Key("reasoningContent")
	w.BeginObject()
	if b.kind == sendRedacted {
		w.Member("redactedContent", b.signature)
	} else {
		w.Key("reasoningText")
		w.BeginObject()
		w.Member("text", b.text)
		w.MemberIf("signature", b.signature)
		w.EndObject()
	}
	w.EndObject()
}

// writeResult says aloud whether the tool failed, where the model can be told.
func (b *sentBlock) writeResult(w *jsonwire.Writer, t *traits) {
	w.Key("toolResult")
	w.BeginObject()
	w.Member("toolUseId", b.id)
	w.Key("content")
	w.BeginArray()
	for i := range b.parts {
		b.parts[i].write(w, t)
	}
	w.EndArray()
	if t.hasStatus() {
		status := "success"
		if b.failed {
			status = "error"
		}
		w.Member("status", status)
	}
	w.EndObject()
}

// citations are those of provider content that follows a text, as a JSON array; nil =
// none.
func citations(p *llmdv1.ProviderContent) []byte {
	if p.GetType() != citationsKind || !json.Valid(p.GetRawJson()) {
		return nil
	}
	list := member(member(p.GetRawJson(), citationsKind), "citations")
	if len(list) == 0 || list[0] != '[' {
		return nil
	}
	return list
}

// member is the value of an object's member; nil if there is none.
func member(object []byte, key string) []byte {
	members, _ := jsonwire.Members(object) // none if it is no object
	for _, m := range members {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

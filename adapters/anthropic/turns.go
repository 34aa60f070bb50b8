package anthropic

import "github.com/llmd-dev/llmd/adapters/jsonwire"

// writeTurns writes the conversation. The last block of the last user turn is
// marked, so that the next request finds all of this one in the cache.
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
		for j, b := range t.blocks {
			marker := ""
			if i == lastUser && j == len(t.blocks)-1 {
				marker = r.marker
			}
			b.write(w, marker)
		}
		w.EndArray()
		w.EndObject()
	}
	w.EndArray()
}

// write writes a block. One of the provider's own keeps its bytes; it stands only
// in assistant turns, where nothing is marked.
func (b *sentBlock) write(w *jsonwire.Writer, marker string) {
	if b.kind == sendOpaque {
		w.RawBytes(b.raw)
		return
	}
	w.BeginObject()
	switch b.kind {
	case sendOpaque: // is whole
	case sendText:
		w.Member("type", "text")
		w.Member("text", b.text)
		if b.raw != nil {
			w.Key("citations")
			w.RawBytes(b.raw)
		}
	case sendImage:
		b.image.write(w)
	case sendThinking:
		w.Member("type", "thinking")
		w.Member("thinking", b.text)
		w.Member("signature", b.signature)
	case sendRedacted:
		w.Member("type", "redacted_thinking")
		w.Member("data", b.signature)
	case sendCall:
		w.Member("type", "tool_use")
		w.Member("id", b.id)
		w.Member("name", b.name)
		w.Key("input")
		w.RawBytes(b.raw)
	case sendResult:
		b.writeResult(w)
	}
	writeMarker(w, marker)
	w.EndObject()
}

// writeResult says aloud whether the tool failed.
func (b *sentBlock) writeResult(w *jsonwire.Writer) {
	w.Member("type", "tool_result")
	w.Member("tool_use_id", b.id)
	w.Key("content")
	if b.parts == nil {
		w.String(b.text)
	} else {
		w.BeginArray()
		for _, p := range b.parts {
			p.write(w, "")
		}
		w.EndArray()
	}
	w.Key("is_error")
	w.Bool(b.failed)
}

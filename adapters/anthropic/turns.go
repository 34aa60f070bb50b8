package anthropic

import (
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/turns"
)

// writeTurns writes the conversation. The last block of the last user turn is
// marked, so that the next request finds all of this one in the cache.
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
			marker := ""
			if i == lastUser && j == len(t.Blocks)-1 {
				marker = r.marker
			}
			writeBlock(w, &t.Blocks[j], marker)
		}
		w.EndArray()
		w.EndObject()
	}
	w.EndArray()
}

// writeBlock writes a block. One of the provider's own keeps its bytes; it stands only
// in assistant turns, where nothing is marked.
func writeBlock(w *jsonwire.Writer, b *turns.Block, marker string) {
	if b.Kind == turns.Opaque {
		w.RawBytes(b.Raw)
		return
	}
	w.BeginObject()
	switch b.Kind {
	case turns.Opaque: // is whole
	case turns.Text:
		w.Member("type", "text")
		w.Member("text", b.Text)
		if b.Raw != nil {
			w.Key("citations")
			w.RawBytes(b.Raw)
		}
	case turns.Image:
		writeImage(w, b)
	case turns.Thinking:
		w.Member("type", "thinking")
		w.Member("thinking", b.Text)
		w.Member("signature", b.Signature)
	case turns.Redacted:
		w.Member("type", "redacted_thinking")
		w.Member("data", b.Signature)
	case turns.Call:
		w.Member("type", "tool_use")
		w.Member("id", b.ID)
		w.Member("name", b.Name)
		w.Key("input")
		w.RawBytes(b.Raw)
	case turns.Result:
		writeResult(w, b)
	}
	writeMarker(w, marker)
	w.EndObject()
}

func writeImage(w *jsonwire.Writer, b *turns.Block) {
	w.Member("type", "image")
	w.Key("source")
	w.BeginObject()
	w.Member("type", "base64")
	w.Member("media_type", b.Image.Type)
	w.Key("data")
	w.Base64("", b.Image.Data)
	w.EndObject()
}

// writeResult says aloud whether the tool failed.
func writeResult(w *jsonwire.Writer, b *turns.Block) {
	w.Member("type", "tool_result")
	w.Member("tool_use_id", b.ID)
	w.Key("content")
	if b.Parts == nil {
		w.String(b.Text)
	} else {
		w.BeginArray()
		for i := range b.Parts {
			writeBlock(w, &b.Parts[i], "")
		}
		w.EndArray()
	}
	w.Key("is_error")
	w.Bool(b.Failed)
}

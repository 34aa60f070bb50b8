package openaichat

import (
	"encoding/json"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// thinkingBlocks collects Claude's blocks of thinking, as LiteLLM hands them on beside
// their words in reasoning_content. Claude refuses to go on with a call without the
// blocks that led to it. https://docs.litellm.ai/docs/reasoning_content
//
// Only a signed block goes back. The signature comes last, in older versions behind
// unsigned pieces of the block and without words, in newer ones with the whole block:
// https://github.com/BerriAI/litellm/pull/31022
type thinkingBlocks struct {
	items []json.RawMessage
	words strings.Builder // of the block whose signature has not come; WTF-8
	kept  int             // bytes of all these
}

// add takes a block or a piece of one, and says whether it made a block whole.
func (bs *thinkingBlocks) add(raw json.RawMessage) bool {
	var b struct {
		Type      jsonwire.Word `json:"type"`
		Thinking  jsonwire.Text `json:"thinking"`
		Signature jsonwire.Word `json:"signature"`
	}
	if !adapters.Readable(jsonwire.Unmarshal(raw, &b)) {
		return false
	}
	switch words := bs.words.String(); {
	case b.Type == "redacted_thinking":
	case b.Type != "thinking":
		return false // no block that could go back
	case b.Signature == "":
		bs.words.WriteString(string(b.Thinking))
		bs.kept += len(b.Thinking)
		return false
	case words != "":
		if !strings.HasPrefix(string(b.Thinking), words) {
			words += string(b.Thinking)
			var w jsonwire.Writer
			w.BeginObject()
			w.Member("type", "thinking")
			w.Member("thinking", jsonwire.Clean(words))
			w.Member("signature", string(b.Signature))
			w.EndObject()
			raw = w.Bytes()
		}
		bs.kept -= bs.words.Len()
		bs.words.Reset()
	}
	bs.items = append(bs.items, raw)
	bs.kept += adapters.HeldValue + len(raw)
	return true
}

// told notes that nothing more is kept back: no signature comes for what has none.
func (bs *thinkingBlocks) told() {
	bs.words.Reset()
	bs.kept = 0
}

// json is the list to be sent back.
func (bs *thinkingBlocks) json() []byte {
	var w jsonwire.Writer
	w.BeginArray()
	for _, raw := range bs.items {
		w.RawBytes(raw)
	}
	w.EndArray()
	return w.Bytes()
}

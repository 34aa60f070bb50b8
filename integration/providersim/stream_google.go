package providersim

import (
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// googleStream: https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent.
// Signatures stand on the first call of an answer, or on its text, at times on an
// empty part behind it.
func (r *request) googleStream(a *reply) []byte {
	var s stream
	frame := func(finish string, parts ...[]byte) {
		s.event("", func(w *jsonwire.Writer) {
			w.Key("candidates")
			w.BeginArray()
			w.BeginObject()
			in(w, "content", func() {
				w.Key("parts")
				w.BeginArray()
				for _, p := range parts {
					w.RawBytes(p)
				}
				w.EndArray()
				w.Member("role", "model")
			})
			w.MemberIf("finishReason", finish)
			integer(w, "index", 0)
			w.EndObject()
			w.EndArray()
			in(w, "usageMetadata", func() {
				integer(w, "promptTokenCount", tokens(string(r.raw)))
				integer(w, "candidatesTokenCount", a.tokens())
				integer(w, "totalTokenCount", tokens(string(r.raw))+a.tokens())
			})
			w.Member("modelVersion", r.model)
			w.Member("responseId", a.id)
		})
	}
	calls := 0
	for _, p := range a.pieces {
		switch p.kind {
		case saidThinking, saidRedacted:
			// Two thoughts in a row are one text on the wire; one is enough.
			for _, part := range r.googleText(a, p.text, true) {
				frame("", part)
			}
		case saidText:
			for _, part := range r.googleText(a, p.text, false) {
				frame("", part)
			}
		case saidCall:
			frame("", r.googleCall(p, calls))
			calls++
		case saidOwn:
			frame("", []byte(`{"executableCode":{"language":"PYTHON","code":"print('`+p.text+`')"}}`),
				[]byte(`{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"`+p.text+`"}}`))
		case saidOwnResult: // is said with it
		}
	}
	frame([...]string{"STOP", "STOP", "MAX_TOKENS", "SAFETY"}[a.end])
	return s.Bytes()
}

// googleText cuts a text into parts, of which the last may be signed.
func (r *request) googleText(a *reply, words string, thought bool) [][]byte {
	what := "text"
	if thought {
		what = "thought"
	}
	part := func(t, signature string) []byte {
		return obj(func(w *jsonwire.Writer) {
			w.Member("text", t)
			if thought {
				w.Key("thought")
				w.Bool(true)
			}
			w.MemberIf("thoughtSignature", signature)
		})
	}
	var out [][]byte
	for _, t := range a.cut(words) {
		out = append(out, part(t, ""))
	}
	if major, _ := geminiVersion(r.model); major >= 3 && !thought && a.one(2) {
		out = append(out, part("", r.sign(what, words)))
	}
	return out
}

// googleCall: ids came with Gemini 3, and so did signatures that must come back.
func (r *request) googleCall(p said, n int) []byte {
	return obj(func(w *jsonwire.Writer) {
		in(w, "functionCall", func() {
			if gemini3(r.model) {
				w.Member("id", strings.ToLower(p.id[:8]))
			}
			w.Member("name", p.name)
			w.Key("args")
			w.Raw(p.args)
		})
		if n == 0 && gemini3(r.model) {
			w.Member("thoughtSignature", r.sign("call", p.name+"\x00"+p.args))
		}
	})
}

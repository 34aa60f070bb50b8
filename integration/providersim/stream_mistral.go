package providersim

import "github.com/llmd-dev/llmd/adapters/jsonwire"

// mistralStream: https://docs.mistral.ai/api/endpoint/chat. Thinking stands in the
// content, as a chunk that holds chunks; calls come whole.
func (r *request) mistralStream(a *reply) []byte {
	var s stream
	chunk := func(finish string, delta func(w *jsonwire.Writer)) {
		s.event("", func(w *jsonwire.Writer) {
			w.Member("id", a.id)
			w.Member("object", "chat.completion.chunk")
			w.Member("model", r.model)
			w.Key("choices")
			w.BeginArray()
			w.BeginObject()
			integer(w, "index", 0)
			in(w, "delta", func() { delta(w) })
			w.Key("finish_reason")
			if finish == "" {
				w.Null()
			} else {
				w.String(finish)
			}
			w.EndObject()
			w.EndArray()
			if finish != "" {
				in(w, "usage", func() {
					integer(w, "prompt_tokens", tokens(string(r.raw)))
					integer(w, "completion_tokens", a.tokens())
					integer(w, "total_tokens", tokens(string(r.raw))+a.tokens())
				})
			}
		})
	}
	chunk("", func(w *jsonwire.Writer) {
		w.Member("role", "assistant")
		w.Member("content", "")
	})
	calls := 0
	for _, p := range a.pieces {
		switch p.kind {
		case saidThinking, saidRedacted:
			for _, t := range a.cut(p.text) {
				chunk("", func(w *jsonwire.Writer) {
					w.Key("content")
					w.Raw(`[{"type":"thinking","thinking":[` + string(obj(func(w *jsonwire.Writer) {
						w.Member("type", "text")
						w.Member("text", t)
					})) + `]}]`)
				})
			}
		case saidText:
			for _, t := range a.cut(p.text) {
				chunk("", func(w *jsonwire.Writer) { w.Member("content", t) })
			}
		case saidCall:
			n := calls
			calls++
			chunk("", func(w *jsonwire.Writer) {
				w.Key("tool_calls")
				w.BeginArray()
				w.BeginObject()
				w.Member("id", p.id[:9])
				in(w, "function", func() {
					w.Member("name", p.name)
					w.Member("arguments", p.args)
				})
				integer(w, "index", n)
				w.EndObject()
				w.EndArray()
			})
		case saidOwn, saidOwnResult: // this API has none
		}
	}
	chunk([...]string{"stop", "tool_calls", "length", "error"}[a.end], func(w *jsonwire.Writer) { w.Member("content", "") })
	s.WriteString("data: [DONE]\n\n")
	return s.Bytes()
}

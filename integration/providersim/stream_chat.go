package providersim

import "github.com/llmd-dev/llmd/adapters/jsonwire"

// chatStream: https://platform.openai.com/docs/api-reference/chat-streaming
func (r *request) chatStream(a *reply) []byte {
	var s stream
	chunk := func(finish string, delta func(w *jsonwire.Writer)) {
		s.event("", func(w *jsonwire.Writer) {
			w.Member("id", "chatcmpl-"+a.id)
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
		})
	}
	chunk("", func(w *jsonwire.Writer) {
		w.Member("role", "assistant")
		w.Member("content", "")
	})
	calls, thoughts := 0, 0
	for _, p := range a.pieces {
		switch p.kind {
		case saidThinking, saidRedacted:
			r.chatThinking(a, p, thoughts, chunk)
			thoughts++
		case saidText:
			for _, t := range a.cut(p.text) {
				chunk("", func(w *jsonwire.Writer) { w.Member("content", t) })
			}
		case saidCall:
			chatCall(a, p, calls, "call_"+p.id, chunk)
			calls++
		case saidOwn, saidOwnResult: // this API has none
		}
	}
	chunk([...]string{"stop", "tool_calls", "length", "content_filter"}[a.end], func(*jsonwire.Writer) {})
	r.chatUsage(&s, a)
	s.WriteString("data: [DONE]\n\n")
	return s.Bytes()
}

type chunkWriter func(finish string, delta func(w *jsonwire.Writer))

// chatThinking writes thinking as the host does: a field of its own, or a list of
// details that can be signed or encrypted.
func (r *request) chatThinking(a *reply, p said, index int, chunk chunkWriter) {
	if dialectOf(r.model) != openRouter {
		field := "reasoning_content"
		if dialectOf(r.model) == compatible {
			field = "reasoning"
		}
		for _, t := range a.cut(p.text) {
			chunk("", func(w *jsonwire.Writer) { w.Member(field, t) })
		}
		return
	}
	detail := func(shown string, fill func(w *jsonwire.Writer)) {
		chunk("", func(w *jsonwire.Writer) {
			w.MemberIf("reasoning", shown)
			w.Key("reasoning_details")
			w.BeginArray()
			w.BeginObject()
			fill(w)
			w.Member("format", "anthropic-claude-v1")
			integer(w, "index", index)
			w.EndObject()
			w.EndArray()
		})
	}
	if p.kind == saidRedacted {
		detail("", func(w *jsonwire.Writer) {
			w.Member("type", "reasoning.encrypted")
			w.Member("data", r.seal(p.text))
		})
		return
	}
	for _, t := range a.cut(p.text) {
		detail(t, func(w *jsonwire.Writer) {
			w.Member("type", "reasoning.text")
			w.Member("text", t)
		})
	}
	detail("", func(w *jsonwire.Writer) {
		w.Member("type", "reasoning.text")
		w.Member("signature", r.sign("thinking", p.text))
	})
}

func chatCall(a *reply, p said, index int, id string, chunk chunkWriter) {
	call := func(first bool, arguments string) {
		chunk("", func(w *jsonwire.Writer) {
			w.Key("tool_calls")
			w.BeginArray()
			w.BeginObject()
			integer(w, "index", index)
			if first {
				w.Member("id", id)
				w.Member("type", "function")
			}
			in(w, "function", func() {
				if first {
					w.Member("name", p.name)
				}
				w.Member("arguments", arguments)
			})
			w.EndObject()
			w.EndArray()
		})
	}
	call(true, "")
	for _, t := range a.cut(p.args) {
		call(false, t)
	}
}

func (r *request) chatUsage(s *stream, a *reply) {
	if !r.body.get("stream_options", "include_usage").truth() {
		return
	}
	s.event("", func(w *jsonwire.Writer) {
		w.Member("id", "chatcmpl-"+a.id)
		w.Member("object", "chat.completion.chunk")
		w.Member("model", r.model)
		w.Key("choices")
		w.Raw("[]")
		in(w, "usage", func() {
			integer(w, "prompt_tokens", tokens(string(r.raw)))
			integer(w, "completion_tokens", a.tokens())
			integer(w, "total_tokens", tokens(string(r.raw))+a.tokens())
		})
	})
}

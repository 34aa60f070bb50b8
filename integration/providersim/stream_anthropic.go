package providersim

import "github.com/llmd-dev/llmd/adapters/jsonwire"

// anthropicStream: https://platform.claude.com/docs/en/build-with-claude/streaming
func (r *request) anthropicStream(a *reply) []byte {
	var s stream
	s.event("message_start", func(w *jsonwire.Writer) {
		w.Member("type", "message_start")
		in(w, "message", func() {
			w.Member("id", "msg_"+a.id)
			w.Member("type", "message")
			w.Member("role", "assistant")
			w.Member("model", r.model)
			w.Key("content")
			w.Raw("[]")
			in(w, "usage", func() {
				integer(w, "input_tokens", tokens(string(r.raw)))
				integer(w, "output_tokens", 1)
			})
		})
	})
	for i, p := range a.withOwnResults() {
		r.anthropicBlock(&s, a, i, p)
	}
	s.event("message_delta", func(w *jsonwire.Writer) {
		w.Member("type", "message_delta")
		in(w, "delta", func() {
			w.Member("stop_reason", [...]string{"end_turn", "tool_use", "max_tokens", "refusal", "pause_turn"}[a.end])
		})
		in(w, "usage", func() { integer(w, "output_tokens", a.tokens()) })
	})
	s.event("message_stop", func(w *jsonwire.Writer) { w.Member("type", "message_stop") })
	return s.Bytes()
}

// withOwnResults puts the results of the provider's own calls behind them. A paused turn
// ends with one that is not made yet.
func (a *reply) withOwnResults() []said {
	var all []said
	for i, p := range a.pieces {
		all = append(all, p)
		if p.kind == saidOwn && (a.end != endPause || i < len(a.pieces)-1) {
			all = append(all, said{kind: saidOwnResult, text: p.text})
		}
	}
	return all
}

func (r *request) anthropicBlock(s *stream, a *reply, i int, p said) {
	start := func(fill func(w *jsonwire.Writer)) {
		s.event("content_block_start", func(w *jsonwire.Writer) {
			w.Member("type", "content_block_start")
			integer(w, "index", i)
			in(w, "content_block", func() { fill(w) })
		})
	}
	delta := func(kind, key, text string) {
		s.event("content_block_delta", func(w *jsonwire.Writer) {
			w.Member("type", "content_block_delta")
			integer(w, "index", i)
			in(w, "delta", func() {
				w.Member("type", kind)
				w.Member(key, text)
			})
		})
	}
	switch p.kind {
	case saidThinking:
		start(func(w *jsonwire.Writer) {
			w.Member("type", "thinking")
			w.Member("thinking", "")
			w.Member("signature", "")
		})
		for _, t := range a.cut(p.text) {
			delta("thinking_delta", "thinking", t)
		}
		delta("signature_delta", "signature", r.sign("thinking", p.text))
	case saidRedacted:
		start(func(w *jsonwire.Writer) {
			w.Member("type", "redacted_thinking")
			w.Member("data", r.seal(p.text))
		})
	case saidText:
		start(func(w *jsonwire.Writer) {
			w.Member("type", "text")
			w.Member("text", "")
		})
		for _, t := range a.cut(p.text) {
			delta("text_delta", "text", t)
		}
	case saidCall:
		start(func(w *jsonwire.Writer) {
			w.Member("type", "tool_use")
			w.Member("id", "toolu_01"+p.id)
			w.Member("name", p.name)
			w.Key("input")
			w.Raw("{}")
		})
		delta("input_json_delta", "partial_json", "")
		for _, t := range a.cut(p.args) {
			delta("input_json_delta", "partial_json", t)
		}
	case saidOwn:
		start(func(w *jsonwire.Writer) {
			w.Member("type", "server_tool_use")
			w.Member("id", "srvtoolu_"+p.text[1:])
			w.Member("name", "web_search")
			in(w, "input", func() { w.Member("query", p.text) })
		})
	case saidOwnResult:
		start(func(w *jsonwire.Writer) {
			w.Member("type", "web_search_tool_result")
			w.Member("tool_use_id", "srvtoolu_"+p.text[1:])
			w.Key("content")
			w.Raw("[]")
		})
	}
	s.event("content_block_stop", func(w *jsonwire.Writer) {
		w.Member("type", "content_block_stop")
		integer(w, "index", i)
	})
}

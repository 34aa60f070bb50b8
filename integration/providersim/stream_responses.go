package providersim

import "github.com/llmd-dev/llmd/adapters/jsonwire"

// responsesWriter writes one answer of the Responses API:
// https://platform.openai.com/docs/api-reference/responses-streaming
type responsesWriter struct {
	*request
	*reply
	s     stream
	items [][]byte // as they are in the end
	// thought is the id of the reasoning that the next item needs.
	thought string
}

func (r *request) responsesStream(a *reply) []byte {
	w := &responsesWriter{request: r, reply: a}
	w.response("response.created", "in_progress", "")
	for i, p := range a.pieces {
		w.item(i, p)
	}
	switch a.end {
	case endLength:
		w.response("response.incomplete", "incomplete", "max_output_tokens")
	case endRefusal:
		w.response("response.incomplete", "incomplete", "content_filter")
	default:
		w.response("response.completed", "completed", "")
	}
	return w.s.Bytes()
}

func (w *responsesWriter) event(kind string, fill func(j *jsonwire.Writer)) {
	w.s.event(kind, func(j *jsonwire.Writer) {
		j.Member("type", kind)
		fill(j)
	})
}

// response says how far the whole answer is, and why it is incomplete.
func (w *responsesWriter) response(kind, status, reason string) {
	w.event(kind, func(j *jsonwire.Writer) {
		in(j, "response", func() {
			j.Member("id", "resp_"+w.id)
			j.Member("object", "response")
			j.Member("model", w.model)
			j.Member("status", status)
			j.Key("output")
			j.BeginArray()
			for _, item := range w.items {
				j.RawBytes(item)
			}
			j.EndArray()
			if kind != "response.created" {
				in(j, "usage", func() {
					integer(j, "input_tokens", tokens(string(w.raw)))
					integer(j, "output_tokens", w.tokens())
					integer(j, "total_tokens", tokens(string(w.raw))+w.tokens())
				})
			}
			if reason != "" {
				in(j, "incomplete_details", func() { j.Member("reason", reason) })
			}
		})
	})
}

// added announces an item, before its deltas.
func (w *responsesWriter) added(i int, item []byte) { w.place("response.output_item.added", i, item) }

// place writes an item at its place in the output.
func (w *responsesWriter) place(kind string, i int, item []byte) {
	w.event(kind, func(j *jsonwire.Writer) {
		integer(j, "output_index", i)
		j.Key("item")
		j.RawBytes(item)
	})
}

func (w *responsesWriter) delta(kind string, i int, id, text, index string) {
	for _, t := range w.cut(text) {
		w.event(kind, func(j *jsonwire.Writer) {
			j.Member("item_id", id)
			integer(j, "output_index", i)
			if index != "" {
				integer(j, index, 0)
			}
			j.Member("delta", t)
		})
	}
}

func (w *responsesWriter) item(i int, p said) {
	var last []byte
	switch p.kind {
	case saidThinking, saidRedacted:
		w.reasoning(i, p)
		return
	case saidText:
		last = w.message(i, p)
	case saidCall:
		last = w.call(i, p)
	case saidOwn:
		last = obj(func(j *jsonwire.Writer) {
			j.Member("id", "ws_"+p.text)
			j.Member("type", "web_search_call")
			j.Member("status", "completed")
		})
		w.added(i, last)
	case saidOwnResult: // is within it
	}
	w.place("response.output_item.done", i, last)
	w.items = append(w.items, last)
	w.thought = ""
}

// reasoning: Azure sends the encrypted content only in the end.
func (w *responsesWriter) reasoning(i int, p said) {
	id := "rs_" + w.nonce(32) + w.nonce(8)
	w.thought = id
	write := func(whole, encrypted bool) []byte {
		return obj(func(j *jsonwire.Writer) {
			j.Member("id", id)
			j.Member("type", "reasoning")
			j.Key("summary")
			j.BeginArray()
			if whole {
				j.BeginObject()
				j.Member("type", "summary_text")
				j.Member("text", p.text)
				j.EndObject()
			}
			j.EndArray()
			if encrypted {
				j.Member("encrypted_content", w.sign("reasoning", id+"\x00"+p.text+"\x00"))
			}
		})
	}
	w.added(i, write(false, false))
	w.delta("response.reasoning_summary_text.delta", i, id, p.text, "summary_index")
	w.place("response.output_item.done", i, write(true, w.api != Azure))
	w.items = append(w.items, write(true, true))
}

func (w *responsesWriter) message(i int, p said) []byte {
	id := itemID("msg", w.thought, w.nonce(8))
	write := func(status string, content bool) []byte {
		return obj(func(j *jsonwire.Writer) {
			j.Member("id", id)
			j.Member("type", "message")
			j.Member("status", status)
			j.Member("role", "assistant")
			j.Key("content")
			j.BeginArray()
			if content {
				j.BeginObject()
				j.Member("type", "output_text")
				j.Member("text", p.text)
				j.Key("annotations")
				j.Raw("[]")
				j.EndObject()
			}
			j.EndArray()
		})
	}
	w.added(i, write("in_progress", false))
	w.delta("response.output_text.delta", i, id, p.text, "content_index")
	return write("completed", true)
}

func (w *responsesWriter) call(i int, p said) []byte {
	id := itemID("fc", w.thought, w.nonce(8))
	write := func(status, arguments string) []byte {
		return obj(func(j *jsonwire.Writer) {
			j.Member("id", id)
			j.Member("type", "function_call")
			j.Member("status", status)
			j.Member("call_id", "call_"+p.id)
			j.Member("name", p.name)
			j.Member("arguments", arguments)
		})
	}
	w.added(i, write("in_progress", ""))
	w.delta("response.function_call_arguments.delta", i, id, p.args, "")
	w.event("response.function_call_arguments.done", func(j *jsonwire.Writer) {
		j.Member("item_id", id)
		integer(j, "output_index", i)
		j.Member("arguments", p.args)
	})
	return write("completed", p.args)
}

package faults

import (
	"fmt"
	"strings"
)

const chatHead = `{"id":%s,"object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%s}]%s}`

func chatChunk(a Answer, delta, finish, tail string) []byte {
	return sse("", chatHead, q(a.ID), delta, finish, tail)
}

// chatWire: https://platform.openai.com/docs/api-reference/chat-streaming, with
// the reasoning_content of DeepSeek and others.
func chatWire() *Wire {
	return &Wire{
		API: "openai-completions", Base: "/v1", ContentType: "text/event-stream", Frames: chatFrames, Fragments: true,
		Overloaded: sse("", `{"error":{"message":"The engine is currently overloaded","type":"server_error","code":503}}`),
		Garbage:    sse("", `{"id":"answer-1","choices":[{]}`),
		Comment:    []byte(": OPENROUTER PROCESSING\n\n"),
		Oversize:   []byte(`data: {"id":"answer-1","choices":[{"index":0,"delta":{"content":"`),
	}
}

func chatFrames(a Answer) []Frame {
	out := []Frame{{Data: chatChunk(a, `{"role":"assistant","content":""}`, "null", "")}}
	for _, d := range a.Thinking {
		out = append(out, Frame{Kind: Thinking, Adds: d, Data: chatChunk(a, `{"reasoning_content":`+q(d)+`}`, "null", "")})
	}
	for _, d := range a.Text {
		out = append(out, Frame{Kind: Text, Adds: d, Data: chatChunk(a, `{"content":`+q(d)+`}`, "null", "")})
	}
	for i, d := range a.Args {
		call := fmt.Sprintf(`{"index":0,"function":{"arguments":%s}}`, q(d))
		if i == 0 {
			call = fmt.Sprintf(`{"index":0,"id":"call_%s","type":"function","function":{"name":"lookup","arguments":%s}}`, a.ID, q(d))
		}
		out = append(out, Frame{Kind: ToolCall, Adds: d, Data: chatChunk(a, `{"tool_calls":[`+call+`]}`, "null", "")})
	}
	stop := `"stop"`
	if len(a.Args) > 0 {
		stop = `"tool_calls"`
	}
	return append(out,
		Frame{Marker: true, Data: chatChunk(a, "{}", stop, "")},
		Frame{Data: sse("", `{"id":%s,"object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`, q(a.ID), a.In, a.Out, a.In+a.Out)},
		Frame{Data: []byte("data: [DONE]\n\n")})
}

// responsesWire: https://platform.openai.com/docs/api-reference/responses-streaming.
func responsesWire() *Wire {
	return &Wire{
		API: "openai-responses", Base: "/v1", ContentType: "text/event-stream; charset=utf-8", Frames: responsesFrames, Fragments: true,
		Overloaded: sse("error", `{"type":"error","error":{"type":"server_error","code":"server_is_overloaded","message":"Our servers are currently overloaded"},"sequence_number":9}`),
		Garbage:    sse("response.output_text.delta", `{"type":"response.output_text.delta","delta":`),
		Comment:    []byte(": keep-alive\n\n"),
		Oversize:   []byte("event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\""),
	}
}

func responsesFrames(a Answer) []Frame {
	var out, items []string
	frames := []Frame{}
	add := func(kind, adds, event, format string, args ...any) {
		frames = append(frames, Frame{Kind: kind, Adds: adds, Data: sse(event, `{"type":%q,`+format+`}`, append([]any{event}, args...)...)})
	}
	add("", "", "response.created", `"response":{"id":%s,"object":"response","model":"m","status":"in_progress","output":[]}`, q(a.ID))
	item := func(head, done string) {
		add("", "", "response.output_item.added", `"output_index":%d,"item":%s`, len(items), head)
		items = append(items, done)
	}
	end := func() {
		add("", "", "response.output_item.done", `"output_index":%d,"item":%s`, len(items)-1, items[len(items)-1])
	}
	if whole := strings.Join(a.Thinking, ""); whole != "" {
		item(`{"id":"rs_1","type":"reasoning","summary":[]}`, fmt.Sprintf(`{"id":"rs_1","type":"reasoning","encrypted_content":"gAAAA","summary":[{"type":"summary_text","text":%s}]}`, q(whole)))
		add("", "", "response.reasoning_summary_part.added", `"item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}`)
		for _, d := range a.Thinking {
			add(Thinking, d, "response.reasoning_summary_text.delta", `"item_id":"rs_1","output_index":0,"summary_index":0,"delta":%s`, q(d))
		}
		add("", "", "response.reasoning_summary_text.done", `"item_id":"rs_1","output_index":0,"summary_index":0,"text":%s`, q(whole))
		end()
	}
	if whole := strings.Join(a.Text, ""); whole != "" {
		n := len(items)
		item(`{"id":"msg_1","type":"message","role":"assistant","status":"in_progress","content":[]}`,
			fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","annotations":[],"text":%s}]}`, q(whole)))
		add("", "", "response.content_part.added", `"item_id":"msg_1","output_index":%d,"content_index":0,"part":{"type":"output_text","annotations":[],"text":""}`, n)
		for _, d := range a.Text {
			add(Text, d, "response.output_text.delta", `"item_id":"msg_1","output_index":%d,"content_index":0,"delta":%s`, n, q(d))
		}
		add("", "", "response.output_text.done", `"item_id":"msg_1","output_index":%d,"content_index":0,"text":%s`, n, q(whole))
		end()
	}
	if whole := strings.Join(a.Args, ""); whole != "" {
		n := len(items)
		call := func(args string) string {
			return fmt.Sprintf(`{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_%s","name":"lookup","arguments":%s}`, a.ID, q(args))
		}
		item(call(""), call(whole))
		for _, d := range a.Args {
			add(ToolCall, d, "response.function_call_arguments.delta", `"item_id":"fc_1","output_index":%d,"delta":%s`, n, q(d))
		}
		add("", "", "response.function_call_arguments.done", `"item_id":"fc_1","output_index":%d,"arguments":%s`, n, q(whole))
		end()
	}
	out = items
	add("", "", "response.completed", `"response":{"id":%s,"object":"response","model":"m","status":"completed","output":[%s],"usage":{"input_tokens":%d,"output_tokens":%d,"total_tokens":%d}}`,
		q(a.ID), strings.Join(out, ","), a.In, a.Out, a.In+a.Out)
	frames[len(frames)-1].Marker = true
	return frames
}

// mistralWire: https://docs.mistral.ai/api/endpoint/chat; thinking comes as content
// blocks, a call in one piece.
func mistralWire() *Wire {
	return &Wire{
		API: "mistral-conversations", Base: "/v1", ContentType: "text/event-stream", Frames: mistralFrames,
		Overloaded: sse("", `{"object":"error","message":"Service unavailable.","type":"overloaded","code":"3505"}`),
		Garbage:    sse("", `{"id":"answer-1","choices":[{]}`),
		Comment:    []byte(": keep-alive\n\n"),
		Oversize:   []byte(`data: {"id":"answer-1","choices":[{"index":0,"delta":{"content":"`),
	}
}

func mistralFrames(a Answer) []Frame {
	out := []Frame{{Data: chatChunk(a, `{"role":"assistant","content":""}`, "null", "")}}
	for _, d := range a.Thinking {
		out = append(out, Frame{Kind: Thinking, Adds: d, Data: chatChunk(a, `{"content":[{"type":"thinking","thinking":[{"type":"text","text":`+q(d)+`}]}]}`, "null", "")})
	}
	for _, d := range a.Text {
		out = append(out, Frame{Kind: Text, Adds: d, Data: chatChunk(a, `{"content":`+q(d)+`}`, "null", "")})
	}
	stop := `"stop"`
	if whole := strings.Join(a.Args, ""); whole != "" {
		stop = `"tool_calls"`
		out = append(out, Frame{Kind: ToolCall, Adds: whole, Data: chatChunk(a,
			fmt.Sprintf(`{"content":null,"tool_calls":[{"id":"D681PevKs","index":0,"function":{"name":"lookup","arguments":%s}}]}`, q(whole)), "null", "")})
	}
	return append(out,
		Frame{Marker: true, Data: chatChunk(a, `{"content":""}`, stop, fmt.Sprintf(`,"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, a.In, a.Out, a.In+a.Out))},
		Frame{Data: []byte("data: [DONE]\n\n")})
}

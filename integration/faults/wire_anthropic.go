package faults

import "fmt"

// anthropicWire: https://platform.claude.com/docs/en/build-with-claude/streaming.
func anthropicWire() *Wire {
	return &Wire{
		API: "anthropic-messages", ContentType: "text/event-stream; charset=utf-8", Frames: anthropicFrames, Fragments: true,
		Overloaded: sse("error", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
		Garbage:    sse("content_block_delta", `{"type":"content_block_delta","index":}`),
		Comment:    []byte(": keep-alive\n\n"),
		Ping:       sse("ping", `{"type":"ping"}`),
		Oversize:   []byte("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\""),
	}
}

func anthropicFrames(a Answer) []Frame {
	out := []Frame{{Data: sse("message_start", `{"type":"message_start","message":{"id":%s,"type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":%d,"output_tokens":1}}}`, q(a.ID), a.In)}}
	index := 0
	block := func(kind, start, deltaType, field string, deltas []string, tail ...Frame) {
		if len(deltas) == 0 {
			return
		}
		out = append(out, Frame{Data: sse("content_block_start", `{"type":"content_block_start","index":%d,"content_block":%s}`, index, start)})
		for _, d := range deltas {
			out = append(out, Frame{Kind: kind, Adds: d, Data: sse("content_block_delta", `{"type":"content_block_delta","index":%d,"delta":{"type":%q,%q:%s}}`, index, deltaType, field, q(d))})
		}
		out = append(out, tail...)
		out = append(out, Frame{Data: sse("content_block_stop", `{"type":"content_block_stop","index":%d}`, index)})
		index++
	}
	block(Thinking, `{"type":"thinking","thinking":"","signature":""}`, "thinking_delta", "thinking", a.Thinking,
		Frame{Data: sse("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2lnbmF0dXJl"}}`)})
	block(Text, `{"type":"text","text":""}`, "text_delta", "text", a.Text)
	block(ToolCall, fmt.Sprintf(`{"type":"tool_use","id":"toolu_%s","name":"lookup","input":{}}`, a.ID), "input_json_delta", "partial_json", a.Args)
	stop := "end_turn"
	if len(a.Args) > 0 {
		stop = "tool_use"
	}
	return append(out,
		Frame{Data: sse("message_delta", `{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":%d}}`, stop, a.Out)},
		Frame{Marker: true, Data: sse("message_stop", `{"type":"message_stop"}`)})
}

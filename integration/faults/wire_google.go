package faults

import (
	"fmt"
	"strings"
)

// geminiWire: https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent.
// A call comes in one piece.
func geminiWire() *Wire {
	return &Wire{
		API: "google-generative-ai", ContentType: "text/event-stream", Frames: geminiFrames,
		Overloaded: sse("", `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`),
		Garbage:    sse("", `{"candidates":[{"content":}]}`),
		Comment:    []byte(": keep-alive\n\n"),
		Oversize:   []byte(`data: {"candidates":[{"content":{"role":"model","parts":[{"text":"`),
	}
}

// vertexWire: https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling#streaming-fc.
// Arguments may come in pieces of one value.
func vertexWire() *Wire {
	w := geminiWire()
	w.API, w.Frames, w.Fragments = "google-vertex", vertexFrames, true
	return w
}

func candidate(a Answer, part string) []byte {
	return sse("", `{"candidates":[{"content":{"role":"model","parts":[%s]},"index":0}],"modelVersion":"m","responseId":%s}`, part, q(a.ID))
}

func geminiText(a Answer) []Frame {
	var out []Frame
	for _, d := range a.Thinking {
		out = append(out, Frame{Kind: Thinking, Adds: d, Data: candidate(a, `{"text":`+q(d)+`,"thought":true}`)})
	}
	for _, d := range a.Text {
		out = append(out, Frame{Kind: Text, Adds: d, Data: candidate(a, `{"text":`+q(d)+`}`)})
	}
	return out
}

func geminiEnd(a Answer) Frame {
	return Frame{Marker: true, Data: sse("", `{"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":%d,"totalTokenCount":%d},"modelVersion":"m","responseId":%s}`,
		a.In, a.Out, a.In+a.Out, q(a.ID))}
}

func geminiFrames(a Answer) []Frame {
	out := geminiText(a)
	if whole := strings.Join(a.Args, ""); whole != "" {
		out = append(out, Frame{Kind: ToolCall, Adds: whole, Data: candidate(a, `{"functionCall":{"name":"lookup","args":`+whole+`}}`)})
	}
	return append(out, geminiEnd(a))
}

// vertexFrames sends the arguments as one string value in pieces: what they are is
// the JSON of an object with the member "text".
func vertexFrames(a Answer) []Frame {
	out := geminiText(a)
	if len(a.Args) > 0 {
		out = append(out, Frame{Data: candidate(a, `{"functionCall":{"name":"lookup","willContinue":true}}`)})
		for i, d := range a.Args {
			adds := q(d)
			adds = adds[1 : len(adds)-1]
			if i == 0 {
				adds = `{"text":"` + adds
			}
			out = append(out, Frame{Kind: ToolCall, Adds: adds, Data: candidate(a,
				fmt.Sprintf(`{"functionCall":{"partialArgs":[{"jsonPath":"$.text","stringValue":%s,"willContinue":true}],"willContinue":true}}`, q(d)))})
		}
		out = append(out,
			Frame{Kind: ToolCall, Adds: `"}`, Data: candidate(a, `{"functionCall":{"partialArgs":[{"jsonPath":"$.text","stringValue":""}],"willContinue":true}}`)},
			Frame{Data: candidate(a, `{"functionCall":{}}`)})
	}
	return append(out, geminiEnd(a))
}

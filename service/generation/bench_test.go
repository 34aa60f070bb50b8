package generation

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/anthropic"
	"github.com/llmd-dev/llmd/adapters/openaichat"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/upstream"
	"github.com/llmd-dev/llmd/service/responses"
)

// memoryUpstream answers every request with the same body.
type memoryUpstream []byte

func (m memoryUpstream) Do(context.Context, *profile.Model, string, *adapters.Request) (*upstream.Response, error) {
	return &upstream.Response{Status: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(m))}, nil
}

const benchDeltas = 2000

func chatText() []byte {
	var b bytes.Buffer
	for i := range benchDeltas {
		fmt.Fprintf(&b, "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1893456000,\"model\":\"gpt-x\",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word%d\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n", i%1000)
	}
	b.WriteString("data: {\"id\":\"chatcmpl-1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	return b.Bytes()
}

func chatArguments() []byte {
	var b bytes.Buffer
	chunk := func(arguments string) {
		fmt.Fprintf(&b, "data: {\"id\":\"c\",\"model\":\"gpt-x\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,%s\"function\":{%s\"arguments\":%q}}]},\"finish_reason\":null}]}\n\n",
			map[bool]string{true: `"id":"call_1","type":"function",`}[b.Len() == 0], map[bool]string{true: `"name":"write",`}[b.Len() == 0], arguments)
	}
	chunk(`{"text":"`)
	for i := range benchDeltas {
		chunk(fmt.Sprintf("word%03d ", i%1000))
	}
	chunk(`"}`)
	b.WriteString("data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n")
	return b.Bytes()
}

func anthropicText() []byte {
	var b bytes.Buffer
	b.WriteString("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n")
	for i := range benchDeltas {
		fmt.Fprintf(&b, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" word%d\"}}\n\n", i%1000)
	}
	b.WriteString("event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	return b.Bytes()
}

// BenchmarkStream is the whole way of an answer without sockets: frames, decoder,
// assembler, queue, delivery. The unit that matters is ns/delta.
func BenchmarkStream(b *testing.B) {
	for _, c := range []struct {
		name    string
		adapter adapters.Adapter
		body    []byte
	}{
		{"chat-text", openaichat.New(), chatText()},
		{"chat-arguments", openaichat.New(), chatArguments()},
		{"anthropic-text", anthropic.New(), anthropicText()},
	} {
		b.Run(c.name, func(b *testing.B) {
			m := &profile.Model{ID: "m", Provider: "p", API: c.adapter.API(), ContextWindow: 1000, MaxOutput: 100, Compat: profile.Defaults(c.adapter.API())}
			e := New(Config{
				Models:   func(context.Context, string) (*profile.Model, error) { return m, nil },
				Adapters: func(string) (adapters.Adapter, bool) { return c.adapter, true },
				Upstream: memoryUpstream(c.body),
				Price:    func(*profile.Model, *llmdv1.Usage, string) *llmdv1.Cost { return nil },
				ErrorOf:  func(err error) *llmdv1.Error { return &llmdv1.Error{Message: err.Error()} },
				Store:    responses.New(true),
			})
			g := &llmdv1.Generation{Model: "p/m", Context: &llmdv1.Context{Messages: []*llmdv1.Message{{Message: &llmdv1.Message_User{
				User: &llmdv1.UserMessage{Content: []*llmdv1.UserContent{{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: "hi"}}}}},
			}}}}}
			b.ReportAllocs()
			for b.Loop() {
				r, err := e.Start(context.Background(), &Request{Generation: g})
				if err != nil {
					b.Fatal(err)
				}
				if err := r.Deliver(context.Background(), func(*llmdv1.StreamResponse) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchDeltas, "ns/delta")
		})
	}
}

// BenchmarkAssembler is what the event grammar costs a delta, with valid prefixes of
// arguments. The cost must not grow with the length of the answer.
func BenchmarkAssembler(b *testing.B) {
	for _, c := range []struct {
		name  string
		open  func(*adapters.Sink)
		delta func(*adapters.Sink)
	}{
		{"text", func(*adapters.Sink) {}, func(s *adapters.Sink) { s.Text(0, " word") }},
		{
			"arguments", func(s *adapters.Sink) { s.ToolCall(0, "call_1", "write", ""); s.Arguments(0, `{"list":[0`) },
			func(s *adapters.Sink) { s.Arguments(0, `,1234567`) },
		},
	} {
		for _, n := range []int{1000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					a := newAssembler()
					var s adapters.Sink
					c.open(&s)
					a.apply(s.Parts)
					for range n {
						s.Reset()
						c.delta(&s)
						a.apply(s.Parts)
						a.take()
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/delta")
			})
		}
	}
}

// BenchmarkQueue is a delta's way through a reader's queue: behind a sender that keeps
// up, and behind a busy one.
func BenchmarkQueue(b *testing.B) {
	for _, perSend := range []int{1, 16} {
		b.Run(fmt.Sprintf("%d deltas a send", perSend), func(b *testing.B) {
			q := newQueue()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				q.push(textOf(0, " word"))
				if i%perSend == 0 {
					q.pop()
				}
			}
		})
	}
}

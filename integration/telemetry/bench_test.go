package telemetry

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// BenchmarkRequest is a whole request with everything on, as it is released: spans that
// are exported, metrics, the line of the log. The client, the provider and the collector
// are in the same process, and so are their allocations, which stay as they are. With
// -cpu 1 it does not depend on how fast the machine wakes threads.
func BenchmarkRequest(b *testing.B) {
	for _, deltas := range []int{1, 100} {
		answers := map[string]string{"/v1/chat/completions": chatAnswer(deltas), "/v1/messages": anthropicAnswer(deltas)}
		provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, answers[r.URL.Path]) // the collector's is empty
		}))
		l := start(b, listen+adminPages+fmt.Sprintf(`
providers:
  - {id: chat, api: openai-completions, base_url: %[1]s/v1, api_key: none, models: [{id: m, context_window_tokens: 100000, max_output_tokens: 4096}]}
  - {id: anthropic, api: anthropic-messages, base_url: %[1]s, api_key: none, models: [{id: m, context_window_tokens: 100000, max_output_tokens: 4096}]}
`, provider.URL), "OTEL_EXPORTER_OTLP_ENDPOINT", provider.URL, "OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
		for _, host := range []string{"chat", "anthropic"} {
			b.Run(fmt.Sprintf("%s-%d", host, deltas), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := request(b, l, host+"/m"); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		l.stop(b)
		provider.Close()
	}
}

// request makes one request and reads its events to the end.
func request(b *testing.B, l *lab, model string) error {
	b.Helper()
	events, err := l.Stream(b.Context(), &llmdv1.StreamRequest{Generation: harness.Ask(model, "hi")})
	for done := false; err == nil; {
		var e *llmdv1.StreamResponse
		if e, err = events.Recv(); done && errors.Is(err, io.EOF) {
			return nil
		}
		done = e.GetDone() != nil
	}
	return err
}

func chatAnswer(deltas int) string {
	var t strings.Builder
	chunk := func(choice, rest string) {
		fmt.Fprintf(&t, "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1893456000,\"model\":\"m\",\"choices\":[%s]%s}\n\n", choice, rest)
	}
	chunk(`{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}`, "")
	for i := range deltas {
		chunk(fmt.Sprintf(`{"index":0,"delta":{"content":" word%d"},"finish_reason":null}`, i), "")
	}
	chunk(`{"index":0,"delta":{},"finish_reason":"stop"}`, "")
	chunk("", `,"usage":{"prompt_tokens":9,"completion_tokens":100,"total_tokens":109}`)
	return t.String() + "data: [DONE]\n\n"
}

func anthropicAnswer(deltas int) string {
	var t strings.Builder
	event := func(kind, rest string) {
		fmt.Fprintf(&t, "event: %s\ndata: {\"type\":\"%s\"%s}\n\n", kind, kind, rest)
	}
	event("message_start", `,"message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}`)
	event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
	for i := range deltas {
		event("content_block_delta", fmt.Sprintf(`,"index":0,"delta":{"type":"text_delta","text":" word%d"}`, i))
	}
	event("content_block_stop", `,"index":0`)
	event("message_delta", `,"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":100}`)
	event("message_stop", "")
	return t.String()
}

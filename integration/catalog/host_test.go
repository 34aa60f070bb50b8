package catalogtest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// host is a provider that answers "ok" in whatever API it is asked, and remembers
// the last request.
type host struct {
	*httptest.Server
	mu   sync.Mutex
	last *http.Request
	body map[string]any
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

// ServeHTTP implements http.Handler.
func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	h.last, h.body = r, nil
	_ = json.Unmarshal(text, &h.body)
	h.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, answer(r.URL.Path))
}

// asked is the last request.
func (h *host) asked() (*http.Request, map[string]any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last, h.body
}

// answer is a stream in the API that answers at such a path.
func answer(path string) string {
	switch {
	case strings.HasSuffix(path, "/v1/messages"):
		return sse("message_start", `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"x","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`) +
			sse("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`) +
			sse("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ok"}}`) +
			sse("content_block_stop", `{"type":"content_block_stop","index":0}`) +
			sse("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`) +
			sse("message_stop", `{"type":"message_stop"}`)
	case strings.HasSuffix(path, "/responses"):
		const item = `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"ok","annotations":[]}]}`
		return sse("response.created", `{"type":"response.created","sequence_number":0,"response":{"id":"r","status":"in_progress","output":[]}}`) +
			sse("response.output_item.added", `{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","status":"in_progress","content":[]}}`) +
			sse("response.content_part.added", `{"type":"response.content_part.added","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}`) +
			sse("response.output_text.delta", `{"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"ok"}`) +
			sse("response.output_item.done", `{"type":"response.output_item.done","sequence_number":4,"output_index":0,"item":`+item+`}`) +
			sse("response.completed", `{"type":"response.completed","sequence_number":5,"response":{"id":"r","status":"completed","output":[`+item+`],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}}`)
	case strings.HasSuffix(path, ":streamGenerateContent"):
		return sse("", `{"candidates":[{"content":{"role":"model","parts":[{"text":"ok"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}`)
	}
	return sse("", `{"id":"c","object":"chat.completion.chunk","model":"x","choices":[{"index":0,"delta":{"role":"assistant","content":"ok"},"finish_reason":null}]}`) +
		sse("", `{"id":"c","object":"chat.completion.chunk","model":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`) +
		sse("", "[DONE]")
}

func sse(event, data string) string {
	if event == "" {
		return "data: " + data + "\n\n"
	}
	return "event: " + event + "\ndata: " + data + "\n\n"
}

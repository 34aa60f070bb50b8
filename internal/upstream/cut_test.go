package upstream_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/internal/upstream"
)

// Wherever the head of an answer is cut, the connection has failed; nobody there speaks
// something else than HTTP.
func TestCutHead(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX_Request-1: a\r\n b\r\nTransfer-Encoding: chunked\r\n\r\n"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	heads := make(chan string, 1)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, <-heads)
			_ = conn.Close()
		}
	}()
	c := newClient(t, upstream.Options{})
	for n := range len(head) {
		heads <- head[:n]
		answer, err := c.Do(t.Context(), &upstream.Target{BaseURL: "http://" + l.Addr().String()}, request(""))
		if err == nil {
			_ = answer.Body.Close()
			t.Fatalf("%q is an answer", head[:n])
		}
		if e := wantReason(t, err, adapters.ReasonUnreachable); !strings.HasSuffix(e.Message, "it closed the connection without an answer") {
			t.Errorf("%q: %q", head[:n], e.Message)
		}
	}
}

package upstream_test

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/internal/upstream"
)

// TestSmallBody: a small request goes out with its headers, in one write. The server
// reads once and finds all of it.
func TestSmallBody(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	first := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		r := bufio.NewReaderSize(c, 16<<10)
		_, _ = r.Peek(1)
		head, _ := r.Peek(r.Buffered())
		first <- string(head)
		_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	}()
	client := newClient(t, upstream.Options{})
	target := &upstream.Target{BaseURL: "http://" + l.Addr().String()}
	resp, err := client.Do(t.Context(), target, &adapters.Request{Method: http.MethodPost, Path: "/x", Body: []byte(`{"a":1}`)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if got := <-first; !strings.HasSuffix(got, "\r\n\r\n"+`{"a":1}`) {
		t.Errorf("the first packet was %q", got)
	}
}

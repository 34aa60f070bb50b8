package cases

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// provider answers every request alike and keeps what it was asked.
type provider struct {
	*httptest.Server
	status int
	header map[string]string
	body   []byte
	cuts   []int
	// silentAt is the offset where the provider waits for llmd to leave, 0 for none.
	silentAt int
	end      string
	beat     string
	every    time.Duration

	asked  chan struct{} // closed at the first request
	once   sync.Once
	mu     sync.Mutex
	bodies []string
}

func (c *testCase) play(t *testing.T) *provider {
	t.Helper()
	p := &provider{
		status: c.Status, header: c.header(t), body: c.body(t), cuts: c.Chunking, end: c.End,
		beat: c.Heartbeat.Text, every: time.Duration(max(c.Heartbeat.EveryMS, 1)) * time.Millisecond,
		asked: make(chan struct{}),
	}
	if p.status == 0 { // a request case: any answer will do
		p.status, p.header["content-type"] = http.StatusOK, "text/event-stream"
	}
	if a := c.AbortAfter; a != nil && a.Text != "" {
		p.silentAt = afterFrame(p.body, a.Text)
	}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
	})
	return p
}

// afterFrame is the end of the event that holds the text, 0 if none does.
func afterFrame(body []byte, text string) int {
	quoted, err := json.Marshal(text)
	if err != nil {
		return 0
	}
	at := bytes.Index(body, quoted[1:len(quoted)-1])
	if at < 0 {
		return 0
	}
	for _, blank := range []string{"\r\n\r\n", "\n\n"} {
		if i := bytes.Index(body[at:], []byte(blank)); i >= 0 {
			return at + i + len(blank)
		}
	}
	return 0
}

func (p *provider) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.bodies...)
}

func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	p.mu.Lock()
	p.bodies = append(p.bodies, string(body))
	p.mu.Unlock()
	p.once.Do(func() { close(p.asked) })
	for k, v := range p.header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(p.status)
	out := http.NewResponseController(w)
	from := 0
	for _, to := range append(slices.Clip(p.cuts), len(p.body)) {
		if p.silentAt > 0 {
			to = min(to, p.silentAt)
		}
		if to = min(to, len(p.body)); to < from {
			continue
		}
		if _, err := w.Write(p.body[from:to]); err != nil {
			return
		}
		_ = out.Flush()
		from = to
		if p.silentAt > 0 && to >= p.silentAt {
			<-r.Context().Done()
			return
		}
		if n := len(p.cuts); n > 0 && n < 200 {
			time.Sleep(2 * time.Millisecond) // so that a write is a read at the other end
		}
	}
	p.finish(w, r, out)
}

func (p *provider) finish(w http.ResponseWriter, r *http.Request, out *http.ResponseController) {
	switch p.end {
	case "reset":
		time.Sleep(150 * time.Millisecond) // a reset discards what has not been read
		c, _, err := out.Hijack()
		if tcp, ok := c.(*net.TCPConn); err == nil && ok {
			_ = tcp.SetLinger(0)
			_ = tcp.Close()
		}
	case "hold":
		<-r.Context().Done()
	case "heartbeat":
		tick := time.NewTicker(p.every)
		defer tick.Stop()
		for {
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
			}
			if _, err := io.WriteString(w, p.beat); err != nil {
				return
			}
			_ = out.Flush()
		}
	}
}

package integration

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// script is what the played provider answers to the request that carries its key.
type script struct {
	status int
	header map[string]string
	body   []byte
	// cuts are offsets after which the provider pauses; every cuts the body into
	// writes of that size instead.
	cuts  []int
	every int
	pause time.Duration
	// end is how the body ends: "" (clean), "reset", "hold" (silence) or
	// "heartbeat" (a comment every beatEvery).
	end       string
	beat      string
	beatEvery time.Duration
	// holdHead accepts the request and never answers.
	holdHead bool

	key      string
	requests atomic.Int32
	bodies   chan []byte   // of the requests
	gone     chan struct{} // closed when llmd closed its side of the first request
	once     sync.Once
}

// replay is the played provider.
type replay struct {
	*httptest.Server
	scripts sync.Map
	next    atomic.Int64
}

var keyPattern = regexp.MustCompile(`replaykey[0-9]{8}x`)

func newReplay(t testing.TB) *replay {
	t.Helper()
	r := &replay{}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

// add registers a script and gives the prompt that leads to it.
func (r *replay) add(s *script) string {
	s.key = fmt.Sprintf("replaykey%08dx", r.next.Add(1))
	s.gone = make(chan struct{})
	s.bodies = make(chan []byte, 16)
	if s.status == 0 {
		s.status = http.StatusOK
	}
	r.scripts.Store(s.key, s)
	return "Say " + s.key
}

func (r *replay) serve(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	v, ok := r.scripts.Load(string(keyPattern.Find(body)))
	if !ok {
		http.Error(w, `{"error":{"message":"no such script"}}`, http.StatusTeapot)
		return
	}
	s := v.(*script)
	s.requests.Add(1)
	select {
	case s.bodies <- body:
	default:
	}
	stopWatching := make(chan struct{})
	defer close(stopWatching)
	go func() {
		select {
		case <-req.Context().Done():
			s.once.Do(func() { close(s.gone) })
		case <-stopWatching:
		}
	}()
	if s.holdHead {
		<-req.Context().Done()
		return
	}
	s.answer(w, req)
}

func (s *script) answer(w http.ResponseWriter, req *http.Request) {
	for k, v := range s.header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(s.status)
	out := http.NewResponseController(w)
	from := 0
	for _, to := range s.pieces() {
		if _, err := w.Write(s.body[from:to]); err != nil {
			return
		}
		_ = out.Flush()
		from = to
		if s.pause > 0 && !sleepOr(req, s.pause) {
			return
		}
	}
	switch s.end {
	case "reset":
		if c, _, err := out.Hijack(); err == nil {
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		}
	case "hold":
		<-req.Context().Done()
	case "heartbeat":
		for sleepOr(req, s.beatEvery) {
			if _, err := io.WriteString(w, s.beat); err != nil {
				return
			}
			_ = out.Flush()
		}
	}
}

func (s *script) pieces() []int {
	var out []int
	switch {
	case s.every > 0:
		for to := s.every; to < len(s.body); to += s.every {
			out = append(out, to)
		}
	default:
		for _, to := range s.cuts {
			if to > 0 && to < len(s.body) {
				out = append(out, to)
			}
		}
	}
	return append(out, len(s.body))
}

func sleepOr(req *http.Request, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-req.Context().Done():
		return false
	}
}

package faults

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Player is a provider on a raw socket. What it answers is decided by the key that
// stands in the request.
type Player struct {
	URL string

	listener net.Listener
	scripts  sync.Map
	next     atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]bool
	wg    sync.WaitGroup
}

// Script is one exchange, or several in a row.
type Script struct {
	// Play answers a request; false closes the connection afterwards.
	Play func(*Exchange) bool
	// Reached is closed by [Exchange.Reach], Gone when llmd has closed its side of
	// the first request.
	Reached, Gone chan struct{}
	// GoneAt is when; valid once Gone is closed.
	GoneAt time.Time
	// Requests is how many came.
	Requests atomic.Int32

	gate    chan struct{}
	open    sync.Once
	reached sync.Once
	gone    sync.Once
	key     string
}

// Prompt leads a request to the script.
func (s *Script) Prompt() string { return "Say " + s.key }

// Open lets [Exchange.Wait] return.
func (s *Script) Open() { s.open.Do(func() { close(s.gate) }) }

// NewPlayer starts a provider that ends with the test.
func NewPlayer(t testing.TB) *Player {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Player{URL: "http://" + l.Addr().String(), listener: l, conns: map[net.Conn]bool{}}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		for c := range p.conns {
			_ = c.Close()
		}
		p.conns = nil
		p.mu.Unlock()
		p.wg.Wait()
	})
	return p
}

// Add registers a script.
func (p *Player) Add(play func(*Exchange) bool) *Script {
	s := &Script{
		Play: play, Reached: make(chan struct{}), Gone: make(chan struct{}), gate: make(chan struct{}),
		key: fmt.Sprintf("faultkey%08dx", p.next.Add(1)),
	}
	p.scripts.Store(s.key, s)
	return s
}

// Forget drops a script, so that a long run stays small.
func (p *Player) Forget(s *Script) { p.scripts.Delete(s.key) }

func (p *Player) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		if p.conns == nil {
			p.mu.Unlock()
			_ = c.Close()
			return
		}
		p.conns[c] = true
		p.wg.Go(func() { p.serve(c) })
		p.mu.Unlock()
	}
}

var keyPattern = regexp.MustCompile(`faultkey\d{8}x`)

func (p *Player) serve(c net.Conn) {
	defer func() {
		_ = c.Close()
		p.mu.Lock()
		delete(p.conns, c)
		p.mu.Unlock()
	}()
	in := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		text, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		v, _ := p.scripts.Load(string(keyPattern.Find(text)))
		s, ok := v.(*Script)
		if !ok {
			_, _ = io.WriteString(c, "HTTP/1.1 418 No such script\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			return
		}
		n := s.Requests.Add(1)
		e := &Exchange{Script: s, Number: int(n), Request: req, conn: c, gone: make(chan struct{})}
		idle := make(chan struct{})
		go func() {
			defer close(idle)
			if _, err := in.Peek(1); err != nil {
				at := time.Now()
				close(e.gone)
				s.gone.Do(func() { s.GoneAt = at; close(s.Gone) })
			}
		}()
		if !s.Play(e) {
			_ = c.Close()
			<-idle
			return
		}
		<-idle // the next request, or the end
	}
}

// Exchange is one request and the answer to it.
type Exchange struct {
	Script *Script
	// Number counts the script's requests from 1.
	Number  int
	Request *http.Request

	conn    net.Conn
	gone    chan struct{}
	zip     *gzip.Writer
	chunked chunkWriter
}

// Head sends the status and the headers of an answer in chunks.
func (e *Exchange) Head(status int, header ...string) {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\nTransfer-Encoding: chunked\r\nX-Request-Id: req-%s\r\n", status, http.StatusText(status), e.Script.key)
	for _, h := range header {
		b.WriteString(h + "\r\n")
	}
	b.WriteString("\r\n")
	e.Raw([]byte(b.String()))
	e.chunked = chunkWriter{e.conn}
}

// Gzip compresses what is sent from now on.
func (e *Exchange) Gzip() { e.zip = gzip.NewWriter(e.chunked) }

// Raw sends bytes outside of any chunk.
func (e *Exchange) Raw(b []byte) { _, _ = e.conn.Write(b) }

// Send sends a piece of the body. It says whether llmd still listens.
func (e *Exchange) Send(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	if e.zip == nil {
		_, err := e.chunked.Write(b)
		return err == nil
	}
	if _, err := e.zip.Write(b); err != nil {
		return false
	}
	return e.zip.Flush() == nil
}

// Play sends frames one by one.
func (e *Exchange) Play(frames []Frame) {
	for _, f := range frames {
		if !e.Send(f.Data) {
			return
		}
	}
}

// End ends the body as it should end.
func (e *Exchange) End() bool {
	if e.zip != nil {
		_ = e.zip.Close()
	}
	e.Raw([]byte("0\r\n\r\n"))
	return true
}

// Reset closes the connection with RST.
func (e *Exchange) Reset() bool {
	if c, ok := e.conn.(*net.TCPConn); ok {
		_ = c.SetLinger(0)
	}
	return false
}

// Hold says nothing more until llmd goes.
func (e *Exchange) Hold() bool {
	<-e.gone
	return false
}

// Reach says that all is sent up to the fault.
func (e *Exchange) Reach() { e.Script.reached.Do(func() { close(e.Script.Reached) }) }

// Wait waits for [Script.Open]; false if llmd went first.
func (e *Exchange) Wait() bool {
	e.Reach()
	select {
	case <-e.Script.gate:
		return true
	case <-e.gone:
		return false
	}
}

// Pause waits; false if llmd went first.
func (e *Exchange) Pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-e.gone:
		return false
	}
}

// chunkWriter writes each piece as one chunk in one write.
type chunkWriter struct{ net.Conn }

func (w chunkWriter) Write(b []byte) (int, error) {
	out := fmt.Appendf(nil, "%x\r\n", len(b))
	out = append(append(out, b...), '\r', '\n')
	if _, err := w.Conn.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

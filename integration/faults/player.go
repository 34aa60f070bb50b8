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
	// CAFile has the authority of an https URL.
	CAFile string
	// Connections is how many HTTP/2 connections there were.
	Connections atomic.Int64

	listener net.Listener
	// speak serves a connection: HTTP/1.1 or HTTP/2.
	speak   func(net.Conn)
	scripts sync.Map
	next    atomic.Int64

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
	p := &Player{}
	p.speak = p.serve
	p.start(t, "http", listen(t))
	return p
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (p *Player) start(t testing.TB, scheme string, l net.Listener) {
	p.URL, p.listener, p.conns = scheme+"://"+l.Addr().String(), l, map[net.Conn]bool{}
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
		p.wg.Go(func() {
			p.speak(c)
			_ = c.Close()
			p.mu.Lock()
			delete(p.conns, c)
			p.mu.Unlock()
		})
		p.mu.Unlock()
	}
}

var keyPattern = regexp.MustCompile(`faultkey\d{8}x`)

// script finds the script of a request by its body.
func (p *Player) script(body []byte) *Script {
	v, _ := p.scripts.Load(string(keyPattern.Find(body)))
	s, _ := v.(*Script)
	return s
}

// serve speaks HTTP/1.1.
func (p *Player) serve(c net.Conn) {
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
		s := p.script(text)
		if s == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 418 No such script\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			return
		}
		e := newExchange(s, &plainLine{conn: c})
		idle := make(chan struct{})
		go func() {
			defer close(idle)
			if _, err := in.Peek(1); err != nil {
				e.left()
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

// line carries one exchange.
type line interface {
	// head sends the status and the headers, each "Name: value".
	head(status int, header []string)
	// piece sends a piece of the body.
	piece(b []byte) error
	// end ends the body as it should end, reset ends the exchange as it should not.
	end()
	reset()
}

// Exchange is one request and the answer to it.
type Exchange struct {
	Script *Script
	// Number counts the script's requests from 1.
	Number int

	line line
	gone chan struct{}
	zip  *gzip.Writer
}

func newExchange(s *Script, l line) *Exchange {
	return &Exchange{Script: s, Number: int(s.Requests.Add(1)), line: l, gone: make(chan struct{})}
}

// left: llmd has closed its side.
func (e *Exchange) left() {
	at := time.Now()
	close(e.gone)
	e.Script.gone.Do(func() { e.Script.GoneAt = at; close(e.Script.Gone) })
}

// Head sends the status and the headers of an answer whose body comes in pieces.
func (e *Exchange) Head(status int, header ...string) {
	e.line.head(status, append(header, "X-Request-Id: req-"+e.Script.key))
}

// Gzip compresses what is sent from now on.
func (e *Exchange) Gzip() { e.zip = gzip.NewWriter(pieceWriter{e.line}) }

// Raw sends bytes outside of any HTTP.
func (e *Exchange) Raw(b []byte) {
	if p, ok := e.line.(*plainLine); ok {
		_, _ = p.conn.Write(b)
	}
}

// Send sends a piece of the body. It says whether llmd still listens.
func (e *Exchange) Send(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	if e.zip == nil {
		return e.line.piece(b) == nil
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
	return e.Cut()
}

// Cut ends the body, but not what is compressed in it.
func (e *Exchange) Cut() bool {
	e.line.end()
	return true
}

// Reset ends the exchange with RST: of the connection, or of the HTTP/2 stream.
func (e *Exchange) Reset() bool {
	e.line.reset()
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

// pieceWriter writes each piece in one.
type pieceWriter struct{ line }

func (w pieceWriter) Write(b []byte) (int, error) {
	if err := w.piece(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// plainLine is HTTP/1.1 with a body in chunks.
type plainLine struct{ conn net.Conn }

func (l *plainLine) head(status int, header []string) {
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nTransfer-Encoding: chunked\r\n%s\r\n\r\n", status, http.StatusText(status), strings.Join(header, "\r\n"))
	_, _ = io.WriteString(l.conn, head)
}

// piece writes one chunk in one write.
func (l *plainLine) piece(b []byte) error {
	out := fmt.Appendf(nil, "%x\r\n", len(b))
	_, err := l.conn.Write(append(append(out, b...), '\r', '\n'))
	return err
}

func (l *plainLine) end() { _, _ = io.WriteString(l.conn, "0\r\n\r\n") }

func (l *plainLine) reset() {
	if c, ok := l.conn.(*net.TCPConn); ok {
		_ = c.SetLinger(0)
	}
}

package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/test/bufconn"
)

// streamWindow is what the gRPC server may send ahead of the client on one stream, in
// bytes: what waits longer it merges.
const streamWindow = 64 << 10

// pipeBytes is what a connection in memory buffers each way.
const pipeBytes = 16 << 10

var errClosed = errors.New("web: closed")

// link is a client's connection and what it has to the gRPC server.
type link struct {
	id    string
	born  time.Time
	used  atomic.Bool // there was a request
	outer net.Conn

	mu     sync.Mutex
	inner  []net.Conn
	closed bool
}

// linkKey finds the link of a request.
type linkKey struct{}

// links are all clients' connections. It is the listener of the gRPC server and the
// dialler of the transport that calls it.
type links struct {
	accept chan net.Conn
	done   chan struct{}
	once   sync.Once
	last   atomic.Int64
	byID   sync.Map // string to *link
	byConn sync.Map // net.Conn to *link
}

func newLinks() *links { return &links{accept: make(chan net.Conn), done: make(chan struct{})} }

// transport calls the gRPC server. The host of a URL is the id of a link: so each has
// connections of its own.
func (l *links) transport() *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Transport{
		DialContext: l.dial, Protocols: protocols, DisableCompression: true,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: streamWindow},
	}
}

// open is http.Server.ConnContext.
func (l *links) open(ctx context.Context, c net.Conn) context.Context {
	made := &link{id: "link" + strconv.FormatInt(l.last.Add(1), 10), born: time.Now(), outer: c}
	l.byID.Store(made.id, made)
	l.byConn.Store(c, made)
	return context.WithValue(ctx, linkKey{}, made)
}

// state is http.Server.ConnState. A client that is gone takes its calls along.
func (l *links) state(c net.Conn, s http.ConnState) {
	found, _ := l.byConn.Load(c)
	of, ok := found.(*link)
	if !ok {
		return
	}
	switch s {
	case http.StateActive:
		of.used.Store(true)
	case http.StateClosed, http.StateHijacked:
		l.byConn.Delete(c)
		l.byID.Delete(of.id)
		of.close()
	case http.StateNew, http.StateIdle:
	}
}

// closeUnused closes connections that browsers open in advance. net/http would wait
// for their first request.
func (l *links) closeUnused() {
	l.byConn.Range(func(_, v any) bool {
		if of, ok := v.(*link); ok && !of.used.Load() {
			_ = of.outer.Close()
		}
		return true
	})
}

func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, c := range l.inner {
		_ = c.Close()
	}
}

// dial is http.Transport.DialContext: address is a link's id, with a port.
func (l *links) dial(ctx context.Context, _, address string) (net.Conn, error) {
	id, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	found, _ := l.byID.Load(id)
	of, ok := found.(*link)
	if !ok {
		return nil, errClosed
	}
	near, far, err := pipe(ctx)
	if err != nil {
		return nil, err
	}
	if !of.add(near) {
		_ = far.Close()
		return nil, errClosed
	}
	select {
	case l.accept <- &Conn{Conn: far, outer: of.outer}:
		return near, nil
	case <-l.done:
		return nil, errClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pipe makes a connection in memory. It has buffers: both ends begin by writing.
func pipe(ctx context.Context) (near, far net.Conn, err error) {
	l := bufconn.Listen(pipeBytes)
	accepted := make(chan net.Conn, 1)
	go func() {
		c, _ := l.Accept() // nil when the dialler gives up
		accepted <- c
	}()
	if near, err = l.DialContext(ctx); err != nil {
		_ = l.Close()
		return nil, nil, err
	}
	return near, <-accepted, nil
}

// add has the connection closed with the client's.
func (l *link) add(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = c.Close()
		return false
	}
	l.inner = append(l.inner, c)
	return true
}

// Accept implements net.Listener.
func (l *links) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *links) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener.
func (l *links) Addr() net.Addr { return memory{} }

// memory is the address of what has none.
type memory struct{}

func (memory) Network() string { return "memory" }
func (memory) String() string  { return "web" }

// Conn is a connection of the gRPC server that stands for a client's.
type Conn struct {
	net.Conn
	outer net.Conn
}

// LocalAddr is where the client connected to.
func (c *Conn) LocalAddr() net.Addr { return c.outer.LocalAddr() }

// RemoteAddr is the client's.
func (c *Conn) RemoteAddr() net.Addr { return c.outer.RemoteAddr() }

// Client is the client's own connection.
func (c *Conn) Client() net.Conn { return c.outer }

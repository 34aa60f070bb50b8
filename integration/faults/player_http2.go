package faults

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// NewHTTP2Player starts a provider that speaks HTTP/2 over TLS, frame by frame, and
// ends with the test.
func NewHTTP2Player(t testing.TB) *Player {
	t.Helper()
	p := &Player{CAFile: filepath.Join(t.TempDir(), "ca.pem")}
	cert := authority(t, p.CAFile)
	p.speak = p.serveHTTP2
	p.start(t, "https", tls.NewListener(listen(t), &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{http2.NextProtoTLS}}))
	return p
}

// authority makes a certificate for loopback that is its own authority.
func authority(t testing.TB, path string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// maxFrame is what every peer takes (RFC 9113, 4.2).
const maxFrame = 16 << 10

// session is one HTTP/2 connection. See https://www.rfc-editor.org/rfc/rfc9113.
type session struct {
	player *Player
	conn   net.Conn
	wg     sync.WaitGroup

	writing sync.Mutex // guards what follows
	framer  *http2.Framer
	block   bytes.Buffer
	encoder *hpack.Encoder

	mu      sync.Mutex // guards what follows, and the streams
	changed *sync.Cond
	window  int64 // what may be sent
	initial int64 // the window of a new stream
	streams map[uint32]*stream
}

// stream is one exchange of a session. It is a [line].
type stream struct {
	*session

	id       uint32
	window   int64
	body     bytes.Buffer
	exchange *Exchange // once the request is here
	over     bool
}

// serveHTTP2 serves one connection.
func (p *Player) serveHTTP2(c net.Conn) {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c, preface); err != nil || string(preface) != http2.ClientPreface {
		return
	}
	p.Connections.Add(1)
	s := &session{player: p, conn: c, framer: http2.NewFramer(c, c), window: 65535, initial: 65535, streams: map[uint32]*stream{}}
	s.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	s.encoder = hpack.NewEncoder(&s.block)
	s.changed = sync.NewCond(&s.mu)
	s.write(func(f *http2.Framer) error {
		return f.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1000}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	})
	s.write(func(f *http2.Framer) error { return f.WriteWindowUpdate(0, 1<<30) })
	for {
		f, err := s.framer.ReadFrame()
		if err != nil {
			break
		}
		s.take(f)
	}
	s.mu.Lock()
	for _, st := range s.streams {
		st.finish(true)
	}
	s.mu.Unlock()
	s.wg.Wait()
}

func (s *session) write(f func(*http2.Framer) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return f(s.framer)
}

// take handles a frame of llmd's.
func (s *session) take(f http2.Frame) {
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			return
		}
		if v, ok := f.Value(http2.SettingInitialWindowSize); ok {
			s.mu.Lock()
			for _, st := range s.streams {
				st.window += int64(v) - s.initial
			}
			s.initial = int64(v)
			s.changed.Broadcast()
			s.mu.Unlock()
		}
		s.write((*http2.Framer).WriteSettingsAck)
	case *http2.PingFrame:
		if !f.IsAck() {
			s.write(func(w *http2.Framer) error { return w.WritePing(true, f.Data) })
		}
	case *http2.WindowUpdateFrame:
		s.mu.Lock()
		if st := s.streams[f.StreamID]; st != nil {
			st.window += int64(f.Increment)
		} else if f.StreamID == 0 {
			s.window += int64(f.Increment)
		}
		s.changed.Broadcast()
		s.mu.Unlock()
	case *http2.MetaHeadersFrame:
		s.mu.Lock()
		st := &stream{session: s, id: f.StreamID, window: s.initial}
		s.streams[st.id] = st
		s.mu.Unlock()
		if f.StreamEnded() {
			s.dispatch(st)
		}
	case *http2.DataFrame:
		s.mu.Lock()
		st := s.streams[f.StreamID]
		s.mu.Unlock()
		if st == nil {
			return
		}
		st.body.Write(f.Data())
		if f.StreamEnded() {
			s.dispatch(st)
		}
	case *http2.RSTStreamFrame:
		s.mu.Lock()
		if st := s.streams[f.StreamID]; st != nil {
			st.finish(true)
		}
		s.mu.Unlock()
	}
}

// finish ends a stream; gone says that llmd left. The caller holds the lock.
func (st *stream) finish(gone bool) {
	if st.over {
		return
	}
	st.over = true
	delete(st.streams, st.id)
	st.changed.Broadcast()
	if gone && st.exchange != nil {
		st.exchange.left()
	}
}

func (s *session) dispatch(st *stream) {
	script := s.player.script(st.body.Bytes())
	if script == nil {
		st.head(418, nil)
		st.end()
		return
	}
	s.mu.Lock()
	st.exchange = newExchange(script, st)
	s.mu.Unlock()
	s.wg.Go(func() {
		if script.Play(st.exchange) {
			return
		}
		s.mu.Lock()
		over := st.over
		s.mu.Unlock()
		if !over {
			_ = s.conn.Close()
		}
	})
}

func (st *stream) head(status int, header []string) {
	_ = st.write(func(f *http2.Framer) error {
		st.block.Reset()
		fields := []hpack.HeaderField{{Name: ":status", Value: strconv.Itoa(status)}}
		for _, h := range header {
			name, value, _ := strings.Cut(h, ": ")
			fields = append(fields, hpack.HeaderField{Name: strings.ToLower(name), Value: value})
		}
		for _, h := range fields {
			if err := st.encoder.WriteField(h); err != nil {
				return err
			}
		}
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: st.id, BlockFragment: st.block.Bytes(), EndHeaders: true})
	})
}

var errOver = errors.New("faults: the stream is over")

func (st *stream) piece(b []byte) error {
	for len(b) > 0 {
		n, err := st.take1(len(b))
		if err != nil {
			return err
		}
		if err := st.write(func(f *http2.Framer) error { return f.WriteData(st.id, false, b[:n]) }); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// take1 waits for room for one frame of at most n bytes.
func (st *stream) take1(n int) (int, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for !st.over && (st.window <= 0 || st.session.window <= 0) {
		st.changed.Wait()
	}
	if st.over {
		return 0, errOver
	}
	room := min(int64(n), maxFrame, st.window, st.session.window)
	st.window -= room
	st.session.window -= room
	return int(room), nil
}

// close ends the stream from this side, with a frame.
func (st *stream) close(f func(*http2.Framer) error) {
	st.mu.Lock()
	over := st.over
	st.finish(false)
	st.mu.Unlock()
	if !over {
		_ = st.write(f)
	}
}

func (st *stream) end() {
	st.close(func(f *http2.Framer) error { return f.WriteData(st.id, true, nil) })
}

func (st *stream) reset() { st.rst(http2.ErrCodeInternal) }

// rst resets the stream.
func (st *stream) rst(code http2.ErrCode) {
	st.close(func(f *http2.Framer) error { return f.WriteRSTStream(st.id, code) })
}

// goAway says that no more streams are taken, and which was the last that was.
func (st *stream) goAway(last uint32, code http2.ErrCode) {
	_ = st.write(func(f *http2.Framer) error { return f.WriteGoAway(last, code, nil) })
}

// drop closes the connection with RST.
func (st *stream) drop() {
	if c, ok := st.conn.(*tls.Conn); ok {
		if raw, ok := c.NetConn().(*net.TCPConn); ok {
			_ = raw.SetLinger(0)
			_ = raw.Close()
		}
	}
}

package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// onePixel is a PNG of one pixel.
var onePixel = func() []byte {
	b, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")
	if err != nil {
		panic(err)
	}
	return b
}()

// site is a web server that answers as the public address of *.example.
type site struct {
	*Fetcher
	server *httptest.Server

	mu     sync.Mutex
	dialed []string
}

const publicAddr = "93.184.216.34"

func newSite(t *testing.T, secure bool, handler http.HandlerFunc) *site {
	t.Helper()
	f, err := New(Options{UserAgent: "llmd/test"})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{Fetcher: f, server: httptest.NewUnstartedServer(handler)}
	s.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if secure {
		s.server.StartTLS()
		roots := x509.NewCertPool()
		roots.AddCert(s.server.Certificate())
		f.transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	} else {
		s.server.Start()
	}
	t.Cleanup(s.server.Close)
	f.lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
		switch {
		case strings.HasSuffix(host, "example.com"), strings.HasSuffix(host, "example"):
			return []netip.Addr{netip.MustParseAddr(publicAddr)}, nil
		case host == "internal":
			return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
		}
		return nil, errors.New("no such host")
	}
	f.connect = func(ctx context.Context, host string, to netip.AddrPort) (net.Conn, error) {
		s.mu.Lock()
		s.dialed = append(s.dialed, host+" "+to.String())
		s.mu.Unlock()
		var d net.Dialer
		return d.DialContext(ctx, "tcp", s.server.Listener.Addr().String())
	}
	return s
}

func image(w http.ResponseWriter, contentType string, data []byte) {
	if contentType != "" {
		w.Header().Set("Content-Type", contentType)
	} else {
		w.Header()["Content-Type"] = nil
	}
	_, _ = w.Write(data)
}

func TestFetch(t *testing.T) {
	var asked http.Header
	s := newSite(t, false, func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Clone()
		asked.Set("Host", r.Host)
		image(w, "image/png; charset=binary", onePixel)
	})
	data, mime, err := s.Fetch(t.Context(), "http://img.example:8080/a.png?x=1#f")
	if err != nil || mime != "image/png" || !bytes.Equal(data, onePixel) {
		t.Fatalf("%d bytes of %q, %v", len(data), mime, err)
	}
	if len(s.dialed) != 1 || s.dialed[0] != "img.example "+publicAddr+":8080" {
		t.Errorf("dialled %q", s.dialed)
	}
	want := map[string]string{
		"Host": "img.example:8080", "User-Agent": "llmd/test", "Accept-Encoding": "identity",
		"Accept": "image/png, image/jpeg, image/gif, image/webp", "Connection": "close",
	}
	for k := range asked {
		if asked.Get(k) != want[k] {
			t.Errorf("sends %s: %q, want %q", k, asked.Get(k), want[k])
		}
	}
}

// No proxy of the environment is asked.
func TestNoProxy(t *testing.T) {
	for _, k := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(k, "http://127.0.0.1:1")
	}
	s := newSite(t, false, func(w http.ResponseWriter, _ *http.Request) { image(w, "image/png", onePixel) })
	if _, _, err := s.Fetch(t.Context(), "http://img.example/"); err != nil {
		t.Error(err)
	}
}

func TestContent(t *testing.T) {
	webp := []byte("RIFF\x24\x00\x00\x00WEBPVP8 ")
	for _, tt := range []struct {
		name, contentType string
		body              string
		mime, problem     string
	}{
		{"png", "image/png", string(onePixel), "image/png", ""},
		{"png without a type", "", string(onePixel), "image/png", ""},
		{"png as bytes", "application/octet-stream", string(onePixel), "image/png", ""},
		{"png as S3 bytes", "binary/octet-stream", string(onePixel), "image/png", ""},
		{"jpeg", "image/jpg", "\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg", ""},
		{"gif", "IMAGE/GIF", "GIF89a\x01\x00\x01\x00\x00\x00", "image/gif", ""},
		{"webp", "image/webp", string(webp), "image/webp", ""},
		{"png as jpeg", "image/jpeg", string(onePixel), "", "something else"},
		{"png as html", "text/html", string(onePixel), "", "something else"},
		{"svg", "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg"/>`, "", "is not a PNG"},
		{"svg as png", "image/png", `<?xml version="1.0"?><svg/>`, "", "is not a PNG"},
		{"html", "text/html", "<!doctype html><title>internal</title>", "", "is not a PNG"},
		{"html as png", "image/png", "<html>", "", "is not a PNG"},
		{"json", "application/json", `{"AccessKeyId":"secret"}`, "", "is not a PNG"},
		{"nothing", "image/png", "", "", "is not a PNG"},
		{"half a head", "image/png", "\x89PNG", "", "is not a PNG"},
		{"riff that is sound", "image/webp", "RIFF\x24\x00\x00\x00WAVEfmt ", "", "is not a PNG"},
		{"pdf", "application/pdf", "%PDF-1.7 ................", "", "is not a PNG"},
		{"heic", "image/heic", "\x00\x00\x00\x18ftypheic\x00\x00\x00\x00", "", "is not a PNG"},
	} {
		s := newSite(t, false, func(w http.ResponseWriter, _ *http.Request) { image(w, tt.contentType, []byte(tt.body)) })
		data, mime, err := s.Fetch(t.Context(), "http://img.example/")
		if tt.problem == "" {
			if err != nil || mime != tt.mime || string(data) != tt.body {
				t.Errorf("%s: %q, %v", tt.name, mime, err)
			}
			continue
		}
		if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Problem, tt.problem) || data != nil {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.problem)
		}
	}
}

func TestStatusAndEncoding(t *testing.T) {
	s := newSite(t, false, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			image(w, "image/png", onePixel)
		case "/401":
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
		case "/206":
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(onePixel)
		default:
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte("stack trace with secret"))
		}
	})
	for path, problem := range map[string]string{
		"/gzip": "compressed", "/401": "answered HTTP 401", "/206": "answered HTTP 206", "/500?k=secret": "answered HTTP 500",
	} {
		_, _, err := s.Fetch(t.Context(), "http://img.example"+path)
		if err == nil || !strings.Contains(err.Error(), problem) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestRedirects(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Set-Cookie", "a=b")
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
			return
		}
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/hop/%d", &n); err == nil && n > 0 {
			http.Redirect(w, r, fmt.Sprintf("/hop/%d", n-1), []int{301, 302, 303, 307, 308}[n%5])
			return
		}
		if len(r.Cookies()) > 0 || r.Referer() != "" || r.Header.Get("Authorization") != "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		image(w, "image/png", onePixel)
	}
	plain, secure := newSite(t, false, handler), newSite(t, true, handler)
	for _, tt := range []struct{ url, problem string }{
		{"http://a.example/hop/5", ""},
		{"http://a.example/hop/6", "more than 5 times"},
		{"http://a.example/?to=//b.example/x.png", ""},
		{"http://a.example/?to=x.png", ""},
		{"http://a.example/?to=http://internal/", "redirects to a URL that has no public address"},
		{"http://a.example/?to=http://127.0.0.1/", "no public address"},
		{"http://a.example/?to=http://169.254.169.254/latest/", "redirects to a URL that is a metadata service"},
		{"http://a.example/?to=http://[::ffff:10.0.0.1]/", "no public address"},
		{"http://a.example/?to=http://0x7f.1/", "unusual spelling"},
		{"http://a.example/?to=http://u:p@b.example/", "user name"},
		{"http://a.example/?to=file:///etc/passwd", "neither http nor https"},
		{"http://a.example/?to=data:image/png%3Bbase64,AAAA", "neither http nor https"},
		{"http://a.example/?to=gopher://b.example/", "neither http nor https"},
		{"http://a.example/?to=http://b.example:22/", "port"},
		{"http://a.example/?to=http://[::1", "no URL"},
		{"https://example.com/?to=http://a.example/", "https to http"},
		{"https://example.com/?to=/x.png", ""},
		{"https://example.com/?to=//example.com:8443/x.png", ""},
	} {
		s := plain
		if strings.HasPrefix(tt.url, "https") {
			s = secure
		}
		_, _, err := s.Fetch(t.Context(), tt.url)
		if tt.problem == "" && err != nil || tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)) {
			t.Errorf("%s: %v, want %q", tt.url, err, tt.problem)
		}
		if err != nil && strings.Contains(err.Error(), "?") {
			t.Errorf("%v shows a query", err)
		}
	}
	none := newSite(t, false, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) })
	if _, _, err := none.Fetch(t.Context(), "http://a.example/"); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Error(err)
	}
}

// A certificate for another name, or by nobody in particular, is no good.
func TestCertificates(t *testing.T) {
	s := newSite(t, true, func(w http.ResponseWriter, _ *http.Request) { image(w, "image/png", onePixel) })
	if _, _, err := s.Fetch(t.Context(), "https://example.com/"); err != nil {
		t.Error(err)
	}
	if _, _, err := s.Fetch(t.Context(), "https://other.example/"); err == nil || !strings.Contains(err.Error(), "could not be downloaded") {
		t.Error(err)
	}
}

// A resolver that changes its answer is asked once, and what it said is dialled.
func TestRebinding(t *testing.T) {
	s := newSite(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/again" {
			http.Redirect(w, r, "http://rebind.example/", http.StatusFound)
			return
		}
		image(w, "image/png", onePixel)
	})
	var lookups atomic.Int32
	s.lookup = func(context.Context, string) ([]netip.Addr, error) {
		if lookups.Add(1) == 1 {
			return []netip.Addr{netip.MustParseAddr(publicAddr)}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	if _, _, err := s.Fetch(t.Context(), "http://rebind.example/"); err != nil || lookups.Load() != 1 || s.dialed[0] != "rebind.example "+publicAddr+":80" {
		t.Errorf("%d look-ups, dialled %q, %v", lookups.Load(), s.dialed, err)
	}
	// A redirect to the same host looks again, and checks again.
	lookups.Store(0)
	if _, _, err := s.Fetch(t.Context(), "http://rebind.example/again"); err == nil || !strings.Contains(err.Error(), "no public address") || len(s.dialed) != 2 {
		t.Errorf("dialled %q, %v", s.dialed, err)
	}
}

// A dead address is followed by the next one.
func TestNextAddress(t *testing.T) {
	s := newSite(t, false, func(w http.ResponseWriter, _ *http.Request) { image(w, "image/png", onePixel) })
	s.lookup = func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("2606:4700::1"), netip.MustParseAddr("1.1.1.1"), netip.MustParseAddr("1.0.0.1")}, nil
	}
	connect := s.connect
	s.connect = func(ctx context.Context, host string, to netip.AddrPort) (net.Conn, error) {
		if to.Addr().String() != "2606:4700::1" {
			s.dialed = append(s.dialed, to.String())
			return nil, errors.New("connection refused")
		}
		return connect(ctx, host, to)
	}
	if _, _, err := s.Fetch(t.Context(), "http://a.example/"); err != nil || strings.Join(s.dialed, ",") != "1.1.1.1:80,1.0.0.1:80,a.example [2606:4700::1]:80" {
		t.Errorf("dialled %q, %v", s.dialed, err)
	}
}

func TestSizes(t *testing.T) {
	var sent atomic.Int64
	endless := func(w http.ResponseWriter) {
		chunk := append([]byte(nil), onePixel...)
		chunk = append(chunk, make([]byte, 32<<10)...)
		for {
			n, err := w.Write(chunk)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	}
	s := newSite(t, false, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		switch r.URL.Path {
		case "/declared":
			w.Header().Set("Content-Length", "10485761")
			_, _ = w.Write(onePixel)
		case "/exact":
			_, _ = w.Write(append(append([]byte(nil), onePixel...), make([]byte, MaxImageBytes-len(onePixel))...))
		case "/one-more":
			_ = http.NewResponseController(w).Flush() // no Content-Length
			_, _ = w.Write(append(append([]byte(nil), onePixel...), make([]byte, MaxImageBytes-len(onePixel)+1)...))
		case "/endless":
			endless(w)
		case "/endless-text":
			for {
				if _, err := io.WriteString(w, strings.Repeat("html ", 1000)); err != nil {
					return
				}
			}
		}
	})
	for path, problem := range map[string]string{
		"/declared": "more than 10485760 bytes", "/exact": "", "/one-more": "more than 10485760 bytes",
		"/endless": "more than 10485760 bytes", "/endless-text": "is not a PNG",
	} {
		data, _, err := s.Fetch(t.Context(), "http://img.example"+path)
		if problem == "" && (err != nil || len(data) != MaxImageBytes) || problem != "" && (err == nil || !strings.Contains(err.Error(), problem)) {
			t.Errorf("%s: %v", path, err)
		}
	}
	// What the sockets hold may be on its way when the reading stops.
	if n := sent.Load(); n > 2*MaxImageBytes {
		t.Errorf("%d bytes were taken", n)
	}
}

// raw answers every connection with bytes of one's own.
func raw(t *testing.T, answer string, then func(net.Conn)) *site {
	t.Helper()
	s := newSite(t, false, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 4096)
			_, _ = c.Read(buf)
			_, _ = io.WriteString(c, answer)
			then(c)
			_ = c.Close()
		}
	}()
	s.connect = func(ctx context.Context, _ string, _ netip.AddrPort) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", l.Addr().String())
	}
	return s
}

func TestLyingLengths(t *testing.T) {
	body := string(onePixel)
	for _, tt := range []struct{ name, answer, problem string }{
		{"too long", "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + body, "could not be downloaded"},
		{"too short", fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s<html>", len(body), body), ""},
		{"negative", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n" + body, "could not be downloaded"},
		{"two", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 70\r\n\r\n" + body, "could not be downloaded"},
		{"huge", "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n" + body, "more than"},
		{"none", "HTTP/1.1 200 OK\r\n\r\n" + body, ""},
		{"cut chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n" + body, "could not be downloaded"},
		{"endless header", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20), "could not be downloaded"},
		{"no HTTP", "+OK redis\r\n", "could not be downloaded"},
	} {
		s := raw(t, tt.answer, func(net.Conn) {})
		data, _, err := s.Fetch(t.Context(), "http://img.example/")
		if tt.problem == "" && (err != nil || string(data) != body) || tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// wait fails the test rather than hang it.
func wait(t *testing.T, what <-chan struct{}) {
	t.Helper()
	select {
	case <-what:
	case <-time.After(20 * time.Second):
		t.Error("what was waited for did not come")
	}
}

// silent calls begun, waits until the other side has gone, and says so.
func silent(begun func()) (then func(net.Conn), gone chan struct{}) {
	gone = make(chan struct{})
	return func(c net.Conn) {
		begun()
		_, _ = c.Read(make([]byte, 1))
		close(gone)
	}, gone
}

func TestSlow(t *testing.T) {
	for name, answer := range map[string]string{
		"no answer":   "",
		"half a head": "HTTP/1.1 200 OK\r\nContent-",
		"no body":     "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n",
		"half a body": "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + string(onePixel),
	} {
		then, gone := silent(func() {})
		s := raw(t, answer, then)
		s.limits.imageTimeout = 500 * time.Millisecond
		_, _, err := s.Fetch(t.Context(), "http://img.example/a?secret")
		if err == nil || err.Error() != "fetch: http://img.example/a: took longer than 500ms" {
			t.Errorf("%s: %v", name, err)
		}
		wait(t, gone)
	}
}

// The end of the caller's context is the end of everything, and is what it gets.
func TestCancel(t *testing.T) {
	for name, answer := range map[string]string{
		"no answer":   "",
		"half a body": "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + string(onePixel),
	} {
		ctx, cancel := context.WithCancel(t.Context())
		then, gone := silent(cancel)
		s := raw(t, answer, then)
		start := time.Now()
		if _, err := s.NewBatch().Fetch(ctx, []string{"http://img.example/", "http://img.example/"}); !errors.Is(err, context.Canceled) || time.Since(start) > 5*time.Second {
			t.Errorf("%s: %v after %s", name, err, time.Since(start))
		}
		wait(t, gone)
	}
	s := newSite(t, false, nil)
	s.lookup = func(ctx context.Context, _ string) ([]netip.Addr, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, _, err := s.Fetch(ctx, "http://img.example/"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

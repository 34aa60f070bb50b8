package upstream_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/internal/upstream"
)

func newClient(t *testing.T, o upstream.Options) *upstream.Client {
	t.Helper()
	c := upstream.New(o)
	t.Cleanup(c.Close)
	return c
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func request(body string) *adapters.Request {
	return &adapters.Request{Path: "/v1/go", Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body)}
}

// mustDo sends a request and closes the body at the end of the test.
func mustDo(t *testing.T, c *upstream.Client, target *upstream.Target) *upstream.Response {
	t.Helper()
	r, err := c.Do(t.Context(), target, request("{}"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Body.Close() })
	return r
}

// doAtOnce sends five requests at the same time, none of which may fail.
func doAtOnce(t *testing.T, c *upstream.Client, target *upstream.Target) {
	t.Helper()
	done := make(chan error)
	for range 5 {
		go func() {
			r, err := c.Do(t.Context(), target, request("{}"))
			if err == nil {
				_ = r.Body.Close()
			}
			done <- err
		}()
	}
	for range 5 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func zip(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRequest(t *testing.T) {
	got := make(chan *http.Request, 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) != `{"a":1}` {
			t.Errorf("body %q", body)
		}
		got <- r
		w.Header().Set("X-Request-Id", "req-1")
		w.Header().Set("Cf-Ray", "ray")
		w.WriteHeader(http.StatusTeapot)
	})
	c := newClient(t, upstream.Options{UserAgent: "llmd/test"})
	r := request(`{"a":1}`)
	r.Path = "/models/a%2Fb:go?alt=sse"
	r.Header.Set("X-Adapter", "adapter")
	r.Header.Set("X-Both", "adapter")
	r.Header.Set("X-Api-Key", "adapter")
	response, err := c.Do(t.Context(), &upstream.Target{
		BaseURL:     s.URL + "/base/?v=1",
		Headers:     []upstream.Header{{"x-both", "configured"}, {"x-api-key", "configured"}},
		Credentials: upstream.NewKey(upstream.SchemeXAPIKey, "secret", "test"),
	}, r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.Status != http.StatusTeapot || response.RequestID != "req-1" {
		t.Errorf("status %d, request id %q", response.Status, response.RequestID)
	}
	sent := <-got
	if sent.Method != http.MethodPost || sent.RequestURI != "/base/models/a%2Fb:go?v=1&alt=sse" {
		t.Errorf("%s %s", sent.Method, sent.RequestURI)
	}
	for name, want := range map[string]string{
		"User-Agent": "llmd/test", "X-Adapter": "adapter", "X-Both": "configured", "X-Api-Key": "secret", "Accept-Encoding": "", "Content-Type": "application/json",
	} {
		if got := strings.Join(sent.Header.Values(name), "|"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestEncodings(t *testing.T) {
	const text = "data: {\"a\":1}\n\ndata: [DONE]\n\n"
	var zlibbed bytes.Buffer
	w := zlib.NewWriter(&zlibbed)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	whole := zip(t, text)
	tests := []struct {
		name, encoding string
		body           []byte
		want           string
		err            error
	}{
		{"plain", "", []byte(text), text, nil},
		{"identity", "identity", []byte(text), text, nil},
		{"gzip", "gzip", whole, text, nil},
		{"gzip in capitals", "X-GZIP", whole, text, nil},
		{"gzip twice", "gzip, gzip", zip(t, string(whole)), text, nil},
		{"gzip in two members", "gzip", append(bytes.Clone(whole), whole...), text + text, nil},
		{"gzip with padding", "gzip", append(bytes.Clone(whole), make([]byte, 20)...), text, nil},
		{"gzip of nothing", "gzip", nil, "", nil},
		{"gzip cut in the trailer", "gzip", whole[:len(whole)-3], text, io.ErrUnexpectedEOF},
		{"gzip cut in the header", "gzip", whole[:5], "", io.ErrUnexpectedEOF},
		{"deflate", "deflate", zlibbed.Bytes(), text, nil},
		{"bare deflate", "deflate", zlibbed.Bytes()[2 : zlibbed.Len()-4], text, nil},
		{"deflate cut", "deflate", zlibbed.Bytes()[:zlibbed.Len()-3], text, io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if tt.encoding != "" {
					w.Header().Set("Content-Encoding", tt.encoding)
				}
				_, _ = w.Write(tt.body)
			})
			r := mustDo(t, newClient(t, upstream.Options{}), &upstream.Target{BaseURL: s.URL})
			got, err := io.ReadAll(r.Body)
			if string(got) != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%q, %v; want %q, %v", got, err, tt.want, tt.err)
			}
			if r.Header.Get("Content-Encoding") != "" {
				t.Error("the encoding is still in the header")
			}
		})
	}
}

func TestGzipIsReadAsItComes(t *testing.T) {
	next := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		z := gzip.NewWriter(w)
		for i := range 3 {
			_, _ = fmt.Fprintf(z, "event %d\n", i)
			_ = z.Flush()
			_ = http.NewResponseController(w).Flush()
			<-next
		}
		_ = z.Close()
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done() // held open after the end
	})
	r := mustDo(t, newClient(t, upstream.Options{}), &upstream.Target{BaseURL: s.URL})
	buf := make([]byte, 100)
	for i := range 3 {
		n, err := r.Body.Read(buf)
		if want := fmt.Sprintf("event %d\n", i); err != nil || string(buf[:n]) != want {
			t.Fatalf("%q, %v; want %q", buf[:n], err, want)
		}
		next <- struct{}{}
	}
}

func TestUnknownEncoding(t *testing.T) {
	status := http.StatusOK
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "garbage")
	})
	c := newClient(t, upstream.Options{})
	_, err := c.Do(t.Context(), &upstream.Target{BaseURL: s.URL}, request(""))
	_ = wantReason(t, err, adapters.ReasonProtocolError)
	status = http.StatusBadGateway
	r := mustDo(t, c, &upstream.Target{BaseURL: s.URL})
	if body, err := io.ReadAll(r.Body); r.Status != status || len(body) != 0 || err != nil {
		t.Errorf("%d %q %v", r.Status, body, err)
	}
}

// A body that is not what its Content-Encoding says is not one that was cut.
func TestCorruptBody(t *testing.T) {
	const text = "data: part of an answer\n\n"
	whole := zip(t, text)
	for name, c := range map[string]struct {
		encoding, body string
		corrupt        bool
	}{
		"no gzip":           {"gzip", text, true},
		"no zlib, no bits":  {"deflate", "\xff\xff\xff\xff\xff", true},
		"damaged":           {"gzip", string(whole[:12]) + "\xff\xff\xff" + string(whole[15:]), true},
		"another sum":       {"gzip", string(whole[:len(whole)-8]) + "\x00\x00\x00\x00" + string(whole[len(whole)-4:]), true},
		"cut":               {"gzip", string(whole[:len(whole)-6]), false},
		"cut in its header": {"gzip", string(whole[:5]), false},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", c.encoding)
			_, _ = io.WriteString(w, c.body)
		})
		_, err := io.ReadAll(mustDo(t, newClient(t, upstream.Options{}), &upstream.Target{BaseURL: s.URL}).Body)
		if err == nil || errors.Is(err, upstream.ErrCorrupt) != c.corrupt {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCutBody(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "data: part")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	r := mustDo(t, newClient(t, upstream.Options{}), &upstream.Target{BaseURL: s.URL})
	got, err := io.ReadAll(r.Body)
	if string(got) != "data: part" || err == nil {
		t.Errorf("%q, %v", got, err)
	}
}

// A closed body must end the exchange even when there is much left to read, and
// so must the end of the context.
func TestCloseAtOnce(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, by := range []string{"close", "context"} {
			t.Run(fmt.Sprintf("tls=%v/%s", secure, by), func(t *testing.T) {
				gone := make(chan string, 1)
				s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.WriteString(w, "data: 1\n\n")
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
					gone <- r.Proto
				}))
				s.EnableHTTP2 = true
				var conf *tls.Config
				if secure {
					s.StartTLS()
					conf = &tls.Config{RootCAs: x509.NewCertPool()}
					conf.RootCAs.AddCert(s.Certificate())
				} else {
					s.Start()
				}
				t.Cleanup(s.Close)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c := newClient(t, upstream.Options{TLS: conf})
				r, err := c.Do(ctx, &upstream.Target{BaseURL: s.URL}, request("{}"))
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = r.Body.Close() }()
				if _, err := io.ReadFull(r.Body, make([]byte, 9)); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				if by == "close" {
					_ = r.Body.Close()
				} else {
					cancel()
				}
				select {
				case proto := <-gone:
					if took := time.Since(start); took > 100*time.Millisecond {
						t.Errorf("the server noticed after %v", took)
					}
					if want := map[bool]string{true: "HTTP/2.0", false: "HTTP/1.1"}[secure]; proto != want {
						t.Errorf("%s, want %s", proto, want)
					}
				case <-time.After(5 * time.Second):
					t.Fatal("the server never noticed")
				}
				if _, err := r.Body.Read(make([]byte, 1)); err == nil {
					t.Error("a closed body can be read")
				}
			})
		}
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	seen := map[string]bool{}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { seen[r.RemoteAddr] = true })
	c := newClient(t, upstream.Options{})
	for range 3 {
		r := mustDo(t, c, &upstream.Target{BaseURL: s.URL})
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	if len(seen) != 1 {
		t.Errorf("%d connections for three whole answers", len(seen))
	}
}

func wantReason(t *testing.T, err error, reason string) *adapters.UpstreamError {
	t.Helper()
	e, ok := errors.AsType[*adapters.UpstreamError](err)
	if !ok || e.Reason != reason {
		t.Fatalf("%v (%T), want %s", err, err, reason)
	}
	return e
}

func TestRedirect(t *testing.T) {
	hits := 0
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		hits++
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	_, err := newClient(t, upstream.Options{}).Do(t.Context(), &upstream.Target{BaseURL: s.URL}, request(""))
	if e := wantReason(t, err, adapters.ReasonProviderError); e.Status != http.StatusTemporaryRedirect || hits != 1 {
		t.Errorf("status %d after %d requests", e.Status, hits)
	}
}

func TestUnreachable(t *testing.T) {
	reset, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reset.Close() }()
	go func() {
		for {
			conn, err := reset.Accept()
			if err != nil {
				return
			}
			if c, ok := conn.(*net.TCPConn); ok {
				_ = c.SetLinger(0)
			}
			_, _ = io.ReadFull(conn, make([]byte, 10))
			_ = conn.Close()
		}
	}()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	secure.Config.ErrorLog = nil
	defer secure.Close()
	for name, base := range map[string]string{
		"reset before headers": "http://" + reset.Addr().String(),
		"nobody listens":       "http://" + closed.Addr().String(),
		"no such host":         "http://host.invalid",
		"untrusted":            secure.URL,
	} {
		t.Run(name, func(t *testing.T) {
			// Not even the environment's proxy may stand in between here.
			c := newClient(t, upstream.Options{Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }})
			_, err := c.Do(t.Context(), &upstream.Target{BaseURL: base}, request(""))
			if e := wantReason(t, err, adapters.ReasonUnreachable); e.Err == nil || !e.Retryable() {
				t.Errorf("%#v", e)
			}
		})
	}
}

// What answers there, but speaks something else, is not unreachable; what is cut, is.
func TestNoHTTP(t *testing.T) {
	for name, c := range map[string]struct {
		head   string
		reason string
	}{
		"SSH":                   {"SSH-2.0-OpenSSH_9.6\r\n", adapters.ReasonProtocolError},
		"an alert of TLS":       {"\x15\x03\x01\x00\x02\x02\x46", adapters.ReasonProtocolError},
		"settings of HTTP/2":    {"\x00\x00\x12\x04\x00\x00\x00\x00\x00", adapters.ReasonProtocolError},
		"no number":             {"HTTP/1.1 abc OK\r\n\r\n", adapters.ReasonProtocolError},
		"a header without name": {"HTTP/1.1 200 OK\r\nsecret words\r\n\r\n", adapters.ReasonProtocolError},
		"two lengths":           {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", adapters.ReasonProtocolError},
		"an unknown transfer":   {"HTTP/1.1 200 OK\r\nTransfer-Encoding: foo\r\n\r\n", adapters.ReasonProtocolError},
		"headers without end":   {"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 1<<20), adapters.ReasonProtocolError},
		"nothing":               {"", adapters.ReasonUnreachable},
		"a cut head":            {"HTTP/1.1 200 OK\r\nA: ", adapters.ReasonUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = http.ReadRequest(bufio.NewReader(conn))
					_, _ = io.WriteString(conn, c.head)
					_ = conn.Close()
				}
			}()
			_, err = newClient(t, upstream.Options{}).Do(t.Context(), &upstream.Target{BaseURL: "http://" + l.Addr().String()}, request(""))
			if e := wantReason(t, err, c.reason); !strings.HasPrefix(e.Message, l.Addr().String()) || strings.Contains(e.Message, "secret") {
				t.Errorf("%q", e.Message)
			}
		})
	}
}

func TestContextErrors(t *testing.T) {
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c := newClient(t, upstream.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Do(ctx, &upstream.Target{BaseURL: s.URL}, request("")); err != context.DeadlineExceeded {
		t.Errorf("%v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err := c.Do(ctx, &upstream.Target{BaseURL: s.URL}, request("")); err != context.Canceled {
		t.Errorf("%v", err)
	}
}

func TestBadBaseURL(t *testing.T) {
	c := newClient(t, upstream.Options{})
	for _, base := range []string{"", "nonsense", "ftp://host", "http://", "http://h\x7f?key=topsecret", "http://ho st/?key=topsecret"} {
		_, err := c.Do(t.Context(), &upstream.Target{BaseURL: base}, request(""))
		e := wantReason(t, err, adapters.ReasonPrecondition)
		if strings.Contains(e.Err.Error(), "topsecret") {
			t.Errorf("%v", e.Err)
		}
	}
}

func TestManyStreams(t *testing.T) {
	const streams = 200
	all := make(chan struct{})
	arrived := make(chan struct{}, streams)
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
		arrived <- struct{}{}
		<-all
		_, _ = io.WriteString(w, "end")
	})
	c := newClient(t, upstream.Options{})
	result := make(chan error, streams)
	for range streams {
		go func() {
			r, err := c.Do(t.Context(), &upstream.Target{BaseURL: s.URL}, request("{}"))
			if err != nil {
				result <- err
				return
			}
			defer func() { _ = r.Body.Close() }()
			_, err = io.ReadAll(r.Body)
			result <- err
		}()
	}
	for range streams {
		<-arrived
	}
	close(all)
	for range streams {
		if err := <-result; err != nil {
			t.Fatal(err)
		}
	}
}

package web

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/goleak"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// flood answers with more than any buffer holds.
type flood struct {
	llmdv1.UnimplementedInferenceServiceServer
	ended chan error
}

func (f *flood) Stream(_ *llmdv1.StreamRequest, s llmdv1.InferenceService_StreamServer) error {
	e := &llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_TextDelta{TextDelta: &llmdv1.TextDeltaEvent{Delta: strings.Repeat("x", 64<<10)}}}
	for {
		if err := s.Send(e); err != nil {
			f.ended <- err
			return err
		}
	}
}

// start serves the flood with little patience.
func start(t *testing.T) (address string, f *flood) {
	t.Helper()
	f = &flood{ended: make(chan error, 1)}
	s, err := New(Options{Services: []*grpc.ServiceDesc{&llmdv1.InferenceService_ServiceDesc}, MaxReceiveBytes: 1 << 20, MaxConcurrentStreams: 10, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s.http.ReadHeaderTimeout, s.bodyTimeout, s.writePatience = 300*time.Millisecond, 300*time.Millisecond, 300*time.Millisecond
	inner := grpc.NewServer(grpc.WaitForHandlers(true))
	llmdv1.RegisterInferenceServiceServer(inner, f)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 2)
	go func() { done <- inner.Serve(s.Inner()) }()
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		inner.Stop()
		s.Close()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
	return l.Addr().String(), f
}

const head = "POST " + llmdv1.InferenceService_Stream_FullMethodName + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/connect+proto\r\n"

// Clients that send slowly, or do not read, are given up on.
func TestSlowClients(t *testing.T) {
	for name, c := range map[string]struct {
		send string
		// says is what the answer holds, if there is one.
		says string
		// streams: there is an answer without end.
		streams bool
	}{
		"no headers":      {"POST / HTTP/1.1\r\nHost: local", "", false},
		"nothing":         {"", "", false},
		"no body":         {head + "Content-Length: 5\r\n\r\n\x00\x00", "deadline_exceeded", false},
		"a body for long": {head + "Transfer-Encoding: chunked\r\n\r\n2\r\n\x00\x00\r\n", "deadline_exceeded", false},
		"a refused one":   {"POST / HTTP/1.1\r\nHost: evil.test\r\nContent-Length: 5\r\n\r\n\x00\x00", "allowed_hosts", false},
		"no reader":       {head + "Content-Length: 5\r\n\r\n\x00\x00\x00\x00\x00", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			address, f := start(t)
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if _, err := io.WriteString(conn, c.send); err != nil {
				t.Fatal(err)
			}
			if c.streams {
				wantEnd(t, f)
				return
			}
			_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
			got, err := io.ReadAll(conn)
			if err != nil && !strings.Contains(err.Error(), "reset") || !strings.Contains(string(got), c.says) {
				t.Errorf("%v, %q", err, got)
			}
		})
	}
}

// wantEnd: the handler has been told that nobody reads.
func wantEnd(t *testing.T, f *flood) {
	t.Helper()
	select {
	case err := <-f.ended:
		if err == nil {
			t.Error("it ended well")
		}
	case <-time.After(20 * time.Second):
		t.Error("it goes on for nobody")
	}
}

// In HTTP/2 it is the stream that is given up on, and its flow control that stands
// still.
func TestSlowReaderHTTP2(t *testing.T) {
	address, f := start(t)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, http2.ClientPreface)
	framer := http2.NewFramer(conn, bufio.NewReader(conn))
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	var block strings.Builder
	enc := hpack.NewEncoder(&block)
	for _, field := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":authority", "localhost"}, {":path", llmdv1.InferenceService_Stream_FullMethodName}, {"content-type", "application/connect+proto"},
	} {
		_ = enc.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
	}
	_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte(block.String()), EndHeaders: true})
	_ = framer.WriteData(1, true, []byte{0, 0, 0, 0, 0})
	wantEnd(t, f)
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatalf("the stream is not reset: %v", err)
		}
		if reset, ok := frame.(*http2.RSTStreamFrame); ok && reset.StreamID == 1 {
			return
		}
	}
}

// A connection that is old is told to go away.
func TestMaxConnectionAge(t *testing.T) {
	s := &Server{guard: &guard{}, maxAge: time.Minute}
	for age, want := range map[time.Duration]string{time.Hour: "close", time.Second: ""} {
		ctx := context.WithValue(t.Context(), linkKey{}, &link{born: time.Now().Add(-age)})
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/", http.NoBody))
		if got := w.Header().Get("Connection"); got != want {
			t.Errorf("after %v: %q", age, got)
		}
	}
}

// Of a panic the log gets the place and the type: the value may hold a prompt.
func TestPanic(t *testing.T) {
	const prompt = "the words of a prompt"
	var log bytes.Buffer
	s := &Server{guard: &guard{}, errors: connect.NewErrorWriter(), log: slog.New(slog.NewTextHandler(&log, nil)), maxReceive: 100, bodyTimeout: time.Minute, writePatience: time.Minute}
	s.transcoder = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(errors.New(prompt)) })
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/x", strings.NewReader("{}"))
	r.Header.Set("Content-Type", "application/json")
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("it goes on with %v", p)
			}
		}()
		s.ServeHTTP(httptest.NewRecorder(), r)
	}()
	if text := log.String(); strings.Contains(text, prompt) || !strings.Contains(text, "errors.errorString") || !strings.Contains(text, "TestPanic") {
		t.Errorf("the log:\n%s", text)
	}
}

package web

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lab is an llmd with listeners for the web.
type lab struct {
	// tcp is host:port, unix a path.
	tcp, unix string
	// native is where gRPC is spoken.
	native string
	log    *harness.LogBuffer

	stop   context.CancelFunc
	now    chan struct{}
	served chan error
}

// start serves until the test ends; more are further lines of the server section.
func start(t *testing.T, more string) *lab {
	t.Helper()
	l := &lab{log: &harness.LogBuffer{}, now: make(chan struct{}), served: make(chan error, 1), unix: filepath.Join(t.TempDir(), "s")}
	text := "server:\n  instance: test\n  listen: ['tcp://127.0.0.1:0']\n  web:\n    listen: ['tcp://127.0.0.1:0', 'unix://" + l.unix + "']\n    allowed_origins: ['https://app.example.com']\n"
	if !strings.Contains(more, "drain_timeout") {
		text += "  drain_timeout: 2s\n"
	}
	env := func(string) (string, bool) { return "", false }
	file, err := config.Parse("llmd.yaml", []byte(text+more), env)
	if err != nil {
		t.Fatal(err)
	}
	app, err := server.New(file, env, "test", l.log)
	if err != nil {
		t.Fatal(err)
	}
	listeners, err := server.ListenAll(t.Context(), file.Server.Addresses())
	if err != nil {
		t.Fatal(err)
	}
	app.Web = listeners[1:]
	l.native, l.tcp = listeners[0].Addr().String(), listeners[1].Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	go func() { l.served <- app.Serve(ctx, listeners[:1], l.now) }()
	t.Cleanup(func() {
		l.stop()
		if err := <-l.served; err != nil {
			t.Errorf("serve: %v", err)
		}
		for _, word := range []string{harness.Canary, "panic"} {
			if strings.Contains(l.log.String(), word) {
				t.Errorf("llmd's log holds %q", word)
			}
		}
	})
	return l
}

// way is how a client speaks.
type way struct {
	name string
	// protocol is "connect", "grpcweb" or "grpc".
	protocol string
	json     bool
	// http2, unix: what it is carried by.
	http2, unix bool
}

// ways are all that a client can choose; gRPC is for HTTP/2 alone.
func ways() []way {
	var all []way
	for _, protocol := range []string{"connect", "grpcweb", "grpc"} {
		for _, json := range []bool{false, true} {
			for _, carrier := range []way{{name: "HTTP/1.1"}, {name: "HTTP/2", http2: true}, {name: "Unix socket", unix: true}} {
				if protocol == "grpc" && (json || !carrier.http2) {
					continue
				}
				carrier.name = protocol + map[bool]string{true: " JSON ", false: " "}[json] + carrier.name
				carrier.protocol, carrier.json = protocol, json
				all = append(all, carrier)
			}
		}
	}
	return all
}

// few are ways for what takes long: one of each protocol, and both carriers.
func few() []way {
	return []way{
		{name: "connect JSON HTTP/1.1", protocol: "connect", json: true},
		{name: "connect HTTP/2", protocol: "connect", http2: true},
		{name: "grpcweb HTTP/1.1", protocol: "grpcweb"},
		{name: "grpc HTTP/2", protocol: "grpc", http2: true},
	}
}

func (w way) options() []connect.ClientOption {
	var all []connect.ClientOption
	switch w.protocol {
	case "grpcweb":
		all = append(all, connect.WithGRPCWeb())
	case "grpc":
		all = append(all, connect.WithGRPC())
	}
	if w.json {
		all = append(all, connect.WithProtoJSON())
	}
	return all
}

// client is an HTTP client of the way; a nil config is no TLS.
func (l *lab) client(t *testing.T, w way, c *tls.Config) *http.Client {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!w.http2)
	protocols.SetHTTP2(w.http2)
	protocols.SetUnencryptedHTTP2(w.http2)
	transport := &http.Transport{Protocols: protocols, TLSClientConfig: c.Clone()} // a transport writes into it
	if w.unix {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", l.unix)
		}
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// rpc is one method of one way.
func rpc[Req, Res any](t *testing.T, l *lab, w way, method string) *connect.Client[Req, Res] {
	t.Helper()
	return connect.NewClient[Req, Res](l.client(t, w, nil), "http://"+l.tcp+method, w.options()...)
}

func streams(t *testing.T, l *lab, w way) *connect.Client[llmdv1.StreamRequest, llmdv1.StreamResponse] {
	t.Helper()
	return rpc[llmdv1.StreamRequest, llmdv1.StreamResponse](t, l, w, llmdv1.InferenceService_Stream_FullMethodName)
}

// result is what a client saw of a stream.
type result struct {
	events  []*llmdv1.StreamResponse
	err     *connect.Error
	trailer http.Header
}

func (r *result) last() *llmdv1.StreamResponse {
	if len(r.events) == 0 {
		return nil
	}
	return r.events[len(r.events)-1]
}

// stream calls Stream and reads to the end; each may be nil.
func stream(ctx context.Context, t *testing.T, c *connect.Client[llmdv1.StreamRequest, llmdv1.StreamResponse], req *llmdv1.StreamRequest, each func(*llmdv1.StreamResponse)) *result {
	t.Helper()
	r := &result{}
	s, err := c.CallServerStream(ctx, connect.NewRequest(req))
	if err != nil {
		r.err = asError(t, err)
		return r
	}
	defer func() { _ = s.Close() }()
	for s.Receive() {
		e := s.Msg()
		r.events = append(r.events, proto.CloneOf(e))
		if each != nil {
			each(e)
		}
	}
	if s.Err() != nil {
		r.err = asError(t, s.Err())
	}
	r.trailer = s.ResponseTrailer()
	return r
}

func asError(t *testing.T, err error) *connect.Error {
	t.Helper()
	e := new(connect.Error)
	if !asConnect(err, &e) {
		t.Fatalf("%T: %v", err, err)
	}
	return e
}

// detail finds a detail of an error.
func detail[M proto.Message](err *connect.Error) M {
	var none M
	if err == nil {
		return none
	}
	for _, d := range err.Details() {
		if v, problem := d.Value(); problem == nil {
			if m, ok := v.(M); ok {
				return m
			}
		}
	}
	return none
}

func reason(err *connect.Error) string { return detail[*errdetails.ErrorInfo](err).GetReason() }

// wantError wants a code and a reason.
func wantError(t *testing.T, what string, err *connect.Error, code connect.Code, why string) {
	t.Helper()
	if err == nil || err.Code() != code || reason(err) != why {
		t.Errorf("%s: %v (%s), want %v, %s", what, err, reason(err), code, why)
	}
}

func limited(t *testing.T) context.Context { return harness.Limited(t, 60*time.Second) }

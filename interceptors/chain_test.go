package interceptors

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/procs"
	"github.com/llmd-dev/llmd/internal/stack"
)

const secret = "the-words-of-a-prompt"

// clumsy is a service that does what it is asked to.
type clumsy struct {
	llmdv1.UnimplementedInferenceServiceServer
}

func act(model string) error {
	switch model {
	case "panic":
		panic(secret)
	case "panic with an error":
		panic(errors.New(secret))
	case "panic aside":
		stack.Aside(panics)
	case "fail":
		return status.Error(codes.Unavailable, "the provider said: "+secret)
	}
	return nil
}

func panics() { panic([]string{secret}) }

func (clumsy) Complete(_ context.Context, r *llmdv1.CompleteRequest) (*llmdv1.CompleteResponse, error) {
	return &llmdv1.CompleteResponse{}, act(r.GetGeneration().GetModel())
}

func (clumsy) Stream(r *llmdv1.StreamRequest, s grpc.ServerStreamingServer[llmdv1.StreamResponse]) error {
	if err := s.Send(&llmdv1.StreamResponse{}); err != nil {
		return err
	}
	if r.GetGeneration().GetModel() == "wait" {
		<-s.Context().Done()
	}
	return act(r.GetGeneration().GetModel())
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func dial(t *testing.T) (llmdv1.InferenceServiceClient, *buffer) {
	t.Helper()
	log := &buffer{}
	return llmdv1.NewInferenceServiceClient(connect(t, Options{Log: slog.New(slog.NewTextHandler(log, nil))})), log
}

func connect(t *testing.T, o Options) *grpc.ClientConn {
	t.Helper()
	chain := New(o)
	return serve(t, grpc.NewServer(chain.Options()...), chain.Services)
}

func serve(t *testing.T, s *grpc.Server, services func(grpc.ServiceRegistrar) grpc.ServiceRegistrar) *grpc.ClientConn {
	t.Helper()
	llmdv1.RegisterInferenceServiceServer(services(s), clumsy{})
	healthv1.RegisterHealthServer(services(s), health.NewServer())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:///"+l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); s.Stop() })
	return conn
}

// What is at work are calls of llmd's own services, from their beginning to their end,
// whatever that is. A probe may watch for ever.
func TestCallsAreCounted(t *testing.T) {
	calls := procs.NewCalls()
	conn := connect(t, Options{Log: slog.New(slog.DiscardHandler), Calls: calls})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	probe, err := healthv1.NewHealthClient(conn).Watch(ctx, &healthv1.HealthCheckRequest{})
	if err == nil {
		_, err = probe.Recv()
	}
	if err != nil {
		t.Fatal(err)
	}
	c := llmdv1.NewInferenceServiceClient(conn)
	call, leave := context.WithCancel(ctx)
	s, err := c.Stream(call, &llmdv1.StreamRequest{Generation: &llmdv1.Generation{Model: "wait"}})
	if err == nil {
		_, err = s.Recv()
	}
	if got := calls.Now(); err != nil || got != 1 {
		t.Errorf("%d calls, want the stream: %v", got, err)
	}
	_, _ = c.Complete(ctx, &llmdv1.CompleteRequest{Generation: &llmdv1.Generation{Model: "panic"}})
	_, _ = c.Abort(ctx, &llmdv1.AbortRequest{}) // it is not implemented
	_ = conn.Invoke(ctx, "/llmd.v1.InferenceService/Nothing", &llmdv1.AbortRequest{}, &llmdv1.AbortResponse{})
	leave()
	for calls.Now() != 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if got := calls.Now(); got != 0 {
		t.Errorf("%d calls in the end", got)
	}
}

func reason(err error) string {
	for _, d := range status.Convert(err).Details() {
		if i, ok := d.(*errdetails.ErrorInfo); ok {
			return i.GetDomain() + " " + i.GetReason()
		}
	}
	return ""
}

// A handler that panics costs its own call: INTERNAL, no retry, and no word of the
// panic anywhere but its type and place in the log.
func TestPanics(t *testing.T) {
	c, log := dial(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "llmd-provider-key-lab", secret)
	check := func(what string, err error, trailer metadata.MD) {
		t.Helper()
		if status.Code(err) != codes.Internal || reason(err) != "llmd.dev INTERNAL" || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v, %s", what, err, reason(err))
		}
		if p := trailer.Get("grpc-retry-pushback-ms"); len(p) != 1 || p[0] != "-1" {
			t.Errorf("%s: pushback %v", what, p)
		}
	}
	for _, model := range []string{"panic", "panic with an error", "panic aside"} {
		g := &llmdv1.Generation{Model: model, Context: &llmdv1.Context{SystemPrompt: secret}}
		var trailer metadata.MD
		_, err := c.Complete(ctx, &llmdv1.CompleteRequest{Generation: g}, grpc.Trailer(&trailer))
		check("Complete", err, trailer)
		s, err := c.Stream(ctx, &llmdv1.StreamRequest{Generation: g})
		for err == nil {
			_, err = s.Recv()
		}
		check("Stream", err, s.Trailer())
	}
	if _, err := c.Complete(ctx, &llmdv1.CompleteRequest{}); err != nil {
		t.Errorf("the next call: %v", err)
	}
	text := log.String()
	if strings.Contains(text, secret) {
		t.Errorf("the log tells: %s", text)
	}
	for _, want := range []string{"type=string", "type=*errors.errorString", "chain_test.go", "type=[]string", "interceptors.panics"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log does not say %s: %s", want, text)
		}
	}
}

// One line for each call: its name and code, no words of anybody.
func TestWordsStayOut(t *testing.T) {
	c, log := dial(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "llmd-provider-key-lab", secret, "authorization", secret)
	for _, model := range []string{"fine", "fail"} {
		_, _ = c.Complete(ctx, &llmdv1.CompleteRequest{RequestId: secret, Generation: &llmdv1.Generation{
			Model: model, Labels: map[string]string{"a": secret}, Context: &llmdv1.Context{SystemPrompt: secret},
		}})
	}
	text := log.String()
	if strings.Contains(text, secret) {
		t.Errorf("the log tells: %s", text)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "Complete") || !strings.Contains(lines[0], "OK") || !strings.Contains(lines[1], "Unavailable") {
		t.Errorf("%d lines: %s", len(lines), text)
	}
}

// reading counts the requests that are read.
type reading struct {
	encoding.CodecV2
	n atomic.Int32
}

func (r *reading) Unmarshal(data mem.BufferSlice, v any) error {
	r.n.Add(1)
	return r.CodecV2.Unmarshal(data, v)
}

// TestRefusedUnread: of a call that is not let in the request is not read, which could be
// large, and of anybody.
func TestRefusedUnread(t *testing.T) {
	gate := NewGate(config.Server{Auth: auth, Limits: config.Limits{ConcurrentCalls: 1}}, nil)
	chain := New(Options{Log: slog.New(slog.DiscardHandler), Gate: gate})
	codec := &reading{CodecV2: encoding.GetCodecV2(protocodec.Name)}
	conn := serve(t, grpc.NewServer(append(chain.Options(), grpc.ForceServerCodecV2(codec))...), chain.Services)
	c := llmdv1.NewInferenceServiceClient(conn)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	known := metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer a-token")
	stream := func(ctx context.Context, model string) (llmdv1.InferenceService_StreamClient, error) {
		s, err := c.Stream(ctx, &llmdv1.StreamRequest{Generation: &llmdv1.Generation{Model: model}})
		if err == nil {
			_, err = s.Recv()
		}
		return s, err
	}
	refused := func(ctx context.Context, want codes.Code) {
		t.Helper()
		before := codec.n.Load()
		_, one := c.Complete(ctx, &llmdv1.CompleteRequest{})
		_, many := stream(ctx, "")
		if status.Code(one) != want || status.Code(many) != want || reason(one) == "" || reason(one) != reason(many) {
			t.Errorf("%v and %v, want %v", one, many, want)
		}
		if n := codec.n.Load() - before; n != 0 {
			t.Errorf("%v: %d requests were read", want, n)
		}
	}
	refused(ctx, codes.Unauthenticated)
	if _, err := c.Complete(known, &llmdv1.CompleteRequest{}); err != nil {
		t.Error(err)
	}
	call, leave := context.WithCancel(known)
	defer leave()
	if _, err := stream(call, "wait"); err != nil {
		t.Error(err)
	}
	refused(known, codes.Unavailable)
}

// TestOutside: a service that is registered without the chain has nothing to guard it, and is
// not served.
func TestOutside(t *testing.T) {
	s := grpc.NewServer(New(Options{Log: slog.New(slog.DiscardHandler)}).Options()...)
	c := llmdv1.NewInferenceServiceClient(serve(t, s, func(s grpc.ServiceRegistrar) grpc.ServiceRegistrar { return s }))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := c.Complete(ctx, &llmdv1.CompleteRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("%v", err)
	}
}

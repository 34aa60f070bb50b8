package interceptors

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
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
	s := grpc.NewServer(Server(Options{Log: slog.New(slog.NewTextHandler(log, nil))})...)
	llmdv1.RegisterInferenceServiceServer(s, clumsy{})
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
	return llmdv1.NewInferenceServiceClient(conn), log
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

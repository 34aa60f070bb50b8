package interceptors

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/principal"
)

// wire is a stream of which all requests are one message.
type wire struct {
	grpc.ServerStream
	ctx     context.Context //nolint:containedctx // a stream has one
	request proto.Message
}

func (w *wire) Context() context.Context { return w.ctx }
func (w *wire) RecvMsg(m any) error {
	if m, ok := m.(proto.Message); ok {
		proto.Merge(m, w.request)
	}
	return nil
}

// TestStreams: a stream is let in, counts while it runs with its latest request, and
// leaves nothing behind and a line in the log, however it ends.
func TestStreams(t *testing.T) {
	request := &llmdv1.StreamRequest{RequestId: strings.Repeat("x", 50)}
	n := int64(proto.Size(request))
	info := &grpc.StreamServerInfo{FullMethod: llmdv1.InferenceService_Stream_FullMethodName}
	alice := bearing(context.Background(), "Bearer a-token")
	fault := errors.New("a fault")
	for name, c := range map[string]struct {
		ctx  context.Context //nolint:containedctx // a caller's
		end  func() error
		code codes.Code
		in   bool
		line string
	}{
		"ends":     {alice, func() error { return nil }, codes.OK, true, "caller=alice"},
		"fails":    {alice, func() error { return fault }, codes.Unknown, true, "caller=alice"},
		"panics":   {alice, func() error { panic("a prompt") }, codes.Internal, true, "reason=INTERNAL"},
		"stranger": {bearing(context.Background(), "Bearer c-token"), nil, codes.Unauthenticated, false, "code=Unauthenticated"},
	} {
		t.Run(name, func(t *testing.T) {
			log := &buffer{}
			l := slog.New(slog.NewTextHandler(log, nil))
			gate := NewGate(config.Server{Auth: auth}, nil)
			chain := &calls{report: callLog(l), recover: recovered(l, nil), gate: gate}
			in := false
			err := chain.intercept(nil, &wire{ctx: c.ctx, request: request}, info, func(_ any, s grpc.ServerStream) error {
				in = true
				if p := principal.From(s.Context()); p == nil || p.Name != "alice" {
					t.Errorf("called by %v", p)
				}
				for range 2 {
					got := &llmdv1.StreamRequest{}
					if err := s.RecvMsg(got); err != nil || !proto.Equal(got, request) {
						t.Errorf("got %v, %v", got, err)
					}
					if calls, held := gate.load.calls.Load(), gate.load.bytes.Load(); calls != 1 || held != n {
						t.Errorf("%d calls with %d bytes, want 1 with %d", calls, held, n)
					}
				}
				return c.end()
			})
			if status.Code(err) != c.code || in != c.in {
				t.Errorf("ended with %v, let in: %t", err, in)
			}
			if calls, held := gate.load.calls.Load(), gate.load.bytes.Load(); calls != 0 || held != 0 {
				t.Errorf("%d calls with %d bytes are left", calls, held)
			}
			if line := log.String(); strings.Count(line, "msg=call") != 1 || !strings.Contains(line, c.line) || strings.Contains(line, "a prompt") {
				t.Errorf("logged %s", line)
			}
		})
	}
}

// TestStreamTooLarge: a request beyond the server's room is refused, and the one before
// it does not count any more.
func TestStreamTooLarge(t *testing.T) {
	gate := NewGate(config.Server{Limits: config.Limits{RequestBytes: 10}}, nil)
	l := slog.New(slog.DiscardHandler)
	chain := &calls{report: callLog(l), recover: recovered(l, nil), gate: gate}
	info := &grpc.StreamServerInfo{FullMethod: llmdv1.InferenceService_Stream_FullMethodName}
	gate.load.bytes.Store(5) // another call's
	w := &wire{ctx: context.Background(), request: &llmdv1.StreamRequest{RequestId: "xy"}}
	err := chain.intercept(nil, w, info, func(_ any, s grpc.ServerStream) error {
		if err := s.RecvMsg(&llmdv1.StreamRequest{}); err != nil {
			t.Errorf("a small one: %v", err)
		}
		w.request = &llmdv1.StreamRequest{RequestId: strings.Repeat("x", 20)}
		return s.RecvMsg(&llmdv1.StreamRequest{})
	})
	if status.Code(err) != codes.Unavailable || gate.load.bytes.Load() != 5 {
		t.Errorf("ended with %v, %d bytes are held", err, gate.load.bytes.Load())
	}
}

package interceptors

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/llmd-dev/llmd/internal/stack"
	"github.com/llmd-dev/llmd/internal/telemetry"
)

// recovered answers for a handler that panicked: INTERNAL, and no word of the
// panic to the client. The log gets the place, and of the value only its type:
// the value may hold a prompt.
func recovered(l *slog.Logger, t *telemetry.Telemetry) recovery.RecoveryHandlerFuncContext {
	return func(ctx context.Context, p any) error {
		t.Panicked(ctx)
		trace := make([]byte, 8<<10)
		trace = trace[:runtime.Stack(trace, false)]
		if aside, ok := p.(*stack.Panic); ok { // the place is on another stack
			p, trace = aside.Value, aside.Stack
		}
		_ = grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms", "-1")) // fails only outside of a call
		l.ErrorContext(ctx, "handler panicked", "type", fmt.Sprintf("%T", p), "stack", string(trace))
		s, err := status.New(codes.Internal, "internal error").WithDetails(&errdetails.ErrorInfo{Reason: "INTERNAL", Domain: "llmd.dev"})
		if err != nil {
			return status.Error(codes.Internal, "internal error")
		}
		return s.Err()
	}
}

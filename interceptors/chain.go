package interceptors

import (
	"log/slog"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc"
)

// Options says what the chain works with.
type Options struct {
	// Log gets one line for each call, without bodies or metadata. Required.
	Log *slog.Logger
}

// Server makes the server options that put the chain around every RPC. From the
// outside in: telemetry sees everything, logging sees what recovery made of a
// panic, recovery stands directly around the handler.
func Server(o Options) []grpc.ServerOption {
	calls := callLog(o.Log)
	panics := recovery.WithRecoveryHandlerContext(recovered(o.Log))
	return []grpc.ServerOption{
		grpc.StatsHandler(otelgrpc.NewServerHandler()),
		grpc.ChainUnaryInterceptor(interceptors.UnaryServerInterceptor(calls), recovery.UnaryServerInterceptor(panics)),
		grpc.ChainStreamInterceptor(interceptors.StreamServerInterceptor(calls), recovery.StreamServerInterceptor(panics)),
	}
}

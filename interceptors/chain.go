package interceptors

import (
	"log/slog"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/logging"
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
	events := logging.WithLogOnEvents(logging.FinishCall)
	fields := logging.WithDisableLoggingFields(logging.ComponentFieldKey, logging.MethodTypeFieldKey, "grpc.error", "grpc.request.deadline", "peer.address")
	return []grpc.ServerOption{
		grpc.StatsHandler(otelgrpc.NewServerHandler()),
		grpc.ChainUnaryInterceptor(
			logging.UnaryServerInterceptor(calls, events, fields),
			recovery.UnaryServerInterceptor(recovery.WithRecoveryHandlerContext(recovered(o.Log))),
		),
		grpc.ChainStreamInterceptor(
			logging.StreamServerInterceptor(calls, events, fields),
			recovery.StreamServerInterceptor(recovery.WithRecoveryHandlerContext(recovered(o.Log))),
		),
	}
}

package interceptors

import (
	"log/slog"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/grpc"

	"github.com/llmd-dev/llmd/internal/procs"
	"github.com/llmd-dev/llmd/internal/telemetry"
)

// Options says what the chain works with.
type Options struct {
	// Log gets one line for each call, without bodies or metadata. Required.
	Log *slog.Logger
	// Gate authenticates callers and holds them to limits; nil = all are let in.
	Gate *Gate
	// Telemetry measures; nil = nobody looks.
	Telemetry *telemetry.Telemetry
	// Calls counts those that are at work; nil = nobody counts.
	Calls *procs.Calls
}

// Server makes the server options that put the chain around every RPC. From the
// outside in: telemetry sees everything, logging sees what recovery made of a
// panic, recovery stands around whatever may panic, and nobody gets past the gate
// who may not: what is refused has cost next to nothing.
func Server(o Options) []grpc.ServerOption {
	calls := callLog(o.Log)
	answer := recovered(o.Log, o.Telemetry)
	panics := recovery.WithRecoveryHandlerContext(answer)
	unary := []grpc.UnaryServerInterceptor{interceptors.UnaryServerInterceptor(calls), recovery.UnaryServerInterceptor(panics)}
	if o.Gate != nil {
		unary = append(unary, o.Gate.unary)
	}
	stream := &streams{report: calls, recover: answer, gate: o.Gate}
	return []grpc.ServerOption{
		grpc.StatsHandler(newStats(o.Telemetry, o.Calls)), grpc.ChainUnaryInterceptor(unary...), grpc.StreamInterceptor(stream.intercept),
	}
}

package interceptors

import (
	"context"
	"log/slog"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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

// Chain is what goes around every RPC. From the outside in: telemetry sees everything,
// logging sees what recovery made of a panic, recovery stands around whatever may panic,
// and nobody gets past the gate who may not: what is refused has cost next to nothing.
type Chain struct {
	stats *rpcStats
	calls *calls
}

// New makes the chain.
func New(o Options) *Chain {
	return &Chain{
		stats: newStats(o.Telemetry, o.Calls),
		calls: &calls{report: callLog(o.Log), recover: recovered(o.Log, o.Telemetry), gate: o.Gate},
	}
}

// Options are those of a server with the chain around it.
func (c *Chain) Options() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.StatsHandler(c.stats), grpc.StreamInterceptor(c.calls.intercept), grpc.UnaryInterceptor(outside)}
}

// Services is where the services of such a server are registered. A method with one
// request and one answer becomes a stream of one of each: grpc-go would read, uncompress
// and parse the request before the interceptors of such methods, whoever sends it.
func (c *Chain) Services(s grpc.ServiceRegistrar) grpc.ServiceRegistrar { return services{s, c.calls} }

type services struct {
	grpc.ServiceRegistrar
	calls *calls
}

// RegisterService implements grpc.ServiceRegistrar.
func (s services) RegisterService(d *grpc.ServiceDesc, impl any) {
	own := *d
	own.Methods, own.Streams = nil, slices.Clone(d.Streams)
	for _, m := range d.Methods {
		info := &grpc.StreamServerInfo{FullMethod: "/" + d.ServiceName + "/" + m.MethodName}
		one := func(srv any, stream grpc.ServerStream) error {
			answer, err := m.Handler(srv, stream.Context(), stream.RecvMsg, nil)
			if err != nil {
				return err
			}
			return stream.SendMsg(answer)
		}
		own.Streams = append(own.Streams, grpc.StreamDesc{StreamName: m.MethodName, Handler: func(srv any, stream grpc.ServerStream) error {
			return s.calls.intercept(srv, stream, info, one)
		}})
	}
	s.ServiceRegistrar.RegisterService(&own, impl)
}

// outside answers for a method that was registered without the chain: nothing would guard
// it.
func outside(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) {
	return nil, status.Error(codes.Unimplemented, "the method is not served")
}

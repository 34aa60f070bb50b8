package interceptors

import (
	"context"
	"strings"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/procs"
	"github.com/llmd-dev/llmd/internal/stack"
	"github.com/llmd-dev/llmd/internal/telemetry"
)

// otherMethod stands for every method that there is not: callers can make up any
// number of them. It is the word of
// https://opentelemetry.io/docs/specs/semconv/rpc/grpc/.
const otherMethod = "/_OTHER"

// rpcStats is OpenTelemetry's handler, made safe and cheap: it is not told of the
// messages of a stream, not of the words of a status, which may be a provider's, and
// not of methods that do not exist.
type rpcStats struct {
	next      stats.Handler
	telemetry *telemetry.Telemetry
	calls     *procs.Calls
	known     map[string]bool
}

func newStats(t *telemetry.Telemetry, calls *procs.Calls) *rpcStats {
	s := &rpcStats{telemetry: t, calls: calls, known: map[string]bool{}, next: otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(t.Tracers()), otelgrpc.WithMeterProvider(t.Meters()), otelgrpc.WithPropagators(telemetry.Propagator()),
		otelgrpc.WithFilter(func(i *stats.RPCTagInfo) bool { return !open(i.FullMethodName) }), // probes are noise
	)}
	for _, d := range []*grpc.ServiceDesc{
		&llmdv1.InferenceService_ServiceDesc, &llmdv1.ModelService_ServiceDesc, &healthv1.Health_ServiceDesc,
		&reflectionv1.ServerReflection_ServiceDesc, &reflectionv1alpha.ServerReflection_ServiceDesc,
	} {
		for _, m := range d.Methods {
			s.known["/"+d.ServiceName+"/"+m.MethodName] = true
		}
		for _, m := range d.Streams {
			s.known["/"+d.ServiceName+"/"+m.StreamName] = true
		}
	}
	return s
}

type methodKey struct{}

// TagRPC implements stats.Handler.
func (s *rpcStats) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	if !s.known[info.FullMethodName] {
		info = &stats.RPCTagInfo{FullMethodName: otherMethod}
	}
	// Aside: it goes deep, and a call may wait for an hour on the stack that it leaves.
	// The headers, which grpc-go tells of next, are told of there, too: all that is taken
	// of them is the address, and a goroutine of their own costs more than they do.
	var tagged context.Context
	stack.Aside(func() {
		tagged = s.next.TagRPC(ctx, info) //nolint:fatcontext // nothing is nested: it is called once
		s.next.HandleRPC(tagged, headerOf(ctx, info))
	})
	return context.WithValue(tagged, methodKey{}, info.FullMethodName)
}

// headerOf is what is told of a call's headers.
func headerOf(ctx context.Context, info *stats.RPCTagInfo) *stats.InHeader {
	h := &stats.InHeader{FullMethod: info.FullMethodName}
	if p, ok := peer.FromContext(ctx); ok {
		h.RemoteAddr, h.LocalAddr = p.Addr, p.LocalAddr
	}
	return h
}

// HandleRPC implements stats.Handler. The headers were told of by TagRPC.
func (s *rpcStats) HandleRPC(ctx context.Context, event stats.RPCStats) {
	switch e := event.(type) {
	case *stats.Begin:
		if works(ctx) {
			s.calls.Begin()
		}
		s.next.HandleRPC(ctx, event)
	case *stats.End:
		if works(ctx) {
			s.calls.End()
		}
		if e.Error == nil {
			s.next.HandleRPC(ctx, event)
			return
		}
		s.failed(ctx, e)
	}
}

// works: the call is llmd's own. Probes and their like may stay open for ever.
func works(ctx context.Context) bool {
	method, _ := ctx.Value(methodKey{}).(string)
	return strings.HasPrefix(method, "/llmd.")
}

// failed tells of a call's error by its reason.
func (s *rpcStats) failed(ctx context.Context, e *stats.End) {
	reason := reasonOf(e.Error)
	if works(ctx) {
		method, _ := ctx.Value(methodKey{}).(string)
		s.telemetry.Failed(ctx, method[1:], reason)
	}
	if tooLarge(e.Error) {
		s.telemetry.Hit(ctx, telemetry.LimitReceiveBytes)
	}
	said := *e
	said.Error = status.Error(status.Code(e.Error), reason)
	s.next.HandleRPC(ctx, &said)
}

// tooLarge: grpc-go has refused a request for its size. Its words are all that tells.
func tooLarge(err error) bool {
	s := status.Convert(err)
	return s.Code() == codes.ResourceExhausted && len(s.Details()) == 0 && strings.Contains(s.Message(), "larger than max")
}

// reasonOf is the reason of a status: its ErrorInfo's, else the name of its code.
func reasonOf(err error) string {
	s := status.Convert(err)
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetDomain() == domain {
			return info.GetReason()
		}
	}
	var name strings.Builder
	for i, r := range s.Code().String() {
		if i > 0 && 'A' <= r && r <= 'Z' {
			name.WriteByte('_')
		}
		name.WriteRune(r)
	}
	return strings.ToUpper(name.String())
}

// TagConn implements stats.Handler.
func (s *rpcStats) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (s *rpcStats) HandleConn(ctx context.Context, event stats.ConnStats) {
	switch event.(type) {
	case *stats.ConnBegin:
		s.telemetry.Connection(ctx, 1)
	case *stats.ConnEnd:
		s.telemetry.Connection(ctx, -1)
	}
}

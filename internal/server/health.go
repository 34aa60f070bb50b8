package server

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// watchableHealth is a health service whose watchers do not hold a drain up: by
// themselves they would stay until the end.
type watchableHealth struct {
	*health.Server
	// over is closed when watchers have nothing more to learn.
	over chan struct{}
}

func newHealth() *watchableHealth {
	return &watchableHealth{Server: health.NewServer(), over: make(chan struct{})}
}

// Watch implements grpc.health.v1.Health.Watch.
func (h *watchableHealth) Watch(req *healthv1.HealthCheckRequest, stream grpc.ServerStreamingServer[healthv1.HealthCheckResponse]) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	go func() {
		select {
		case <-h.over:
			cancel()
		case <-ctx.Done():
		}
	}()
	if _, err := h.Check(ctx, req); status.Code(err) == codes.NotFound {
		return unknown(ctx, stream)
	}
	return h.Server.Watch(req, &watchStream{ServerStreamingServer: stream, ctx: ctx})
}

// unknown is Watch for a service that there is not and never will be. The server would keep
// its name as long as somebody watches, and anybody may, by names of any length.
func unknown(ctx context.Context, stream grpc.ServerStreamingServer[healthv1.HealthCheckResponse]) error {
	if err := stream.Send(&healthv1.HealthCheckResponse{Status: healthv1.HealthCheckResponse_SERVICE_UNKNOWN}); err != nil {
		return status.Error(codes.Canceled, "Stream has ended.")
	}
	<-ctx.Done()
	return status.Error(codes.Canceled, "Stream has ended.")
}

// watchStream is a stream with a context that also ends with the drain.
type watchStream struct {
	grpc.ServerStreamingServer[healthv1.HealthCheckResponse]
	ctx context.Context //nolint:containedctx // it stands for the stream's own
}

func (s *watchStream) Context() context.Context { return s.ctx }

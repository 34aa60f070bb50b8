package server

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
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
	return h.Server.Watch(req, &watchStream{ServerStreamingServer: stream, ctx: ctx})
}

// watchStream is a stream with a context that also ends with the drain.
type watchStream struct {
	grpc.ServerStreamingServer[healthv1.HealthCheckResponse]
	ctx context.Context //nolint:containedctx // it stands for the stream's own
}

func (s *watchStream) Context() context.Context { return s.ctx }

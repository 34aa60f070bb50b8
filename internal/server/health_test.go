package server

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// watcher is a client that watches until its context ends.
type watcher struct {
	grpc.ServerStream
	ctx   context.Context //nolint:containedctx // the stream's
	heard chan healthv1.HealthCheckResponse_ServingStatus
}

func (w *watcher) Context() context.Context { return w.ctx }

func (w *watcher) Send(r *healthv1.HealthCheckResponse) error {
	w.heard <- r.GetStatus()
	return nil
}

// TestWatchOfUnknownServices: who watches, which needs no credentials, does not make llmd
// keep any name.
func TestWatchOfUnknownServices(t *testing.T) {
	h := newHealth()
	h.SetServingStatus("known", healthv1.HealthCheckResponse_SERVING)
	ctx, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	watch := func(service string) healthv1.HealthCheckResponse_ServingStatus {
		w := &watcher{ctx: ctx, heard: make(chan healthv1.HealthCheckResponse_ServingStatus, 1)}
		all.Go(func() {
			if err := h.Watch(&healthv1.HealthCheckRequest{Service: service}, w); status.Code(err) != codes.Canceled {
				t.Error(err)
			}
		})
		return <-w.heard
	}
	inUse := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	if got := watch("known"); got != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("a known one is %v", got)
	}
	before := inUse()
	for i := range 50 {
		if got := watch(strings.Repeat("x", 1<<20) + strconv.Itoa(i)); got != healthv1.HealthCheckResponse_SERVICE_UNKNOWN {
			t.Errorf("an unknown one is %v", got)
		}
	}
	if after := inUse(); after > before+10<<20 {
		t.Errorf("%d bytes are kept", after-before)
	}
	close(h.over)
	all.Wait()
	leave()
}

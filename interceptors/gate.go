package interceptors

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/calllog"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/principal"
	"github.com/llmd-dev/llmd/internal/telemetry"
)

// Gate lets calls in: it finds out who calls, and holds everybody to the limits.
// What a caller may ask for is the services' business; they find the caller by
// package principal. It is safe for concurrent use.
type Gate struct {
	callers   atomic.Pointer[callers]
	load      load
	telemetry *telemetry.Telemetry

	mu     sync.Mutex
	meters map[string]*meter // by name; those of callers that are gone stay
}

// NewGate makes the gate of a configuration. t measures it; nil = nobody looks.
func NewGate(s config.Server, t *telemetry.Telemetry) *Gate {
	g := &Gate{load: load{limits: s.Limits}, meters: map[string]*meter{}, telemetry: t}
	t.Watch(g.use)
	t.Watch(func() []telemetry.Reading {
		return telemetry.Most(telemetry.LimitReceiveBytes, int64(s.MaxReceiveBytes))
	})
	g.SetAuth(s.Auth)
	return g
}

// SetAuth changes who may call, from the next call on. Calls that run go on, and
// what callers have used up stays used up.
func (g *Gate) SetAuth(a config.Auth) { g.callers.Store(newCallers(a, g.meter)) }

func (g *Gate) meter(name string, own config.CallerLimits) *meter {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.meters[name]
	if m == nil {
		m = &meter{}
		g.meters[name] = m
	}
	all := g.load.limits.PerCaller
	m.set(config.CallerLimits{
		ConcurrentCalls:   cmp.Or(own.ConcurrentCalls, all.ConcurrentCalls),
		RequestsPerSecond: cmp.Or(own.RequestsPerSecond, all.RequestsPerSecond),
		Burst:             cmp.Or(own.Burst, all.Burst),
	})
	return m
}

// refuse is what a caller gets that is not let in.
func (g *Gate) refuse(ctx context.Context, no *refusal) error {
	if no.limit != "" {
		g.telemetry.Hit(ctx, no.limit)
	}
	return no.status(ctx)
}

// use is how much of the limits is used. Of callers, the one with the most calls
// stands for all: their names are no labels.
func (g *Gate) use() []telemetry.Reading {
	l := g.load.limits
	all := telemetry.Use(telemetry.LimitCalls, g.load.calls.Load(), int64(l.ConcurrentCalls))
	all = append(all, telemetry.Use(telemetry.LimitRequestBytes, g.load.bytes.Load(), int64(l.RequestBytes))...)
	most, limit := 0, l.PerCaller.ConcurrentCalls
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.meters {
		if running, own := m.use(); running > most {
			most, limit = running, own
		}
	}
	return append(all, telemetry.Use(telemetry.LimitCallerCalls, int64(most), int64(limit))...)
}

// open: probes ask without credentials, and are answered by a server at its limits.
func open(method string) bool { return strings.HasPrefix(method, "/grpc.health.v1.Health/") }

// Knows says whether who calls a method may call at all, for those who must read the
// request before the call comes here.
func (g *Gate) Knows(ctx context.Context, method string) bool {
	if open(method) {
		return true
	}
	_, no := g.callers.Load().identify(ctx)
	return no == nil
}

// enter lets a call in, or says why not. leave must be called at its end.
func (g *Gate) enter(ctx context.Context, method string) (_ context.Context, leave func(), _ *refusal) {
	if open(method) {
		return ctx, func() {}, nil
	}
	c, no := g.callers.Load().identify(ctx)
	if no != nil {
		return nil, nil, no
	}
	if c.principal != nil {
		ctx = principal.With(ctx, c.principal)
		calllog.From(ctx).Add(slog.String("caller", c.principal.Name))
	}
	// An abort makes room: it must not wait for any.
	if method == llmdv1.InferenceService_Abort_FullMethodName {
		return ctx, func() {}, nil
	}
	// The server's limit comes first: a caller's quota is for what is done.
	if no := g.load.begin(); no != nil {
		return nil, nil, no
	}
	if no := c.meter.begin(); no != nil {
		g.load.end()
		return nil, nil, no
	}
	return ctx, func() { c.meter.end(); g.load.end() }, nil
}

func size(m any) int {
	if p, ok := m.(proto.Message); ok {
		return proto.Size(p)
	}
	return 0
}

package service

import (
	"context"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/upstream"
	"github.com/llmd-dev/llmd/service/generation"
	"github.com/llmd-dev/llmd/service/responses"
	"github.com/llmd-dev/llmd/toolcheck"
)

// Service is the two services of llmd.v1, ready to be registered.
type Service struct {
	Inference *Inference
	Models    *Models

	store responses.Store
}

// New makes the services. catalog is asked at each request, so that a new
// configuration can take its place; running streams keep their model.
func New(current func() *catalog.Catalog, client *upstream.Client, o Options) *Service {
	store := o.Store
	if store == nil {
		store = responses.New(!o.NoStore)
	}
	watchStore(store, o.Telemetry)
	hosts := newUpstream(current, client)
	engine := generation.New(generation.Config{
		Models: func(ctx context.Context, name string) (*profile.Model, error) {
			return resolve(ctx, current(), name)
		},
		Adapters: byAPI(wireAPIs()),
		Upstream: hosts,
		Images:   images,
		Price: func(m *profile.Model, u *llmdv1.Usage, tier string) *llmdv1.Cost {
			return catalog.Cost(m.Pricing, u, catalog.TierFactor(m, tier))
		},
		ErrorOf:  ErrorOf,
		Store:    store,
		Instance: o.Instance,
		Longest:  longestCall,
		Secrets:  hosts.secrets,
		Observer: observerOf(o.Telemetry),
		Panicked: func(kind string, stack []byte) {
			o.Telemetry.Panicked(context.Background())
			o.Log.Error("a response panicked", "type", kind, "stack", string(stack))
		},
	})
	watchEngine(engine, o.Telemetry)
	return &Service{
		Inference: &Inference{engine: engine, store: store, upstream: hosts, schemas: &toolcheck.Cache{}, options: o},
		Models:    &Models{catalog: current},
		store:     store,
	}
}

// Close forgets all kept responses.
func (s *Service) Close() { s.store.Close() }

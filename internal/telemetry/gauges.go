package telemetry

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Reading is one value of a gauge, at the moment that it is read.
type Reading struct {
	limit string
	name  string
	value int64
}

// Use is how much of a limit is used now. most is the limit; 0 = there is none.
func Use(limit string, used, most int64) []Reading {
	all := []Reading{{name: nameLimitUsage, limit: limit, value: used}}
	if most > 0 {
		all = append(all, Reading{name: nameLimitMax, limit: limit, value: most})
	}
	return all
}

// Most is a limit whose use is not measured.
func Most(limit string, most int64) []Reading {
	if most <= 0 {
		return nil
	}
	return []Reading{{name: nameLimitMax, limit: limit, value: most}}
}

// Stored are the ended responses that are kept.
func Stored(bytes, responses int64) []Reading {
	return []Reading{{name: nameStoreBytes, value: bytes}, {name: nameStoreCount, value: responses}}
}

// SharedStore is the state of the store of shared responses.
type SharedStore struct {
	Available                                bool
	Bytes, Buffered, Failures, Dropped, Lost int64
}

// Shared are the readings of the store of shared responses.
func Shared(s SharedStore) []Reading {
	up := Reading{name: nameSharedUp}
	if s.Available {
		up.value = 1
	}
	return []Reading{
		up,
		{name: nameSharedBytes, value: s.Bytes},
		{name: nameSharedBuffered, value: s.Buffered},
		{name: nameSharedFailures, value: s.Failures},
		{name: nameSharedDropped, value: s.Dropped},
		{name: nameSharedLost, value: s.Lost},
	}
}

// Loaded is when the configuration in force was loaded, in Unix seconds.
func Loaded(at int64) Reading { return Reading{name: nameLoaded, value: at} }

// Expires is when llmd's own certificate runs out, in Unix seconds.
func Expires(at int64) Reading { return Reading{name: nameCertificate, value: at} }

// Draining says whether llmd was asked to end.
func Draining(yes bool) Reading {
	r := Reading{name: nameDraining}
	if yes {
		r.value = 1
	}
	return r
}

// gaugeSources are asked whenever somebody looks.
type gaugeSources struct {
	mu  sync.Mutex
	all []func() []Reading
}

// Watch adds a source of gauges. It is called whenever somebody looks, from any
// goroutine, and must be quick.
func (t *Telemetry) Watch(source func() []Reading) {
	if t == nil {
		return
	}
	t.gauges.mu.Lock()
	defer t.gauges.mu.Unlock()
	t.gauges.all = append(t.gauges.all, source)
}

func (g *gaugeSources) register(m metric.Meter, instruments map[string]metric.Int64ObservableGauge) error {
	var list []metric.Observable
	for _, i := range instruments {
		list = append(list, i)
	}
	_, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		g.mu.Lock()
		sources := g.all
		g.mu.Unlock()
		for _, source := range sources {
			for _, r := range source() {
				var labels []attribute.KeyValue
				if r.limit != "" {
					labels = []attribute.KeyValue{attribute.String(attrLimit, r.limit)}
				}
				o.ObserveInt64(instruments[r.name], r.value, metric.WithAttributes(labels...))
			}
		}
		return nil
	}, list...)
	return err
}

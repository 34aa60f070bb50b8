package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/contrib/instrumentation/runtime"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
)

// goMetrics are the metrics of the Go runtime by OpenTelemetry's names. They go only to
// where metrics are sent, so that they are no instruments of the provider that the page
// for Prometheus reads, too: it has the runtime's by Prometheus's own names, for which
// everybody's dashboards ask.
type goMetrics struct{ reader *sdkmetric.ManualReader }

var _ sdkmetric.Producer = (*goMetrics)(nil)

func newGoMetrics() (*goMetrics, error) {
	g := &goMetrics{reader: sdkmetric.NewManualReader()}
	p := sdkmetric.NewMeterProvider(sdkmetric.WithReader(g.reader), sdkmetric.WithResource(resource.Empty()))
	return g, runtime.Start(runtime.WithMeterProvider(p))
}

// Produce implements sdkmetric.Producer.
func (g *goMetrics) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	var all metricdata.ResourceMetrics
	err := g.reader.Collect(ctx, &all)
	return all.ScopeMetrics, err
}

// producers are several as one: autoexport takes only one.
type producers []sdkmetric.Producer

// Produce implements sdkmetric.Producer.
func (p producers) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	var all []metricdata.ScopeMetrics
	var problems []error
	for _, one := range p {
		more, err := one.Produce(ctx)
		all = append(all, more...)
		problems = append(problems, err)
	}
	return all, errors.Join(problems...)
}

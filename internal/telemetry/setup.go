package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/attribute"
	promexporter "go.opentelemetry.io/otel/exporters/prometheus"
	otellog "go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// Options is what a [Telemetry] is made of.
type Options struct {
	// Version and Instance name this llmd.
	Version, Instance string
	// Env looks up environment variables: it decides whether anything is exported.
	// How and where to is read by OpenTelemetry's own packages, from the process.
	Env func(string) (string, bool)
	// GenAI is the edition of the GenAI conventions; empty = v0.1.
	GenAI Conventions
	// Callers: the names of callers become labels.
	Callers bool
	// Prometheus: [Telemetry.Handler] has the metrics.
	Prometheus bool
	// Log is told of exports that fail. Required.
	Log *slog.Logger
}

// Telemetry measures one llmd. It is safe for concurrent use, and nil if nobody looks.
type Telemetry struct {
	options  Options
	tracers  trace.TracerProvider
	meters   metric.MeterProvider
	tracer   trace.Tracer
	events   otellog.Logger // nil if nobody wants events
	own      *instruments
	genai    *instruments
	chunks   *chunkClock
	seen     *seenModels
	places   kept[place, []attribute.KeyValue]
	series   kept[seriesKey, *series]
	methods  kept[string, metric.MeasurementOption]
	attempts kept[attemptKey, metric.MeasurementOption]
	ends     kept[endKey, *endLabels]
	gauges   *gaugeSources
	registry *prometheus.Registry
	// closers are called in this order.
	closers []func(context.Context) error
}

// New sets everything up; nil if nobody looks. It fails for an OTEL_ variable that
// cannot be understood.
func New(ctx context.Context, o Options) (*Telemetry, error) {
	traces, metrics, logs := wanted(o.Env)
	send := traces || metrics || logs
	if !send && !o.Prometheus {
		return nil, nil
	}
	if send {
		if err := understood(o.Env); err != nil {
			return nil, err
		}
		withoutScheme(o.Env, o.Log)
		listen(o.Log)
	}
	if o.GenAI == "" {
		o.GenAI = ConventionsV01
	}
	t := &Telemetry{options: o, tracers: tracenoop.NewTracerProvider(), meters: metricnoop.NewMeterProvider(), seen: newSeenModels()}
	about, err := describe(ctx, o)
	if err != nil {
		return nil, err
	}
	if traces {
		err = t.startTraces(ctx, about)
	}
	if err == nil && logs {
		err = t.startLogs(ctx, about)
	}
	if err == nil && (metrics || o.Prometheus) {
		err = t.startMetrics(ctx, about, metrics)
	}
	if err == nil {
		err = t.instrument()
	}
	if err == nil {
		t.begin(ctx)
	}
	if err != nil {
		_ = t.Shutdown(ctx)
		return nil, err
	}
	return t, nil
}

// wanted says what the environment wants exported. Unlike OpenTelemetry's own default,
// nothing is sent anywhere unless something names an exporter or its address.
func wanted(env func(string) (string, bool)) (traces, metrics, logs bool) {
	get := func(name string) string {
		v, _ := env(name)
		return v
	}
	if get("OTEL_SDK_DISABLED") == "true" {
		return false, false, false
	}
	on := func(signal string) bool {
		if exporter := get("OTEL_" + signal + "_EXPORTER"); exporter != "" {
			return exporter != "none"
		}
		return get("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || get("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
	}
	return on("TRACES"), on("METRICS"), on("LOGS")
}

// describe says who measures. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win.
func describe(ctx context.Context, o Options) (*resource.Resource, error) {
	return resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "llmd"),
		attribute.String("service.version", o.Version),
		attribute.String("service.instance.id", o.Instance),
	), resource.WithFromEnv())
}

func (t *Telemetry) startTraces(ctx context.Context, about *resource.Resource) error {
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return err
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about), sdktrace.WithRawSpanLimits(spanLimits()))
	t.tracers = p
	t.closers = append(t.closers, p.Shutdown)
	return nil
}

// maxAttribute is the longest text of an attribute, unless an OTEL_ variable says so. Callers
// choose conversation ids and stop sequences of any length, and a span that is too large for
// a collector takes all of its batch along.
const maxAttribute = 4 << 10

func spanLimits() sdktrace.SpanLimits {
	l := sdktrace.NewSpanLimits()
	if l.AttributeValueLengthLimit < 0 {
		l.AttributeValueLengthLimit = maxAttribute
	}
	return l
}

func (t *Telemetry) startLogs(ctx context.Context, about *resource.Resource) error {
	exporter, err := autoexport.NewLogExporter(ctx)
	if err != nil {
		return err
	}
	p := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)), sdklog.WithResource(about))
	t.events = p.Logger(instrumentationName, otellog.WithInstrumentationVersion(t.options.Version))
	t.closers = append(t.closers, p.Shutdown)
	return nil
}

func (t *Telemetry) startMetrics(ctx context.Context, about *resource.Resource, export bool) error {
	t.chunks = newChunkClock(t.options.GenAI)
	opts := []sdkmetric.Option{sdkmetric.WithResource(about), sdkmetric.WithView(sdkmetric.NewView(
		sdkmetric.Instrument{Name: metricRPCSeconds},
		sdkmetric.Stream{Aggregation: sdkmetric.AggregationExplicitBucketHistogram{Boundaries: rpcBuckets()}},
	))}
	if export {
		goRuntime, err := newGoMetrics()
		if err != nil {
			return err
		}
		autoexport.WithFallbackMetricProducer(func(context.Context) (sdkmetric.Producer, error) { return producers{t.chunks, goRuntime}, nil })
		reader, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return err
		}
		opts = append(opts, sdkmetric.WithReader(reader))
	}
	if t.options.Prometheus {
		t.registry = prometheus.NewRegistry()
		t.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
		reader, err := promexporter.New(promexporter.WithRegisterer(t.registry), promexporter.WithProducer(t.chunks), promexporter.WithoutScopeInfo())
		if err != nil {
			return err
		}
		opts = append(opts, sdkmetric.WithReader(reader))
	}
	p := sdkmetric.NewMeterProvider(opts...)
	t.meters = p
	t.closers = append(t.closers, p.Shutdown)
	return nil
}

func (t *Telemetry) instrument() (err error) {
	t.tracer = t.tracers.Tracer(instrumentationName, trace.WithInstrumentationVersion(t.options.Version))
	m := t.meters.Meter(instrumentationName, metric.WithInstrumentationVersion(t.options.Version))
	if t.own, err = newInstruments(m, Metrics()); err != nil {
		return err
	}
	if t.genai, err = newInstruments(m, GenAIMetrics(t.options.GenAI)); err != nil {
		return err
	}
	t.gauges = &gaugeSources{}
	return t.gauges.register(m, t.own.gauges)
}

// Shutdown sends what there is and ends.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	var all []error
	for _, end := range t.closers {
		all = append(all, end(ctx))
	}
	return errors.Join(all...)
}

// Handler answers with the metrics for Prometheus; nil without [Options.Prometheus].
func (t *Telemetry) Handler() http.Handler {
	if t == nil || t.registry == nil {
		return nil
	}
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{EnableOpenMetrics: true, Timeout: 10 * time.Second})
}

// Tracers is never nil.
func (t *Telemetry) Tracers() trace.TracerProvider {
	if t == nil {
		return tracenoop.NewTracerProvider()
	}
	return t.tracers
}

// Meters is never nil.
func (t *Telemetry) Meters() metric.MeterProvider {
	if t == nil {
		return metricnoop.NewMeterProvider()
	}
	return t.meters
}

// Propagator reads the trace context of callers, W3C's.
func Propagator() propagation.TextMapPropagator { return propagation.TraceContext{} }

// Inject puts the trace context of a request on its headers.
func Inject(ctx context.Context, h http.Header) {
	Propagator().Inject(ctx, propagation.HeaderCarrier(h))
}

// TraceID is the trace that a call belongs to; empty if none.
func TraceID(ctx context.Context) string {
	if s := trace.SpanContextFromContext(ctx); s.HasTraceID() {
		return s.TraceID().String()
	}
	return ""
}

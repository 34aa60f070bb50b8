package telemetry

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	collectorlogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector is an OTLP receiver, by the protocol of
// https://opentelemetry.io/docs/specs/otlp/#otlphttp.
type collector struct {
	*httptest.Server

	mu      sync.Mutex
	raw     bytes.Buffer // every body
	spans   []*tracepb.Span
	events  []*logspb.LogRecord
	metrics map[string]*metricspb.Metric // the latest of each name
	about   map[string]string            // attributes of the resource
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{metrics: map[string]*metricspb.Metric{}, about: map[string]string{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && r.Header.Get("Content-Encoding") == "gzip" {
			var z *gzip.Reader
			if z, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
				body, err = io.ReadAll(z)
			}
		}
		if err == nil {
			err = c.take(r.URL.Path, body)
		}
		if err != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) take(path string, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(body)
	switch path {
	case "/v1/traces":
		return c.takeSpans(body)
	case "/v1/metrics":
		return c.takeMetrics(body)
	case "/v1/logs":
		return c.takeEvents(body)
	}
	return errors.New("is no path of OTLP")
}

func (c *collector) takeSpans(body []byte) error {
	var req collectortrace.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &req); err != nil {
		return err
	}
	for _, r := range req.GetResourceSpans() {
		c.named(r.GetResource().GetAttributes())
		for _, s := range r.GetScopeSpans() {
			c.spans = append(c.spans, s.GetSpans()...)
		}
	}
	return nil
}

func (c *collector) takeMetrics(body []byte) error {
	var req collectormetrics.ExportMetricsServiceRequest
	if err := proto.Unmarshal(body, &req); err != nil {
		return err
	}
	for _, r := range req.GetResourceMetrics() {
		for _, s := range r.GetScopeMetrics() {
			for _, m := range s.GetMetrics() {
				c.metrics[m.GetName()] = m
			}
		}
	}
	return nil
}

func (c *collector) takeEvents(body []byte) error {
	var req collectorlogs.ExportLogsServiceRequest
	if err := proto.Unmarshal(body, &req); err != nil {
		return err
	}
	for _, r := range req.GetResourceLogs() {
		c.named(r.GetResource().GetAttributes())
		for _, s := range r.GetScopeLogs() {
			c.events = append(c.events, s.GetLogRecords()...)
		}
	}
	return nil
}

func (c *collector) named(all []*commonpb.KeyValue) {
	for _, a := range all {
		c.about[a.GetKey()] = a.GetValue().GetStringValue()
	}
}

// span finds the one span of a name.
func (c *collector) span(t *testing.T, name string) *tracepb.Span {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, s := range c.spans {
		if s.GetName() == name {
			return s
		}
		names = append(names, s.GetName())
	}
	t.Fatalf("no span %q among %q", name, names)
	return nil
}

// attributes of a span or a point, values as they print.
func attributes(all []*commonpb.KeyValue) map[string]any {
	out := map[string]any{}
	for _, a := range all {
		out[a.GetKey()] = valueOf(a.GetValue())
	}
	return out
}

func valueOf(v *commonpb.AnyValue) any {
	switch x := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return x.StringValue
	case *commonpb.AnyValue_BoolValue:
		return x.BoolValue
	case *commonpb.AnyValue_IntValue:
		return x.IntValue
	case *commonpb.AnyValue_DoubleValue:
		return x.DoubleValue
	case *commonpb.AnyValue_ArrayValue:
		var list []any
		for _, e := range x.ArrayValue.GetValues() {
			list = append(list, valueOf(e))
		}
		return list
	}
	return nil
}

// labels are the names of the labels that any point of a metric has.
func labels(m *metricspb.Metric) []string {
	var all []string
	add := func(kvs []*commonpb.KeyValue) {
		for _, a := range kvs {
			if !slices.Contains(all, a.GetKey()) {
				all = append(all, a.GetKey())
			}
		}
	}
	for _, p := range m.GetSum().GetDataPoints() {
		add(p.GetAttributes())
	}
	for _, p := range m.GetGauge().GetDataPoints() {
		add(p.GetAttributes())
	}
	for _, p := range m.GetHistogram().GetDataPoints() {
		add(p.GetAttributes())
	}
	slices.Sort(all)
	return all
}

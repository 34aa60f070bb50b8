package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc/metadata"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
	"github.com/llmd-dev/llmd/internal/telemetry"
)

// A caller's trace, as in https://www.w3.org/TR/trace-context/#examples-of-http-traceparent-headers.
const (
	callersTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callersSpan  = "00f067aa0ba902b7"
	traceparent  = "00-" + callersTrace + "-" + callersSpan + "-01"
)

// host speaks openai-completions: one answer with usage, of which 40 of 100 input
// tokens are cached and 7 of 20 output tokens reasoning. The model "busy" is always
// overloaded. It keeps the headers it gets.
func host(t *testing.T, traces *[]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if traces != nil {
			*traces = append(*traces, r.Header.Get("Traceparent"))
		}
		if strings.Contains(string(body), `"model":"busy"`) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"error":{"message":"what the provider said"}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, word := range []string{"one ", "two ", "three"} {
			_, _ = fmt.Fprintf(w, "data: {\"id\":\"chatcmpl-7\",\"model\":\"m1-2026\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", word)
		}
		_, _ = io.WriteString(w, "data: {\"id\":\"chatcmpl-7\",\"model\":\"m1-2026\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"+
			"data: {\"id\":\"chatcmpl-7\",\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":20,\"total_tokens\":120,\"prompt_tokens_details\":{\"cached_tokens\":40},\"completion_tokens_details\":{\"reasoning_tokens\":7}}}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func providers(base, more string) string {
	return "providers:\n  - id: lab\n    api: openai-completions\n    base_url: " + base + "/v1\n    api_key: " + harness.Secret + "\n" + more +
		"    allow_unlisted_models: true\n    models:\n" +
		"      - {id: m1, context_window_tokens: 100000, max_output_tokens: 1000, pricing: {input: 1, output: 2, cache_read: 0.5}}\n" +
		"      - {id: busy, context_window_tokens: 100000, max_output_tokens: 1000}\n"
}

// drive makes an answer, one by way of a fallback, a failure, and calls of models and
// methods that there are not.
func drive(t *testing.T, l *lab) {
	t.Helper()
	ctx := metadata.AppendToOutgoingContext(harness.Limited(t, time.Minute), "traceparent", traceparent)
	g := harness.Ask("lab/m1", "Count to three.")
	temperature := 0.5
	g.Config = &llmdv1.GenerationConfig{Temperature: &temperature}
	if err := l.ask(ctx, g); err != nil {
		t.Fatal(err)
	}
	again := harness.Ask("lab/busy", "Count to three.")
	again.FallbackModels = []string{"lab/m1"}
	if err := l.ask(harness.Limited(t, time.Minute), again); err != nil {
		t.Fatal(err)
	}
	if err := l.ask(ctx, harness.Ask("lab/busy", "Count to three.")); harness.ReasonOf(err) != "PROVIDER_OVERLOADED" {
		t.Errorf("%v", err)
	}
	if err := l.ask(ctx, harness.Ask("lab/made-up-by-a-caller", "Count to three.")); err != nil {
		t.Error(err)
	}
	_ = l.conn.Invoke(ctx, "/made.up/Method", &llmdv1.AbortRequest{}, &llmdv1.AbortResponse{})
}

func (l *lab) ask(ctx context.Context, g *llmdv1.Generation) error {
	s, err := l.Stream(ctx, &llmdv1.StreamRequest{Generation: g})
	for err == nil {
		_, err = s.Recv()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// TestExport: an OTLP receiver gets the spans and metrics that docs/telemetry.md tells
// of, and only where a provider is to have it does it get the trace.
func TestExport(t *testing.T) {
	c := newCollector(t)
	var with, without []string
	base, other := host(t, &with), host(t, &without)
	l := start(t, listen+providers(base, "    trace_context: true\n")+
		"  - {id: quiet, api: openai-completions, base_url: '"+other+"/v1', api_key: none, allow_unlisted_models: true}\n",
		"OTEL_EXPORTER_OTLP_ENDPOINT", c.URL, "OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	drive(t, l)
	if err := l.ask(metadata.AppendToOutgoingContext(harness.Limited(t, time.Minute), "traceparent", traceparent), harness.Ask("quiet/x", "Hello.")); err != nil {
		t.Error(err)
	}
	l.stop(t)

	call := c.span(t, "llmd.v1.InferenceService/Stream")
	if got := fmt.Sprintf("%x", call.GetTraceId()); got != callersTrace || fmt.Sprintf("%x", call.GetParentSpanId()) != callersSpan {
		t.Errorf("the caller's trace is not gone on with: %s", got)
	}
	chat := c.span(t, "chat m1")
	if string(chat.GetParentSpanId()) != string(call.GetSpanId()) || chat.GetKind() != tracepb.Span_SPAN_KIND_CLIENT {
		t.Errorf("the span of the attempt is not below that of the call: %v", chat)
	}
	if len(with) == 0 || with[0] != fmt.Sprintf("00-%s-%x-01", callersTrace, chat.GetSpanId()) {
		t.Errorf("the provider got %q", with)
	}
	if len(without) != 1 || without[0] != "" {
		t.Errorf("a provider without trace_context got %q", without)
	}
	spanAttributes(t, chat)
	failed := c.span(t, "chat busy")
	a := attributes(failed.GetAttributes())
	if a["error.type"] != "PROVIDER_OVERLOADED" || failed.GetStatus().GetCode() != tracepb.Status_STATUS_CODE_ERROR || failed.GetStatus().GetMessage() != "" {
		t.Errorf("the failed attempt: %v %v", a, failed.GetStatus())
	}
	if c.about["service.name"] != "llmd" || c.about["service.version"] != "1.2.3" || c.about["service.instance.id"] != "lab" || c.about["deployment.environment.name"] != "test" {
		t.Errorf("resource %v", c.about)
	}
	names(t, c)
	values(t, c)
	for _, word := range []string{harness.Secret, harness.Canary, "Count to three", "what the provider said", "one two", "made.up"} {
		if strings.Contains(c.raw.String(), word) {
			t.Errorf("what is exported holds %q", word)
		}
	}
	if strings.Contains(l.log.String(), "telemetry") {
		t.Errorf("log:\n%s", l.log)
	}
	if !strings.Contains(l.log.String(), "trace_id="+callersTrace) {
		t.Errorf("no trace id in the log:\n%s", l.log)
	}
}

func spanAttributes(t *testing.T, chat *tracepb.Span) {
	t.Helper()
	got := attributes(chat.GetAttributes())
	for name, want := range map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "lab", "gen_ai.request.model": "m1", "gen_ai.request.stream": true,
		"gen_ai.request.temperature": 0.5, "gen_ai.response.id": "chatcmpl-7", "gen_ai.response.model": "m1-2026",
		"gen_ai.usage.input_tokens": int64(100), "gen_ai.usage.cache_read.input_tokens": int64(40), "gen_ai.usage.output_tokens": int64(20),
		"gen_ai.usage.reasoning.output_tokens": int64(7), "server.address": "127.0.0.1", "llmd.stop_reason": "stop", "llmd.attempt": "first",
	} {
		if got[name] != want {
			t.Errorf("%s = %v, want %v", name, got[name], want)
		}
	}
	if r, _ := got["gen_ai.response.finish_reasons"].([]any); len(r) != 1 || r[0] != "stop" {
		t.Errorf("finish reasons %v", got["gen_ai.response.finish_reasons"])
	}
	if s, _ := got["gen_ai.response.time_to_first_chunk"].(float64); s <= 0 {
		t.Errorf("time to the first chunk %v", s)
	}
	for name := range got {
		if !slices.Contains(conventions, name) && !strings.HasPrefix(name, "llmd.") {
			t.Errorf("the span has %s, which no convention knows", name)
		}
	}
}

// names compares with the conventions, and with the tables of docs/telemetry.md.
func names(t *testing.T, c *collector) {
	t.Helper()
	known := map[string]telemetry.Metric{}
	for _, m := range append(telemetry.Metrics(), telemetry.GenAIMetrics(telemetry.ConventionsV01)...) {
		known[m.Name] = m
	}
	for name, m := range c.metrics {
		if name == "rpc.server.call.duration" || slices.Contains(goRuntime, name) {
			continue
		}
		d, ok := known[name]
		if !ok {
			t.Errorf("%s is not in docs/telemetry.md", name)
			continue
		}
		if m.GetUnit() != d.Unit || m.GetDescription() != d.Doc || kindOf(m) != d.Kind {
			t.Errorf("%s is a %s in %s (%s), in the table a %s in %s", name, kindOf(m), m.GetUnit(), m.GetDescription(), d.Kind, d.Unit)
		}
		for _, label := range labels(m) {
			if !slices.Contains(d.Labels, label) {
				t.Errorf("%s has the label %s, of which the table does not tell", name, label)
			}
		}
		if strings.HasPrefix(name, "gen_ai.") && !slices.Contains(conventions, name) {
			t.Errorf("%s is in no convention", name)
		}
	}
	for _, name := range []string{
		"gen_ai.client.inference.duration", "gen_ai.client.inference.time_to_first_chunk", "gen_ai.client.inference.time_per_output_chunk",
		"gen_ai.client.inference.operation.input_tokens", "rpc.server.call.duration", "llmd.streams.active", "llmd.responses", "llmd.limit.usage",
		"go.memory.used", "go.goroutine.count", "go.memory.allocated",
	} {
		if c.metrics[name] == nil {
			t.Errorf("no %s", name)
		}
	}
}

func kindOf(m *metricspb.Metric) string {
	switch d := m.GetData().(type) {
	case *metricspb.Metric_Sum:
		if d.Sum.GetIsMonotonic() {
			return "counter"
		}
		return "updowncounter"
	case *metricspb.Metric_Gauge:
		return "gauge"
	case *metricspb.Metric_Histogram:
		return "histogram"
	}
	return "?"
}

// point finds the sum of the points of a counter with these labels.
func (c *collector) sum(name string, want map[string]any) (sum int64) {
	for _, p := range c.metrics[name].GetSum().GetDataPoints() {
		got, match := attributes(p.GetAttributes()), true
		for k, v := range want {
			match = match && got[k] == v
		}
		if match {
			sum += p.GetAsInt()
		}
	}
	return sum
}

// values: four answers of 100 and 20 tokens (two of m1, one of a model that a caller
// made up, one of quiet/x), and two attempts of busy. A price is known for m1: each
// answer 60 x 1 + 40 x 0.5 + 20 x 2 = 120 US dollars for a million.
func values(t *testing.T, c *collector) {
	t.Helper()
	for _, w := range []struct {
		name   string
		labels map[string]any
		want   int64
	}{
		{"gen_ai.client.inference.usage.input_tokens", map[string]any{"gen_ai.request.model": "m1"}, 200},
		{"gen_ai.client.inference.usage.output_tokens", map[string]any{"gen_ai.request.model": "m1", "gen_ai.token.modality": "unknown"}, 40},
		{"gen_ai.client.inference.usage.cache_read.input_tokens", nil, 160},
		{"gen_ai.client.inference.usage.reasoning.output_tokens", nil, 28},
		{"gen_ai.client.inference.usage.input_tokens", map[string]any{"gen_ai.request.model": "busy", "gen_ai.token.modality": "unknown"}, 0},
		{"gen_ai.client.inference.usage.input_tokens", map[string]any{"gen_ai.request.model": "other"}, 200},
		{"llmd.cost.pico_usd", map[string]any{"llmd.provider": "lab", "gen_ai.request.model": "m1"}, 2 * 120e6},
		{"llmd.responses", map[string]any{"llmd.stop_reason": "stop"}, 4},
		{"llmd.responses", map[string]any{"llmd.stop_reason": "error", "error.type": "PROVIDER_OVERLOADED", "gen_ai.request.model": "busy"}, 1},
		{"llmd.upstream.attempts", map[string]any{"llmd.attempt": "first"}, 5},
		{"llmd.upstream.attempts", map[string]any{"llmd.attempt": "fallback", "gen_ai.request.model": "m1"}, 1},
		{"llmd.upstream.attempts", map[string]any{"error.type": "PROVIDER_OVERLOADED"}, 2},
		{"llmd.errors", map[string]any{"error.type": "PROVIDER_OVERLOADED", "rpc.method": "llmd.v1.InferenceService/Stream"}, 1},
		{"llmd.streams.active", nil, 0},
	} {
		if got := c.sum(w.name, w.labels); got != w.want {
			t.Errorf("%s %v = %d, want %d", w.name, w.labels, got, w.want)
		}
	}
}

// TestEditions: the older names of the conventions, and both.
func TestEditions(t *testing.T) {
	for edition, want := range map[string][2]bool{"v1.41": {false, true}, "both": {true, true}} {
		t.Run(edition, func(t *testing.T) {
			c := newCollector(t)
			l := start(t, listen+"  telemetry: {gen_ai: "+edition+"}\n"+providers(host(t, nil), ""), "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", c.URL+"/v1/metrics")
			drive(t, l)
			l.stop(t)
			for n, names := range [][]string{
				{"gen_ai.client.inference.duration", "gen_ai.client.inference.time_per_output_chunk", "gen_ai.client.inference.usage.input_tokens"},
				{"gen_ai.client.operation.duration", "gen_ai.client.operation.time_per_output_chunk", "gen_ai.client.token.usage"},
			} {
				for _, name := range names {
					if (c.metrics[name] != nil) != want[n] {
						t.Errorf("%s: %t, want %t", name, c.metrics[name] != nil, want[n])
					}
				}
			}
			if len(c.spans) > 0 || len(c.events) > 0 {
				t.Error("there are spans or events, though only metrics were wanted")
			}
		})
	}
}

// TestLongWords: what a caller may say at any length makes no span large, unless an
// operator wants that.
func TestLongWords(t *testing.T) {
	long := strings.Repeat("c", 100_000)
	for variable, most := range map[string]int{"": 4 << 10, "10": 10} {
		c := newCollector(t)
		l := start(t, listen+providers(host(t, nil), ""), "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL, "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", variable)
		g := harness.Ask("lab/m1", "Count to three.")
		g.ConversationId, g.Config = long, &llmdv1.GenerationConfig{StopSequences: []string{long}}
		if err := l.ask(harness.Limited(t, time.Minute), g); err != nil {
			t.Fatal(err)
		}
		l.stop(t)
		a := attributes(c.span(t, "chat m1").GetAttributes())
		if a["gen_ai.conversation.id"] != long[:most] {
			t.Errorf("limit %q: %.20v", variable, a["gen_ai.conversation.id"])
		}
		if n := c.raw.Len(); n > 100_000 {
			t.Errorf("limit %q: %d bytes are exported", variable, n)
		}
	}
}

// TestOff: without a variable, or with the one that switches all off, nothing is sent.
func TestOff(t *testing.T) {
	for _, variables := range [][]string{nil, {"OTEL_SDK_DISABLED", "true"}, {"OTEL_TRACES_EXPORTER", "none", "OTEL_METRICS_EXPORTER", "none", "OTEL_LOGS_EXPORTER", "none"}} {
		c := newCollector(t)
		if variables != nil {
			variables = append(variables, "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
		}
		l := start(t, listen+providers(host(t, nil), ""), variables...)
		drive(t, l)
		l.stop(t)
		if c.raw.Len() > 0 {
			t.Errorf("%v: %d bytes were sent", variables, c.raw.Len())
		}
	}
}

package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

func environment(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// page makes a Telemetry for Prometheus, and what reads its page.
func pageOf(t *testing.T, c Conventions) (*Telemetry, func() string) {
	t.Helper()
	made, err := New(t.Context(), Options{Prometheus: true, GenAI: c, Env: environment(), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = made.Shutdown(context.Background()) })
	return made, func() string {
		w := httptest.NewRecorder()
		made.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
		return w.Body.String()
	}
}

func TestWanted(t *testing.T) {
	for _, c := range []struct {
		env                   []string
		traces, metrics, logs bool
	}{
		{nil, false, false, false},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://h"}, true, true, true},
		{[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://h"}, true, false, false},
		{[]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://h"}, false, true, false},
		{[]string{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://h"}, false, false, true},
		{[]string{"OTEL_TRACES_EXPORTER", "console"}, true, false, false},
		{[]string{"OTEL_LOGS_EXPORTER", "console"}, false, false, true},
		{[]string{"OTEL_TRACES_EXPORTER", "none", "OTEL_EXPORTER_OTLP_ENDPOINT", "http://h"}, false, true, true},
		{[]string{"OTEL_LOGS_EXPORTER", "none", "OTEL_EXPORTER_OTLP_ENDPOINT", "http://h"}, true, true, false},
		{[]string{"OTEL_SDK_DISABLED", "true", "OTEL_EXPORTER_OTLP_ENDPOINT", "http://h", "OTEL_LOGS_EXPORTER", "otlp"}, false, false, false},
		{[]string{"OTEL_SERVICE_NAME", "x", "OTEL_EXPORTER_OTLP_HEADERS", "a=b"}, false, false, false},
	} {
		traces, metrics, logs := wanted(environment(c.env...))
		if traces != c.traces || metrics != c.metrics || logs != c.logs {
			t.Errorf("%v: traces %t, metrics %t, logs %t", c.env, traces, metrics, logs)
		}
	}
	if made, err := New(t.Context(), Options{Env: environment()}); made != nil || err != nil {
		t.Errorf("nobody looks, but there is %v, %v", made, err)
	}
}

// TestNil: all methods do nothing where nobody looks.
func TestNil(t *testing.T) {
	var n *Telemetry
	ctx, a := n.Attempt(t.Context(), &Call{})
	a.Chunk(time.Now())
	a.End(nil, "X", false)
	a.Unsent("X")
	n.Stream(ctx, "m")()
	n.Connection(ctx, 1)
	n.Failed(ctx, "m", "X")
	n.Hit(ctx, LimitCalls)
	n.Stalled(ctx, nil)
	n.Blocked(ctx, time.Second)
	n.Merged(ctx, 1)
	n.Changed(ctx, []*llmdv1.HandoffChange{{}})
	n.Images(ctx, "ok", 1)
	n.Reloaded(true)
	n.Panicked(ctx)
	n.Provider("lab")
	n.Ended(ctx, nil)
	n.Watch(nil)
	if n.Handler() != nil || n.Shutdown(ctx) != nil || n.Tracers() == nil || n.Meters() == nil {
		t.Error("a nil Telemetry is not nothing")
	}
}

// TestZeros: what alerts ask the increase of is there before its first event, and is 1
// after it.
func TestZeros(t *testing.T) {
	made, page := pageOf(t, ConventionsV01)
	made.Provider("lab")
	series := []string{
		"llmd_panics_total", `llmd_config_reloads_total{llmd_result="failed"}`, `llmd_config_reloads_total{llmd_result="ok"}`,
		`llmd_aborts_total{llmd_abort_cause="slow_consumer"}`, `llmd_limit_hits_total{llmd_limit="concurrent_calls"}`,
		`llmd_credentials_failures_total{llmd_provider="lab"}`, `llmd_upstream_stalls_total{llmd_provider="lab"}`,
		"llmd_queue_merged_events_total", `llmd_images_fetched_total{llmd_result="refused"}`,
	}
	text := page()
	for _, name := range series {
		if !strings.Contains(text, "\n"+name+" 0\n") {
			t.Errorf("no %s 0", name)
		}
	}
	for _, absent := range []string{"llmd_responses_total", "llmd_errors_total", "llmd_cost_pico_usd_total"} {
		if strings.Contains(text, "\n"+absent+"{") {
			t.Errorf("%s is there without an event", absent)
		}
	}
	made.Panicked(t.Context())
	made.Reloaded(false)
	if text := page(); !strings.Contains(text, "\nllmd_panics_total 1\n") || !strings.Contains(text, "\n"+series[1]+" 1\n") || !strings.Contains(text, "\n"+series[2]+" 0\n") {
		t.Error("the first events are not those of the series that were there")
	}
}

// TestUnsent: what never went to a provider is no attempt at it, and takes no time there;
// but that there are no credentials is counted.
func TestUnsent(t *testing.T) {
	made, page := pageOf(t, ConventionsBoth)
	made.Provider("lab")
	_, a := made.Attempt(t.Context(), &Call{Model: &profile.Model{Provider: "lab", ID: "m", API: "openai-completions"}, Nth: AttemptFallback})
	a.Unsent("PROVIDER_CREDENTIALS_INVALID")
	text := page()
	if !strings.Contains(text, "\nllmd_credentials_failures_total{llmd_provider=\"lab\"} 1\n") {
		t.Error("the credentials that are missing are not counted")
	}
	for _, absent := range []string{"llmd_upstream_attempts_total{", "gen_ai_client_inference_duration_seconds_count", "gen_ai_client_operation_duration_seconds_count", "gen_ai_client_inference_usage"} {
		if strings.Contains(text, "\n"+absent) {
			t.Errorf("%s is there", absent)
		}
	}
}

// TestVariables: what is not understood is named, without its value.
func TestVariables(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	withoutScheme(environment("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "127.0.0.1:4318",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://h:1", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "unix:///s"), log)
	if text := out.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, "variable=OTEL_EXPORTER_OTLP_ENDPOINT\n") ||
		!strings.Contains(text, "variable=OTEL_EXPORTER_OTLP_LOGS_ENDPOINT\n") || strings.Contains(text, "4318") {
		t.Errorf("log:\n%s", text)
	}
	for complaint, want := range map[string]string{
		"unsupported sampler: foo":                          "OTEL_TRACES_SAMPLER",
		"parsing sampler argument: x":                       "OTEL_TRACES_SAMPLER_ARG",
		"invalid OTEL_EXPORTER_OTLP_TIMEOUT value 10s: bad": "OTEL_EXPORTER_OTLP_TIMEOUT",
		"traces export: connection refused":                 "",
	} {
		if got := ignored(complaint); got != want {
			t.Errorf("%s: %q", complaint, got)
		}
	}
}

// TestUnderstood: only what is in force must be understood.
func TestUnderstood(t *testing.T) {
	const endpoint, traces, all, own = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	for _, c := range []struct {
		env  []string
		want string // the variable that is named
	}{
		{[]string{traces, "foo"}, traces},
		{[]string{traces, "otlp", all, "http/json"}, all},
		{[]string{endpoint, "http://h:1", all, "http/json"}, all},
		{[]string{traces, "otlp", own, "json"}, own},
		{[]string{traces, "otlp", all, "http/json", own, "grpc"}, ""},
		{[]string{traces, "console", all, "http/json"}, ""},
		{[]string{traces, "none", all, "http/json"}, ""},
		{[]string{all, "http/json"}, ""},
	} {
		err := understood(environment(c.env...))
		var fault *VariableError
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &fault) || fault.Name != c.want) {
			t.Errorf("%v: %v", c.env, err)
		}
	}
}

// TestFewLabels: what callers and providers can make up does not fill the metrics.
func TestFewLabels(t *testing.T) {
	made, page := pageOf(t, ConventionsV01)
	for i := range 100 {
		for _, m := range []*profile.Model{
			{ID: fmt.Sprint("made-up-", i), Provider: "lab", API: "openai-completions", Source: "default"},
			{ID: "listed", Provider: "lab", API: "openai-completions", Source: "builtin"},
		} {
			ctx, a := made.Attempt(t.Context(), &Call{Model: m, Nth: AttemptFirst})
			message := &llmdv1.AssistantMessage{ResponseModel: fmt.Sprint("dated-", i), StopReason: llmdv1.StopReason_STOP_REASON_STOP}
			a.End(message, "", false)
			made.Ended(ctx, &Response{Model: m, Message: message, Caller: fmt.Sprint("caller-", i)})
			// A provider that calls the model what the caller calls it.
			_, a = made.Attempt(t.Context(), &Call{Model: m, Nth: AttemptFirst})
			a.Chunk(time.Now())
			a.Chunk(time.Now())
			a.End(&llmdv1.AssistantMessage{ResponseModel: m.ID, StopReason: llmdv1.StopReason_STOP_REASON_STOP}, "", false)
		}
	}
	text := page()
	if strings.Contains(text, "made-up-") || strings.Contains(text, "caller-") {
		t.Error("made-up names are labels")
	}
	if n := strings.Count(text, "\nllmd_responses_total{"); n != 2 {
		t.Errorf("%d series of responses, want listed and other", n)
	}
	// Four names of the provider's, its own, and all the rest.
	if n := strings.Count(text, `gen_ai_client_inference_duration_seconds_count{gen_ai_operation_name="chat",gen_ai_provider_name="lab",gen_ai_request_model="listed"`); n != 6 {
		t.Errorf("%d series of a model whose provider gives it 100 names:\n%s", n, text)
	}
}

func TestChunks(t *testing.T) {
	made, page := pageOf(t, ConventionsBoth)
	m := &profile.Model{ID: "m", Provider: "lab", API: "openai-completions", BaseURL: "https://h.test/v1"}
	at := time.Now()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			_, a := made.Attempt(t.Context(), &Call{Model: m})
			// One to begin with, then gaps of 15 ms, 15 ms and 1 s.
			for _, d := range []time.Duration{0, 15, 30, 1030} {
				a.Chunk(at.Add(d * time.Millisecond))
			}
			a.End(nil, "PROVIDER_STREAM_TRUNCATED", false)
		})
	}
	all.Wait()
	text := page()
	labels := `{gen_ai_operation_name="chat",gen_ai_provider_name="lab",gen_ai_request_model="m",server_address="h.test",server_port="443"`
	for _, want := range []string{
		"gen_ai_client_inference_time_per_output_chunk_seconds_bucket" + labels + `,le="0.01"} 0`,
		"gen_ai_client_inference_time_per_output_chunk_seconds_bucket" + labels + `,le="0.02"} 8`,
		"gen_ai_client_inference_time_per_output_chunk_seconds_bucket" + labels + `,le="1.28"} 12`,
		"gen_ai_client_inference_time_per_output_chunk_seconds_count" + labels + `} 12`,
		"gen_ai_client_operation_time_per_output_chunk_seconds_count" + labels + `} 12`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// TestModalities: what the provider breaks down, and the rest as unknown.
func TestModalities(t *testing.T) {
	made, page := pageOf(t, ConventionsV01)
	_, a := made.Attempt(t.Context(), &Call{Model: &profile.Model{ID: "g", Provider: "google", API: "google-generative-ai"}})
	a.End(&llmdv1.AssistantMessage{StopReason: llmdv1.StopReason_STOP_REASON_STOP, Usage: &llmdv1.Usage{
		InputTokens: 300, CacheReadTokens: 50, CacheWriteTokens: 20, OutputTokens: 10,
		Modalities: []*llmdv1.ModalityTokens{{Modality: llmdv1.Modality_MODALITY_IMAGE, InputTokens: 258}, {Modality: llmdv1.Modality_MODALITY_TEXT, InputTokens: 90, OutputTokens: 10}},
	}}, "", false)
	text := page()
	head := `{gen_ai_operation_name="generate_content",gen_ai_provider_name="gcp.gemini",gen_ai_request_model="g"`
	for name, want := range map[string]string{
		`usage_input_tokens_total` + head + `,gen_ai_token_modality="image"}`:               "258",
		`usage_input_tokens_total` + head + `,gen_ai_token_modality="text"}`:                "90",
		`usage_input_tokens_total` + head + `,gen_ai_token_modality="unknown"}`:             "22",
		`usage_output_tokens_total` + head + `,gen_ai_token_modality="text"}`:               "10",
		`usage_cache_read_input_tokens_total` + head + `,gen_ai_token_modality="unknown"}`:  "50",
		`usage_cache_write_input_tokens_total` + head + `,gen_ai_token_modality="unknown"}`: "20",
		`operation_input_tokens_sum` + head + `}`:                                           "370",
	} {
		if !strings.Contains(text, "gen_ai_client_inference_"+name+" "+want+"\n") {
			t.Errorf("no %s %s in\n%s", name, want, text)
		}
	}
}

// TestComplaints: what OpenTelemetry says of its troubles is told without the values
// of variables, which hold the keys of collectors.
func TestComplaints(t *testing.T) {
	var out bytes.Buffer
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "s3cret-without-a-name,a=%zz-s3cret")
	made, err := New(t.Context(), Options{Env: environment("OTEL_EXPORTER_OTLP_ENDPOINT", "x"), Log: slog.New(slog.NewTextHandler(&out, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_ = made.Shutdown(ctx)
	otel.Handle(errors.New(strings.Repeat("long", 1000)))
	if text := out.String(); strings.Contains(text, "s3cret") || !strings.Contains(text, "variable=OTEL_EXPORTER_OTLP_HEADERS") || !strings.Contains(out.String(), "telemetry is not as it was meant") {
		t.Errorf("log:\n%s", out.String())
	}
	if out.Len() > 4000 {
		t.Error("a long complaint is told at length")
	}
	for _, signal := range []string{"TRACES", "METRICS", "LOGS"} {
		name := "OTEL_" + signal + "_EXPORTER"
		t.Setenv(name, "nonsense")
		if _, err := New(t.Context(), Options{Env: environment(name, "nonsense"), Log: slog.New(slog.NewTextHandler(io.Discard, nil))}); err == nil ||
			!strings.HasPrefix(err.Error(), name+": must be one of: otlp, console, ") || err.Error() != fmt.Sprint(Check(environment(name, "nonsense"))) {
			t.Errorf("%s: an exporter that there is not: %v", name, err)
		}
	}
}

func TestAddress(t *testing.T) {
	for base, want := range map[string]string{
		"https://api.test/v1": "api.test:443", "http://h": "h:80", "http://[::1]:9000/x": "::1:9000", "": ":0", "%": ":0", "https://key@h.test:1/?key=s": "h.test:1",
	} {
		if host, port := address(base); fmt.Sprint(host, ":", port) != want {
			t.Errorf("%q: %s:%d", base, host, port)
		}
	}
}

// BenchmarkChunk is what telemetry costs each delta.
func BenchmarkChunk(b *testing.B) {
	made, err := New(b.Context(), Options{Prometheus: true, Env: environment(), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		b.Fatal(err)
	}
	_, a := made.Attempt(b.Context(), &Call{Model: &profile.Model{ID: "m", Provider: "lab"}})
	at := time.Now()
	a.Chunk(at)
	b.ReportAllocs()
	for b.Loop() {
		at = at.Add(30 * time.Millisecond)
		a.Chunk(at)
	}
}

// BenchmarkAttempt is what it costs each request.
func BenchmarkAttempt(b *testing.B) {
	made, err := New(b.Context(), Options{Prometheus: true, Env: environment(), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		b.Fatal(err)
	}
	m := &profile.Model{ID: "m", Provider: "lab", BaseURL: "https://h.test/v1"}
	message := &llmdv1.AssistantMessage{StopReason: llmdv1.StopReason_STOP_REASON_STOP, Usage: &llmdv1.Usage{InputTokens: 10, OutputTokens: 10}}
	b.ReportAllocs()
	for b.Loop() {
		ctx, a := made.Attempt(b.Context(), &Call{Model: m})
		a.Chunk(a.began)
		a.End(message, "", false)
		made.Ended(ctx, &Response{Model: m, Message: message})
	}
}

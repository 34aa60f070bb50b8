package telemetry

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// TestLogLines: the line of a call has what docs/telemetry.md says.
func TestLogLines(t *testing.T) {
	l := start(t, listen+adminPages+"  log_format: json\n"+providers(host(t, nil), ""))
	ctx := metadata.AppendToOutgoingContext(harness.Limited(t, time.Minute), "traceparent", traceparent)
	for _, model := range []string{"lab/m1", "lab/busy", "nowhere/m"} {
		s, err := l.Stream(ctx, &llmdv1.StreamRequest{RequestId: "request-of-" + model, Generation: harness.Ask(model, "Hello.")})
		for err == nil {
			_, err = s.Recv()
		}
	}
	// Ids that are no ids do not fill the log.
	s, err := l.Stream(ctx, &llmdv1.StreamRequest{RequestId: strings.Repeat("x", 100_000)})
	for err == nil {
		_, err = s.Recv()
	}
	for _, ask := range []func() error{
		func() error {
			_, err := l.Abort(ctx, &llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_RequestId{RequestId: "of another"}})
			return err
		},
		func() error {
			_, err := l.GetResponse(ctx, &llmdv1.GetResponseRequest{Target: &llmdv1.GetResponseRequest_ResponseId{ResponseId: "elsewhere.x"}})
			return err
		},
	} {
		if err := ask(); err == nil {
			t.Error("there is such a response")
		}
	}
	const calls = 6
	var lines []map[string]any
	for end := time.Now().Add(time.Minute); len(lines) < calls && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		lines = nil
		for text := range strings.Lines(l.log.String()) {
			var line map[string]any
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			if line["msg"] == "call" {
				lines = append(lines, line)
			}
		}
	}
	if len(lines) != calls {
		t.Fatalf("%d lines:\n%s", len(lines), l.log)
	}
	for i, want := range []map[string]any{
		{
			"code": "OK", "model": "lab/m1", "request_id": "request-of-lab/m1", "stop_reason": "STOP_REASON_STOP", "total_tokens": 120.0, "output_tokens": 20.0,
			"cost_pico_usd": 120e6, "trace_id": callersTrace, "method": "llmd.v1.InferenceService/Stream",
		},
		{"code": "Unavailable", "model": "lab/busy", "request_id": "request-of-lab/busy", "reason": "PROVIDER_OVERLOADED", "trace_id": callersTrace},
		{"code": "NotFound", "request_id": "request-of-nowhere/m", "reason": "PROVIDER_NOT_FOUND"},
		{"code": "InvalidArgument", "reason": "INVALID_REQUEST", "request_id": strings.Repeat("x", 256)},
		{"code": "NotFound", "reason": "RESPONSE_NOT_FOUND", "request_id": "of another", "method": "llmd.v1.InferenceService/Abort"},
		{"code": "FailedPrecondition", "reason": "WRONG_INSTANCE", "response_id": "elsewhere.x", "method": "llmd.v1.InferenceService/GetResponse"},
	} {
		for key, value := range want {
			if lines[i][key] != value {
				t.Errorf("line %d: %s = %v, want %v", i, key, lines[i][key], value)
			}
		}
	}
}

// TestLogLevel: it can be changed while llmd runs.
func TestLogLevel(t *testing.T) {
	l := start(t, listen+adminPages)
	put := func(level string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, l.admin+"/loglevel", strings.NewReader(level))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%v %v", resp, err)
		}
		_ = resp.Body.Close()
	}
	call := func(model string) {
		if err := l.ask(harness.Limited(t, time.Minute), harness.Ask(model, "Hello.")); err != nil {
			t.Fatal(err)
		}
	}
	put("error")
	call("faux/echo")
	put("info")
	call("faux/think")
	for end := time.Now().Add(time.Minute); !strings.Contains(l.log.String(), "model=faux/think") && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if log := l.log.String(); strings.Contains(log, "model=faux/echo") || !strings.Contains(log, "model=faux/think") {
		t.Errorf("log:\n%s", log)
	}
}

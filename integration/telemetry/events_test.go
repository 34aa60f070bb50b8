package telemetry

import (
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
	"github.com/llmd-dev/llmd/internal/telemetry"
)

// TestExceptions: an attempt that fails is one event, by each edition of the conventions
// that is spoken, in the context of its span; one that does not is none.
func TestExceptions(t *testing.T) {
	for edition, want := range exceptions {
		t.Run(edition, func(t *testing.T) {
			c := newCollector(t)
			l := start(t, listen+"  telemetry: {gen_ai: "+edition+"}\n"+providers(host(t, nil), ""), "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
			ctx := metadata.AppendToOutgoingContext(harness.Limited(t, 20*time.Second), "traceparent", traceparent)
			if err := l.ask(ctx, harness.Ask("lab/m1", "Count to three.")); err != nil {
				t.Fatal(err)
			}
			if err := l.ask(ctx, harness.Ask("lab/busy", "Count to three.")); harness.ReasonOf(err) != "PROVIDER_OVERLOADED" {
				t.Errorf("%v", err)
			}
			l.stop(t)
			span := c.span(t, "chat busy")
			var names []string
			for _, e := range c.events {
				names = append(names, e.GetEventName())
				if string(e.GetTraceId()) != string(span.GetTraceId()) || string(e.GetSpanId()) != string(span.GetSpanId()) || e.GetTimeUnixNano() != span.GetEndTimeUnixNano() {
					t.Errorf("%v is not of the span of the attempt", e)
				}
				exception(t, e, edition, "PROVIDER_OVERLOADED")
			}
			slices.Sort(names)
			if !slices.Equal(names, want) {
				t.Errorf("events %q, want %q", names, want)
			}
			for _, word := range []string{harness.Secret, harness.Canary, "Count to three", "what the provider said", "one two"} {
				if strings.Contains(c.raw.String(), word) {
					t.Errorf("what is exported holds %q", word)
				}
			}
		})
	}
}

// exception looks at one event.
func exception(t *testing.T, e *logspb.LogRecord, edition, reason string) {
	t.Helper()
	// https://opentelemetry.io/docs/specs/otel/logs/data-model/#field-severitynumber: WARN is 13.
	if e.GetSeverityNumber() != 13 || e.GetSeverityText() != "WARN" || e.GetBody().GetValue() != nil {
		t.Errorf("%v", e)
	}
	got := attributes(e.GetAttributes())
	for name, want := range map[string]any{
		"exception.type": reason, "error.type": reason, "gen_ai.operation.name": "chat", "gen_ai.provider.name": "lab", "gen_ai.request.model": "busy",
		"server.address": "127.0.0.1", "llmd.provider": "lab", "llmd.attempt": "first",
	} {
		if got[name] != want {
			t.Errorf("%s = %v, want %v", name, got[name], want)
		}
	}
	var page []string
	for _, d := range telemetry.Events(telemetry.Conventions(edition)) {
		if d.Name == e.GetEventName() {
			page = d.Attributes
		}
	}
	for name := range got {
		if !slices.Contains(exceptionKeys, name) && !slices.Contains(conventions, name) && !strings.HasPrefix(name, "llmd.") {
			t.Errorf("the event has %s, which no convention knows", name)
		}
		if !slices.Contains(page, name) {
			t.Errorf("the event has %s, of which docs/telemetry.md does not tell", name)
		}
	}
}

// TestExceptionsAlone: where only events are wanted they have the caller's trace. What
// was cut has failed; what the caller aborted or went away from has not. The ids that
// callers make up are not repeated.
func TestExceptionsAlone(t *testing.T) {
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"one \"}}]}\n\n")
	}))
	t.Cleanup(cut.Close)
	c := newCollector(t)
	l := start(t, listen+providers(cut.URL, ""), "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", c.URL+"/v1/logs")
	ctx := metadata.AppendToOutgoingContext(harness.Limited(t, 20*time.Second), "traceparent", traceparent)
	if err := l.ask(ctx, harness.Ask("lab/made-up-by-a-caller", "Hello.")); harness.ReasonOf(err) != "PROVIDER_STREAM_TRUNCATED" {
		t.Errorf("%v", err)
	}
	slow := func(ctx context.Context, id string) grpc.ServerStreamingClient[llmdv1.StreamResponse] {
		running, err := l.Stream(ctx, &llmdv1.StreamRequest{RequestId: id, Generation: harness.Ask("faux/slow", "Hello.")})
		if err == nil {
			_, err = running.Recv()
		}
		if err != nil {
			t.Fatal(err)
		}
		return running
	}
	gone, leave := context.WithCancel(ctx)
	slow(gone, "gone")
	leave()
	left := &llmdv1.GetResponseRequest{Target: &llmdv1.GetResponseRequest_RequestId{RequestId: "gone"}, WaitDuration: durationpb.New(10 * time.Second)}
	if r, err := l.GetResponse(ctx, left); err != nil || r.GetMessage().GetError().GetReason() != "CANCELLED" {
		t.Errorf("%v %v", r, err)
	}
	running, err := slow(ctx, "slow"), error(nil)
	if _, err := l.Abort(ctx, &llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_RequestId{RequestId: "slow"}}); err != nil {
		t.Error(err)
	}
	for err == nil {
		_, err = running.Recv()
	}
	l.stop(t)
	if len(c.spans) > 0 || len(c.metrics) > 0 {
		t.Error("there are spans or metrics, though only events were wanted")
	}
	if len(c.events) != 1 {
		t.Fatalf("%d events, want that of the answer that was cut: %v", len(c.events), c.events)
	}
	e := c.events[0]
	a := attributes(e.GetAttributes())
	if a["exception.type"] != "PROVIDER_STREAM_TRUNCATED" || a["gen_ai.request.model"] != "other" || hex.EncodeToString(e.GetTraceId()) != callersTrace {
		t.Errorf("%v", e)
	}
	if c.about["service.name"] != "llmd" || c.about["service.instance.id"] != "lab" {
		t.Errorf("resource %v", c.about)
	}
}

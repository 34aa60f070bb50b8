package telemetry

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// TestLimitsInMetrics: limits that are met are counted, and those in use are seen.
func TestLimitsInMetrics(t *testing.T) {
	l := start(t, listen+adminPages+"  max_receive_bytes: 64 KiB\n  limits: {concurrent_calls: 2, request_bytes: 1 MiB, per_caller: {concurrent_calls: 1, requests_per_second: 1000}}\n")
	ctx := harness.Limited(t, time.Minute)
	running, err := l.Stream(ctx, &llmdv1.StreamRequest{RequestId: "slow", Generation: harness.Ask("faux/slow", "Hello.")})
	if err == nil {
		_, err = running.Recv() // it is let in
	}
	if err != nil {
		t.Fatal(err)
	}
	metrics := func() string { return get(t, l.admin+"/metrics", "") }
	want := func(text string, all ...string) {
		t.Helper()
		for _, w := range all {
			if !strings.Contains(text, "\n"+w+"\n") {
				t.Errorf("no %s in\n%s", w, text)
			}
		}
	}
	want(metrics(), `llmd_limit_usage{llmd_limit="concurrent_calls"} 1`, `llmd_limit_usage{llmd_limit="caller_concurrent_calls"} 1`,
		`llmd_limit_max{llmd_limit="concurrent_calls"} 2`, `llmd_limit_max{llmd_limit="caller_concurrent_calls"} 1`,
		`llmd_limit_max{llmd_limit="request_bytes"} 1.048576e+06`, `llmd_limit_max{llmd_limit="receive_bytes"} 65536`,
		`llmd_streams_active{rpc_method="llmd.v1.InferenceService/Stream"} 1`, `llmd_connections_active 1`)
	if err := l.ask(ctx, harness.Ask("faux/echo", "Hello.")); harness.ReasonOf(err) != "TENANT_QUOTA" {
		t.Errorf("%v", err)
	}
	if _, err := l.Abort(ctx, &llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_RequestId{RequestId: "slow"}}); err != nil {
		t.Error(err)
	}
	for err == nil {
		_, err = running.Recv()
	}
	// A response that goes on without a reader counts for as long as it does.
	alone, leave := context.WithCancel(ctx)
	detached, err := l.Stream(alone, &llmdv1.StreamRequest{
		RequestId: "detached", Generation: harness.Ask("faux/slow", "Hello."), Options: &llmdv1.StreamOptions{Detached: durationpb.New(time.Minute)},
	}, grpc.WaitForReady(true))
	if err == nil {
		_, err = detached.Recv()
	}
	if err != nil {
		t.Fatal(err)
	}
	leave()
	for end := time.Now().Add(10 * time.Second); !strings.Contains(metrics(), "detached\"} 1\n") && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	want(metrics(), `llmd_limit_usage{llmd_limit="detached"} 1`, `llmd_limit_max{llmd_limit="detached"} 1000`)
	if _, err := l.Abort(ctx, &llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_RequestId{RequestId: "detached"}}); err != nil {
		t.Error(err)
	}
	want(metrics(), `llmd_limit_usage{llmd_limit="detached"} 0`)
	large := harness.Ask("faux/echo", strings.Repeat("large ", 20_000))
	if _, err := l.Complete(ctx, &llmdv1.CompleteRequest{Generation: large}, grpc.WaitForReady(true)); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a request over the limit: %v", err)
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(metrics(), "receive_bytes\"} 1\n") && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	want(metrics(), `llmd_limit_hits_total{llmd_limit="caller_concurrent_calls"} 1`, `llmd_limit_hits_total{llmd_limit="receive_bytes"} 1`,
		`llmd_aborts_total{llmd_abort_cause="requested"} 2`, `llmd_errors_total{error_type="TENANT_QUOTA",rpc_method="llmd.v1.InferenceService/Stream"} 1`,
		`llmd_responses_total{error_type="ABORT_REQUESTED",gen_ai_request_model="slow",llmd_provider="faux",llmd_stop_reason="aborted"} 2`,
		`llmd_limit_usage{llmd_limit="caller_concurrent_calls"} 0`)
}

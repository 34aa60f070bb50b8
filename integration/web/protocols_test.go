package web

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

func asConnect(err error, target **connect.Error) bool { return errors.As(err, target) }

// each runs a test over every way at the same time, on one server.
func each(t *testing.T, l *lab, run func(t *testing.T, w way)) {
	t.Helper()
	var all sync.WaitGroup
	for _, w := range ways() {
		all.Go(func() { t.Run(w.name, func(t *testing.T) { run(t, w) }) })
	}
	all.Wait()
}

// fold is what the events of an answer say, whatever the borders of the deltas.
func fold(events []*llmdv1.StreamResponse) *llmdv1.AssistantMessage {
	for _, e := range events {
		if m := e.GetDone().GetMessage(); m != nil {
			return m
		}
		if m := e.GetError().GetMessage(); m != nil {
			return m
		}
	}
	return nil
}

// The answers are those of gRPC, with text of every kind.
func TestAnswers(t *testing.T) {
	l := start(t, "")
	conn, err := grpc.NewClient("passthrough:///"+l.native, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	native := llmdv1.NewInferenceServiceClient(conn)
	for _, script := range []string{
		"Grüezi, 東京 👋! A \"quoted\" word\nand a second line.",
		`faux: [{"thinking": "Hm, hm."}, {"redacted": "psst"}, {"text": "Yes."}]`,
		`faux: [{"tool_call": {"name": "weather", "arguments": {"city": "Zürich \"👋\" \\ \n東"}}}]`,
		`faux: {"text": "word ", "repeat": 500}`,
	} {
		req := &llmdv1.StreamRequest{Generation: harness.Ask("faux/agent", script, "weather")}
		want := harness.Run(limited(t), native, req, nil)
		each(t, l, func(t *testing.T, w way) {
			got := stream(limited(t), t, streams(t, l, w), req, nil)
			if got.err != nil || want.Message == nil {
				t.Fatalf("%v, %v", got.err, want.Message)
			}
			ignore := protocmp.IgnoreFields(&llmdv1.AssistantMessage{}, "response_id", "create_time")
			if d := cmp.Diff(want.Message, fold(got.events), protocmp.Transform(), ignore); d != "" {
				t.Error(d)
			}
			for i, e := range got.events {
				if int(e.GetSequenceNumber()) != i {
					t.Fatalf("event %d has the number %d", i, e.GetSequenceNumber())
				}
			}
			if got.trailer.Get("llmd-response-id") != got.events[0].GetStarted().GetResponseId() {
				t.Errorf("trailers %v", got.trailer)
			}
			// A complete answer is the same message.
			one, err := rpc[llmdv1.CompleteRequest, llmdv1.CompleteResponse](t, l, w, llmdv1.InferenceService_Complete_FullMethodName).
				CallUnary(limited(t), connect.NewRequest(&llmdv1.CompleteRequest{Generation: req.GetGeneration()}))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want.Message, one.Msg.GetMessage(), protocmp.Transform(), ignore); d != "" {
				t.Error(d)
			}
		})
	}
}

// Errors come with their code, reason, delay and trailers, before the answer and
// within it.
func TestErrors(t *testing.T) {
	l := start(t, "")
	each(t, l, func(t *testing.T, w way) {
		before := stream(limited(t), t, streams(t, l, w), &llmdv1.StreamRequest{Generation: harness.Ask("faux/error", "rate_limit")}, nil)
		wantError(t, "before", before.err, connect.CodeResourceExhausted, "RATE_LIMITED")
		if d := detail[*errdetails.RetryInfo](before.err).GetRetryDelay(); d.AsDuration() != time.Second {
			t.Errorf("delay %v", d)
		}
		if got := before.err.Meta().Get("grpc-retry-pushback-ms"); got != "1000" || len(before.events) != 0 {
			t.Errorf("pushback %q, %d events, %v", got, len(before.events), before.err.Meta())
		}
		within := stream(limited(t), t, streams(t, l, w), &llmdv1.StreamRequest{Generation: harness.Ask("faux/error", "mid-stream")}, nil)
		wantError(t, "within", within.err, connect.CodeUnavailable, "PROVIDER_OVERLOADED")
		if m := within.last().GetError().GetMessage(); m.GetStopReason() != llmdv1.StopReason_STOP_REASON_ERROR || len(m.GetContent()) != 1 {
			t.Errorf("the last event is %v", within.last())
		}
		_, err := rpc[llmdv1.CompleteRequest, llmdv1.CompleteResponse](t, l, w, llmdv1.InferenceService_Complete_FullMethodName).
			CallUnary(limited(t), connect.NewRequest(&llmdv1.CompleteRequest{Generation: &llmdv1.Generation{Model: "faux/echo"}}))
		unary := asError(t, err)
		wantError(t, "unary", unary, connect.CodeInvalidArgument, "INVALID_REQUEST")
		if v := detail[*errdetails.BadRequest](unary).GetFieldViolations(); len(v) != 1 || v[0].GetField() != "generation.context" {
			t.Errorf("violations %v", v)
		}
	})
}

// Other methods, health among them.
func TestMethods(t *testing.T) {
	l := start(t, "")
	each(t, l, func(t *testing.T, w way) {
		models, err := rpc[llmdv1.ListModelsRequest, llmdv1.ListModelsResponse](t, l, w, llmdv1.ModelService_ListModels_FullMethodName).
			CallUnary(limited(t), connect.NewRequest(&llmdv1.ListModelsRequest{Provider: "faux"}))
		if err != nil || len(models.Msg.GetModels()) < 8 {
			t.Errorf("models: %v, %v", models, err)
		}
		health, err := rpc[healthv1.HealthCheckRequest, healthv1.HealthCheckResponse](t, l, w, healthv1.Health_Check_FullMethodName).
			CallUnary(limited(t), connect.NewRequest(&healthv1.HealthCheckRequest{Service: "llmd.v1.InferenceService"}))
		if err != nil || health.Msg.GetStatus() != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("health: %v, %v", health, err)
		}
		_, err = rpc[healthv1.HealthCheckRequest, healthv1.HealthCheckResponse](t, l, w, "/llmd.v1.InferenceService/Nope").
			CallUnary(limited(t), connect.NewRequest(&healthv1.HealthCheckRequest{}))
		if asError(t, err).Code() != connect.CodeUnimplemented {
			t.Errorf("an unknown method: %v", err)
		}
	})
}

const countdown = `faux: {"text": "ten nine eight seven six five four three two one", "delay_ms": 300}`

// Events come one by one: the answer that is aborted after its first word would not end
// if anything held events back until there are more of them.
func TestEventsComeAtOnce(t *testing.T) {
	l := start(t, "")
	each(t, l, func(t *testing.T, w way) {
		abort := rpc[llmdv1.AbortRequest, llmdv1.AbortResponse](t, l, w, llmdv1.InferenceService_Abort_FullMethodName)
		req := &llmdv1.StreamRequest{RequestId: "abort " + w.name, Generation: harness.Ask("faux/echo", `faux: [{"text": "ten"}, {"text": " nine", "delay_ms": 50000}]`)}
		aborted := false
		got := stream(limited(t), t, streams(t, l, w), req, func(e *llmdv1.StreamResponse) {
			if e.GetTextDelta() == nil || aborted {
				return
			}
			aborted = true
			_, err := abort.CallUnary(limited(t), connect.NewRequest(&llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_RequestId{RequestId: req.GetRequestId()}, Reason: "enough"}))
			if err != nil {
				t.Error(err)
			}
		})
		a := got.last().GetAborted()
		if got.err != nil || a.GetReason() != "enough" || a.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_REQUESTED {
			t.Errorf("%v, %v", got.err, got.last())
		}
		if c := a.GetMessage().GetContent(); len(c) == 0 || c[0].GetText().GetText() != "ten" {
			t.Errorf("content %v", c)
		}
	})
}

// A client that goes away ends the answer, and what there was of it is kept.
func TestClientGoesAway(t *testing.T) {
	l := start(t, "")
	each(t, l, func(t *testing.T, w way) {
		ctx, leave := context.WithCancel(limited(t))
		defer leave()
		id := "gone " + w.name
		stream(ctx, t, streams(t, l, w), &llmdv1.StreamRequest{RequestId: id, Generation: harness.Ask("faux/echo", countdown)}, func(e *llmdv1.StreamResponse) {
			if e.GetTextDelta() != nil {
				leave()
			}
		})
		m := stored(t, l, w, id)
		if m.GetStopReason() != llmdv1.StopReason_STOP_REASON_ABORTED || m.GetError().GetReason() != "CANCELLED" {
			t.Errorf("kept: %v", m)
		}
		if c := m.GetContent(); len(c) != 1 || !strings.HasPrefix(c[0].GetText().GetText(), "ten") || strings.HasSuffix(c[0].GetText().GetText(), "one") {
			t.Errorf("kept: %v", c)
		}
	})
}

// stored is what GetResponse has, once the response has ended.
func stored(t *testing.T, l *lab, w way, id string) *llmdv1.AssistantMessage {
	t.Helper()
	got, err := rpc[llmdv1.GetResponseRequest, llmdv1.GetResponseResponse](t, l, w, llmdv1.InferenceService_GetResponse_FullMethodName).
		CallUnary(limited(t), connect.NewRequest(&llmdv1.GetResponseRequest{
			Target: &llmdv1.GetResponseRequest_RequestId{RequestId: id}, WaitDuration: durationpb.New(30 * time.Second),
		}))
	if err != nil {
		t.Fatal(err)
	}
	return got.Msg.GetMessage()
}

// Deadlines travel as grpc-timeout or Connect-Timeout-Ms.
func TestDeadline(t *testing.T) {
	l := start(t, "")
	each(t, l, func(t *testing.T, w way) {
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
		defer cancel()
		got := stream(ctx, t, streams(t, l, w), &llmdv1.StreamRequest{
			Generation: harness.Ask("faux/echo", `faux: [{"text": "ten"}, {"text": " nine", "delay_ms": 50000}]`),
			// It ends a second after it began, whatever the machine does.
			Options: &llmdv1.StreamOptions{DeadlineMargin: durationpb.New(11 * time.Second)},
		}, nil)
		wantError(t, "at the deadline", got.err, connect.CodeDeadlineExceeded, "DEADLINE_EXCEEDED")
		if a := got.last().GetAborted(); a.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_DEADLINE || len(a.GetMessage().GetContent()) != 1 {
			t.Errorf("the last event is %v", got.last())
		}
	})
}

// Requests of 10 MiB, and an answer of 4.5 MB.
func TestSizes(t *testing.T) {
	if testing.Short() {
		t.Skip("large messages take a while")
	}
	l := start(t, "")
	line := strings.Repeat("0123456789 äöü 東京 ", 100)
	g := harness.Ask("faux/echo", `faux: {"text": "`+line+`", "repeat": 1800, "chunk": 500}`)
	g.Context.Messages[0].GetUser().Content = append(g.Context.Messages[0].GetUser().Content, &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{
		Image: &llmdv1.ImageContent{MimeType: "image/png", Source: &llmdv1.ImageContent_Data{Data: append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 10<<20)...)}},
	}})
	for _, w := range few() {
		got, err := rpc[llmdv1.CompleteRequest, llmdv1.CompleteResponse](t, l, w, llmdv1.InferenceService_Complete_FullMethodName).
			CallUnary(limited(t), connect.NewRequest(&llmdv1.CompleteRequest{Generation: g}))
		if err != nil {
			t.Fatalf("%.300s", err.Error())
		}
		if c := got.Msg.GetMessage().GetContent(); len(c) != 1 || c[0].GetText().GetText() != strings.Repeat(line, 1800) {
			t.Errorf("%s: %d blocks, %d bytes", w.name, len(c), len(c[0].GetText().GetText()))
		}
	}
}

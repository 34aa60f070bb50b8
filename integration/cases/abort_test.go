package cases

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// run reads a stream and calls stop when the case says that the caller has had enough.
func (c *testCase) run(ctx context.Context, t *testing.T, l *harness.LLMD, stop func(*harness.Outcome)) *harness.Outcome {
	t.Helper()
	var text strings.Builder
	o := harness.Run(ctx, l, &llmdv1.StreamRequest{Generation: c.ask()}, func(o *harness.Outcome, e *llmdv1.StreamResponse) {
		if e.GetStarted() != nil && c.AbortAfter.MS > 0 {
			time.AfterFunc(time.Duration(c.AbortAfter.MS)*time.Millisecond, func() { stop(&harness.Outcome{Started: e.GetStarted()}) })
		}
		text.WriteString(e.GetTextDelta().GetDelta())
		if e.GetTextDelta() != nil && c.AbortAfter.Text != "" && strings.HasSuffix(text.String(), c.AbortAfter.Text) {
			stop(o)
		}
	})
	c.checkTime(t, o.Took)
	return o
}

// testCancel ends the RPC itself: what had come is kept for GetResponse.
func (c *testCase) testCancel(t *testing.T, l *harness.LLMD) {
	t.Helper()
	ctx, cancel := context.WithCancel(harness.Limited(t, c.limit()))
	defer cancel()
	o := c.run(ctx, t, l, func(*harness.Outcome) { cancel() })
	if o.Status.Code() != codes.Canceled {
		t.Fatalf("status %s after the cancel", o.Status.Code())
	}
	kept, err := l.GetResponse(harness.Limited(t, 5*time.Second), &llmdv1.GetResponseRequest{
		Target:       &llmdv1.GetResponseRequest_ResponseId{ResponseId: o.Started.GetResponseId()},
		WaitDuration: durationpb.New(2 * time.Second),
	})
	if err != nil {
		t.Fatalf("GetResponse: %v", err)
	}
	m := kept.GetMessage()
	if m.GetStopReason() != llmdv1.StopReason_STOP_REASON_ABORTED || codes.Code(m.GetError().GetCode()) != codes.Canceled {
		t.Errorf("kept with %s %v", m.GetStopReason(), m.GetError())
	}
	c.checkContent(t, m.GetContent())
}

// testAbort asks llmd to stop: the stream itself ends with what had come.
func (c *testCase) testAbort(t *testing.T, l *harness.LLMD) {
	t.Helper()
	ctx := harness.Limited(t, c.limit())
	o := c.run(ctx, t, l, func(o *harness.Outcome) {
		answer, err := l.Abort(ctx, &llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_ResponseId{ResponseId: o.Started.GetResponseId()}, Reason: "case"})
		if err != nil || answer.GetMessage() == nil {
			t.Errorf("Abort: %v, message %v", err, answer.GetMessage())
		}
	})
	checkGrammar(t, o)
	if o.Aborted.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_REQUESTED || o.Status.Code() != codes.OK {
		t.Fatalf("cause %s, status %s after Abort", o.Aborted.GetCause(), o.Status.Code())
	}
	c.checkContent(t, o.Message.GetContent())
}

package faults

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// TestDelaysOfProviders: what a provider says in a date, or in its body, is waited for.
func TestDelaysOfProviders(t *testing.T) {
	chat, gemini := chatWire(), geminiWire()
	p := NewPlayer(t)
	l := harness.Start(t, "", hosts(p, []*Wire{chat, gemini})...)
	dated := func(e *Exchange) bool {
		return fails(429, limited, "Retry-After: "+time.Now().Add(2*time.Second).UTC().Format(http.TimeFormat))(e)
	}
	info := fails(429, `{"error":{"code":429,"message":"Resource exhausted","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"}]}}`)
	for _, c := range []struct {
		name        string
		wire        *Wire
		fail        func(*Exchange) bool
		least, most time.Duration // of the delay
	}{
		{"a date", chat, dated, 500 * time.Millisecond, 2 * time.Second},
		{"RetryInfo", gemini, info, 1500 * time.Millisecond, 1500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := p.Add(turns(c.fail, answers(c.wire, Sample())))
			req := request(c.wire, s, "")
			req.Generation.Retry = &llmdv1.RetryPolicy{MaxRetries: 1}
			o := harness.Run(harness.Limited(t, 30*time.Second), l, req, nil)
			if o.Stop() != "TOOL_USE" || len(o.Started.GetAttempts()) != 1 {
				t.Fatalf("%s, %v: %s", o.Stop(), o.Started.GetAttempts(), o.Words())
			}
			a := o.Started.GetAttempts()[0]
			if d := a.GetDelay().AsDuration(); d < c.least || d > c.most || o.Took < d || a.GetReason() != "RATE_LIMITED" {
				t.Errorf("%s: waited %v in %v, want %v to %v", a.GetReason(), d, o.Took, c.least, c.most)
			}
		})
	}
}

// TestEndsDuringASleep: whatever ends a response while it waits for its next try ends
// it at once, and no further request goes out.
func TestEndsDuringASleep(t *testing.T) {
	w := chatWire()
	p := NewPlayer(t)
	for _, c := range []struct {
		name    string
		margin  time.Duration // before a deadline of 20 s
		act     func(l *harness.LLMD, id string, cancel func()) error
		cause   llmdv1.AbortCause
		code    codes.Code
		kept    string
		unseen  bool
		stopped bool
	}{
		{name: "Abort", cause: llmdv1.AbortCause_ABORT_CAUSE_REQUESTED, code: codes.OK, kept: "ABORT_REQUESTED", act: func(l *harness.LLMD, id string, _ func()) error {
			_, err := l.Abort(context.Background(), &llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_RequestId{RequestId: id}})
			return err
		}},
		{name: "cancel", unseen: true, code: codes.Canceled, kept: "CANCELLED", act: func(_ *harness.LLMD, _ string, cancel func()) error { cancel(); return nil }},
		{name: "deadline", margin: 19 * time.Second, cause: llmdv1.AbortCause_ABORT_CAUSE_DEADLINE, code: codes.DeadlineExceeded, kept: "DEADLINE_EXCEEDED"},
		{name: "shutdown", stopped: true, cause: llmdv1.AbortCause_ABORT_CAUSE_SHUTDOWN, code: codes.Unavailable, act: func(l *harness.LLMD, _ string, _ func()) error { l.Stop(); return nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := harness.Start(t, "", hosts(p, []*Wire{w})...)
			failed := make(chan struct{}, 1)
			s := p.Add(turns(func(e *Exchange) bool {
				defer func() { failed <- struct{}{} }()
				return fails(503, overloaded, "Retry-After: 15")(e)
			}, answers(w, Sample())))
			req := request(w, s, "sleeps "+c.name)
			req.Generation.Retry = &llmdv1.RetryPolicy{MaxRetries: 1}
			if c.margin > 0 {
				req.Options = &llmdv1.StreamOptions{DeadlineMargin: durationpb.New(c.margin)}
			}
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			go func() {
				<-failed
				time.Sleep(200 * time.Millisecond)
				if c.act == nil {
					return
				}
				if err := c.act(l, req.GetRequestId(), cancel); err != nil {
					t.Error(err)
				}
			}()
			o := harness.Run(ctx, l, req, nil)
			if o.Took > 10*time.Second || o.Status.Code() != c.code || s.Requests.Load() != 1 {
				t.Errorf("ended after %v with %v, %d requests", o.Took, o.Status, s.Requests.Load())
			}
			if !c.unseen {
				a := o.Started.GetAttempts()
				if o.Aborted.GetCause() != c.cause || len(o.Faults) > 0 || len(a) != 1 || a[0].GetDelay().AsDuration() != 15*time.Second {
					t.Errorf("%v after attempts %v, %v", o.Aborted.GetCause(), a, o.Faults)
				}
			}
			if c.stopped {
				return
			}
			kept, err := l.GetResponse(harness.Limited(t, 10*time.Second), byRequest(req.GetRequestId(), 5*time.Second))
			if err != nil || kept.GetMessage().GetError().GetReason() != c.kept {
				t.Errorf("kept as %v, %v", kept.GetMessage().GetError(), err)
			}
		})
	}
}

func byRequest(id string, wait time.Duration) *llmdv1.GetResponseRequest {
	return &llmdv1.GetResponseRequest{Target: &llmdv1.GetResponseRequest_RequestId{RequestId: id}, WaitDuration: durationpb.New(wait)}
}

// TestLongPoll: GetResponse waits for the end, but no longer than it was told to.
func TestLongPoll(t *testing.T) {
	p := NewPlayer(t)
	l := harness.Start(t, "", hosts(p, []*Wire{chatWire()})...)
	s, done := held(t, p, l)
	id := "held " + s.key
	began := time.Now()
	got, err := l.GetResponse(harness.Limited(t, 10*time.Second), byRequest(id, 300*time.Millisecond))
	if d := time.Since(began); err != nil || got.GetMessage().GetStopReason() != llmdv1.StopReason_STOP_REASON_PENDING || got.GetExpireTime() != nil || d < 300*time.Millisecond {
		t.Errorf("a short wait: %v after %v, %v", got, d, err)
	}
	if len(got.GetMessage().GetContent()) != 2 || !got.GetMessage().GetContent()[1].GetText().GetIncomplete() {
		t.Errorf("a running response: %v", got.GetMessage())
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(200*time.Millisecond, cancel)
	if _, err := l.GetResponse(ctx, byRequest(id, time.Minute)); status.Code(err) != codes.Canceled {
		t.Errorf("a poll that is cancelled: %v", err)
	}
	type answer struct {
		*llmdv1.GetResponseResponse
		err error
	}
	polls := make(chan answer, 5)
	for range cap(polls) {
		go func() {
			r, err := l.GetResponse(harness.Limited(t, 20*time.Second), byRequest(id, 19*time.Second))
			polls <- answer{r, err}
		}()
	}
	time.Sleep(200 * time.Millisecond)
	s.Open()
	o := <-done
	for range cap(polls) {
		a := <-polls
		if a.err != nil || a.GetMessage().GetStopReason() != llmdv1.StopReason_STOP_REASON_TOOL_USE || a.GetMessage().GetResponseId() != o.Started.GetResponseId() {
			t.Errorf("%v, %v", a.GetMessage(), a.err)
			continue
		}
		if left := time.Until(a.GetExpireTime().AsTime()); left < 4*time.Minute || left > 5*time.Minute {
			t.Errorf("it expires in %v, want 5 minutes", left)
		}
	}
	byID := &llmdv1.GetResponseRequest{Target: &llmdv1.GetResponseRequest_ResponseId{ResponseId: o.Started.GetResponseId()}}
	if r, err := l.GetResponse(harness.Limited(t, 10*time.Second), byID); err != nil || r.GetMessage().GetStopReason() != llmdv1.StopReason_STOP_REASON_TOOL_USE {
		t.Errorf("by its id: %v, %v", r, err)
	}
	for id, reason := range map[string]string{"test.unknown": "RESPONSE_NOT_FOUND", "elsewhere.unknown": "WRONG_INSTANCE"} {
		_, err := l.GetResponse(harness.Limited(t, 10*time.Second), &llmdv1.GetResponseRequest{Target: &llmdv1.GetResponseRequest_ResponseId{ResponseId: id}})
		if harness.ReasonOf(err) != reason {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestDeadlineOfAHeavyStream: as fast as it goes, all events and the receipt arrive in
// the margin.
func TestDeadlineOfAHeavyStream(t *testing.T) {
	w := chatWire()
	p := NewPlayer(t)
	l := harness.Start(t, "", hosts(p, []*Wire{w})...)
	frames := w.Frames(Answer{ID: "endless", Text: []string{"a few words at a time, "}})
	for i, n := range []int{1, 20} {
		done := make(chan *harness.Outcome, n)
		for k := range n {
			s := p.Add(func(e *Exchange) bool {
				e.Head(200, "Content-Type: "+w.ContentType)
				for e.Send(frames[1].Data) {
				}
				return false
			})
			req := request(w, s, fmt.Sprintf("heavy %d %d", i, k))
			req.Options = &llmdv1.StreamOptions{DeadlineMargin: durationpb.New(8 * time.Second), OmitFinalMessage: true}
			go func() { done <- harness.Run(harness.Limited(t, 9*time.Second), l, req, nil) }()
		}
		for range n {
			o := <-done
			if o.Aborted.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_DEADLINE || o.Status.Code() != codes.DeadlineExceeded || len(o.Faults) > 0 {
				t.Errorf("of %d: %v, %v after %v and %d events, %v", n, o.Aborted.GetCause(), o.Status, o.Took, len(o.Events), o.Faults)
			}
			t.Logf("of %d: the receipt came %v after it was due, behind %d events", n, o.Took-time.Second, len(o.Events))
		}
	}
}

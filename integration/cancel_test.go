package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// TestMain makes sure that nothing runs on after the tests.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*Server).Serve"))
}

// richest is the stream recording of an API with the most kinds of blocks.
func richest(t *testing.T, folder string) *recording {
	t.Helper()
	var best *recording
	for _, r := range loadRecordings(t, folder) {
		if r.Kind == "stream" && r.Stop != "error" && len(boundaries(r)) < 400 && len(boundaries(r)) > 12 && (best == nil || len(r.Content) > len(best.Content)) {
			best = r
		}
	}
	return best
}

// TestCancelAtEveryEvent: after a cancel at any event the upstream connection is
// closed and one ABORTED message with all that was seen is kept.
func TestCancelAtEveryEvent(t *testing.T) {
	for _, a := range recordedAPIs {
		t.Run(a.folder, func(t *testing.T) {
			r := richest(t, a.folder)
			up := newReplay(t)
			l := start(t, hostsOf(up, []*recording{r})...)
			whole := l.stream(limited(t, 30*time.Second), r.request(up.add(r.script())), nil)
			step := max(1, len(whole.Events)/30)
			for k := 1; k < len(whole.Events)-1; k += step {
				t.Run(fmt.Sprint(k), func(t *testing.T) {
					t.Parallel()
					r.cancelAt(t, l, up, whole, k)
				})
			}
		})
	}
}

func (r *recording) cancelAt(t *testing.T, l *llmd, up *replay, whole *outcome, k int) {
	t.Helper()
	s := r.script()
	s.cuts, s.pause, s.end = boundaries(r), 2*time.Millisecond, "hold"
	ctx, cancel := context.WithCancel(limited(t, 30*time.Second))
	defer cancel()
	var seen []string
	o := l.stream(ctx, r.request(up.add(s)), func(o *outcome, _ *llmdv1.StreamResponse) {
		if len(o.Events) == k {
			for _, b := range o.Fold {
				seen = append(seen, b.Raw.String())
			}
			cancel()
		}
	})
	if o.Message != nil && o.Stop() == whole.Stop() {
		return // the end was on its way
	}
	if o.Status.Code() != codes.Canceled {
		t.Errorf("cancel at event %d: status %v", k, o.Status)
		return
	}
	select {
	case <-s.gone:
	case <-time.After(3 * time.Second):
		t.Errorf("cancel at event %d: the upstream connection stays open", k)
	}
	got, err := l.GetResponse(limited(t, 5*time.Second), &llmdv1.GetResponseRequest{
		Target: &llmdv1.GetResponseRequest_ResponseId{ResponseId: o.Started.GetResponseId()}, WaitDuration: seconds(2),
	})
	if err != nil {
		t.Errorf("cancel at event %d: %v", k, err)
		return
	}
	m := got.GetMessage()
	if m.GetStopReason() == whole.Message.GetStopReason() {
		return // it had ended before the cancel arrived
	}
	if m.GetStopReason() != llmdv1.StopReason_STOP_REASON_ABORTED || m.GetError().GetReason() != "CANCELLED" {
		t.Errorf("cancel at event %d: kept as %v, %v", k, m.GetStopReason(), m.GetError().GetReason())
	}
	if len(m.GetContent()) < len(seen) {
		t.Errorf("cancel at event %d: %d blocks kept, %d seen", k, len(m.GetContent()), len(seen))
		return
	}
	for i, s := range seen {
		if c := m.GetContent()[i]; c.GetToolCall() == nil && c.GetProviderContent() == nil && !strings.HasPrefix(harness.TextOf(c), s) {
			t.Errorf("cancel at event %d: block %d lost text that had been seen", k, i)
		}
	}
}

// slowAnswer is a chat answer of n words, one each few milliseconds.
func slowAnswer(n int) *script {
	const head = "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\""
	var body strings.Builder
	var cuts []int
	for range n {
		body.WriteString(head + "word \"},\"finish_reason\":null}]}\n\n")
		cuts = append(cuts, body.Len())
	}
	body.WriteString("data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	return &script{header: map[string]string{"content-type": "text/event-stream"}, body: []byte(body.String()), cuts: cuts, pause: 3 * time.Millisecond}
}

func chatHost(up *replay) *host {
	return &host{ID: "lab", API: "openai-completions", Base: up.URL + "/v1", Models: []model{{ID: "m1"}}}
}

// TestAbortReceipt: Abort by either id gives the open stream its aborted event.
func TestAbortReceipt(t *testing.T) {
	up := newReplay(t)
	l := start(t, chatHost(up))
	for _, byRequest := range []bool{false, true} {
		s := slowAnswer(2000)
		req := &llmdv1.StreamRequest{Generation: ask("lab/m1", up.add(s)), RequestId: "abort-" + s.key}
		var resp *llmdv1.AbortResponse
		var abortErr error
		o := l.stream(limited(t, 30*time.Second), req, func(o *outcome, _ *llmdv1.StreamResponse) {
			if len(o.Events) != 10 {
				return
			}
			a := &llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_ResponseId{ResponseId: o.Started.GetResponseId()}, Reason: "enough"}
			if byRequest {
				a.Target = &llmdv1.AbortRequest_RequestId{RequestId: req.GetRequestId()}
			}
			resp, abortErr = l.Abort(limited(t, 5*time.Second), a)
		})
		if abortErr != nil || o.Status.Code() != codes.OK || o.Aborted.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_REQUESTED {
			t.Fatalf("abort %v, status %v, cause %v", abortErr, o.Status, o.Aborted.GetCause())
		}
		for _, f := range o.Faults {
			t.Error(f)
		}
		e := o.Aborted.GetMessage().GetError()
		switch {
		case o.Aborted.GetReason() != "enough", e.GetReason() != "ABORT_REQUESTED", codes.Code(e.GetCode()) != codes.Canceled:
			t.Errorf("receipt %v", o.Aborted)
		case o.Aborted.GetUpstreamCloseDelay().AsDuration() > time.Second:
			t.Errorf("closing took %v", o.Aborted.GetUpstreamCloseDelay().AsDuration())
		case resp.GetAlreadyFinished() || resp.GetMessage().GetStopReason() != llmdv1.StopReason_STOP_REASON_ABORTED:
			t.Errorf("AbortResponse %v", resp.GetMessage().GetStopReason())
		case !strings.HasPrefix(harness.TextOf(o.Message.GetContent()[0]), "word word ") || !harness.Incomplete(o.Message.GetContent()[0]):
			t.Error("the partial is lost or not marked")
		}
		again, err := l.Abort(limited(t, 5*time.Second), &llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_ResponseId{ResponseId: o.Started.GetResponseId()}})
		if err != nil || !again.GetAlreadyFinished() {
			t.Errorf("a second Abort: %v, %v", again.GetAlreadyFinished(), err)
		}
	}
}

// TestAbortBeforeItsRequest: an Abort for an id that is not known yet.
func TestAbortBeforeItsRequest(t *testing.T) {
	up := newReplay(t)
	l := start(t, chatHost(up))
	_, err := l.Abort(limited(t, 5*time.Second), &llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_RequestId{RequestId: "early"}, Reason: "never mind"})
	if reasonOf(err) != "RESPONSE_NOT_FOUND" {
		t.Fatalf("%v", err)
	}
	s := slowAnswer(10)
	o := l.stream(limited(t, 10*time.Second), &llmdv1.StreamRequest{Generation: ask("lab/m1", up.add(s)), RequestId: "early"}, nil)
	if len(o.Events) != 2 || o.Aborted.GetReason() != "never mind" || o.Status.Code() != codes.OK {
		t.Errorf("%d events, %v, %v", len(o.Events), o.Aborted, o.Status)
	}
	if s.requests.Load() != 0 {
		t.Error("a request went to the provider")
	}
}

// TestSoftDeadline: the receipt arrives before the caller's own deadline strikes. The
// margin is long, since the machine may be busy; the rule for its length has a test in
// package service.
func TestSoftDeadline(t *testing.T) {
	up := newReplay(t)
	l := start(t, chatHost(up))
	s := slowAnswer(5000)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	o := l.stream(ctx, &llmdv1.StreamRequest{
		Generation: ask("lab/m1", up.add(s)), Options: &llmdv1.StreamOptions{DeadlineMargin: seconds(19)},
	}, nil)
	if o.Aborted.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_DEADLINE || o.Status.Code() != codes.DeadlineExceeded || len(o.Message.GetContent()) == 0 {
		t.Errorf("cause %v, status %v", o.Aborted.GetCause(), o.Status)
	}
	if o.Took < 500*time.Millisecond || o.Took > 15*time.Second {
		t.Errorf("the receipt came after %v, it was due after 1 s", o.Took)
	}
}

// TestRequestIDs: the same id attaches or replays; another body is refused.
func TestRequestIDs(t *testing.T) {
	up := newReplay(t)
	l := start(t, chatHost(up))
	s := slowAnswer(100)
	req := &llmdv1.StreamRequest{Generation: ask("lab/m1", up.add(s)), RequestId: "one"}
	second := make(chan *outcome, 1)
	first := l.stream(limited(t, 20*time.Second), req, func(o *outcome, _ *llmdv1.StreamResponse) {
		if len(o.Events) == 20 {
			go func() { second <- l.stream(limited(t, 20*time.Second), req, nil) }()
		}
	})
	attached := <-second
	replayed := l.stream(limited(t, 20*time.Second), req, nil)
	for name, o := range map[string]*outcome{"first": first, "attached": attached, "replayed": replayed} {
		if o.Stop() != "STOP" || harness.TextOf(o.Message.GetContent()[0]) != strings.Repeat("word ", 100) {
			t.Errorf("%s: %s", name, o.Stop())
		}
		for _, f := range o.Faults {
			t.Errorf("%s: %s", name, f)
		}
	}
	if len(replayed.Events) != 3 || attached.Events[1].GetSnapshot() == nil {
		t.Errorf("replay has %d events", len(replayed.Events))
	}
	if n := s.requests.Load(); n != 1 {
		t.Errorf("%d requests went to the provider", n)
	}
	other := &llmdv1.StreamRequest{Generation: ask("lab/m1", "something else"), RequestId: "one"}
	if o := l.stream(limited(t, 5*time.Second), other, nil); o.Reason() != "REQUEST_ID_REUSED" || o.Status.Code() != codes.AlreadyExists {
		t.Errorf("reused: %v", o.Status)
	}
}

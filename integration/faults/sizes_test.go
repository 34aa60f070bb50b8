package faults

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// says plays n bytes of text and then, unless it is to end, waits.
func says(w *Wire, n int, end bool) func(*Exchange) bool {
	return func(e *Exchange) bool {
		e.Head(200, "Content-Type: "+w.ContentType)
		for n > 0 {
			piece := min(n, floodPiece)
			n -= piece
			for _, f := range w.Frames(Answer{ID: "large", Text: []string{strings.Repeat("x", piece)}}) {
				if f.Kind == Text && !e.Send(f.Data) {
					return false
				}
			}
		}
		e.Reach()
		if !end {
			return e.Hold()
		}
		e.Play(w.Frames(Answer{ID: "large", In: 1, Out: 1}))
		return e.End()
	}
}

// usual is a client with gRPC's own limits, which receives 4 MiB.
func usual(t *testing.T, l *harness.LLMD) llmdv1.InferenceServiceClient {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+l.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return llmdv1.NewInferenceServiceClient(conn)
}

// textLen is how much text a message has.
func textLen(m *llmdv1.AssistantMessage) int { return len(contents(m)[Text]) }

// TestLargeAnswers: a client with the usual limits can receive every event, every
// receipt and every kept response, and is told where the content was left out.
func TestLargeAnswers(t *testing.T) {
	w := chatWire()
	p := NewPlayer(t)
	l := harness.Start(t, "", hosts(p, []*Wire{w})...)
	c := usual(t, l)
	const mib = 1 << 20
	for _, x := range []struct {
		name     string
		bytes    int
		kept, in bool // in what is kept, in the terminal event
	}{
		{"small", 1000, true, true},
		{"3.4 MB", 3_400_000, true, true},
		{"3.6 MB", 3_600_000, true, false},
		{"just below 4 MiB", 4*mib - 2<<10, true, false},
		{"4 MiB", 4 * mib, false, false},
		{"6 MiB", 6 * mib, false, false},
	} {
		t.Run(strings.ReplaceAll(x.name, " ", "_"), func(t *testing.T) {
			limited := harness.Limited(t, 30*time.Second)
			s := p.Add(says(w, x.bytes, true))
			o := harness.Run(limited, c, request(w, s, s.key), nil)
			if o.Stop() != "STOP" || len(o.Faults) > 0 || o.Omitted == x.in || len(o.Fold) != 1 || o.Fold[0].Raw.Len() != x.bytes {
				t.Fatalf("%s, content omitted %v: %s %v", o.Stop(), o.Omitted, o.Words(), o.Faults)
			}
			got, err := c.GetResponse(limited, &llmdv1.GetResponseRequest{Target: &llmdv1.GetResponseRequest_RequestId{RequestId: s.key}})
			if err != nil || got.GetContentOmitted() == x.kept || textLen(got.GetMessage()) != x.bytes && x.kept || got.GetMessage().GetStopReason() != llmdv1.StopReason_STOP_REASON_STOP {
				t.Errorf("GetResponse: %d bytes, omitted %v, %v", textLen(got.GetMessage()), got.GetContentOmitted(), err)
			}
			ab, err := c.Abort(limited, &llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_RequestId{RequestId: s.key}})
			if err != nil || !ab.GetAlreadyFinished() || ab.GetContentOmitted() == x.kept || textLen(ab.GetMessage()) != x.bytes && x.kept {
				t.Errorf("Abort: %d bytes, omitted %v, %v", textLen(ab.GetMessage()), ab.GetContentOmitted(), err)
			}
			again := harness.Run(limited, c, request(w, s, s.key), nil)
			if again.Stop() != "STOP" || again.Omitted == x.in || s.Requests.Load() != 1 {
				t.Errorf("replayed: %s, omitted %v, %s", again.Stop(), again.Omitted, again.Words())
			}
			if snap := again.Events[1].GetSnapshot(); snap.GetContentOmitted() == x.in || textLen(snap.GetMessage()) != x.bytes && x.in {
				t.Errorf("the replay's snapshot: %d bytes, omitted %v", textLen(snap.GetMessage()), snap.GetContentOmitted())
			}
		})
	}
}

// TestLargeReceipts: the same of a response that runs.
func TestLargeReceipts(t *testing.T) {
	w := chatWire()
	p := NewPlayer(t)
	l := harness.Start(t, "", hosts(p, []*Wire{w})...)
	c := usual(t, l)
	for _, bytes := range []int{3_000_000, 6_000_000} {
		s := p.Add(says(w, bytes, false))
		limited := harness.Limited(t, 30*time.Second)
		done := make(chan *harness.Outcome, 1)
		go func() { done <- harness.Run(limited, c, request(w, s, s.key), nil) }()
		<-s.Reached
		small := bytes < 4<<20
		target := &llmdv1.GetResponseRequest{Target: &llmdv1.GetResponseRequest_RequestId{RequestId: s.key}}
		if !within(10*time.Second, func() bool {
			got, err := c.GetResponse(limited, target)
			if err != nil || got.GetMessage().GetStopReason() != llmdv1.StopReason_STOP_REASON_PENDING {
				t.Fatalf("GetResponse: %v, %v", got.GetMessage().GetStopReason(), err)
			}
			return got.GetContentOmitted() == !small && (!small || textLen(got.GetMessage()) == bytes)
		}) {
			t.Error("the running response is never whole")
		}
		ab, err := c.Abort(limited, &llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_RequestId{RequestId: s.key}})
		if err != nil || ab.GetAlreadyFinished() || ab.GetContentOmitted() == small || small && textLen(ab.GetMessage()) != bytes || ab.GetMessage().GetStopReason() != llmdv1.StopReason_STOP_REASON_ABORTED {
			t.Errorf("Abort: %d bytes, omitted %v, %v", textLen(ab.GetMessage()), ab.GetContentOmitted(), err)
		}
		if o := <-done; o.Aborted == nil || o.Omitted == small || len(o.Faults) > 0 || o.Status.Code() != codes.OK {
			t.Errorf("%s, omitted %v: %v", o.Stop(), o.Omitted, o.Faults)
		}
	}
}

// TestLargeComplete: a client that can receive 16 MiB is never sent more, and is told.
func TestLargeComplete(t *testing.T) {
	w := chatWire()
	p := NewPlayer(t)
	l := harness.Start(t, "", hosts(p, []*Wire{w})...)
	for _, x := range []struct {
		bytes   int
		omitted bool
	}{{14 << 20, false}, {17 << 20, true}} {
		s := p.Add(says(w, x.bytes, true))
		resp, err := l.Complete(harness.Limited(t, 30*time.Second), &llmdv1.CompleteRequest{Generation: request(w, s, "").GetGeneration()})
		if err != nil || resp.GetContentOmitted() != x.omitted || textLen(resp.GetMessage()) != x.bytes && !x.omitted || resp.GetMessage().GetUsage() == nil {
			t.Errorf("%d bytes: %d came, omitted %v, %v", x.bytes, textLen(resp.GetMessage()), resp.GetContentOmitted(), err)
		}
	}
	s := p.Add(says(w, 5<<20, true))
	_, err := usual(t, l).Complete(harness.Limited(t, 30*time.Second), &llmdv1.CompleteRequest{Generation: request(w, s, "").GetGeneration()})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a client that can receive 4 MiB: %v", err)
	}
}

package web

import (
	"net"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// ended says whether the server has ended, waiting for at most d.
func (l *lab) ended(d time.Duration) bool {
	select {
	case err := <-l.served:
		l.served <- err
		return true
	case <-time.After(d):
		return false
	}
}

// Answers that run when the server is asked to end come to their own end; new ones
// hear why they are refused.
func TestDrain(t *testing.T) {
	for _, w := range few() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			l := start(t, "  drain_timeout: 40s\n")
			c := streams(t, l, w)
			asked := false
			got := stream(limited(t), t, c, &llmdv1.StreamRequest{Generation: harness.Ask("faux/echo", `faux: {"text": "one two three", "delay_ms": 400}`)}, func(e *llmdv1.StreamResponse) {
				if e.GetTextDelta() == nil || asked {
					return
				}
				asked = true
				l.stop()
				// Refused by the service, or the port is closed already.
				for range 100 {
					late := stream(limited(t), t, streams(t, l, w), &llmdv1.StreamRequest{Generation: harness.Ask("faux/echo", "late")}, nil)
					if late.err != nil {
						if why := reason(late.err); late.err.Code() != connect.CodeUnavailable || why != "" && why != "SERVER_SHUTTING_DOWN" {
							t.Errorf("a late call: %v (%s)", late.err, why)
						}
						return
					}
					time.Sleep(10 * time.Millisecond)
				}
				t.Error("late calls are answered")
			})
			if got.err != nil || got.last().GetDone() == nil || !asked {
				t.Errorf("%v, %v", got.err, got.last())
			}
			if !l.ended(time.Minute) {
				t.Error("the server goes on")
			}
		})
	}
}

// What is left at the end of the drain is aborted and gets its receipt.
func TestDrainAborts(t *testing.T) {
	for _, w := range few() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			l := start(t, "  drain_timeout: 1500ms\n")
			stopped := false
			got := stream(limited(t), t, streams(t, l, w), &llmdv1.StreamRequest{Generation: harness.Ask("faux/echo", `faux: [{"text": "ten"}, {"text": " nine", "delay_ms": 50000}]`)}, func(e *llmdv1.StreamResponse) {
				if e.GetTextDelta() != nil && !stopped {
					stopped = true
					l.stop()
				}
			})
			wantError(t, "the status", got.err, connect.CodeUnavailable, "SERVER_SHUTTING_DOWN")
			if a := got.last().GetAborted(); a.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_SHUTDOWN || len(a.GetMessage().GetContent()) != 1 {
				t.Errorf("the last event is %v", got.last())
			}
			if !l.ended(time.Minute) {
				t.Error("the server goes on")
			}
		})
	}
}

// A second signal ends everything at once.
func TestStopNow(t *testing.T) {
	for _, w := range few() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			l := start(t, "  drain_timeout: 40s\n")
			stopped := false
			got := stream(limited(t), t, streams(t, l, w), &llmdv1.StreamRequest{Generation: harness.Ask("faux/echo", `faux: [{"text": "ten"}, {"text": " nine", "delay_ms": 50000}]`)}, func(e *llmdv1.StreamResponse) {
				if e.GetTextDelta() != nil && !stopped {
					stopped = true
					l.stop()
					close(l.now)
				}
			})
			if got.err == nil && got.last().GetAborted() == nil {
				t.Errorf("it ended well: %v", got.last())
			}
			if !l.ended(time.Minute) {
				t.Error("the server goes on")
			}
		})
	}
}

// Connections that browsers open in advance hold nobody up.
func TestDrainUnused(t *testing.T) {
	took := time.Duration(0)
	for range 3 { // a busy machine may be slow once
		if took = drainUnused(t); took < 4*time.Second { // net/http would wait for 5
			return
		}
	}
	t.Errorf("it took %v", took)
}

// drainUnused is how long a server takes to end that has such connections.
func drainUnused(t *testing.T) time.Duration {
	t.Helper()
	l := start(t, "  drain_timeout: 40s\n")
	for range 3 {
		c, err := net.Dial("tcp", l.tcp)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
	}
	if got := l.send(t, request{path: complete, body: ask, header: asJSON()}); got.status != http.StatusOK {
		t.Fatalf("%+v", got)
	}
	began := time.Now()
	l.stop()
	if !l.ended(time.Minute) {
		t.Error("the server goes on")
	}
	return time.Since(began)
}

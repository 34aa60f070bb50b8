package generation

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// An Abort or a deadline while usage is waited for only ends the wait. A client that
// leaves has cancelled (contract 2.10: "server stores ABORTED partial"); what there is of
// the answer is kept.
func TestAbortAfterTheMarker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {ok(say(fact{Text: "x", Stop: "end"}), hang)}})
		defer l.registry.Close()
		rd, err := l.Start(t.Context(), ask("lab/a"))
		if err != nil {
			t.Fatal(err)
		}
		aborted := make(chan bool, 1)
		time.AfterFunc(300*time.Millisecond, func() { aborted <- rd.run.Abort("too late") })
		s := read(t.Context(), rd, nil)
		if s.err != nil || s.last().GetDone() == nil || s.took != 300*time.Millisecond || <-aborted {
			t.Errorf("%v after %v", s.last(), s.took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {ok(say(fact{Text: "x", Stop: "end"}), hang)}})
		defer l.registry.Close()
		rd, err := l.Start(t.Context(), ask("lab/a"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(300*time.Millisecond, cancel)
		s := read(ctx, rd, nil)
		<-rd.run.Done()
		m := rd.run.Snapshot()
		if !errors.Is(s.err, context.Canceled) || m.GetStopReason() != llmdv1.StopReason_STOP_REASON_ABORTED || m.GetProviderStopReason() != "end" ||
			m.GetContent()[0].GetText().GetText() != "x" || s.took != 300*time.Millisecond {
			t.Errorf("%v after %v, %v", m, s.took, s.err)
		}
		synctest.Wait()
		if l.host.connections() != 0 {
			t.Error("the connection stays open")
		}
	})
}

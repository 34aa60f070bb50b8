package generation

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/service/responses"
)

// stopAfter reads n events and then blocks until its context ends.
func stopAfter(ctx context.Context, n int) func(*llmdv1.StreamResponse) error {
	return func(*llmdv1.StreamResponse) error {
		n--
		if n >= 0 {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
}

// flood is an answer of n deltas of that size, and its end.
func flood(n, size int) reply {
	piece := strings.Repeat("x", size)
	return ok(func(ctx context.Context, w *io.PipeWriter) error {
		for range n {
			if err := say(fact{Text: piece})(ctx, w); err != nil {
				return err
			}
		}
		return nil
	}, say(fact{Stop: "end", Done: true}))
}

// A client that stops reading: the run waits with little in memory, ends it after
// 30 s with the status alone, keeps the partial and closes the connection.
func TestSlowConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {flood(20<<10, 1<<10)}})
		defer l.registry.Close()
		rd, err := l.Start(t.Context(), ask("lab/a"))
		if err != nil {
			t.Fatal(err)
		}
		blocked, release := context.WithCancel(t.Context())
		began := time.Now()
		done := make(chan error, 1)
		go func() { done <- rd.Deliver(t.Context(), stopAfter(blocked, 5)) }()
		synctest.Wait()
		q, _ := rd.queue.(*queue)
		q.mu.Lock()
		held, items := q.bytes, len(q.items)
		q.mu.Unlock()
		if held > maxQueuedBytes+2*maxDeltaBytes || items > 2*maxQueued+8 {
			t.Errorf("%d bytes in %d events are held for a client that does not read", held, items)
		}
		if l.host.connections() != 1 {
			t.Fatal("the answer was read to its end: nothing held it back")
		}
		err = <-done
		if d := time.Since(began); d < 30*time.Second || d > 31*time.Second {
			t.Errorf("ended after %v", d)
		}
		var ab *Abort
		if !errors.As(err, &ab) || ab.Cause != llmdv1.AbortCause_ABORT_CAUSE_SLOW_CONSUMER || !failureOf(t, err).Committed {
			t.Errorf("%v", err)
		}
		<-rd.run.Done()
		m := rd.run.Snapshot()
		if m.GetStopReason() != llmdv1.StopReason_STOP_REASON_ABORTED || m.GetError().GetReason() != "ABORT_CAUSE_SLOW_CONSUMER" || len(m.GetContent()) != 1 || !m.GetContent()[0].GetText().GetIncomplete() {
			t.Errorf("kept as %v, %v", m.GetStopReason(), m.GetError())
		}
		synctest.Wait()
		if l.host.connections() != 0 {
			t.Error("the connection stays open")
		}
		release()
		synctest.Wait()
	})
}

// The limit is for one send: a client that reads slowly but reads is left in peace.
func TestSlowButReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {flood(3000, 100)}})
		defer l.registry.Close()
		rd, err := l.Start(t.Context(), ask("lab/a"))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		s := read(t.Context(), rd, func(*llmdv1.StreamResponse) {
			n++
			if n < 10 {
				time.Sleep(29 * time.Second)
			}
		})
		if s.err != nil || s.text() != strings.Repeat("x", 300_000) || s.took != 9*29*time.Second {
			t.Errorf("%v after %v, %d bytes", s.err, s.took, len(s.text()))
		}
		if len(s.events) > maxQueued+50 {
			t.Errorf("%d events: nothing was merged", len(s.events))
		}
	})
}

// Abort, deadline and shutdown reach a blocked client's call soon; the receipt goes to
// the store.
func TestAbortWhileBlocked(t *testing.T) {
	for name, end := range map[string]func(*Run){
		"ABORT_CAUSE_REQUESTED": func(r *Run) { r.Abort("enough") },
		"ABORT_CAUSE_SHUTDOWN":  func(r *Run) { r.Shutdown() },
		"ABORT_CAUSE_DEADLINE":  func(r *Run) { r.end(&Abort{Cause: llmdv1.AbortCause_ABORT_CAUSE_DEADLINE}) },
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, map[string][]reply{"a": {flood(5000, 1<<10)}})
			defer l.registry.Close()
			rd, err := l.Start(t.Context(), ask("lab/a"))
			if err != nil {
				t.Fatal(err)
			}
			blocked, release := context.WithCancel(t.Context())
			defer release()
			done := make(chan error, 1)
			go func() { done <- rd.Deliver(t.Context(), stopAfter(blocked, 3)) }()
			time.Sleep(5 * time.Second)
			end(rd.run)
			began := time.Now()
			err = <-done
			if d := time.Since(began); d > 2*abortGrace {
				t.Errorf("%s: ended after %v", name, d)
			}
			var ab *Abort
			if !errors.As(err, &ab) || ab.Cause.String() != name {
				t.Errorf("%s: %v", name, err)
			}
			<-rd.run.Done()
			f, ok := l.known(responses.Key{ResponseID: rd.run.Snapshot().GetResponseId()})
			if !ok || f.Record.Terminal.GetAborted() == nil {
				t.Errorf("%s: no receipt is kept", name)
			}
		})
	}
}

// A client that does not read its replay ends like any other.
func TestSlowReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {text("x")}})
		defer l.registry.Close()
		req := ask("lab/a")
		req.RequestID = "one"
		if s := l.run(t, req); s.err != nil {
			t.Fatal(s.err)
		}
		rd, err := l.Start(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		blocked, release := context.WithCancel(t.Context())
		defer release()
		err = rd.Deliver(t.Context(), stopAfter(blocked, 1))
		var ab *Abort
		if !errors.As(err, &ab) || ab.Cause != llmdv1.AbortCause_ABORT_CAUSE_SLOW_CONSUMER {
			t.Errorf("%v", err)
		}
	})
}

// One request id, one response: those who come while it runs attach, those who come
// later get a replay, and other bodies are refused.
func TestSameRequestID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {ok(
			wait(2*time.Second), say(fact{ID: "r", Text: "a"}), wait(2*time.Second), say(fact{Text: "b"}), wait(2*time.Second), say(fact{Text: "c", Stop: "end", Usage: 3, Done: true}),
		)}})
		defer l.registry.Close()
		req := func() *Request {
			r := ask("lab/a")
			r.RequestID, r.Hash = "one", [32]byte{1}
			return r
		}
		got := make([]*seen, 4)
		done := make(chan int)
		for i, at := range []time.Duration{0, time.Second, 3 * time.Second, 5 * time.Second} {
			go func() {
				time.Sleep(at)
				got[i] = l.run(t, req())
				done <- i
			}()
		}
		for range got {
			<-done
		}
		want := got[0].last().GetDone().GetMessage()
		for i, s := range got {
			if s.err != nil || !proto.Equal(s.last().GetDone().GetMessage(), want) || s.started().GetResponseId() != want.GetResponseId() {
				t.Errorf("reader %d: %v, %v", i, s.err, s.last())
			}
			if snap := s.events[1].GetSnapshot(); (snap != nil) != (i > 0) {
				t.Errorf("reader %d: second event %v", i, s.events[1])
			}
		}
		for i, text := range map[int]string{1: "", 2: "a", 3: "ab"} {
			m := got[i].events[1].GetSnapshot().GetMessage()
			have := ""
			if len(m.GetContent()) > 0 {
				have = m.GetContent()[0].GetText().GetText()
			}
			if have != text || m.GetStopReason() != llmdv1.StopReason_STOP_REASON_PENDING || have+got[i].text() != "abc" {
				t.Errorf("reader %d: snapshot %q, then %q", i, have, got[i].text())
			}
		}
		again := l.run(t, req())
		if len(again.events) != 3 || again.events[1].GetSnapshot() == nil || !proto.Equal(again.last().GetDone().GetMessage(), want) {
			t.Errorf("replay %v", again.events)
		}
		other := req()
		other.Hash = [32]byte{2}
		var reused *ReusedError
		if s := l.run(t, other); !errors.As(s.err, &reused) || reused.ResponseID != want.GetResponseId() {
			t.Errorf("another body: %v", s.err)
		}
		if l.host.requests() != 1 {
			t.Errorf("%d requests", l.host.requests())
		}
	})
}

// Of two readers one may leave; the last takes the run along.
func TestLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {ok(say(fact{Text: "a"}), every(time.Second, say(fact{Text: "b"})))}})
		defer l.registry.Close()
		req := ask("lab/a")
		req.RequestID = "one"
		read1, leave1 := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer leave1()
		read2, leave2 := context.WithCancel(t.Context())
		time.AfterFunc(7500*time.Millisecond, leave2)
		one, err := l.Start(read1, req)
		if err != nil {
			t.Fatal(err)
		}
		two, err := l.Start(read2, req)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan *seen)
		go func() { done <- read(read1, one, nil) }()
		go func() { done <- read(read2, two, nil) }()
		first, second := <-done, <-done
		if !errors.Is(first.err, context.DeadlineExceeded) || first.folded() != "abbb" {
			t.Errorf("the first: %v, %q", first.err, first.folded())
		}
		if !errors.Is(second.err, context.Canceled) || second.folded() != "abbbbbbb" {
			t.Errorf("the second: %v, %q", second.err, second.folded())
		}
		synctest.Wait()
		m := one.run.Snapshot()
		if m.GetStopReason() != llmdv1.StopReason_STOP_REASON_ABORTED || m.GetError().GetReason() != "ABORT_CAUSE_REQUESTED" || m.GetContent()[0].GetText().GetText() != "abbbbbbb" {
			t.Errorf("kept %v", m)
		}
		if l.host.connections() != 0 {
			t.Error("the connection stays open")
		}
	})
}

// An abort that came before its request: nothing is sent.
func TestTombstone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {text("x")}})
		defer l.registry.Close()
		_, _ = l.registry.Abort(t.Context(), responses.Key{RequestID: "early"}, "never mind")
		req := ask("lab/a")
		req.RequestID = "early"
		s := l.run(t, req)
		if ab := s.last().GetAborted(); s.err != nil || len(s.events) != 2 || ab.GetReason() != "never mind" || l.host.requests() != 0 {
			t.Errorf("%v, %v, %d requests", s.events, s.err, l.host.requests())
		}
		if _, _, n := s.reader.Facts(); n != 0 {
			t.Errorf("%d attempts are told", n)
		}
	})
}

// Wait gives the folded answer, or the failure.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {text("x"), status(503), ok(say(fact{Text: "x"}), hang)}})
		defer l.registry.Close()
		rd, err := l.Start(t.Context(), ask("lab/a"))
		if err != nil {
			t.Fatal(err)
		}
		started, m, err := rd.Wait(t.Context())
		if err != nil || started.GetModel() != "a" || m.GetContent()[0].GetText().GetText() != "x" || m.GetUsage().GetOutputTokens() != 3 {
			t.Errorf("%v, %v, %v", started, m, err)
		}
		if rd, err = l.Start(t.Context(), ask("lab/a")); err != nil {
			t.Fatal(err)
		}
		if _, m, err = rd.Wait(t.Context()); m != nil || asUpstream(err) == nil {
			t.Errorf("%v, %v", m, err)
		}
		if _, id, _ := rd.Facts(); id != "req-a" {
			t.Errorf("the request that was refused is %q, want req-a", id)
		}
		if rd, err = l.Start(t.Context(), ask("lab/a")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err = rd.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		synctest.Wait()
		if m := rd.run.Snapshot(); m.GetStopReason() != llmdv1.StopReason_STOP_REASON_ABORTED || l.host.connections() != 0 {
			t.Errorf("kept as %v, %d connections", m.GetStopReason(), l.host.connections())
		}
	})
}

// Terminal events without content, on request: the record keeps it.
func TestOmitFinalMessage(t *testing.T) {
	for _, p := range []reply{text("x"), ok(say(fact{Text: "x"})), ok(say(fact{Text: "x"}), hang)} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, map[string][]reply{"a": {p}})
			defer l.registry.Close()
			req := ask("lab/a")
			req.Options = &llmdv1.StreamOptions{OmitFinalMessage: true}
			req.SoftDeadline = time.Now().Add(time.Minute)
			s := l.run(t, req)
			for _, e := range []interface {
				GetMessage() *llmdv1.AssistantMessage
				GetContentOmitted() bool
			}{s.last().GetDone(), s.last().GetError(), s.last().GetAborted()} {
				if e.GetMessage() != nil && (len(e.GetMessage().GetContent()) != 0 || !e.GetContentOmitted() || e.GetMessage().GetStopReason() == 0) {
					t.Errorf("%v", s.last())
				}
			}
			f, _ := l.known(responses.Key{ResponseID: s.started().GetResponseId()})
			if f.Record == nil || len(f.Record.Message.GetContent()) != 1 {
				t.Error("the record has no content")
			}
		})
	}
}

// A message over 4 MiB is kept without its content.
func TestLargeRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {flood(5<<10, 1<<10)}})
		defer l.registry.Close()
		s := l.run(t, ask("lab/a"))
		if s.err != nil || len(s.text()) != 5<<20 || !s.last().GetDone().GetContentOmitted() {
			t.Fatalf("%v, %d bytes", s.err, len(s.text()))
		}
		f, ok := l.known(responses.Key{ResponseID: s.started().GetResponseId()})
		if !ok || len(f.Record.Message.GetContent()) != 0 || f.Record.Message.GetStopReason() != llmdv1.StopReason_STOP_REASON_STOP {
			t.Errorf("kept: %v", ok)
		}
	})
}

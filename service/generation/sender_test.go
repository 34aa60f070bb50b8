package generation

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// A send that panics ends its own stream, and says nothing of what it was about.
func TestSenderPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {ok(say(fact{Text: "x"}), wait(time.Second), say(fact{Text: "y"}), hang)}, "b": {text("z")}})
		defer l.registry.Close()
		rd, err := l.Start(t.Context(), ask("lab/a"))
		if err != nil {
			t.Fatal(err)
		}
		err = rd.Deliver(t.Context(), func(e *llmdv1.StreamResponse) error {
			if e.GetTextDelta().GetDelta() == "y" {
				panic("a prompt")
			}
			return nil
		})
		if !errors.Is(err, errPanic) || strings.Join(l.panics, " ") != "string" {
			t.Errorf("%v, %v", err, l.panics)
		}
		synctest.Wait()
		if m := rd.run.Snapshot(); m.GetStopReason() != llmdv1.StopReason_STOP_REASON_ABORTED || l.host.connections() != 0 {
			t.Errorf("kept as %v, %d connections", m.GetStopReason(), l.host.connections())
		}
		if s := l.run(t, ask("lab/b")); s.err != nil || s.text() != "z" {
			t.Errorf("the next response: %v", s.err)
		}
	})
}

// resting says whether a reader's sender has left.
func (rd *Reader) resting() bool {
	q, _ := rd.queue.(*queue) // a response without numbers
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.resting
}

// Whatever the pauses: every event is sent when it comes, in order, though senders
// leave in between.
func TestSendersLeave(t *testing.T) {
	pauses := []time.Duration{0, time.Millisecond, linger - 1, linger, linger + 1, 2 * linger, 2*linger + 1, 3 * linger, time.Minute}
	for seed := range uint64(100) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var steps []step
			var want []string
			at := time.Duration(0)
			for i := range 40 {
				d := pauses[rnd.IntN(len(pauses))]
				at += d
				word := strconv.Itoa(i) + ","
				steps = append(steps, wait(d), say(fact{Text: word}))
				want = append(want, at.String()+" "+word)
			}
			steps = append(steps, say(fact{Stop: "end", Done: true}))
			l := newLab(t, map[string][]reply{"a": {ok(steps...)}})
			l.few = func() bool { return seed%2 == 0 } // who else lets its senders stay
			defer l.registry.Close()
			rd, err := l.Start(t.Context(), ask("lab/a"))
			if err != nil {
				t.Fatal(err)
			}
			text, late := "", 0
			s := read(t.Context(), rd, func(e *llmdv1.StreamResponse) {
				for _, word := range strings.SplitAfter(e.GetTextDelta().GetDelta(), ",") {
					if word == "" {
						continue
					}
					n := len(strings.SplitAfter(text, ",")) - 1
					if got := time.Since(began).String() + " " + word; got != want[n] {
						late++
						t.Errorf("seed %d: sent %s, came %s", seed, got, want[n])
					}
					text += word
				}
			})
			if s.err != nil || s.last().GetDone() == nil || strings.Count(text, ",") != 40 {
				t.Errorf("seed %d: %v, %q", seed, s.err, text)
			}
		})
	}
}

// A client that goes while no sender is there leaves nothing behind; nor does one
// whose stream ends then.
func TestLeavingWithoutSender(t *testing.T) {
	for name, end := range map[string]func(l *lab, rd *Reader, cancel func()) error{
		"cancel":   func(_ *lab, _ *Reader, cancel func()) error { cancel(); return context.Canceled },
		"abort":    func(_ *lab, rd *Reader, _ func()) error { rd.run.Abort(""); return nil },
		"shutdown": func(_ *lab, rd *Reader, _ func()) error { rd.run.Shutdown(); return &Abort{} },
		"the end":  func(*lab, *Reader, func()) error { time.Sleep(time.Hour); return nil },
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, map[string][]reply{"a": {ok(say(fact{Text: "x"}), wait(30*time.Minute), say(fact{Stop: "end", Done: true}))}})
			l.few = func() bool { return false }
			defer l.registry.Close()
			req := ask("lab/a").watch(time.Hour, 0, time.Hour)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			rd, err := l.Start(ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan *seen, 1)
			go func() { done <- read(ctx, rd, nil) }()
			time.Sleep(time.Minute)
			if !rd.resting() {
				t.Fatal("a sender waits though nothing came for a minute")
			}
			want := end(l, rd, cancel)
			s := <-done
			var ab *Abort
			switch {
			case want == nil && s.err != nil, errors.Is(want, context.Canceled) && !errors.Is(s.err, want), errors.As(want, &ab) && !errors.As(s.err, &ab):
				t.Errorf("%s: %v, want %v", name, s.err, want)
			case name != "cancel" && s.last().GetAborted() == nil && s.last().GetDone() == nil:
				t.Errorf("%s: no terminal event: %v", name, s.last())
			}
			synctest.Wait()
			if l.host.connections() != 0 {
				t.Errorf("%s: a connection stays open", name)
			}
		})
	}
}

// Heartbeats keep their sender, and come at their pace.
func TestHeartbeatsWithoutEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {ok(say(fact{Text: "x"}), wait(10*time.Second+1), say(fact{Stop: "end", Done: true}))}})
		defer l.registry.Close()
		req := ask("lab/a").watch(time.Hour, 0, time.Hour)
		req.Options = &llmdv1.StreamOptions{HeartbeatInterval: durationpb.New(time.Second)}
		beats := 0
		for _, e := range l.run(t, req).events {
			if e.GetHeartbeat() != nil {
				beats++
			}
		}
		if beats != 10 {
			t.Errorf("%d heartbeats in 10 s", beats)
		}
	})
}

// TestRestRace: senders that leave at every chance lose no event, and there is never
// more than one.
func TestRestRace(t *testing.T) {
	const events = 20_000
	q := newQueue()
	var working, most, got atomic.Int32
	done := make(chan struct{})
	q.serve(func() {
		go func() {
			most.Store(max(most.Load(), working.Add(1)))
			for {
				_, ok, closed := q.pop()
				switch {
				case ok:
					got.Add(1)
				case closed:
					close(done)
					return
				default:
					working.Add(-1) // before rest, which lets another one in
					if q.rest() {
						return
					}
					working.Add(1)
				}
			}
		}()
	}, false)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range events / 4 {
				q.push(event{response: &llmdv1.StreamResponse{}})
				if i%7 == 0 {
					time.Sleep(time.Microsecond)
				}
			}
		})
	}
	wg.Wait()
	q.close(false)
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the end is never seen")
	}
	if got.Load() != events || most.Load() != 1 {
		t.Errorf("%d of %d events, %d senders at once", got.Load(), events, most.Load())
	}
}

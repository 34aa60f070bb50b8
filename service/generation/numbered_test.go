package generation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/service/responses"
)

// Whoever reads a log, at whatever pace, sees the same events under the same
// numbers, and their text is what was written.
func TestLogIsOneSequence(t *testing.T) {
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		l := newEventLog(rnd.IntN(2) * maxLogBytes)
		var all []*cursor
		join := func() {
			if c, ok := l.cursor(-1, true); ok {
				all = append(all, c)
			}
		}
		join()
		join()
		var want strings.Builder
		got := map[*cursor][]*llmdv1.StreamResponse{}
		read := func(c *cursor) {
			if rnd.IntN(2) == 0 {
				events, _, _ := c.batch(rnd.IntN(20))
				got[c] = append(got[c], events...)
			} else if e, ok, _ := c.pop(); ok {
				got[c] = append(got[c], e.numbered(e.number-1))
			}
		}
		for i := range 200 {
			switch n := rnd.IntN(10); {
			case n < 6:
				s := fmt.Sprintf("%d ", i)
				want.WriteString(s)
				l.append(textOf(0, s))
			case n == 6:
				l.append(event{response: stallEvent(llmdv1.StallState_STALL_STATE_DETECTED, time.Second)})
			case n == 7 && l.limit > 0:
				join()
			default:
				read(all[rnd.IntN(len(all))])
			}
		}
		l.close()
		for _, c := range all {
			for {
				e, ok, closed := c.pop()
				if !ok {
					if !closed {
						t.Fatalf("seed %d: the log has not ended", seed)
					}
					break
				}
				got[c] = append(got[c], e.numbered(e.number-1))
			}
			var text strings.Builder
			for i, e := range got[c] {
				if e.GetSequenceNumber() != int32(i) {
					t.Fatalf("seed %d: event %d has the number %d", seed, i, e.GetSequenceNumber())
				}
				text.WriteString(e.GetTextDelta().GetDelta())
			}
			if text.String() != want.String() {
				t.Fatalf("seed %d: the text is %q, want %q", seed, text.String(), want.String())
			}
			if diff := cmp.Diff(got[all[0]], got[c], protocmp.Transform()); diff != "" {
				t.Fatalf("seed %d: two readers differ\n%s", seed, diff)
			}
			if c.waiting != 0 {
				t.Errorf("seed %d: %d bytes wait for a reader that has all", seed, c.waiting)
			}
		}
		if l.limit == 0 && (l.bytes != 0 || len(l.items) != l.head) {
			t.Errorf("seed %d: %d bytes are kept that all have read", seed, l.bytes)
		}
	}
}

// What is kept is bounded; what somebody must have stays.
func TestLogTrims(t *testing.T) {
	l := newEventLog(10_000)
	slow, _ := l.cursor(-1, true)
	for range 100 {
		l.append(textOf(0, strings.Repeat("x", 500)))
		l.append(textOf(1, "y"))
	}
	if _, ok := l.cursor(-1, false); !ok {
		t.Fatal("what a reader waits for was forgotten")
	}
	for {
		if _, ok, _ := slow.pop(); !ok {
			break
		}
	}
	l.append(textOf(0, "z"))
	if l.bytes > 10_000 {
		t.Errorf("%d bytes are kept", l.bytes)
	}
	if _, ok := l.cursor(-1, false); ok {
		t.Error("a cursor begins before what is kept")
	}
	if c, ok := l.cursor(l.first-1, false); !ok {
		t.Error("no cursor before the first that is kept")
	} else if events, _, ok := c.batch(1 << 20); !ok || events[0].GetSequenceNumber() != l.first {
		t.Errorf("%v, %v", events, ok)
	}
}

// detached asks for an answer of one word a second that outlives its connection.
func detached(n int, grace time.Duration) (map[string][]reply, *Request) {
	steps := []step{say(fact{ID: "r"})}
	for i := range n {
		steps = append(steps, say(fact{Text: fmt.Sprintf("w%d ", i)}), wait(time.Second))
	}
	steps = append(steps, say(fact{Stop: "end", Usage: 3}, fact{Done: true}))
	req := ask("lab/a")
	req.RequestID, req.Options = "d", &llmdv1.StreamOptions{Detached: durationpb.New(grace)}
	return map[string][]reply{"a": {ok(steps...), ok(steps...)}}, req
}

func (l *lab) attach(t *testing.T, ctx context.Context, after int32) *seen { //nolint:revive // t first, as everywhere here
	t.Helper()
	rd, err := l.Attach(ctx, responses.Key{RequestID: "d"}, after, &Request{})
	if err != nil {
		return &seen{err: err}
	}
	return read(ctx, rd, nil)
}

// merged joins neighbouring deltas, whose borders mean nothing, and takes the numbers off.
func merged(events []*llmdv1.StreamResponse) (out []*llmdv1.StreamResponse) {
	for _, e := range events {
		e = proto.CloneOf(e)
		e.SequenceNumber = 0
		if d := e.GetTextDelta(); d != nil && len(out) > 0 && out[len(out)-1].GetTextDelta() != nil {
			out[len(out)-1].GetTextDelta().Delta += d.GetDelta()
			continue
		}
		out = append(out, e)
	}
	return out
}

// A stream that is cut anywhere and attached to again has, in all, the events that a
// reader of the whole sees, and those of a run that was not disturbed.
func TestAttach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plays, req := detached(20, 10*time.Second)
		l := newLab(t, plays)
		defer l.registry.Close()
		whole := l.run(t, req)
		if whole.err != nil || whole.last().GetDone() == nil || len(whole.events) < 24 {
			t.Fatal(whole.err, len(whole.events))
		}
		req.RequestID, req.Generation = "d2", ask("lab/a").Generation
		first, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		rd, err := l.Start(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		s := read(first, rd, nil)
		if !errors.Is(s.err, context.DeadlineExceeded) {
			t.Fatal(s.err)
		}
		got := s.events
		for len(got) == 0 || got[len(got)-1].GetDone() == nil {
			time.Sleep(3 * time.Second) // nobody reads
			again, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
			rd, err := l.Attach(again, responses.Key{RequestID: "d2"}, got[len(got)-1].GetSequenceNumber(), &Request{})
			if err != nil {
				t.Fatal(err)
			}
			s := read(again, rd, nil)
			got = append(got, s.events...)
			cancel()
		}
		ignore := protocmp.IgnoreFields(&llmdv1.StartedEvent{}, "response_id", "request_id", "create_time")
		ignored := protocmp.IgnoreFields(&llmdv1.AssistantMessage{}, "response_id", "create_time")
		if diff := cmp.Diff(merged(whole.events), merged(got), protocmp.Transform(), ignore, ignored); diff != "" {
			t.Errorf("cut and joined (-undisturbed +got):\n%s", diff)
		}
		rd, err = l.Attach(t.Context(), responses.Key{RequestID: "d2"}, -1, &Request{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(read(t.Context(), rd, nil).events, got, protocmp.Transform()); diff != "" {
			t.Errorf("cut and joined (-read at once +got):\n%s", diff)
		}
		got = whole.events
		if n := l.host.requests(); n != 2 {
			t.Errorf("%d requests went to the provider", n)
		}
		// It has ended: any part of it can still be had, the end always.
		for after, want := range map[int32]int{-1: len(got), 5: len(got) - 6, int32(len(got) - 2): 1, int32(len(got) - 1): 1} {
			s := l.attach(t, t.Context(), after)
			if s.err != nil || len(s.events) != want || s.last().GetDone() == nil {
				t.Errorf("after %d: %d events, want %d; %v", after, len(s.events), want, s.err)
			}
		}
		var beyond *responses.BeyondEndError
		if s := l.attach(t, t.Context(), int32(len(got))); !errors.As(s.err, &beyond) || beyond.Last != int32(len(got)-1) {
			t.Errorf("behind the end: %v", s.err)
		}
		if _, err := l.Attach(t.Context(), responses.Key{Owner: "stranger", RequestID: "d"}, -1, &Request{}); !errors.Is(err, responses.ErrNotFound) {
			t.Errorf("a stranger: %v", err)
		}
	})
}

// Without a reader a detached response ends when its time is over, not before; while
// somebody follows it, it goes on.
func TestDetachedEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plays, req := detached(60, 10*time.Second)
		l := newLab(t, plays)
		defer l.registry.Close()
		rd, err := l.Start(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		read(ctx, rd, nil)
		time.Sleep(9 * time.Second)
		again, cancel2 := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel2()
		if s := l.attach(t, again, -1); !errors.Is(s.err, context.DeadlineExceeded) {
			t.Fatalf("it ended while it was followed: %v", s.err)
		}
		left := time.Now()
		<-rd.run.Done()
		if d := time.Since(left); d != 10*time.Second {
			t.Errorf("ended %v after the last reader had left", d)
		}
		s := l.attach(t, t.Context(), -1)
		if a := s.last().GetAborted(); s.err != nil || a.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_REQUESTED || len(a.GetMessage().GetContent()) != 1 {
			t.Errorf("%v, %v", s.last(), s.err)
		}
		if l.host.connections() != 0 {
			t.Error("the connection to the provider is open")
		}
	})
}

// limitsMet is an Observer that keeps the limits that were met.
type limitsMet struct{ all []string }

func (*limitsMet) Ask(ctx context.Context, _ *Try) (context.Context, Watch) { return ctx, nil }
func (*limitsMet) Began(context.Context, []*llmdv1.HandoffChange)           {}
func (*limitsMet) Stalled(context.Context, *profile.Model)                  {}
func (*limitsMet) Left(context.Context, int)                                {}
func (*limitsMet) Ended(context.Context, *End)                              {}
func (l *limitsMet) Limited(_ context.Context, limit string, _ time.Duration) {
	l.all = append(l.all, limit)
}

// There is a bound to how many responses go on without a reader.
func TestOrphansAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plays, req := detached(60, time.Hour)
		l := newLab(t, plays)
		defer l.registry.Close()
		met := &limitsMet{}
		l.cfg.Observer = met
		l.orphans.Store(MaxOrphans)
		rd, err := l.Start(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		read(ctx, rd, nil)
		left := time.Now()
		<-rd.run.Done()
		if time.Since(left) > 0 || l.orphans.Load() != MaxOrphans {
			t.Errorf("ended after %v, %d are counted", time.Since(left), l.orphans.Load())
		}
		if !slices.Equal(met.all, []string{"detached"}) {
			t.Errorf("limits met: %q", met.all)
		}
		l.orphans.Store(0)
		req.RequestID, req.Generation = "d", ask("lab/a").Generation
		rd, err = l.Start(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if s := read(t.Context(), rd, nil); s.last() == nil {
			t.Error("nothing came")
		}
		if n := l.orphans.Load(); n != 0 {
			t.Errorf("%d are counted at the end", n)
		}
	})
}

// Abort and shutdown end a detached response that nobody reads.
func TestDetachedAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plays, req := detached(60, time.Hour)
		l := newLab(t, plays)
		defer l.registry.Close()
		rd, err := l.Start(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		read(ctx, rd, nil)
		r, err := l.registry.Abort(t.Context(), responses.Key{RequestID: "d"}, "enough")
		if err != nil || r.Finished || r.Message.GetStopReason() != llmdv1.StopReason_STOP_REASON_ABORTED {
			t.Errorf("%v, %v", r, err)
		}
	})
}

// A request id that comes again leads to the very same events.
func TestDetachedSameRequestID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plays, req := detached(5, 10*time.Second)
		l := newLab(t, plays)
		defer l.registry.Close()
		var second *seen
		done := make(chan struct{})
		go func() { time.Sleep(2500 * time.Millisecond); second = l.run(t, req); close(done) }()
		first := l.run(t, req)
		<-done
		if diff := cmp.Diff(first.events, second.events, protocmp.Transform()); diff != "" || len(first.events) < 8 {
			t.Errorf("(-first +second):\n%s", diff)
		}
		third := l.run(t, req)
		if diff := cmp.Diff(first.events, third.events, protocmp.Transform()); diff != "" {
			t.Errorf("(-first +third):\n%s", diff)
		}
		rd, err := l.Start(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if _, m, err := rd.Wait(t.Context()); err != nil || m.GetStopReason() != llmdv1.StopReason_STOP_REASON_STOP {
			t.Errorf("%v, %v", m, err)
		}
	})
}

// Where the events are not kept any more, a stream begins anew from a snapshot, and
// its numbers go on from there.
func TestAttachAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plays, req := detached(20, 10*time.Second)
		l := newLab(t, plays)
		defer l.registry.Close()
		rd, err := l.Start(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan *seen)
		go func() { done <- read(t.Context(), rd, nil) }()
		time.Sleep(10500 * time.Millisecond)
		rd.run.log.mu.Lock()
		rd.run.log.trim(10)
		first := rd.run.log.first
		rd.run.log.mu.Unlock()
		if first < 5 {
			t.Fatalf("%d events are forgotten", first)
		}
		s := l.attach(t, t.Context(), 3)
		whole := <-done
		if s.err != nil || s.started() == nil || s.events[0].GetSequenceNumber() != 0 || s.events[1].GetSnapshot() == nil {
			t.Fatalf("%v, %v", s.events[:2], s.err)
		}
		k := s.events[1].GetSequenceNumber()
		if diff := cmp.Diff(whole.events[k+1:], s.events[2:], protocmp.Transform()); diff != "" {
			t.Errorf("behind the snapshot (-whole +got):\n%s", diff)
		}
		if s.folded() != whole.text() {
			t.Errorf("folded to %q, want %q", s.folded(), whole.text())
		}
	})
}

// A response without numbered events can be attached to as by its request id.
func TestAttachUnnumbered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plays, req := detached(5, 0)
		req.Options = nil
		l := newLab(t, plays)
		defer l.registry.Close()
		var second *seen
		done := make(chan struct{})
		go func() { time.Sleep(2500 * time.Millisecond); second = l.attach(t, t.Context(), 2); close(done) }()
		first := l.run(t, req)
		<-done
		third := l.attach(t, t.Context(), -1)
		for _, s := range []*seen{second, third} {
			if s.err != nil || s.started() == nil || s.events[1].GetSnapshot() == nil || s.folded() != first.text() || s.last().GetDone() == nil {
				t.Errorf("%v, %v", s.events, s.err)
			}
		}
	})
}

// Heartbeats of the call that began it are among the events, those of a call that
// attached repeat a number.
func TestNumberedHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plays, req := detached(5, 10*time.Second)
		req.Options.HeartbeatInterval = durationpb.New(700 * time.Millisecond)
		l := newLab(t, plays)
		defer l.registry.Close()
		first := l.run(t, req)
		beats := 0
		for i, e := range first.events {
			if e.GetSequenceNumber() != int32(i) {
				t.Fatalf("event %d has the number %d", i, e.GetSequenceNumber())
			}
			if e.GetHeartbeat() != nil {
				beats++
			}
		}
		if beats < 5 {
			t.Errorf("%d heartbeats", beats)
		}
		req.RequestID, req.Generation, req.Options = "e", ask("lab/a").Generation, &llmdv1.StreamOptions{Detached: durationpb.New(time.Minute)}
		rd, err := l.Start(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		go read(t.Context(), rd, nil)
		rd, err = l.Attach(t.Context(), responses.Key{RequestID: "e"}, -1, &Request{Options: &llmdv1.StreamOptions{HeartbeatInterval: durationpb.New(700 * time.Millisecond)}})
		if err != nil {
			t.Fatal(err)
		}
		s := read(t.Context(), rd, nil)
		next := int32(0)
		beats = 0
		for _, e := range s.events {
			if e.GetHeartbeat() != nil {
				beats++
				if e.GetSequenceNumber() != next-1 {
					t.Errorf("a heartbeat behind event %d has the number %d", next-1, e.GetSequenceNumber())
				}
				continue
			}
			if e.GetSequenceNumber() != next {
				t.Errorf("event %d has the number %d", next, e.GetSequenceNumber())
			}
			next++
		}
		if beats < 3 || s.err != nil {
			t.Errorf("%d heartbeats, %v", beats, s.err)
		}
	})
}

// A view has a time of its own: it ends before the deadline of its call, so that its
// status arrives, and the response goes on.
func TestAttachUntilTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plays, req := detached(10, time.Minute)
		l := newLab(t, plays)
		defer l.registry.Close()
		rd, err := l.Start(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		whole := make(chan *seen, 1)
		go func() { whole <- read(t.Context(), rd, nil) }()
		time.Sleep(1500 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		begun := time.Now()
		view, err := l.Attach(ctx, responses.Key{RequestID: "d"}, -1, &Request{SoftDeadline: begun.Add(4 * time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		s := read(ctx, view, nil)
		if !errors.Is(s.err, ErrViewOver) || !errors.Is(s.err, context.DeadlineExceeded) || time.Since(begun) != 4*time.Second {
			t.Errorf("after %s: %v", time.Since(begun), s.err)
		}
		if len(s.events) < 4 || responses.Terminal(s.last()) {
			t.Errorf("%v", s.events)
		}
		if _, _, err := view.Outcome(); !errors.Is(err, ErrViewOver) {
			t.Errorf("the log is told of %v", err)
		}
		if view, err = l.Attach(ctx, responses.Key{RequestID: "d"}, -1, &Request{SoftDeadline: time.Now().Add(500 * time.Millisecond)}); err != nil {
			t.Fatal(err)
		}
		if _, m, err := view.Wait(ctx); m != nil || !errors.Is(err, ErrViewOver) || ctx.Err() != nil {
			t.Errorf("folded: %v, %v", m, err)
		}
		if w := <-whole; w.err != nil || w.last().GetDone() == nil {
			t.Errorf("the response did not go on: %v, %v", w.last(), w.err)
		}
	})
}

// badTrail panics when it is read.
type badTrail struct{ closed *bool }

func (badTrail) Next(context.Context) ([]*llmdv1.StreamResponse, error) { panic("a secret") }
func (b badTrail) Close()                                               { *b.closed = true }

// badStore gives bad trails.
type badStore struct {
	responses.Store
	closed bool
}

func (s *badStore) Follow(context.Context, responses.Key, int32) (responses.Trail, error) {
	return badTrail{closed: &s.closed}, nil
}

// A panic while a response is followed ends that call alone.
func TestAttachPanics(t *testing.T) {
	l := newLab(t, nil)
	defer l.registry.Close()
	store := &badStore{Store: l.registry}
	l.cfg.Store = store
	s := l.attach(t, t.Context(), -1)
	if !errors.Is(s.err, errPanic) || len(s.events) > 0 || len(l.panics) != 1 || l.panics[0] != "string" || !store.closed {
		t.Errorf("%v, %v, %v, closed %v", s.err, s.events, l.panics, store.closed)
	}
}

// The process ends: a view is told so, unless its response ends in that moment, too.
func TestAttachUntilTheProcessEnds(t *testing.T) {
	for _, own := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			plays, req := detached(10, time.Minute)
			l := newLab(t, plays)
			defer l.registry.Close()
			rd, err := l.Start(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			go read(t.Context(), rd, nil)
			go func() {
				time.Sleep(3500 * time.Millisecond)
				if own {
					rd.run.Shutdown()
				}
				l.EndViews()
			}()
			time.Sleep(1500 * time.Millisecond)
			folded := make(chan error, 1)
			view, err := l.Attach(t.Context(), responses.Key{RequestID: "d"}, -1, &Request{})
			if err != nil {
				t.Fatal(err)
			}
			go func() { _, _, err := view.Wait(t.Context()); folded <- err }()
			begun := time.Now()
			s := l.attach(t, t.Context(), -1)
			cause := s.last().GetAborted().GetCause()
			err = <-folded
			var ended *responses.StatusError
			if own && !errors.As(err, &ended) || !own && !errors.Is(err, ErrViewClosed) {
				t.Errorf("folded: %v", err)
			}
			if _, _, told := view.Outcome(); !errors.Is(told, err) {
				t.Errorf("the log is told of %v", told)
			}
			switch took := time.Since(begun); {
			case own && cause != llmdv1.AbortCause_ABORT_CAUSE_SHUTDOWN:
				t.Errorf("after %s: %v, %v", took, s.last(), s.err)
			case !own && (!errors.Is(s.err, ErrViewClosed) || took > 3*time.Second):
				t.Errorf("after %s: %v, %v", took, s.last(), s.err)
			}
			<-rd.run.Done()
		})
	}
}

package generation

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// The derivation of ../shared/reference/host-behaviour.md 5.2; an explicit 0 turns
// the warning off.
func TestLimits(t *testing.T) {
	const ms = time.Millisecond
	d := durationpb.New
	for _, c := range []struct {
		name  string
		w     *llmdv1.Watchdog
		model time.Duration
		want  limits
	}{
		{name: "nothing said", want: limits{300_000 * ms, 30_000 * ms, 120_000 * ms}},
		{name: "300 s", w: &llmdv1.Watchdog{IdleTimeout: d(300_000 * ms)}, want: limits{300_000 * ms, 30_000 * ms, 120_000 * ms}},
		{name: "20 s", w: &llmdv1.Watchdog{IdleTimeout: d(20_000 * ms)}, want: limits{20_000 * ms, 10_000 * ms, 120_000 * ms}},
		{name: "just under a minute", w: &llmdv1.Watchdog{IdleTimeout: d(59_998 * ms)}, want: limits{59_998 * ms, 29_999 * ms, 120_000 * ms}},
		{name: "one second", w: &llmdv1.Watchdog{IdleTimeout: d(1000 * ms)}, want: limits{1000 * ms, 500 * ms, 120_000 * ms}},
		{name: "a warning over half", w: &llmdv1.Watchdog{StallWarning: d(400_000 * ms)}, want: limits{300_000 * ms, 150_000 * ms, 120_000 * ms}},
		{name: "a warning of one's own", w: &llmdv1.Watchdog{StallWarning: d(7_000 * ms)}, want: limits{300_000 * ms, 7_000 * ms, 120_000 * ms}},
		{name: "no warning", w: &llmdv1.Watchdog{StallWarning: d(0)}, want: limits{300_000 * ms, 0, 120_000 * ms}},
		{name: "headers", w: &llmdv1.Watchdog{HeaderTimeout: d(5_000 * ms)}, want: limits{300_000 * ms, 30_000 * ms, 5_000 * ms}},
		{name: "a slow host", model: time.Hour, want: limits{300_000 * ms, 30_000 * ms, time.Hour}},
		{name: "a slow host, a caller in a hurry", w: &llmdv1.Watchdog{HeaderTimeout: d(5_000 * ms)}, model: time.Hour, want: limits{300_000 * ms, 30_000 * ms, 5_000 * ms}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := limitsOf(c.w, &profile.Model{HeaderTimeout: c.model}); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// stallsOf is "DETECTED at 10s" and so on.
func stallsOf(events []*llmdv1.StreamResponse) []string {
	var out []string
	for _, e := range events {
		if s := e.GetStall(); s != nil {
			word := "detected "
			if s.GetState() == llmdv1.StallState_STALL_STATE_RECOVERED {
				word = "recovered "
			}
			out = append(out, word+s.GetIdleDuration().AsDuration().String())
		}
	}
	return out
}

// TestSilence: what counts as a sign of life, and what is reported.
func TestSilence(t *testing.T) {
	x := say(fact{Text: "x"})
	end := say(fact{Stop: "end", Done: true})
	for _, c := range []struct {
		name   string
		steps  []step
		stalls []string
		reason string
		took   time.Duration
	}{
		{name: "a lively provider", steps: []step{x, wait(9 * time.Second), x, wait(9 * time.Second), x, end}, took: 18 * time.Second},
		{
			name: "a silence that ends", steps: []step{x, wait(15 * time.Second), x, end},
			stalls: []string{"detected 10s", "recovered 15s"}, took: 15 * time.Second,
		},
		{
			name: "once for each silence", steps: []step{x, wait(15 * time.Second), x, wait(19 * time.Second), x, wait(5 * time.Second), x, end},
			stalls: []string{"detected 10s", "recovered 15s", "detected 10s", "recovered 19s"}, took: 39 * time.Second,
		},
		{
			name: "a silence that does not end", steps: []step{x, hang},
			stalls: []string{"detected 10s"}, reason: "PROVIDER_STREAM_IDLE", took: 20 * time.Second,
		},
		{
			name: "comments", steps: []step{x, every(time.Second, raw(": busy\n\n"))},
			stalls: []string{"detected 10s"}, reason: "PROVIDER_STREAM_IDLE", took: 20 * time.Second,
		},
		{
			name: "pings", steps: []step{x, every(time.Second, say(fact{Ping: true}))},
			stalls: []string{"detected 10s"}, reason: "PROVIDER_STREAM_IDLE", took: 20 * time.Second,
		},
		{
			name: "bytes of one frame", steps: []step{x, raw("data: {"), every(time.Second, raw(" "))},
			stalls: []string{"detected 10s"}, reason: "PROVIDER_STREAM_IDLE", took: 20 * time.Second,
		},
		{
			name: "ids that were known", steps: []step{say(fact{ID: "r", Text: "x"}), every(time.Second, say(fact{ID: "r"}))},
			stalls: []string{"detected 10s"}, reason: "PROVIDER_STREAM_IDLE", took: 20 * time.Second,
		},
		{
			name: "usage that repeats", steps: []step{say(fact{Text: "x", Usage: 5}), every(time.Second, say(fact{Usage: 5}))},
			stalls: []string{"detected 10s"}, reason: "PROVIDER_STREAM_IDLE", took: 20 * time.Second,
		},
		{
			name: "usage that grows", steps: []step{say(fact{Usage: 1}), wait(8 * time.Second), say(fact{Usage: 2}), wait(8 * time.Second), say(fact{Usage: 3}), end},
			took: 16 * time.Second,
		},
		{
			name: "arguments before the tool has a name", steps: []step{say(fact{Args: `{"a`}), wait(8 * time.Second), say(fact{Args: `":1}`}), wait(8 * time.Second), say(fact{Call: "tool"}), end},
			took: 16 * time.Second,
		},
		{
			name: "a long body behind the marker is no silence", steps: []step{x, say(fact{Stop: "end"}), hang}, took: time.Second,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, map[string][]reply{"a": {ok(c.steps...)}})
				defer l.registry.Close()
				s := l.run(t, ask("lab/a").watch(20*time.Second, 10*time.Second, time.Minute).retries(2))
				if got := stallsOf(s.events); !slices.Equal(got, c.stalls) {
					t.Errorf("stalls %v, want %v", got, c.stalls)
				}
				if s.reason() != c.reason || s.took != c.took {
					t.Errorf("%q after %v, want %q after %v", s.reason(), s.took, c.reason, c.took)
				}
				if len(s.events) > 0 && s.events[0].GetStarted() == nil {
					t.Error("something comes before started")
				}
			})
		})
	}
}

// No stall before the commit point, however long it takes.
func TestNoStallBeforeStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {{delay: 50 * time.Second, status: 200, steps: []step{wait(50 * time.Second), say(fact{Text: "x", Stop: "end", Done: true})}}}})
		defer l.registry.Close()
		req := ask("lab/a").watch(20*time.Second, time.Second, 2*time.Minute)
		req.Options = &llmdv1.StreamOptions{HeartbeatInterval: durationpb.New(time.Second)}
		s := l.run(t, req)
		if s.err != nil || s.took != 100*time.Second || s.events[0].GetStarted() == nil || len(stallsOf(s.events)) != 0 {
			t.Errorf("%v after %v: %v", s.err, s.took, s.events)
		}
	})
}

// Heartbeats come between started and the terminal event, and say how long the
// provider has been silent.
func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {{delay: 2500 * time.Millisecond, status: 200, steps: []step{
			say(fact{Text: "x"}), wait(4 * time.Second), say(fact{Text: "y", Stop: "end"}), hang,
		}}}})
		defer l.registry.Close()
		req := ask("lab/a")
		req.Options = &llmdv1.StreamOptions{HeartbeatInterval: durationpb.New(time.Second)}
		s := l.run(t, req)
		var beats []time.Duration
		for i, e := range s.events {
			if e.GetSequenceNumber() != int32(i) {
				t.Errorf("event %d has the number %d", i, e.GetSequenceNumber())
			}
			if h := e.GetHeartbeat(); h != nil {
				beats = append(beats, h.GetUpstreamIdleDuration().AsDuration())
			}
		}
		const ms = time.Millisecond
		if want := []time.Duration{500 * ms, 1500 * ms, 2500 * ms, 3500 * ms, 500 * ms}; !slices.Equal(beats, want) {
			t.Errorf("heartbeats at %v, want %v", beats, want)
		}
		if s.events[0].GetStarted() == nil || s.last().GetDone() == nil {
			t.Errorf("%v", s.events)
		}
	})
}

// A client that takes its time never makes the provider look silent.
func TestSlowClientIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var steps []step
		for range 2 * maxQueued {
			steps = append(steps, say(fact{Text: "x"}, fact{Usage: 1}, fact{Usage: 2})) // hardly anything merges
		}
		l := newLab(t, map[string][]reply{"a": {ok(append(steps, say(fact{Stop: "end", Done: true}))...)}})
		defer l.registry.Close()
		rd, err := l.Start(t.Context(), ask("lab/a").watch(20*time.Second, 10*time.Second, time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		s := read(t.Context(), rd, func(*llmdv1.StreamResponse) {
			n++
			if n%300 == 0 {
				time.Sleep(25 * time.Second) // less than makes it a slow consumer
			}
		})
		if s.err != nil || len(stallsOf(s.events)) != 0 || s.last().GetDone() == nil {
			t.Errorf("%v, stalls %v", s.err, stallsOf(s.events))
		}
		if s.took < 25*time.Second {
			t.Errorf("took %v: the client never was slow", s.took)
		}
	})
}

// The silence before a pause counts, and so does the one after it.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		warned := make(chan time.Duration, 10)
		idled := make(chan time.Duration, 1)
		began := time.Now()
		w := startWatchdog(limits{idle: 20 * time.Second, stall: 10 * time.Second},
			func(d time.Duration) { warned <- d }, func() { idled <- time.Since(began) })
		time.Sleep(6 * time.Second)
		w.pause()
		time.Sleep(time.Hour)
		w.resume(time.Hour)
		if d := w.silence(); d != 6*time.Second {
			t.Errorf("silent for %v", d)
		}
		at := <-idled
		if n, at10 := len(warned), <-warned; at != time.Hour+20*time.Second || n != 1 || at10 != 10*time.Second {
			t.Errorf("idle after %v, %d warnings, after %v", at, n, at10)
		}
		w.stop()
	})
}

// A silence that ends while its report waits for the lock is not reported at all.
func TestAnnounce(t *testing.T) {
	w := startWatchdog(limits{idle: time.Hour, stall: time.Minute}, func(time.Duration) {}, func() {})
	defer w.stop()
	w.warned = true // as fire does
	if d := w.alive(time.Now()); d != 0 {
		t.Errorf("recovered from %v, which nobody heard of", d)
	}
	if w.announce() {
		t.Error("a silence that is over is announced")
	}
	w.warned = true
	if !w.announce() {
		t.Error("a silence that lasts is not announced")
	}
	if d := w.alive(time.Now()); d <= 0 {
		t.Error("no recovery")
	}
}

func TestSpeaks(t *testing.T) {
	sink := func(f func(*adapters.Sink)) []adapters.Part {
		var s adapters.Sink
		f(&s)
		return s.Parts
	}
	for name, c := range map[string]struct {
		parts []adapters.Part
		want  bool
	}{
		"nothing":        {nil, false},
		"ids":            {sink(func(s *adapters.Sink) { s.IDs("a", "b") }), false},
		"empty text":     {sink(func(s *adapters.Sink) { s.Text(0, "") }), false},
		"text":           {sink(func(s *adapters.Sink) { s.Text(0, "x") }), true},
		"thinking":       {sink(func(s *adapters.Sink) { s.Thinking(0, "x") }), true},
		"arguments":      {sink(func(s *adapters.Sink) { s.Arguments(0, "{") }), true},
		"a call":         {sink(func(s *adapters.Sink) { s.ToolCall(0, "a", "b", "") }), true},
		"an end":         {sink(func(s *adapters.Sink) { s.End(0) }), true},
		"a signature":    {sink(func(s *adapters.Sink) { s.Signature(0, "f", []byte("x")) }), true},
		"the marker":     {sink(func(s *adapters.Sink) { s.Stop(llmdv1.StopReason_STOP_REASON_STOP, "") }), true},
		"a remark":       {sink(func(s *adapters.Sink) { s.Diagnostic(-1, "a", "b") }), false},
		"a tier":         {sink(func(s *adapters.Sink) { s.ServiceTier("a") }), false},
		"usage":          {sink(func(s *adapters.Sink) { s.Usage(&llmdv1.Usage{}) }), false},
		"ids and a text": {sink(func(s *adapters.Sink) { s.IDs("a", "b"); s.Text(0, "x") }), true},
	} {
		if got := speaks(c.parts); got != c.want {
			t.Errorf("%s speaks: %v", name, got)
		}
	}
}

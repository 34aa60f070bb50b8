package generation

import (
	"cmp"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Times of contract 1.10 and 1.16.
const (
	defaultIdle   = 300 * time.Second
	defaultStall  = 30 * time.Second
	defaultHeader = 120 * time.Second
)

// limits are the times in force for one request; stall 0 = off.
type limits struct{ idle, stall, header time.Duration }

// limitsOf takes what the request says, else what the model's host is known to
// need, else the usual times.
func limitsOf(w *llmdv1.Watchdog, m *profile.Model) limits {
	l := limits{idle: defaultIdle, header: cmp.Or(m.HeaderTimeout, defaultHeader)}
	if w.GetIdleTimeout() != nil {
		l.idle = w.GetIdleTimeout().AsDuration()
	}
	if w.GetHeaderTimeout() != nil {
		l.header = w.GetHeaderTimeout().AsDuration()
	}
	l.stall = min(defaultStall, l.idle/2)
	if w.GetStallWarning() != nil {
		l.stall = min(w.GetStallWarning().AsDuration(), l.idle/2)
	}
	return l
}

// watchdog measures the silence of a provider after the commit point. Parts that
// say something end a silence; bytes, comments and pings do not, and the time a
// reader takes is not the provider's.
type watchdog struct {
	limits
	// stalled and idled are called from a timer's goroutine, without the lock.
	stalled func(silence time.Duration)
	idled   func()

	mu      sync.Mutex
	timer   *time.Timer
	last    time.Time // the last sign of life
	warned  bool      // stalled was called for this silence
	told    bool      // the reader knows of it
	paused  bool
	stopped bool
}

func startWatchdog(l limits, stalled func(time.Duration), idled func()) *watchdog {
	w := &watchdog{limits: l, stalled: stalled, idled: idled, last: time.Now()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(w.next(0), w.fire)
	return w
}

// next is how long to sleep after a silence.
func (w *watchdog) next(silence time.Duration) time.Duration {
	if w.stall > 0 && !w.warned {
		return w.stall - silence
	}
	return w.idle - silence
}

func (w *watchdog) fire() {
	w.mu.Lock()
	if w.stopped || w.paused {
		w.mu.Unlock()
		return
	}
	silence := time.Since(w.last)
	idle := silence >= w.idle
	warn := !idle && w.stall > 0 && !w.warned && silence >= w.stall
	w.warned = w.warned || warn
	if idle {
		w.stopped = true
	} else {
		w.timer.Reset(w.next(silence))
	}
	w.mu.Unlock()
	if warn {
		w.stalled(silence)
	}
	if idle {
		w.idled()
	}
}

// announce says whether the silence that stalled was called for still lasts: it may
// have ended while stalled waited for the run's lock. The caller holds that lock.
func (w *watchdog) announce() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = w.warned
	return w.told
}

// alive ends a silence. recovered is how long it was if it was announced. The caller
// holds the run's lock.
func (w *watchdog) alive(now time.Time) (recovered time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.warned {
		if w.told {
			recovered = now.Sub(w.last)
		}
		w.warned, w.told = false, false
		w.timer.Reset(w.next(0))
	}
	w.last = now
	return recovered
}

// silence is how long the provider has said nothing.
func (w *watchdog) silence() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.last)
}

// pause and resume keep the time in between out of the silence.
func (w *watchdog) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused = true
}

func (w *watchdog) resume(waited time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused = false
	w.last = w.last.Add(waited)
	if !w.stopped {
		w.timer.Reset(max(w.next(time.Since(w.last)), 0))
	}
}

func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.timer.Stop()
}

// speaks: the parts hold something of the answer, though it may be held back for
// now. Usage that only repeats is none.
func speaks(parts []adapters.Part) bool {
	for i := range parts {
		switch p := &parts[i]; p.Kind {
		case adapters.PartIDs, adapters.PartServiceTier, adapters.PartDiagnostic, adapters.PartUsage:
		case adapters.PartText, adapters.PartThinking, adapters.PartArguments:
			if p.Text != "" {
				return true
			}
		default:
			return true
		}
	}
	return false
}

func stallEvent(state llmdv1.StallState, silence time.Duration) *llmdv1.StreamResponse {
	return &llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_Stall{Stall: &llmdv1.StallEvent{
		State: state, IdleDuration: durationpb.New(silence),
	}}}
}

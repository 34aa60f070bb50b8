package interceptors

import (
	"cmp"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/telemetry"
)

// Words for the limits of a caller, in QuotaFailure.
const (
	limitCalls = "concurrent_calls"
	limitRate  = "requests_per_second"
)

// callEnds is how long a caller with too many calls is told to wait: nobody knows
// when one of them ends.
const callEnds = time.Second

// meter is what one caller uses up.
type meter struct {
	mu      sync.Mutex
	running int
	limits  config.CallerLimits
	rate    *rate.Limiter // nil = no limit
}

// set changes the limits; what is used up stays.
func (m *meter) set(l config.CallerLimits) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l == m.limits {
		return
	}
	m.limits = l
	if l.RequestsPerSecond == 0 {
		m.rate = nil
		return
	}
	burst := cmp.Or(l.Burst, max(1, int(math.Ceil(l.RequestsPerSecond))))
	if m.rate == nil {
		m.rate = rate.NewLimiter(rate.Limit(l.RequestsPerSecond), burst)
		return
	}
	m.rate.SetLimit(rate.Limit(l.RequestsPerSecond))
	m.rate.SetBurst(burst)
}

// begin counts a call in. One that is refused costs nothing.
func (m *meter) begin() *refusal {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.limits.ConcurrentCalls > 0 && m.running >= m.limits.ConcurrentCalls {
		return overQuota(limitCalls, telemetry.LimitCallerCalls, callEnds)
	}
	if m.rate != nil {
		now := time.Now()
		turn := m.rate.ReserveN(now, 1)
		if wait := turn.DelayFrom(now); wait > 0 {
			turn.CancelAt(now)
			return overQuota(limitRate, telemetry.LimitCallerRate, wait)
		}
	}
	m.running++
	return nil
}

// use is how many calls run, and how many may; 0 = any number.
func (m *meter) use() (running, most int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running, m.limits.ConcurrentCalls
}

func (m *meter) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running--
}

// load is what all callers use up together.
type load struct {
	limits       config.Limits
	calls, bytes atomic.Int64
}

// begin counts a call in.
func (l *load) begin() *refusal {
	if n := l.calls.Add(1); l.limits.ConcurrentCalls > 0 && n > int64(l.limits.ConcurrentCalls) {
		l.calls.Add(-1)
		return overloaded(telemetry.LimitCalls, soon())
	}
	return nil
}

func (l *load) end() { l.calls.Add(-1) }

// hold counts the bytes of a request in. The first request is always taken,
// however large: max_receive_bytes bounds it.
func (l *load) hold(n int) *refusal {
	if sum := l.bytes.Add(int64(n)); l.limits.RequestBytes > 0 && sum > int64(l.limits.RequestBytes) && sum > int64(n) {
		l.bytes.Add(-int64(n))
		return overloaded(telemetry.LimitRequestBytes, soon())
	}
	return nil
}

func (l *load) release(n int) { l.bytes.Add(-int64(n)) }

// soon spreads those who come again (contract section 3).
func soon() time.Duration { return 100*time.Millisecond + rand.N(900*time.Millisecond) } //nolint:gosec // nothing secret

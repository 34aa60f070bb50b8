package redisstore

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/llmd-dev/llmd/service/responses"
)

// Pauses after failures, growing from the one to the other.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// health keeps a failing Redis from being asked all the time. Reading and writing
// have one each: a full Redis can be read.
type health struct {
	what string // for the log
	log  *slog.Logger

	mu       sync.Mutex
	failures int
	until    time.Time // not to be asked before
	last     *responses.UnavailableError
	// well is since when all has gone well; zero = it does not.
	well time.Time
}

func newHealth(what string, log *slog.Logger) *health {
	return &health{what: what, log: log, well: time.Now()}
}

// ask says whether Redis may be asked; else why not.
func (h *health) ask() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failures > 0 && time.Now().Before(h.until) {
		return h.last
	}
	return nil
}

// pause is how long Redis is not to be asked.
func (h *health) pause() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failures == 0 {
		return 0
	}
	return max(time.Until(h.until), 0)
}

// wellFor: all has gone well for so long.
func (h *health) wellFor(d time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.well.IsZero() && time.Since(h.well) >= d
}

// failing is the kind of the last failure; "" = all is well.
func (h *health) failing() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failures == 0 {
		return ""
	}
	return h.last.Kind
}

// note takes the outcome of a round trip, and returns it as a store's error.
func (h *health) note(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil || errors.Is(err, redis.Nil) {
		if h.failures > 0 {
			h.log.Info("shared responses can be "+h.what+" again", "failures", h.failures)
			h.well = time.Now()
		}
		h.failures, h.last = 0, nil
		return nil
	}
	if errors.Is(err, context.Canceled) {
		return err // the caller's doing
	}
	h.last = &responses.UnavailableError{Kind: kindOf(err), Err: err}
	if h.failures == 0 {
		h.log.Warn("shared responses cannot be "+h.what, "cause", h.last.Kind)
	}
	h.failures++
	if h.failures > 1 { // one may be an accident
		pause := min(firstPause<<min(h.failures-2, 10), lastPause)
		h.until = time.Now().Add(pause/2 + rand.N(pause/2+1)) //nolint:gosec // no secret
	}
	h.well = time.Time{}
	return h.last
}

// kindOf is the word for a failure. The texts of errors stay here: they may hold
// addresses.
func kindOf(err error) string {
	var timeout net.Error
	text := said(err)
	switch {
	case strings.Contains(text, "OOM "):
		return "full"
	case strings.HasPrefix(text, "NOAUTH"), strings.HasPrefix(text, "WRONGPASS"), strings.HasPrefix(text, "NOPERM"),
		strings.HasPrefix(text, "ERR max number of clients"):
		return "refused"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, redis.ErrPoolTimeout):
		return "timeout"
	}
	if _, answered := errors.AsType[redis.Error](err); answered {
		return "failed"
	}
	return "unreachable"
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

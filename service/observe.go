package service

import (
	"context"
	"strings"
	"time"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/telemetry"
	"github.com/llmd-dev/llmd/service/generation"
	"github.com/llmd-dev/llmd/service/responses"
)

// The methods whose calls count as streams, as telemetry names them.
const (
	methodStream   = "llmd.v1.InferenceService/Stream"
	methodComplete = "llmd.v1.InferenceService/Complete"
	methodAttach   = "llmd.v1.InferenceService/Attach"
)

// observer hands what the engine tells to telemetry: the two know nothing of each
// other.
type observer struct{ to *telemetry.Telemetry }

var _ generation.Observer = (*observer)(nil)

// observerOf is nil where nobody looks, so that the engine need not tell.
func observerOf(t *telemetry.Telemetry) generation.Observer {
	if t == nil {
		return nil
	}
	return &observer{to: t}
}

// Ask implements generation.Observer.
func (o *observer) Ask(ctx context.Context, t *generation.Try) (context.Context, generation.Watch) {
	nth := telemetry.AttemptFirst
	switch {
	case t.Again:
		nth = telemetry.AttemptRetry
	case t.Fallback:
		nth = telemetry.AttemptFallback
	}
	ctx, a := o.to.Attempt(ctx, &telemetry.Call{Model: t.Model, Nth: nth, Generation: t.Generation, Effective: t.Effective})
	return ctx, (*watch)(a)
}

// watch implements generation.Watch.
type watch telemetry.Attempt

func (w *watch) Chunk(at time.Time) { (*telemetry.Attempt)(w).Chunk(at) }

func (w *watch) End(e *generation.End) {
	if e.Unsent {
		(*telemetry.Attempt)(w).Unsent(e.Reason)
		return
	}
	(*telemetry.Attempt)(w).End(e.Message, e.Reason, e.Abort != nil && e.Abort.Cause == llmdv1.AbortCause_ABORT_CAUSE_REQUESTED)
}

// Began implements generation.Observer.
func (o *observer) Began(ctx context.Context, changes []*llmdv1.HandoffChange) {
	o.to.Changed(ctx, changes)
}

// Stalled implements generation.Observer.
func (o *observer) Stalled(ctx context.Context, m *profile.Model) { o.to.Stalled(ctx, m) }

// Limited implements generation.Observer.
func (o *observer) Limited(ctx context.Context, limit string, d time.Duration) {
	o.to.Hit(ctx, limit)
	if d > 0 {
		o.to.Blocked(ctx, d)
	}
}

// Left implements generation.Observer.
func (o *observer) Left(ctx context.Context, merged int) { o.to.Merged(ctx, merged) }

// Ended implements generation.Observer.
func (o *observer) Ended(ctx context.Context, e *generation.End) {
	o.to.Ended(ctx, &telemetry.Response{
		Model: e.Model, Message: e.Message, Reason: e.Reason, Abort: abortCause(e.Abort), Caller: e.Owner,
	})
}

// abortCause is an abort as a label. A caller that went away is told from one that
// asked.
func abortCause(a *generation.Abort) string {
	switch {
	case a == nil:
		return ""
	case a.Cancelled:
		return "cancelled"
	}
	return strings.ToLower(strings.TrimPrefix(a.Cause.String(), "ABORT_CAUSE_"))
}

// measured is a store that tells how much it keeps in this process.
type measured interface {
	OnLimit(told func(limit string))
	Size() (responses, bytes, tombstones int)
}

// watchEngine measures the responses that go on without a reader.
func watchEngine(e *generation.Engine, t *telemetry.Telemetry) {
	t.Watch(func() []telemetry.Reading {
		return telemetry.Use(telemetry.LimitDetached, e.Orphans(), generation.MaxOrphans)
	})
}

// watchStore measures what is kept of responses.
func watchStore(s responses.Store, t *telemetry.Telemetry) {
	r, ok := s.(measured)
	if t == nil || !ok {
		return
	}
	r.OnLimit(func(limit string) { t.Hit(context.Background(), limit) })
	t.Watch(func() []telemetry.Reading {
		kept, bytes, tombstones := r.Size()
		all := telemetry.Stored(int64(bytes), int64(kept))
		all = append(all, telemetry.Use(telemetry.LimitStore, int64(bytes), responses.MaxBytes)...)
		return append(all, telemetry.Use(telemetry.LimitTombstones, int64(tombstones), responses.MaxTombstones)...)
	})
}

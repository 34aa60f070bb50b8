package responses

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Limits of contract 2.11.
const (
	TTL          = 5 * time.Minute
	TombstoneTTL = 10 * time.Second
	MaxBytes     = 64 << 20
	// MaxRecordBytes is 4 MiB less what stands around a message, so that clients with
	// gRPC's own limit of 4 MiB can receive one.
	MaxRecordBytes = 4<<20 - 1<<10
	MaxTombstones  = 10_000
)

// found is what a key leads to: one of the two is set.
type found struct {
	live Live
	kept *kept
	hash [32]byte
	id   string
}

func (f *found) known() *Known {
	return &Known{ResponseID: f.id, Hash: f.hash, Live: f.live, Record: f.kept.record()}
}

// Registry is the store in the memory of one process.
type Registry struct {
	now  func() time.Time
	keep bool

	mu         sync.Mutex
	byKey      map[Key]*entry
	recent     *list.List // of *entry with a record, the most recently used first
	bytes      int
	tombstones map[Key]tombstone
	sweep      *time.Timer
	closed     bool
	// limited is told of limits that are met; nil = nobody wants to know.
	limited func(limit string)
}

type entry struct {
	response, request Key
	found             found
	place             *list.Element
}

type tombstone struct {
	reason  string
	expires time.Time
}

// New makes an empty registry. Without keep it knows running responses only:
// nothing is remembered of one that has ended.
func New(keep bool) *Registry {
	return &Registry{now: time.Now, keep: keep, byKey: map[Key]*entry{}, recent: list.New(), tombstones: map[Key]tombstone{}}
}

// Close implements [Store]: it forgets everything and stops the clock.
func (r *Registry) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	clear(r.byKey)
	clear(r.tombstones)
	r.recent.Init()
	r.bytes = 0
	if r.sweep != nil {
		r.sweep.Stop()
	}
}

// Claim implements [Store]. There is never an error.
func (r *Registry) Claim(_ context.Context, c *Claim) (Claimed, error) {
	out, old := r.claim(c)
	if old != nil {
		out.Known = old.known()
	}
	return out, nil
}

func (r *Registry) claim(c *Claim) (out Claimed, known *found) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := &entry{response: Key{Owner: c.Owner, ResponseID: c.ResponseID}, found: found{live: c.Live, hash: c.Hash, id: c.ResponseID}}
	if c.RequestID != "" {
		e.request = Key{Owner: c.Owner, RequestID: c.RequestID}
		if old := r.lookUp(e.request); old != nil {
			f := old.found
			return Claimed{}, &f
		}
		if t, ok := r.tombstones[e.request]; ok {
			delete(r.tombstones, e.request)
			if r.now().Before(t.expires) {
				out.Aborted, out.Reason = true, t.reason
			}
		}
		r.byKey[e.request] = e
	}
	r.byKey[e.response] = e
	return out, nil
}

// Finish implements [Store].
func (r *Registry) Finish(owner, responseID string, rec *Record, _ *llmdv1.Error) {
	var k *kept
	if rec != nil && r.keep {
		k = keep(rec) // not under the lock: it may be megabytes
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.byKey[Key{Owner: owner, ResponseID: responseID}]
	if e == nil || e.found.live == nil {
		return
	}
	if k == nil || r.closed {
		r.forget(e)
		return
	}
	k.expires = r.now().Add(TTL)
	e.found.live, e.found.kept = nil, k
	e.place = r.recent.PushFront(e)
	r.bytes += k.size()
	for r.bytes > MaxBytes && r.recent.Len() > 1 {
		r.forget(entryOf(r.recent.Back()))
		r.met(limitStore)
	}
	r.schedule()
}

// get finds a response of its owner.
func (r *Registry) get(k Key) (found, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.lookUp(k)
	if e == nil {
		return found{}, false
	}
	return e.found, true
}

// Known implements [Store].
func (r *Registry) Known(_ context.Context, k Key) (*Known, error) {
	f, ok := r.get(k)
	if !ok {
		return nil, ErrNotFound
	}
	return f.known(), nil
}

// Abort implements [Store].
func (r *Registry) Abort(ctx context.Context, k Key, reason string) (*Receipt, error) {
	f, ok := r.get(k)
	switch {
	case !ok:
		r.bury(k, reason)
		return nil, ErrNotFound
	case f.kept != nil:
		rec := f.kept.record()
		return &Receipt{Message: rec.Message, ContentOmitted: rec.ContentOmitted, Finished: true}, nil
	}
	receipt, err := AbortLive(ctx, f.live, reason)
	if errors.Is(err, ErrNotFound) {
		r.bury(k, reason)
	}
	return receipt, err
}

// AbortLive aborts a response of this process and waits for its end. ErrNotFound: it had
// failed just then, before its first event.
func AbortLive(ctx context.Context, live Live, reason string) (*Receipt, error) {
	aborted := live.Abort(reason)
	select {
	case <-live.Done():
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	m, err := final(live)
	if err != nil {
		return nil, err
	}
	return &Receipt{Message: m, Finished: !aborted}, nil
}

// final is the message of a response that is done. One that failed before its first event
// is not remembered (contract 1.18), by whoever waited for it, either.
func final(live Live) (*llmdv1.AssistantMessage, error) {
	m := live.Snapshot()
	if m.GetStopReason() == llmdv1.StopReason_STOP_REASON_PENDING {
		return nil, ErrNotFound
	}
	return m, nil
}

// Message implements [Store].
func (r *Registry) Message(ctx context.Context, k Key, wait time.Duration) (*Kept, error) {
	f, ok := r.get(k)
	if !ok {
		return nil, ErrNotFound
	}
	if f.live != nil && wait > 0 {
		Wait(ctx, f.live, wait)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		again, still := r.get(k)
		if !still {
			m, err := final(f.live)
			return &Kept{Message: m}, err
		}
		f = again
	}
	if f.kept != nil {
		rec := f.kept.record()
		return &Kept{Message: rec.Message, ContentOmitted: rec.ContentOmitted, ExpireTime: rec.ExpireTime}, nil
	}
	return &Kept{Message: f.live.Snapshot()}, nil
}

// Follow implements [Store].
func (r *Registry) Follow(_ context.Context, k Key, after int32) (Trail, error) {
	f, ok := r.get(k)
	switch {
	case !ok:
		return nil, ErrNotFound
	case f.kept != nil && f.kept.log == nil:
		return nil, ErrUnnumbered
	case f.kept != nil:
		return f.kept.record().Trail(after)
	}
	if t := f.live.Follow(after); t != nil {
		return t, nil
	}
	return nil, ErrUnnumbered
}

// Shared implements [Store].
func (*Registry) Shared() bool { return false }

// lookUp finds what has not expired, and marks it as used.
func (r *Registry) lookUp(k Key) *entry {
	e := r.byKey[k]
	if e == nil || e.place == nil {
		return e
	}
	if !r.now().Before(e.found.kept.expires) {
		r.forget(e)
		return nil
	}
	r.recent.MoveToFront(e.place)
	return e
}

// bury leaves a tombstone for a request id that is not known.
func (r *Registry) bury(k Key, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.tombstones) >= MaxTombstones {
		r.expireTombstones()
	}
	if len(r.tombstones) >= MaxTombstones {
		r.met(limitTombstones)
		return
	}
	if k.RequestID == "" || r.closed {
		return
	}
	r.tombstones[k] = tombstone{reason: reason, expires: r.now().Add(TombstoneTTL)}
	r.schedule()
}

// The words for OnLimit.
const (
	limitStore      = "partial_store"
	limitTombstones = "tombstones"
)

// OnLimit says who is told of limits that are met. It is called before the registry
// is used; told is called under its lock and must be quick.
func (r *Registry) OnLimit(told func(limit string)) { r.limited = told }

func (r *Registry) met(limit string) {
	if r.limited != nil {
		r.limited(limit)
	}
}

// Size is how much is kept.
func (r *Registry) Size() (responses, bytes, tombstones int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.recent.Len(), r.bytes, len(r.tombstones)
}

// Running implements [Store].
func (r *Registry) Running() []Live {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Live
	for k, e := range r.byKey {
		if k.ResponseID != "" && e.found.live != nil {
			out = append(out, e.found.live)
		}
	}
	return out
}

// Wait waits until a running response has ended, at most for d.
func Wait(ctx context.Context, live Live, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-live.Done():
	case <-t.C:
	case <-ctx.Done():
	}
}

// entryOf reads an element of the recent list, which holds entries alone.
func entryOf(p *list.Element) *entry {
	e, _ := p.Value.(*entry)
	return e
}

func (r *Registry) forget(e *entry) {
	delete(r.byKey, e.response)
	if e.request != (Key{}) {
		delete(r.byKey, e.request)
	}
	if e.place != nil {
		r.recent.Remove(e.place)
		r.bytes -= e.found.kept.size()
	}
}

// expire forgets all that is past its time. It looks at everything, so it is for
// the clock, not for requests.
func (r *Registry) expire() {
	now := r.now()
	for p := r.recent.Back(); p != nil; {
		e, before := entryOf(p), p.Prev()
		if !now.Before(e.found.kept.expires) {
			r.forget(e)
		}
		p = before
	}
	r.expireTombstones()
}

func (r *Registry) expireTombstones() {
	now := r.now()
	for k, t := range r.tombstones {
		if !now.Before(t.expires) {
			delete(r.tombstones, k)
		}
	}
}

// schedule makes sure that prompts do not stay in memory past their time when
// nobody calls.
func (r *Registry) schedule() {
	if r.sweep != nil || r.closed {
		return
	}
	r.sweep = time.AfterFunc(TTL/10, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.expire()
		r.sweep = nil
		if len(r.byKey)+len(r.tombstones) > 0 {
			r.schedule()
		}
	})
}

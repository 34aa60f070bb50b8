package responses

import (
	"container/list"
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Limits of contract 2.11.
const (
	TTL            = 5 * time.Minute
	TombstoneTTL   = 10 * time.Second
	MaxBytes       = 64 << 20
	MaxRecordBytes = 4 << 20
	maxTombstones  = 10_000
)

// Live is a running response.
type Live interface {
	// Abort ends it at somebody's wish and says whether it was still running.
	Abort(reason string) bool
	// Shutdown ends it because the service stops.
	Shutdown()
	// Done is closed when it has ended and its record is kept.
	Done() <-chan struct{}
	// Snapshot is the message so far, or the final one once Done is closed.
	Snapshot() *llmdv1.AssistantMessage
}

// Record is a response that has ended. It is shared and never changed.
type Record struct {
	// Started and Terminal are its first and its last event.
	Started, Terminal *llmdv1.StreamResponse
	// Message is the final message; without content if that was over
	// MaxRecordBytes.
	Message *llmdv1.AssistantMessage
	// Err is what the status said; nil = OK.
	Err error
	// ExpireTime is when it is forgotten.
	ExpireTime time.Time

	bytes int
}

// Key names a response.
type Key struct {
	// Owner is the authenticated principal.
	Owner string
	// ResponseID or RequestID: one of the two.
	ResponseID, RequestID string
}

// Found is what a key leads to: one of the two is set.
type Found struct {
	Live   Live
	Record *Record
	// Hash is the digest of the request's body.
	Hash [32]byte
}

// Registry is the in-memory store. It is safe for concurrent use.
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
}

type entry struct {
	response, request Key
	found             Found
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

// Close forgets everything and stops the clock.
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

// Claim registers a running response, unless its request id is known: then what is
// known comes back and nothing is registered. aborted says that an Abort for the
// request id came before, with its reason.
func (r *Registry) Claim(owner, responseID, requestID string, hash [32]byte, live Live) (known *Found, aborted bool, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := &entry{response: Key{Owner: owner, ResponseID: responseID}, found: Found{Live: live, Hash: hash}}
	if requestID != "" {
		e.request = Key{Owner: owner, RequestID: requestID}
		if old := r.lookUp(e.request); old != nil {
			found := old.found
			return &found, false, ""
		}
		if t, ok := r.tombstones[e.request]; ok {
			delete(r.tombstones, e.request)
			if r.now().Before(t.expires) {
				aborted, reason = true, t.reason
			}
		}
		r.byKey[e.request] = e
	}
	r.byKey[e.response] = e
	return nil, aborted, reason
}

// Finish turns a running response into a record; with nil it is forgotten.
func (r *Registry) Finish(owner, responseID string, rec *Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.byKey[Key{Owner: owner, ResponseID: responseID}]
	if e == nil || e.found.Live == nil {
		return
	}
	if rec == nil || r.closed || !r.keep {
		r.forget(e)
		return
	}
	rec.ExpireTime = r.now().Add(TTL)
	rec.bytes = proto.Size(rec.Message) + proto.Size(rec.Started) + proto.Size(rec.Terminal)
	e.found.Live, e.found.Record = nil, rec
	e.place = r.recent.PushFront(e)
	r.bytes += rec.bytes
	for r.bytes > MaxBytes && r.recent.Len() > 1 {
		r.forget(entryOf(r.recent.Back()))
	}
	r.schedule()
}

// Get finds a response of its owner.
func (r *Registry) Get(k Key) (Found, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.lookUp(k)
	if e == nil {
		return Found{}, false
	}
	return e.found, true
}

// lookUp finds what has not expired, and marks it as used.
func (r *Registry) lookUp(k Key) *entry {
	e := r.byKey[k]
	if e == nil || e.place == nil {
		return e
	}
	if !r.now().Before(e.found.Record.ExpireTime) {
		r.forget(e)
		return nil
	}
	r.recent.MoveToFront(e.place)
	return e
}

// Bury leaves a tombstone for a request id that is not known.
func (r *Registry) Bury(k Key, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.tombstones) >= maxTombstones {
		r.expireTombstones()
	}
	if k.RequestID == "" || len(r.tombstones) >= maxTombstones || r.closed {
		return
	}
	r.tombstones[k] = tombstone{reason: reason, expires: r.now().Add(TombstoneTTL)}
	r.schedule()
}

// Live lists the running responses.
func (r *Registry) Live() []Live {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Live
	for k, e := range r.byKey {
		if k.ResponseID != "" && e.found.Live != nil {
			out = append(out, e.found.Live)
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
		r.bytes -= e.found.Record.bytes
	}
}

// expire forgets all that is past its time. It looks at everything, so it is for
// the clock, not for requests.
func (r *Registry) expire() {
	now := r.now()
	for p := r.recent.Back(); p != nil; {
		e, before := entryOf(p), p.Prev()
		if !now.Before(e.found.Record.ExpireTime) {
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

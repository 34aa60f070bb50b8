package redisstore

import (
	"encoding/json"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/service/responses"
)

const (
	// batchBytes is about how much of one response goes into one entry.
	batchBytes = 64 << 10
	// maxEntries is how many entries a stream may have before they give way to a
	// snapshot.
	maxEntries = 20_000
	// watched is how long a response goes on that somebody follows elsewhere, after the
	// last word of that.
	watched = 3 * watchEvery
)

// info is what is known of a response from its beginning.
type info struct {
	Owner, ResponseID, RequestID, Instance string
	Hash                                   [32]byte
}

// sink is a response of this process on its way to Redis. What is not guarded is the
// writer's.
type sink struct {
	store             *Store
	owner, responseID string
	requestID         string
	id, requestDigest string
	box, requestBox   *box
	feed              responses.Feed
	live              responses.Live
	info              string // sealed
	whole, bare       bool
	next              int32
	size              size
	// older and newer are what had been written when the newest entries began.
	older, newer size
	batch        *batch // made, not known to be written

	// opened: Redis has it. gone: Redis has lost it, as somebody else than the writer
	// has seen.
	opened, gone atomic.Bool

	mu    sync.Mutex
	dirty bool
	final *final
	// release ends the hold on the response that unwatch times; nil = there is none.
	release func()
	unwatch *time.Timer
}

// final is how a response ended.
type final struct {
	record  *responses.Record
	failure *llmdv1.Error
	at      time.Time
}

// size is what Redis has of a response.
type size struct{ bytes, entries int }

// batch is one write.
type batch struct {
	kind        string // b: events, c: checkpoint, n: none
	first, next int32
	text        []byte // sealed
	events      int
	state       string
	ttl         time.Duration
	extra       string // sealed
	// stay are the newest entries, which a checkpoint leaves before it.
	stay size
}

func (s *Store) newSink(c *responses.Claim) *sink {
	k := &sink{
		store: s, owner: c.Owner, responseID: c.ResponseID, requestID: c.RequestID, live: c.Live, whole: true,
		id: digest(c.Owner, c.ResponseID),
	}
	k.box = newBox(s.options.Keys, k.id)
	if c.RequestID != "" {
		k.requestDigest = digest(c.Owner, c.RequestID)
		k.requestBox = newBox(s.options.Keys, k.requestDigest)
	}
	// Plain texts and an array: this cannot fail. Nor can sealing, with valid keys.
	text, _ := json.Marshal(info{Owner: c.Owner, ResponseID: c.ResponseID, RequestID: c.RequestID, Instance: s.options.Instance, Hash: c.Hash})
	sealed, _ := k.box.seal("info", text)
	k.info = string(sealed)
	k.feed = c.Live.Feed(func() { s.touch(k) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sinks[k.id] = k
	return k
}

// touch says that a sink has something to write.
func (s *Store) touch(k *sink) {
	k.mu.Lock()
	already := k.dirty
	k.dirty = true
	k.mu.Unlock()
	if already {
		return
	}
	s.mu.Lock()
	s.dirty = append(s.dirty, k)
	s.mu.Unlock()
	s.wake()
}

func (s *Store) wake() {
	select {
	case s.nudge <- struct{}{}:
	default:
	}
}

// drop lets go of a sink.
func (s *Store) drop(k *sink) {
	s.mu.Lock()
	delete(s.sinks, k.id)
	s.mu.Unlock()
	k.feed.Close()
	k.letGo()
}

// Finish implements responses.Store.
func (s *Store) Finish(owner, responseID string, rec *responses.Record, failure *llmdv1.Error) {
	s.local.Finish(owner, responseID, rec, failure)
	s.mu.Lock()
	k := s.sinks[digest(owner, responseID)]
	s.mu.Unlock()
	if k == nil {
		return
	}
	k.mu.Lock()
	k.final = &final{record: rec, failure: failure, at: time.Now()}
	k.mu.Unlock()
	s.touch(k)
}

func (k *sink) ended() *final {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.final
}

// waiting is about how many bytes wait to be written.
func (k *sink) waiting() int { return k.feed.Waiting() }

// prepare makes the next batch; nil = there is nothing to write. more: there is more
// than fits into one.
func (k *sink) prepare() (b *batch, more bool) {
	if k.batch != nil {
		return k.batch, true
	}
	end := k.ended() // before the events are taken: the last of them are there then
	switch {
	case end != nil && end.record == nil:
		b = k.failed(end)
	case !k.whole || k.size.bytes > k.store.options.MaxResponseBytes || k.size.entries > maxEntries:
		b, more = k.checkpoint()
	default:
		var events []*llmdv1.StreamResponse
		if events, more = k.feed.Take(batchBytes); len(events) > 0 {
			b = k.seal("b", events)
		}
	}
	switch {
	case b == nil && k.opened.Load() && (end == nil || more):
		return nil, false
	case b == nil:
		b = &batch{kind: "n", first: k.next, next: k.next, state: "r"}
	}
	if end != nil && end.record != nil && !more {
		k.finish(b, end)
	}
	if b.ttl == 0 {
		b.ttl = k.store.ttl()
	}
	k.batch = b
	return b, more
}

// seal makes a batch of events.
func (k *sink) seal(kind string, events []*llmdv1.StreamResponse) *batch {
	last := events[len(events)-1].GetSequenceNumber()
	b := &batch{kind: kind, first: events[0].GetSequenceNumber(), next: last + 1, events: len(events), state: "r"}
	b.text, _ = k.box.seal(place(kind, b.next), responses.AppendEvents(nil, events))
	return b
}

// place is where the events up to a number stand.
func place(kind string, next int32) string { return kind + strconv.Itoa(int(next)) }

// checkpoint takes the place of all events until now. One that is too large has no
// content: the response can then be followed from there on only. So that those lose
// nothing who follow it just now, it stands for what is written, and the newest of that
// stays.
func (k *sink) checkpoint() (b *batch, more bool) {
	started, stand := k.feed.Stand()
	if stand == nil {
		k.whole = true // nothing was published yet
		return nil, false
	}
	k.store.count.checkpoints.Add(1)
	most := k.store.options.MaxResponseBytes
	m, omitted := responses.Final(stand)
	if s := stand.GetSnapshot(); s != nil {
		m, omitted = s.GetMessage(), s.GetContentOmitted() || proto.Size(stand) > most/2
	}
	switch {
	case k.whole && omitted && !k.bare:
		b = k.seal("c", []*llmdv1.StreamResponse{started, bare(m, k.next-1)})
		b.stay = k.newest(most / 2)
		return b, true
	case stand.GetSnapshot() != nil && (omitted || k.bare):
		stand = bare(m, stand.GetSequenceNumber())
	}
	k.feed.Skip(stand.GetSequenceNumber())
	return k.seal("c", []*llmdv1.StreamResponse{started, stand}), false
}

// newest are the newest entries, if they have at most so many bytes.
func (k *sink) newest(most int) (s size) {
	for _, from := range []size{k.older, k.newer} {
		if s = (size{k.size.bytes - from.bytes, k.size.entries - from.entries}); s.bytes <= most {
			return s
		}
	}
	return size{}
}

// bare is a snapshot without content.
func bare(m *llmdv1.AssistantMessage, number int32) *llmdv1.StreamResponse {
	m = responses.Pending(m)
	m.Content = nil
	s := responses.Snapshot(m, number)
	s.GetSnapshot().ContentOmitted = true
	return s
}

// finish makes a batch the last one.
func (k *sink) finish(b *batch, end *final) {
	b.state, b.ttl = "e", max(responses.TTL-time.Since(end.at), time.Second)
	if _, omitted := responses.Final(end.record.Terminal); omitted && !end.record.ContentOmitted {
		// The event had no room for it.
		if text, err := proto.Marshal(end.record.Message); err == nil {
			sealed, _ := k.box.seal("message", text)
			b.extra = string(sealed)
		}
	}
}

// failed is the end of a response that never had an event.
func (k *sink) failed(end *final) *batch {
	b := &batch{kind: "n", first: k.next, next: k.next, state: "f", ttl: failureTTL}
	if text, err := proto.Marshal(end.failure); err == nil {
		sealed, _ := k.box.seal("failure", text)
		b.extra = string(sealed)
	}
	return b
}

// written takes a batch as done.
func (k *sink) written(b *batch) {
	k.batch = nil
	k.opened.Store(true)
	if b.kind == "c" {
		k.size, k.older, k.newer, k.whole = b.stay, size{}, size{}, true
	}
	if b.kind != "n" {
		k.next = b.next
	}
	k.size.bytes += len(b.text) + len(b.extra)
	k.size.entries++
	// What is between older and now is at least an eighth of what may be, and little more
	// than a quarter.
	if o := &k.store.options; k.size.bytes-k.newer.bytes > o.MaxResponseBytes/8 || k.size.entries-k.newer.entries > maxEntries/8 {
		k.older, k.newer = k.newer, k.size
	}
}

// lost: what Redis has is not what was written. A checkpoint will mend it.
func (k *sink) lost() {
	k.batch, k.whole = nil, false
	k.opened.Store(false)
}

// hold keeps a response going that somebody follows elsewhere. It is for one goroutine.
func (k *sink) hold() {
	k.mu.Lock()
	held := k.unwatch != nil
	if held {
		k.unwatch.Reset(watched)
	}
	k.mu.Unlock()
	if held {
		return
	}
	// Not under the lock: a response touches its sink while it has a lock of its own.
	release := k.live.Hold()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.release, k.unwatch = release, time.AfterFunc(watched, k.letGo)
}

// letGo undoes hold.
func (k *sink) letGo() {
	k.mu.Lock()
	release := k.release
	if k.unwatch != nil {
		k.unwatch.Stop()
	}
	k.release, k.unwatch = nil, nil
	k.mu.Unlock()
	if release != nil {
		release()
	}
}

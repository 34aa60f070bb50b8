package responses

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// fakeLive is a running response.
type fakeLive struct {
	id   string
	done chan struct{}
}

func newLive(id string) *fakeLive { return &fakeLive{id: id, done: make(chan struct{})} }

func (*fakeLive) Abort(string) bool       { return true }
func (*fakeLive) Shutdown()               {}
func (l *fakeLive) Done() <-chan struct{} { return l.done }
func (l *fakeLive) Snapshot() *llmdv1.AssistantMessage {
	return &llmdv1.AssistantMessage{ResponseId: l.id}
}

// clock is a time that tests move.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(0, c.at.Load()) }
func (c *clock) advance(d time.Duration) { c.at.Add(int64(d)) }

func newRegistry(t *testing.T, keep bool) (*Registry, *clock) {
	t.Helper()
	r, c := New(keep), &clock{}
	r.now = c.now
	t.Cleanup(r.Close)
	return r, c
}

// record has a message of about n bytes.
func record(id string, n int) *Record {
	m := &llmdv1.AssistantMessage{ResponseId: id, ProviderStopReason: strings.Repeat("x", n)}
	return &Record{Message: m, Started: &llmdv1.StreamResponse{}, Terminal: &llmdv1.StreamResponse{SequenceNumber: 1}}
}

func (l *fakeLive) Follow(int32) Trail { return nil }
func (*fakeLive) Hold() func()         { return func() {} }
func (*fakeLive) Feed(func()) Feed     { return nil }

// tryClaim claims without a test to fail.
func tryClaim(r *Registry, owner, response, request string, hash [32]byte, live Live) (*Known, bool, string) {
	c, _ := r.Claim(context.Background(), &Claim{Owner: owner, ResponseID: response, RequestID: request, Hash: hash, Live: live})
	return c.Known, c.Aborted, c.Reason
}

func finish(r *Registry, owner, id string, rec *Record) { r.Finish(owner, id, rec, nil) }

func claim(t *testing.T, r *Registry, owner, response, request string) {
	t.Helper()
	if known, _, _ := tryClaim(r, owner, response, request, [32]byte{1}, newLive(response)); known != nil {
		t.Fatalf("%s is known", request)
	}
}

func has(r *Registry, k Key) bool {
	_, ok := r.get(k)
	return ok
}

func TestLifeOfAResponse(t *testing.T) {
	r, c := newRegistry(t, true)
	live := newLive("a.1")
	if known, aborted, _ := tryClaim(r, "me", "a.1", "q", [32]byte{7}, live); known != nil || aborted {
		t.Fatal("a new response is known or aborted")
	}
	for _, k := range []Key{{Owner: "me", ResponseID: "a.1"}, {Owner: "me", RequestID: "q"}} {
		if f, ok := r.get(k); !ok || f.live != Live(live) || f.kept != nil || f.hash != [32]byte{7} {
			t.Errorf("%v while running: %v, %v", k, f, ok)
		}
	}
	if n := len(r.Running()); n != 1 {
		t.Errorf("%d running", n)
	}
	finish(r, "me", "a.1", record("a.1", 10))
	for _, k := range []Key{{Owner: "me", ResponseID: "a.1"}, {Owner: "me", RequestID: "q"}} {
		f, ok := r.get(k)
		if !ok || f.live != nil || f.kept.record().Message.GetResponseId() != "a.1" || f.hash != [32]byte{7} {
			t.Fatalf("%v when ended: %v, %v", k, f, ok)
		}
		if want := c.now().Add(5 * time.Minute); !f.kept.expires.Equal(want) {
			t.Errorf("expires at %v, want %v", f.kept.expires, want)
		}
	}
	if n := len(r.Running()); n != 0 {
		t.Errorf("%d running after the end", n)
	}
}

// A record is kept for five minutes after its end, however often it is asked for;
// a running response has no end.
func TestExpiry(t *testing.T) {
	r, c := newRegistry(t, true)
	claim(t, r, "me", "a.1", "q")
	claim(t, r, "me", "a.2", "running")
	finish(r, "me", "a.1", record("a.1", 10))
	k := Key{Owner: "me", ResponseID: "a.1"}
	for range 299 {
		c.advance(time.Second)
		if !has(r, k) {
			t.Fatalf("gone after %v", c.now())
		}
	}
	c.advance(time.Second)
	if has(r, k) || has(r, Key{Owner: "me", RequestID: "q"}) {
		t.Error("kept for five minutes and more")
	}
	if r.bytes != 0 || r.recent.Len() != 0 {
		t.Errorf("%d bytes, %d records are left", r.bytes, r.recent.Len())
	}
	c.advance(time.Hour)
	if !has(r, Key{Owner: "me", ResponseID: "a.2"}) {
		t.Error("a running response expired")
	}
	claim(t, r, "me", "a.3", "q") // the id is free again
}

// An expired id that nobody asked for is claimed anew all the same.
func TestClaimAfterExpiry(t *testing.T) {
	r, c := newRegistry(t, true)
	claim(t, r, "me", "a.1", "q")
	finish(r, "me", "a.1", record("a.1", 10))
	c.advance(TTL)
	claim(t, r, "me", "a.2", "q")
	if f, _ := r.get(Key{Owner: "me", RequestID: "q"}); f.live == nil {
		t.Error("the id leads to the old response")
	}
	if has(r, Key{Owner: "me", ResponseID: "a.1"}) {
		t.Error("the old response is still there")
	}
}

func TestOwners(t *testing.T) {
	r, _ := newRegistry(t, true)
	claim(t, r, "me", "a.1", "q")
	claim(t, r, "you", "a.2", "q") // another owner's id is another id
	for _, k := range []Key{{Owner: "you", ResponseID: "a.1"}, {ResponseID: "a.1"}, {Owner: "me", ResponseID: "a.2"}, {RequestID: "q"}} {
		if has(r, k) {
			t.Errorf("%v is found by a stranger", k)
		}
	}
	finish(r, "you", "a.1", record("a.1", 1))
	if f, _ := r.get(Key{Owner: "me", ResponseID: "a.1"}); f.kept != nil {
		t.Error("a stranger ended a response")
	}
	r.bury(Key{Owner: "you", RequestID: "z"}, "stop")
	if _, aborted, _ := tryClaim(r, "me", "a.3", "z", [32]byte{}, newLive("a.3")); aborted {
		t.Error("a stranger's tombstone counts")
	}
}

// At most 64 MiB are kept; the least recently used goes first.
func TestBound(t *testing.T) {
	r, _ := newRegistry(t, true)
	const size = 1 << 20
	for i := range 63 {
		id := fmt.Sprint("a.", i)
		claim(t, r, "me", id, id)
		finish(r, "me", id, record(id, size))
	}
	has(r, Key{Owner: "me", ResponseID: "a.0"})
	has(r, Key{Owner: "me", RequestID: "a.1"})
	for i := 63; i < 73; i++ {
		id := fmt.Sprint("a.", i)
		claim(t, r, "me", id, id)
		finish(r, "me", id, record(id, size))
		if r.bytes > 64<<20 {
			t.Fatalf("%d bytes are kept", r.bytes)
		}
	}
	for i, want := range map[int]bool{0: true, 1: true, 2: false, 9: false, 13: true, 72: true} {
		id := fmt.Sprint("a.", i)
		if got := has(r, Key{Owner: "me", ResponseID: id}); got != want {
			t.Errorf("%s kept: %v, want %v", id, got, want)
		}
		if got := has(r, Key{Owner: "me", RequestID: id}); got != want {
			t.Errorf("%s kept by its request id: %v, want %v", id, got, want)
		}
	}
	sum := 0
	for p := r.recent.Front(); p != nil; p = p.Next() {
		rec := entryOf(p).found.kept.record()
		sum += proto.Size(rec.Message) + proto.Size(rec.Started) + proto.Size(rec.Terminal)
	}
	if sum != r.bytes {
		t.Errorf("%d bytes are counted, %d are there", r.bytes, sum)
	}
}

// A record of the allowed size never empties the store of itself.
func TestLargestRecordStays(t *testing.T) {
	r, _ := newRegistry(t, true)
	for i := range 40 {
		id := fmt.Sprint("a.", i)
		claim(t, r, "me", id, "")
		finish(r, "me", id, record(id, MaxRecordBytes-100))
		if !has(r, Key{Owner: "me", ResponseID: id}) {
			t.Fatalf("%s is gone at once", id)
		}
	}
}

func TestTombstones(t *testing.T) {
	r, c := newRegistry(t, true)
	r.bury(Key{Owner: "me", RequestID: "early"}, "changed my mind")
	c.advance(9 * time.Second)
	known, aborted, reason := tryClaim(r, "me", "a.1", "early", [32]byte{}, newLive("a.1"))
	if known != nil || !aborted || reason != "changed my mind" {
		t.Errorf("%v, %v, %q", known, aborted, reason)
	}
	finish(r, "me", "a.1", nil)
	if _, again, _ := tryClaim(r, "me", "a.2", "early", [32]byte{}, newLive("a.2")); again {
		t.Error("a tombstone works twice")
	}
	r.bury(Key{Owner: "me", RequestID: "late"}, "")
	c.advance(10 * time.Second)
	if _, late, _ := tryClaim(r, "me", "a.3", "late", [32]byte{}, newLive("a.3")); late {
		t.Error("a tombstone of ten seconds counts")
	}
	r.bury(Key{Owner: "me", ResponseID: "a.9"}, "") // response ids are ours: nobody can know one early
	if len(r.tombstones) != 0 {
		t.Errorf("%d tombstones", len(r.tombstones))
	}
}

// Tombstones are bounded, and old ones make room.
func TestTombstoneBound(t *testing.T) {
	r, c := newRegistry(t, true)
	for i := range MaxTombstones + 50 {
		r.bury(Key{RequestID: fmt.Sprint(i)}, "")
	}
	if n := len(r.tombstones); n != MaxTombstones {
		t.Errorf("%d tombstones", n)
	}
	c.advance(TombstoneTTL)
	r.bury(Key{RequestID: "new"}, "")
	if n := len(r.tombstones); n != 1 {
		t.Errorf("%d tombstones, want the new one alone", n)
	}
}

// Without keep a response is known while it runs, and an early Abort works.
func TestKeepNothing(t *testing.T) {
	r, _ := newRegistry(t, false)
	r.bury(Key{RequestID: "q"}, "no")
	if _, aborted, _ := tryClaim(r, "", "a.1", "q", [32]byte{}, newLive("a.1")); !aborted {
		t.Error("the tombstone is lost")
	}
	if !has(r, Key{ResponseID: "a.1"}) {
		t.Error("a running response is not known")
	}
	finish(r, "", "a.1", record("a.1", 10))
	if has(r, Key{ResponseID: "a.1"}) || has(r, Key{RequestID: "q"}) || r.bytes != 0 {
		t.Error("something is kept")
	}
}

// A failure before the commit point is not remembered (contract 1.18).
func TestForgottenFailure(t *testing.T) {
	r, _ := newRegistry(t, true)
	claim(t, r, "me", "a.1", "q")
	finish(r, "me", "a.1", nil)
	if has(r, Key{Owner: "me", ResponseID: "a.1"}) {
		t.Error("a failure is remembered")
	}
	claim(t, r, "me", "a.2", "q")
}

func TestFinishTwice(t *testing.T) {
	r, _ := newRegistry(t, true)
	claim(t, r, "me", "a.1", "")
	finish(r, "me", "a.1", record("a.1", 100))
	bytes := r.bytes
	finish(r, "me", "a.1", record("a.1", 5000))
	finish(r, "me", "a.2", record("a.2", 5000)) // never claimed
	if r.bytes != bytes || r.recent.Len() != 1 {
		t.Errorf("%d bytes, want %d; %d records", r.bytes, bytes, r.recent.Len())
	}
}

// Of many claims to one request id exactly one wins, and the others find it.
func TestClaimRace(t *testing.T) {
	r, _ := newRegistry(t, true)
	for round := range 50 {
		request := fmt.Sprint("q", round)
		var won atomic.Int32
		var winner atomic.Value
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				id := fmt.Sprintf("a.%d.%d", round, i)
				known, _, _ := tryClaim(r, "me", id, request, [32]byte{byte(round)}, newLive(id))
				if known == nil {
					won.Add(1)
					winner.Store(id)
					if i%2 == 0 {
						finish(r, "me", id, record(id, 100))
					}
				} else if known.Hash != [32]byte{byte(round)} || known.Live == nil && known.Record == nil {
					t.Error("a known response without facts")
				}
			})
			wg.Go(func() {
				r.get(Key{Owner: "me", RequestID: request})
				r.Running()
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("%d claims won", won.Load())
		}
		f, ok := r.get(Key{Owner: "me", RequestID: request})
		if !ok {
			t.Fatal("nothing is found")
		}
		var id string
		if f.kept != nil {
			id = f.kept.record().Message.GetResponseId()
		} else {
			id = f.live.Snapshot().GetResponseId()
		}
		if id != winner.Load() {
			t.Errorf("%s is found, %s won", id, winner.Load())
		}
	}
}

// The store empties itself when nobody calls: prompts do not outstay their time.
func TestSweep(t *testing.T) {
	r, c := newRegistry(t, true)
	claim(t, r, "me", "a.1", "q")
	finish(r, "me", "a.1", record("a.1", 100))
	r.bury(Key{RequestID: "x"}, "")
	if r.sweep == nil {
		t.Fatal("no sweep is planned")
	}
	c.advance(TTL)
	r.mu.Lock()
	r.expire()
	left := len(r.byKey) + len(r.tombstones) + r.bytes
	r.mu.Unlock()
	if left != 0 {
		t.Errorf("%d are left", left)
	}
}

func TestClose(t *testing.T) {
	r := New(true)
	claim(t, r, "", "a.1", "q")
	claim(t, r, "", "a.2", "")
	finish(r, "", "a.1", record("a.1", 100))
	r.Close()
	if has(r, Key{ResponseID: "a.1"}) || r.bytes != 0 {
		t.Errorf("kept after Close, %d bytes", r.bytes)
	}
	finish(r, "", "a.2", record("a.2", 100)) // a run that ends late
	r.bury(Key{RequestID: "x"}, "")
	if r.bytes != 0 || len(r.tombstones) != 0 || len(r.byKey) != 0 {
		t.Error("kept after Close")
	}
}

func TestWait(t *testing.T) {
	live := newLive("a.1")
	began := time.Now()
	Wait(t.Context(), live, 20*time.Millisecond)
	if d := time.Since(began); d < 20*time.Millisecond {
		t.Errorf("waited %v", d)
	}
	Wait(t.Context(), live, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	Wait(ctx, live, time.Hour)
	close(live.done)
	Wait(t.Context(), live, time.Hour)
}

// Finding one response costs the same however many are kept.
func BenchmarkGet(b *testing.B) {
	r := New(true)
	defer r.Close()
	for i := range 50_000 {
		id := fmt.Sprint("a.", i)
		tryClaim(r, "", id, id, [32]byte{}, newLive(id))
		finish(r, "", id, record(id, 100))
	}
	for i := 0; b.Loop(); i++ {
		r.get(Key{RequestID: fmt.Sprint("a.", i%50_000)})
	}
}

package redisstore_test

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/redistest"
	"github.com/llmd-dev/llmd/service/responses"
	"github.com/llmd-dev/llmd/service/responses/redisstore"
)

// written waits until another process sees a text.
func written(t testing.TB, s responses.Store, name, want string) {
	t.Helper()
	eventually(t, "written", func() bool {
		m, err := s.Message(limited(t), id(name), 0)
		return err == nil && text(m.Message) == want && !m.ContentOmitted
	})
}

// evict takes the events of the only response out of Redis, but not what is known of
// it, as Redis does that evicts single keys.
func evict(t testing.TB, c redis.UniversalClient) {
	t.Helper()
	names, err := c.Keys(limited(t), "test:{*}:e").Result()
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	if err := c.Del(limited(t), names[0]).Err(); err != nil {
		t.Fatal(err)
	}
}

// The events of a running response are evicted: a snapshot takes their place, even if
// nothing new comes.
func TestEventsEvictedWhileRunning(t *testing.T) {
	r := redistest.Start(t)
	a, b := open(t, r.Addr, "a", nil), open(t, r.Addr, "b", nil)
	admin := client(r.Addr)
	defer func() { _ = admin.Close() }()
	l := begin(t, a, "a.1", "")
	l.Say("Hello")
	written(t, b, "a.1", "Hello")
	evict(t, admin)
	if m, err := b.Message(limited(t), id("a.1"), 0); err != nil || !m.ContentOmitted && text(m.Message) != "Hello" {
		t.Errorf("what is gone is not told: %v, %v", m, err)
	}
	written(t, b, "a.1", "Hello")
	evict(t, admin)
	l.Say(" world")
	written(t, b, "a.1", "Hello world")
	l.End()
	events, err := follow(t, b, id("a.1"), -1)
	if err != nil || len(events) < 2 || events[0].GetStarted() == nil || text(events[1].GetSnapshot().GetMessage()) == "" ||
		text(events[len(events)-1].GetDone().GetMessage()) != "Hello world" {
		t.Errorf("%v, %v", events, err)
	}
}

// The events of an ended response are evicted: whoever asks hears that, and does not
// wait for them.
func TestEventsEvictedAfterTheEnd(t *testing.T) {
	r := redistest.Start(t)
	a, b := open(t, r.Addr, "a", nil), open(t, r.Addr, "b", nil)
	admin := client(r.Addr)
	defer func() { _ = admin.Close() }()
	l := begin(t, a, "a.1", "")
	l.Say("Hello")
	l.End()
	eventually(t, "written", func() bool {
		m, err := b.Message(limited(t), id("a.1"), 0)
		return err == nil && !m.ExpireTime.IsZero()
	})
	evict(t, admin)
	for _, after := range []int32{-1, 1, 3} {
		if events, err := follow(t, b, id("a.1"), after); !errors.Is(err, responses.ErrGone) {
			t.Errorf("behind %d: %v, %v", after, events, err)
		}
	}
	if m, err := b.Message(limited(t), id("a.1"), 0); !errors.Is(err, responses.ErrNotFound) {
		t.Errorf("%v, %v", m, err)
	}
	if m, err := b.Abort(limited(t), id("a.1"), ""); !errors.Is(err, responses.ErrNotFound) {
		t.Errorf("%v, %v", m, err)
	}
	if m, err := a.Message(limited(t), id("a.1"), 0); err != nil || text(m.Message) != "Hello" {
		t.Errorf("the process that made it has it: %v, %v", m, err)
	}
}

// The events of a response are evicted whose owner is gone: it ends all the same.
func TestEventsEvictedAndOwnerLost(t *testing.T) {
	r := redistest.Start(t)
	dead, admin := client(r.Addr), client(r.Addr)
	defer func() { _ = admin.Close() }()
	a := open(t, r.Addr, "a", func(o *redisstore.Options) { o.Client = dead })
	b := open(t, r.Addr, "b", nil)
	l := begin(t, a, "a.1", "")
	l.Say("Hello", " world")
	written(t, b, "a.1", "Hello world")
	_ = dead.Close()
	evict(t, admin)
	for _, after := range []int32{-1, 3} {
		events, err := follow(t, b, id("a.1"), after)
		if err != nil || len(events) == 0 {
			t.Fatalf("behind %d: %v, %v", after, events, err)
		}
		ab := events[len(events)-1].GetAborted()
		if ab.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_INSTANCE_LOST || !ab.GetContentOmitted() || ab.GetMessage().GetResponseId() != "a.1" {
			t.Errorf("behind %d: %v", after, events)
		}
	}
}

// Somebody calls a running response ended, or takes events out of its midst: that is
// never an answer that looks whole.
func TestDamaged(t *testing.T) {
	r := redistest.Start(t)
	a, b := open(t, r.Addr, "a", nil), open(t, r.Addr, "b", nil)
	admin, ctx := client(r.Addr), limited(t)
	defer func() { _ = admin.Close() }()
	l := begin(t, a, "a.1", "")
	for _, word := range []string{"one", " two", " three"} { // each in an entry of its own
		l.Say(word)
		written(t, b, "a.1", text(l.Snapshot()))
	}
	names, err := admin.Keys(ctx, "test:{*}:*").Result()
	if err != nil || len(names) != 2 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		if entries, err := admin.XRange(ctx, name, "-", "+").Result(); err == nil && len(entries) > 2 {
			admin.XDel(ctx, name, entries[1].ID)
		}
	}
	if m, err := b.Message(ctx, id("a.1"), 0); err != nil || !m.ContentOmitted || len(m.Message.GetContent()) > 0 {
		t.Errorf("a message with a hole: %v, %v", m, err)
	}
	if events, err := follow(t, b, id("a.1"), -1); !errors.Is(err, responses.ErrGone) {
		t.Errorf("%v, %v", events, err)
	}
	for _, name := range names {
		admin.HSet(ctx, name, "s", "e")
	}
	var failed *responses.UnavailableError
	for _, after := range []int32{3, 40} {
		if events, err := follow(t, b, id("a.1"), after); !errors.As(err, &failed) || failed.Kind != "failed" {
			t.Errorf("behind %d: %v, %v", after, events, err)
		}
	}
	if m, err := b.Message(ctx, id("a.1"), 0); !errors.As(err, &failed) || failed.Kind != "failed" {
		t.Errorf("%v, %v", m, err)
	}
	l.End()
}

// Redis has forgotten a response that ended: the process that made it sends its end under
// the numbers that its events had.
func TestForgottenAfterTheEnd(t *testing.T) {
	r := redistest.Start(t)
	a, b := open(t, r.Addr, "a", nil), open(t, r.Addr, "b", nil)
	admin := client(r.Addr)
	defer func() { _ = admin.Close() }()
	l := begin(t, a, "a.1", "")
	l.Say("Hello", " world")
	l.End()
	eventually(t, "written", func() bool { return a.Stats().Running == 0 })
	if err := admin.FlushAll(limited(t)).Err(); err != nil {
		t.Fatal(err)
	}
	for after, count := range map[int32]int{-1: 5, 2: 2, 3: 1, 4: 1} {
		events, err := follow(t, a, id("a.1"), after)
		if err != nil || len(events) != count || !proto.Equal(events[count-1], l.Events()[4]) {
			t.Errorf("behind %d: %v, %v", after, events, err)
		}
	}
	var beyond *responses.BeyondEndError
	if _, err := follow(t, a, id("a.1"), 5); !errors.As(err, &beyond) || beyond.Last != 4 {
		t.Errorf("behind its end: %v", err)
	}
	if _, err := follow(t, b, id("a.1"), -1); !errors.Is(err, responses.ErrNotFound) {
		t.Errorf("elsewhere: %v", err)
	}
}

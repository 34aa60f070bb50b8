package redisstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/testing/protocmp"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/redistest"
	"github.com/llmd-dev/llmd/service/responses"
	"github.com/llmd-dev/llmd/service/responses/redisstore"
	"github.com/llmd-dev/llmd/service/responses/storetest"
)

func key(id string, b byte) redisstore.Key {
	return redisstore.Key{ID: id, Secret: bytes.Repeat([]byte{b}, 32)}
}

func client(addr string) redis.UniversalClient {
	return redisstore.Connect(redisstore.Connection{Addresses: []string{addr}, Timeout: 5 * time.Second})
}

// open is a store of one process.
func open(t testing.TB, addr, instance string, change func(*redisstore.Options)) *redisstore.Store {
	t.Helper()
	o := options(client(addr), instance)
	if change != nil {
		change(&o)
	}
	s, err := redisstore.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func options(c redis.UniversalClient, instance string) redisstore.Options {
	return redisstore.Options{
		Client: c, Prefix: "test", Instance: instance, Keys: []redisstore.Key{key("k1", 1)},
		Lost: func(instance string) *llmdv1.Error {
			return &llmdv1.Error{Code: 14, Reason: "INSTANCE_LOST", Metadata: map[string]string{"instance": instance}}
		},
		Log:   slog.New(slog.NewTextHandler(io.Discard, nil)),
		Flush: 5 * time.Millisecond, Lease: time.Second, Timeout: 5 * time.Second,
	}
}

func TestRedisIsAStore(t *testing.T) {
	r := redistest.Start(t)
	n := 0
	storetest.Run(t, func(t *testing.T) (here, there responses.Store) {
		n++
		prefix := func(o *redisstore.Options) { o.Prefix = fmt.Sprint("test", n) }
		return open(t, r.Addr, "here", prefix), open(t, r.Addr, "there", prefix)
	})
}

func limited(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not %s", what)
}

func begin(t testing.TB, s responses.Store, id, request string) *storetest.Live {
	t.Helper()
	l, _, _ := storetest.Begin(limited(t), s, "me", id, request)
	return l
}

func id(s string) responses.Key { return responses.Key{Owner: "me", ResponseID: s} }

func follow(t testing.TB, s responses.Store, k responses.Key, after int32) ([]*llmdv1.StreamResponse, error) {
	t.Helper()
	trail, err := s.Follow(limited(t), k, after)
	if err != nil {
		return nil, err
	}
	defer trail.Close()
	var all []*llmdv1.StreamResponse
	for {
		events, err := trail.Next(limited(t))
		all = append(all, events...)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

func text(m *llmdv1.AssistantMessage) string {
	s := ""
	for _, c := range m.GetContent() {
		s += c.GetText().GetText()
	}
	return s
}

// A process that dies leaves its responses aborted, with what it had written; the
// end is made once, whoever finds it.
func TestLost(t *testing.T) {
	r := redistest.Start(t)
	dead := client(r.Addr)
	a := open(t, r.Addr, "a", func(o *redisstore.Options) { o.Client = dead })
	b, c := open(t, r.Addr, "b", nil), open(t, r.Addr, "c", nil)
	l := begin(t, a, "a.1", "q")
	l.Say("Hello", " world")
	eventually(t, "written", func() bool {
		m, err := b.Message(limited(t), id("a.1"), 0)
		return err == nil && text(m.Message) == "Hello world"
	})
	_ = dead.Close() // it gives no sign of life any more
	got := make(chan []*llmdv1.StreamResponse, 4)
	for _, s := range []responses.Store{b, c, b, c} {
		go func() {
			events, err := follow(t, s, id("a.1"), 1)
			if err != nil {
				t.Error(err)
			}
			got <- events
		}()
	}
	first := <-got
	last := first[len(first)-1]
	if ab := last.GetAborted(); ab.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_INSTANCE_LOST || text(ab.GetMessage()) != "Hello world" ||
		!ab.GetMessage().GetContent()[0].GetText().GetIncomplete() || ab.GetMessage().GetError().GetMetadata()["instance"] != "a" || last.GetSequenceNumber() != 4 {
		t.Errorf("%v", last)
	}
	for range 3 {
		if diff := cmp.Diff(first, <-got, protocmp.Transform()); diff != "" {
			t.Errorf("two ends:\n%s", diff)
		}
	}
	if n := b.Stats().Lost + c.Stats().Lost; n != 1 {
		t.Errorf("ended %d times", n)
	}
	m, err := c.Message(limited(t), responses.Key{Owner: "me", RequestID: "q"}, 0)
	if err != nil || m.Message.GetStopReason() != llmdv1.StopReason_STOP_REASON_ABORTED || m.ExpireTime.IsZero() {
		t.Errorf("%v, %v", m, err)
	}
	// A client may have seen more than was written: it hears of the end all the same.
	if events, err := follow(t, b, id("a.1"), 40); err != nil || len(events) != 1 || events[0].GetAborted() == nil {
		t.Errorf("%v, %v", events, err)
	}
	// A request id of the dead can be used again only as a repetition.
	if _, claimed, err := storetest.Begin(limited(t), b, "me", "b.1", "q"); err != nil || claimed.Known == nil || claimed.Known.ResponseID != "a.1" {
		t.Errorf("%+v, %v", claimed, err)
	}
}

// A process that was away for longer than its lease does not undo the end that
// others made.
func TestFenced(t *testing.T) {
	r := redistest.Start(t)
	gate := client(r.Addr)
	a := open(t, r.Addr, "a", func(o *redisstore.Options) { o.Lease = 300 * time.Millisecond; o.Client = gate })
	b := open(t, r.Addr, "b", func(o *redisstore.Options) { o.Lease = 300 * time.Millisecond })
	l := begin(t, a, "a.1", "")
	l.Say("one ")
	eventually(t, "written", func() bool {
		m, err := b.Message(limited(t), id("a.1"), 0)
		return err == nil && text(m.Message) == "one "
	})
	ctx := limited(t)
	go func() { _, _ = follow(t, b, id("a.1"), -1) }()
	eventually(t, "held", func() bool { return l.Holds() == 1 })
	admin := client(r.Addr)
	defer func() { _ = admin.Close() }()
	// As if it could not reach Redis: its lease is taken away again and again.
	eventually(t, "ended", func() bool {
		keys, _ := admin.Keys(ctx, "test:i:a#*").Result()
		if len(keys) > 0 {
			admin.Del(ctx, keys...)
		}
		m, err := b.Message(ctx, id("a.1"), 0)
		return err == nil && m.Message.GetStopReason() == llmdv1.StopReason_STOP_REASON_ABORTED
	})
	l.Say("two ")
	eventually(t, "fenced", func() bool { return a.Stats().Fenced == 1 })
	fenced := time.Now()
	eventually(t, "let go of", func() bool { return l.Holds() == 0 })
	if took := time.Since(fenced); took > 12*time.Second { // nobody would let go of it for 15
		t.Errorf("nobody can follow it any more, and it was held for another %s", took)
	}
	l.End()
	m, err := b.Message(ctx, id("a.1"), 0)
	if err != nil || text(m.Message) != "one " || m.Message.GetStopReason() != llmdv1.StopReason_STOP_REASON_ABORTED {
		t.Errorf("%v, %v", m, err)
	}
	_ = gate
}

// Redis that is gone, and comes back empty, costs the older events: a snapshot stands
// for them.
func TestRedisRestarts(t *testing.T) {
	r := redistest.Start(t)
	a, b := open(t, r.Addr, "a", nil), open(t, r.Addr, "b", nil)
	l := begin(t, a, "a.1", "q")
	l.Say("one ", "two ")
	idle := begin(t, a, "a.2", "")
	eventually(t, "written", func() bool {
		m, err := b.Message(limited(t), id("a.1"), 0)
		return err == nil && text(m.Message) == "one two "
	})
	r.Kill()
	l.Say("three ")
	var gone *responses.UnavailableError
	eventually(t, "an error that names it", func() bool { _, err := b.Message(limited(t), id("a.1"), 0); return errors.As(err, &gone) })
	if gone.Kind != "unreachable" {
		t.Errorf("kind %q", gone.Kind)
	}
	if _, c, err := storetest.Begin(limited(t), a, "me", "a.3", "q3"); !errors.As(err, &gone) || c.Known != nil {
		t.Errorf("a claim without Redis: %+v, %v", c, err)
	}
	if m, err := a.Message(limited(t), id("a.1"), 0); err != nil || text(m.Message) != "one two three " {
		t.Errorf("in its own process: %v, %v", m, err)
	}
	meanwhile, _, _ := storetest.Begin(limited(t), a, "me", "a.4", "q4")
	meanwhile.Say("meanwhile")
	meanwhile.End()
	r.Run()
	eventually(t, "what came and went meanwhile", func() bool {
		m, err := b.Message(limited(t), responses.Key{Owner: "me", RequestID: "q4"}, 0)
		return err == nil && text(m.Message) == "meanwhile" && !m.ExpireTime.IsZero()
	})
	l.Say("four ")
	eventually(t, "back", func() bool {
		m, err := b.Message(limited(t), id("a.1"), 0)
		return err == nil && text(m.Message) == "one two three four "
	})
	eventually(t, "the idle one back", func() bool { _, err := b.Known(limited(t), id("a.2")); return err == nil })
	eventually(t, "the request id back", func() bool {
		_, err := b.Known(limited(t), responses.Key{Owner: "me", RequestID: "q"})
		return err == nil
	})
	l.Say("five ")
	l.End()
	idle.End()
	all := l.Events()
	events, err := follow(t, b, id("a.1"), 2)
	if err != nil || events[0].GetStarted() == nil || events[1].GetSnapshot() == nil {
		t.Fatalf("%v, %v", events, err)
	}
	k := events[1].GetSequenceNumber()
	if diff := cmp.Diff(all[k+1:], events[2:], protocmp.Transform()); diff != "" {
		t.Errorf("behind the snapshot:\n%s", diff)
	}
	// Who has seen what the snapshot stands for goes on exactly.
	events, err = follow(t, b, id("a.1"), k)
	if diff := cmp.Diff(all[k+1:], events, protocmp.Transform()); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// A full Redis takes nothing; what waits is bounded, and a snapshot mends it.
func TestRedisFull(t *testing.T) {
	r := redistest.Start(t)
	admin := client(r.Addr)
	defer func() { _ = admin.Close() }()
	ctx := limited(t)
	var log bytes.Buffer
	a := open(t, r.Addr, "a", func(o *redisstore.Options) {
		o.BufferBytes = 20 << 10
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	b := open(t, r.Addr, "b", nil)
	l := begin(t, a, "a.1", "")
	l.Say("a")
	eventually(t, "written", func() bool { _, err := b.Known(ctx, id("a.1")); return err == nil })
	admin.ConfigSet(ctx, "maxmemory", "1")
	for i := range 200 {
		l.Say(strings.Repeat("x", 1000))
		if i%20 == 0 {
			time.Sleep(20 * time.Millisecond)
		}
	}
	eventually(t, "dropped", func() bool { s := a.Stats(); return s.Dropped > 0 && s.Writing == "full" && s.BufferedBytes < 60<<10 })
	if _, err := b.Message(ctx, id("a.1"), 0); err != nil {
		t.Errorf("a full Redis can be read: %v", err)
	}
	admin.ConfigSet(ctx, "maxmemory", "0")
	l.End()
	eventually(t, "written", func() bool {
		m, err := b.Message(ctx, id("a.1"), 0)
		return err == nil && len(text(m.Message)) == 200_001 && !m.ExpireTime.IsZero()
	})
	if s := a.Stats(); s.Writing != "" || s.Checkpoints == 0 {
		t.Errorf("%+v", s)
	}
	if !strings.Contains(log.String(), "cannot be written") || !strings.Contains(log.String(), "again") || strings.Contains(log.String(), "xxx") {
		t.Errorf("log: %s", log.String())
	}
}

// A Redis that hangs holds nothing up for longer than the timeout, and then not at all.
func TestRedisHangs(t *testing.T) {
	r := redistest.Start(t)
	a := open(t, r.Addr, "a", func(o *redisstore.Options) { o.Timeout = 100 * time.Millisecond })
	l := begin(t, a, "a.1", "")
	eventually(t, "written", func() bool { return a.Stats().Entries > 0 })
	r.Freeze()
	defer r.Thaw()
	began := time.Now()
	for i := range 1000 {
		l.Say(storetest.Word(i))
	}
	if d := time.Since(began); d > 20*time.Second { // a timeout for each would be 100 s
		t.Errorf("1,000 events took %v", d)
	}
	eventually(t, "seen to hang", func() bool { return a.Stats().Writing == "timeout" })
	// Who does not ask, since others did just now, hears their very error.
	told := map[error]bool{}
	for i := range 20 {
		_, _, err := storetest.Begin(limited(t), a, "me", fmt.Sprint("a.q", i), fmt.Sprint("q", i))
		if err == nil {
			t.Error("a claim in a Redis that hangs")
		}
		told[err] = true
	}
	if len(told) > 10 {
		t.Errorf("%d of 20 claims waited", len(told))
	}
	r.Thaw()
	eventually(t, "back", func() bool { return a.Stats().Writing == "" && a.Stats().BufferedBytes == 0 })
}

// Bounds of one response and of all.
func TestBounds(t *testing.T) {
	r := redistest.Start(t)
	small := func(o *redisstore.Options) { o.MaxResponseBytes = 64 << 10; o.MaxBytes = 300 << 10 }
	a, b := open(t, r.Addr, "a", small), open(t, r.Addr, "b", nil)
	var met atomic.Int64
	a.OnLimit(func(limit string) {
		if limit == "shared_store" {
			met.Add(1)
		}
	})
	long := begin(t, a, "a.long", "")
	for range 80 {
		said := a.Stats().Events
		long.Say(strings.Repeat("x", 1000))
		eventually(t, "written", func() bool { return a.Stats().Events > said })
	}
	if a.Stats().Checkpoints == 0 {
		t.Error("no snapshot")
	}
	// Its content is more than may be kept: it cannot be taken up from its beginning.
	eventually(t, "gone", func() bool {
		trail, err := b.Follow(limited(t), id("a.long"), 3)
		if err != nil {
			return false
		}
		defer trail.Close()
		_, err = trail.Next(limited(t))
		return errors.Is(err, responses.ErrGone)
	})
	if m, err := b.Message(limited(t), id("a.long"), 0); err != nil || !m.ContentOmitted {
		t.Errorf("its message: %v, %v", m, err)
	}
	long.End()
	eventually(t, "its end", func() bool {
		m, err := b.Message(limited(t), id("a.long"), 0)
		return err == nil && !m.ExpireTime.IsZero()
	})
	for i := range 20 {
		l := begin(t, a, fmt.Sprint("a.", i), "")
		l.Say(strings.Repeat("w", 30<<10))
		l.End()
		eventually(t, "written", func() bool { return a.Stats().Running == 0 })
	}
	eventually(t, "bounded", func() bool { return a.Stats().StoredBytes <= 300<<10 })
	if n := a.Stats().Forgotten; n == 0 || met.Load() != n {
		t.Errorf("%d made room, %d were told of", n, met.Load())
	}
	if _, err := b.Known(limited(t), id("a.0")); !errors.Is(err, responses.ErrNotFound) {
		t.Errorf("the oldest: %v", err)
	}
	if _, err := b.Known(limited(t), id("a.19")); err != nil {
		t.Errorf("the newest: %v", err)
	}
}

// Nothing that callers or models say, and no name of theirs, is readable in Redis;
// keys can be replaced one after the other.
func TestEncryption(t *testing.T) {
	r := redistest.Start(t)
	a := open(t, r.Addr, "a", nil)
	both := open(t, r.Addr, "b", func(o *redisstore.Options) { o.Keys = []redisstore.Key{key("k2", 2), key("k1", 1)} })
	other := open(t, r.Addr, "c", func(o *redisstore.Options) { o.Keys = []redisstore.Key{key("k2", 2)} })
	wrong := open(t, r.Addr, "d", func(o *redisstore.Options) { o.Keys = []redisstore.Key{key("k1", 9)}; o.Lease = time.Minute })
	l, _, _ := storetest.Begin(limited(t), a, "secret-owner", "a.1", "secret-request")
	l.Say("secret-answer")
	l.End()
	if _, err := a.Abort(limited(t), responses.Key{Owner: "secret-owner", RequestID: "secret-later"}, "secret-reason"); !errors.Is(err, responses.ErrNotFound) {
		t.Fatal(err)
	}
	k := responses.Key{Owner: "secret-owner", RequestID: "secret-request"}
	eventually(t, "written", func() bool {
		m, err := both.Message(limited(t), k, 0)
		return err == nil && text(m.Message) == "secret-answer"
	})
	for _, s := range []responses.Store{other, wrong} {
		if _, err := s.Message(limited(t), k, 0); !errors.Is(err, responses.ErrNotFound) {
			t.Errorf("without the key: %v", err)
		}
	}
	// What is unknown need not be waited for.
	begun := time.Now()
	if _, c, err := storetest.Begin(limited(t), wrong, "secret-owner", "d.1", "secret-request"); err != nil || c.Known != nil || time.Since(begun) > 30*time.Second {
		t.Errorf("a claim without the key took %s: %+v, %v", time.Since(begun), c, err)
	}
	admin := client(r.Addr)
	defer func() { _ = admin.Close() }()
	ctx := limited(t)
	keys, err := admin.Keys(ctx, "*").Result()
	if err != nil || len(keys) < 4 {
		t.Fatal(keys, err)
	}
	for _, name := range keys {
		dump, err := admin.Dump(ctx, name).Result()
		if err != nil || strings.Contains(name+dump, "secret") {
			t.Errorf("%s is readable: %q, %v", name, dump, err)
		}
	}
	if _, err := redisstore.New(redisstore.Options{Keys: []redisstore.Key{{ID: "k", Secret: []byte("short")}}}); err == nil {
		t.Error("a short key is taken")
	}
}

// Writes go in batches: one round trip for the events of all responses in an interval.
func TestBatches(t *testing.T) {
	r := redistest.Start(t)
	a := open(t, r.Addr, "a", func(o *redisstore.Options) { o.Flush = 50 * time.Millisecond })
	begun := time.Now()
	var lives []*storetest.Live
	for i := range 50 {
		lives = append(lives, begin(t, a, fmt.Sprint("a.", i), ""))
	}
	for w := range 100 {
		for _, l := range lives {
			l.Say(storetest.Word(w))
		}
		time.Sleep(time.Millisecond)
	}
	for _, l := range lives {
		l.End()
	}
	eventually(t, "written", func() bool { return a.Stats().Running == 0 })
	most := int64(time.Since(begun)/(50*time.Millisecond)) + 10
	if s := a.Stats(); s.Events < 50*100 || s.Flushes > most {
		t.Errorf("%d events in %d entries and %d round trips, not %d", s.Events, s.Entries, s.Flushes, most)
	}
}

// Who can write to Redis, but has no key, can neither abort a response nor move
// another's events into it.
func TestForged(t *testing.T) {
	r := redistest.Start(t)
	a, b := open(t, r.Addr, "a", nil), open(t, r.Addr, "b", nil)
	l, other := begin(t, a, "a.1", ""), begin(t, a, "a.2", "")
	l.Say("mine")
	other.Say("other")
	for _, name := range []string{"a.1", "a.2"} {
		eventually(t, "written", func() bool { m, err := b.Message(limited(t), id(name), 0); return err == nil && text(m.Message) != "" })
	}
	admin, ctx := client(r.Addr), limited(t)
	defer func() { _ = admin.Close() }()
	hashes, err := admin.Keys(ctx, "test:{*}:m").Result()
	if err != nil || len(hashes) != 2 {
		t.Fatal(hashes, err)
	}
	for i, h := range hashes {
		digest := strings.TrimSuffix(strings.TrimPrefix(h, "test:{"), "}:m")
		token := admin.HGet(ctx, h, "t").Val()
		admin.HSet(ctx, h, "a", "not sealed")
		admin.Publish(ctx, "test:c:"+token, "a"+digest+"not sealed")
		from := strings.Replace(hashes[1-i], "}:m", "}:e", 1)
		admin.Copy(ctx, from, strings.Replace(h, "}:m", "}:moved", 1), 0, true)
	}
	for _, h := range hashes {
		admin.Rename(ctx, strings.Replace(h, "}:m", "}:moved", 1), strings.Replace(h, "}:m", "}:e", 1))
	}
	var failed *responses.UnavailableError
	if m, err := b.Message(ctx, id("a.1"), 0); !errors.As(err, &failed) || failed.Kind != "failed" {
		t.Errorf("another's events are read: %v, %v", m, err)
	}
	l.Say(" more")
	time.Sleep(500 * time.Millisecond)
	select {
	case <-l.Done():
		t.Error("an abort that was not sealed was heeded")
	default:
	}
	l.End()
	other.End()
}

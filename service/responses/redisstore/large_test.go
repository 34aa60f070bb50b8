package redisstore_test

import (
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/redistest"
	"github.com/llmd-dev/llmd/service/responses"
	"github.com/llmd-dev/llmd/service/responses/redisstore"
)

// A message too large for a snapshot gives up its oldest events. Who follows it closely,
// in another process, sees every event all the same.
func TestFollowersOfALargeResponse(t *testing.T) {
	r := redistest.Start(t)
	a := open(t, r.Addr, "a", func(o *redisstore.Options) { o.MaxResponseBytes = 64 << 10 })
	b := open(t, r.Addr, "b", nil)
	l := begin(t, a, "a.1", "")
	eventually(t, "known", func() bool { _, err := b.Known(limited(t), id("a.1")); return err == nil })
	trail, err := b.Follow(limited(t), id("a.1"), -1)
	if err != nil {
		t.Fatal(err)
	}
	defer trail.Close()
	var seen atomic.Int64
	var got []*llmdv1.StreamResponse
	over := make(chan error, 1)
	go func() {
		for {
			events, err := trail.Next(limited(t))
			got = append(got, events...)
			seen.Store(int64(len(got)))
			if err != nil {
				over <- err
				return
			}
		}
	}()
	for i := range 300 {
		l.Say(strings.Repeat("x", 1000))
		eventually(t, "followed closely", func() bool { return seen.Load() > int64(i-5) || len(over) > 0 })
	}
	if n := a.Stats().Checkpoints; n < 4 || n > 20 {
		t.Errorf("the oldest events were given up %d times", n)
	}
	if n := a.Stats().StoredBytes; n > 2*64<<10 {
		t.Errorf("%d bytes are kept", n)
	}
	all := l.Events()
	number := all[len(all)-4].GetSequenceNumber()
	eventually(t, "all written", func() bool { return a.Stats().BufferedBytes == 0 })
	if m, err := b.Message(limited(t), id("a.1"), 0); err != nil || !m.ContentOmitted || len(m.Message.GetContent()) > 0 {
		t.Errorf("a message without its beginning: %v, %v", m, err)
	}
	for _, after := range []int32{-1, 3} {
		late, err := b.Follow(limited(t), id("a.1"), after)
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			var events []*llmdv1.StreamResponse
			if events, err = late.Next(limited(t)); len(events) > 0 {
				t.Fatalf("behind %d: %v", after, events)
			}
		}
		late.Close()
		if !errors.Is(err, responses.ErrGone) {
			t.Errorf("behind %d: %v", after, err)
		}
	}
	eventually(t, "all followed", func() bool { return seen.Load() == int64(len(all)) })
	l.End()
	if err := <-over; !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	made := l.Events()
	if diff := cmp.Diff(all, got[:len(all)], protocmp.Transform()); diff != "" {
		t.Errorf("followed (-made +got):\n%s", diff)
	}
	// What stands for all may be the end itself.
	ends := func(what string, want, got []*llmdv1.StreamResponse) {
		if got[0].GetStarted() != nil && text(got[1].GetSnapshot().GetMessage()) == text(l.Snapshot()) {
			want, got = want[len(want)-1:], got[2:]
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-made +got):\n%s", what, diff)
		}
	}
	ends("the end", made[len(all):], got[len(all):])
	late, err := follow(t, b, id("a.1"), number)
	if err != nil {
		t.Error(err)
	}
	ends("from near the end", made[number+1:], late)
	if m, err := b.Message(limited(t), id("a.1"), 0); err != nil || len(text(m.Message)) != 300_000 {
		t.Errorf("the message behind the end: %d bytes, %v", len(text(m.Message)), err)
	}
}

// A process that dies while the oldest events are given up leaves an end behind them.
func TestLargeResponseLost(t *testing.T) {
	r := redistest.Start(t)
	dead := client(r.Addr)
	a := open(t, r.Addr, "a", func(o *redisstore.Options) { o.MaxResponseBytes = 64 << 10; o.Client = dead })
	b := open(t, r.Addr, "b", nil)
	l := begin(t, a, "a.1", "")
	for range 100 {
		said := a.Stats().Events
		l.Say(strings.Repeat("x", 1000))
		eventually(t, "written", func() bool { return a.Stats().Events > said })
	}
	all := l.Events()
	_ = dead.Close()
	number := all[len(all)-1].GetSequenceNumber()
	for after, count := range map[int32]int{number: 1, number - 4: 5, number + 10: 1} {
		events, err := follow(t, b, id("a.1"), after)
		if err != nil || len(events) != count {
			t.Fatalf("behind %d: %d events, %v", after, len(events), err)
		}
		last := events[count-1]
		if ab := last.GetAborted(); ab.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_INSTANCE_LOST || !ab.GetContentOmitted() ||
			ab.GetMessage().GetProvider() != "p" || last.GetSequenceNumber() != number+1 {
			t.Errorf("behind %d: %v", after, last)
		}
	}
}

package redisstore_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/llmd-dev/llmd/integration/redistest"
	"github.com/llmd-dev/llmd/service/responses/redisstore"
)

// When a store is closed neither a goroutine nor a connection is left, whatever it was
// doing, nor a key that does not expire.
func TestNothingIsLeft(t *testing.T) {
	r := redistest.Start(t)
	admin := client(r.Addr)
	defer func() { _ = admin.Close() }()
	if err := admin.Ping(limited(t)).Err(); err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	connections := func() int {
		list, err := admin.ClientList(limited(t)).Result()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(list, "\n")
	}
	alone := connections()
	var stores []*redisstore.Store
	for _, name := range []string{"a", "b"} {
		s, err := redisstore.New(options(client(r.Addr), name))
		if err != nil {
			t.Fatal(err)
		}
		stores = append(stores, s)
	}
	a, b := stores[0], stores[1]
	running, ended := begin(t, a, "a.1", "q"), begin(t, a, "a.2", "")
	running.Say("Hello")
	ended.End()
	written(t, b, "a.1", "Hello")
	ctx, cut := context.WithCancel(limited(t))
	trail, err := b.Follow(ctx, id("a.1"), -1)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		go func() { _, _ = b.Message(ctx, id("a.1"), time.Minute) }()
	}
	if _, err := trail.Next(ctx); err != nil {
		t.Fatal(err)
	}
	r.Freeze()
	time.Sleep(100 * time.Millisecond) // questions wait for it
	cut()
	trail.Close()
	r.Thaw()
	a.Close()
	b.Close()
	eventually(t, "without connections", func() bool { return connections() == alone })
	eventually(t, "without goroutines", func() bool { return runtime.NumGoroutine() <= before })
	keys, err := admin.Keys(limited(t), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if ttl := admin.PTTL(limited(t), k).Val(); ttl <= 0 {
			t.Errorf("%s stays for ever", k)
		}
	}
}

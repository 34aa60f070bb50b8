package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
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

// answers asks all that can be asked about a response of another process, and claims a
// request id, as one does while Redis fails: each answer comes, and is right or names the
// failure. It says whether all were right.
func answers(t *testing.T, s responses.Store, k responses.Key, n int) (well bool) {
	t.Helper()
	well = true
	check := func(what string, err error) {
		t.Helper()
		var failed *responses.UnavailableError
		switch {
		case err == nil:
		case errors.As(err, &failed) && failed.Kind != "":
			well = false
		default:
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := s.Message(limited(t), k, 0)
	check("Message", err)
	_, err = s.Known(limited(t), k)
	check("Known", err)
	trail, err := s.Follow(limited(t), k, -1)
	if err == nil {
		ctx, cancel := context.WithTimeout(limited(t), 50*time.Millisecond)
		if _, err = trail.Next(ctx); errors.Is(err, context.DeadlineExceeded) {
			well, err = false, nil // it waits for Redis, as long as it may
		}
		cancel()
		trail.Close()
	}
	check("Follow", err)
	_, err = s.Abort(limited(t), responses.Key{Owner: "me", RequestID: fmt.Sprint("nobody", n)}, "")
	if errors.Is(err, responses.ErrNotFound) {
		err = nil
	}
	check("Abort", err)
	l, c, err := storetest.Begin(limited(t), s, "me", fmt.Sprint("claimed", n), fmt.Sprint("claim", n))
	check("Claim", err)
	if c.Known != nil || c.Aborted {
		t.Errorf("Claim: %+v", c)
	}
	l.End() // it runs all the same
	return well
}

// throughFailover runs a response through what fail does, and what that brings about.
func throughFailover(t *testing.T, prefix string, connection redisstore.Connection, fail func()) {
	t.Helper()
	connection.Timeout = 2 * time.Second
	share := func(o *redisstore.Options) {
		o.Client = redisstore.Connect(connection)
		o.Prefix, o.Lease, o.Timeout = prefix, 30*time.Second, connection.Timeout
	}
	a, b := open(t, "", "a", share), open(t, "", "b", share)
	l := begin(t, a, "a.1", "q")
	l.Say("one ", "two ")
	written(t, b, "a.1", "one two ")
	followed := make(chan []*llmdv1.StreamResponse, 1)
	trail, err := b.Follow(limited(t), id("a.1"), -1)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer trail.Close()
		var all []*llmdv1.StreamResponse
		for {
			events, err := trail.Next(limited(t))
			if all = append(all, events...); err != nil {
				if !errors.Is(err, io.EOF) {
					t.Errorf("followed: %v", err)
				}
				followed <- all
				return
			}
		}
	}()
	fail()
	n, failed := 0, 0
	for end, well := time.Now().Add(2*time.Minute), 0; well < 5; n++ { // some of them with the new master
		l.Say(storetest.Word(n))
		if answers(t, b, id("a.1"), n) {
			well++
		} else {
			well = 0
			failed++
		}
		if time.Now().After(end) {
			t.Fatalf("it does not heal: %+v", b.Stats())
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Logf("%d of %d rounds of questions met the failure", failed, n)
	l.End()
	want := text(l.Snapshot())
	eventually(t, "shared again", func() bool {
		m, err := b.Message(limited(t), id("a.1"), 0)
		return err == nil && text(m.Message) == want && !m.ExpireTime.IsZero()
	})
	whole := l.Events()
	for what, got := range map[string][]*llmdv1.StreamResponse{"followed": <-followed, "again": again(t, b, id("a.1"))} {
		got, from := newest(got)
		if diff := cmp.Diff(whole[from:], got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-made +got):\n%s", what, diff)
		}
	}
	next := begin(t, a, "a.2", "q2")
	next.Say("new")
	written(t, b, "a.2", "new")
	next.End()
	if x, y := a.Stats(), b.Stats(); x.Lost+y.Lost+x.Fenced+y.Fenced != 0 {
		t.Errorf("a response was taken for lost: %+v, %+v", x, y)
	}
}

func again(t *testing.T, s responses.Store, k responses.Key) []*llmdv1.StreamResponse {
	t.Helper()
	events, err := follow(t, s, k, -1)
	if err != nil {
		t.Error(err)
	}
	return events
}

// newest is what follows the last snapshot that a stream began anew from, and the number
// of the first event of that.
func newest(events []*llmdv1.StreamResponse) (rest []*llmdv1.StreamResponse, from int32) {
	for i := len(events) - 1; i > 0; i-- {
		if events[i].GetSnapshot() != nil {
			return events[i+1:], events[i].GetSequenceNumber() + 1
		}
	}
	return events, 0
}

// A sentinel promotes a replica where the master dies.
func TestSentinelFailover(t *testing.T) {
	const name = "shared"
	master := redistest.Start(t)
	host, port, _ := strings.Cut(master.Addr, ":")
	replica := redistest.Start(t, "--replicaof", host+" "+port)
	sentinel := redistest.Sentinel(t, name, master)
	watch := redis.NewSentinelClient(&redis.Options{Addr: sentinel.Addr})
	defer func() { _ = watch.Close() }()
	second := client(replica.Addr)
	defer func() { _ = second.Close() }()
	eventually(t, "a replica", func() bool {
		known, err := watch.Replicas(limited(t), name).Result()
		info, _ := second.Info(limited(t), "replication").Result()
		return err == nil && len(known) == 1 && known[0]["master-link-status"] == "ok" && strings.Contains(info, "master_link_status:up")
	})
	synced := func() {
		eventually(t, "synchronised", func() bool {
			one, two := offset(t, master.Addr), offset(t, replica.Addr)
			return one != "" && one == two
		})
	}
	throughFailover(t, "killed", redisstore.Connection{Addresses: []string{sentinel.Addr}, SentinelMaster: name}, func() {
		synced()
		// A busy machine may have made it change its mind before.
		at, err := watch.GetMasterAddrByName(limited(t), name).Result()
		if err != nil {
			t.Fatal(err)
		}
		if at[1] == port {
			master.Kill()
		} else {
			replica.Kill()
		}
	})
	// The other way: a master that lives, and is told to be a replica, answers READONLY.
	if at, err := watch.GetMasterAddrByName(limited(t), name).Result(); err != nil || at[1] == port {
		t.Errorf("the master is %v, %v", at, err)
	}
	master.Run()
	first := client(master.Addr)
	defer func() { _ = first.Close() }()
	eventually(t, "a replica again", func() bool {
		info, _ := first.Info(limited(t), "replication").Result()
		return strings.Contains(info, "role:slave") && strings.Contains(info, "master_link_status:up")
	})
	throughFailover(t, "told", redisstore.Connection{Addresses: []string{sentinel.Addr}, SentinelMaster: name}, func() {
		synced()
		eventually(t, "told", func() bool { return watch.Failover(limited(t), name).Err() == nil })
	})
}

// offset is how far a server's replication is.
func offset(t *testing.T, addr string) string {
	t.Helper()
	c := client(addr)
	defer func() { _ = c.Close() }()
	info, _ := c.Info(limited(t), "replication").Result()
	for line := range strings.Lines(info) {
		if n, ok := strings.CutPrefix(line, "master_repl_offset:"); ok {
			return n
		}
	}
	return ""
}

// A cluster promotes a replica where a master dies; until then it answers CLUSTERDOWN, or
// not at all.
func TestClusterFailover(t *testing.T) {
	if testing.Short() {
		t.Skip("the sentinel's will do")
	}
	cli, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Skip("no redis-cli in PATH, which makes a cluster: apt-get install redis-tools")
	}
	servers := map[string]*redistest.Server{}
	args := []string{"--cluster", "create"}
	for range 6 {
		s := node(t, "--cluster-node-timeout", "2000", "--repl-diskless-sync-delay", "0")
		servers[s.Addr] = s
		args = append(args, s.Addr)
	}
	if out, err := exec.Command(cli, append(args, "--cluster-replicas", "1", "--cluster-yes")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for addr := range servers {
		serves(t, addr)
		c := client(addr)
		eventually(t, "told of all replicas", func() bool {
			nodes, _ := c.ClusterNodes(limited(t)).Result()
			return strings.Count(nodes, "slave ") == 3 && strings.Count(nodes, "master ") == 3 && strings.Count(nodes, "connected") == 6
		})
		_ = c.Close()
	}
	connection := redisstore.Connection{Addresses: args[2:], Cluster: true, Timeout: 2 * time.Second}
	throughFailover(t, "test", connection, func() {
		eventually(t, "all synchronised", func() bool {
			for addr := range servers {
				c := client(addr)
				info, _ := c.Info(limited(t), "replication").Result()
				_ = c.Close()
				if strings.Contains(info, "role:slave") && !strings.Contains(info, "master_link_status:up") || strings.Contains(info, "connected_slaves:0") && strings.Contains(info, "role:master") {
					return false
				}
			}
			return true
		})
		// The master of the response.
		c := redisstore.Connect(connection)
		defer func() { _ = c.Close() }()
		cluster, _ := c.(*redis.ClusterClient)
		var name string
		_ = cluster.ForEachMaster(limited(t), func(ctx context.Context, m *redis.Client) error {
			if keys, err := m.Keys(ctx, "test:{*}:e").Result(); err == nil && len(keys) > 0 {
				name = keys[0]
			}
			return nil
		})
		m, err := cluster.MasterForKey(limited(t), name)
		if err != nil {
			t.Fatal(err)
		}
		own := m.Conn() // what was written before is with the replica
		defer func() { _ = own.Close() }()
		own.Set(limited(t), name+"w", "", time.Second)
		if n, err := own.Do(limited(t), "WAIT", 1, 60_000).Int(); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		servers[m.Options().Addr].Kill()
	})
}

package redisstore_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llmd-dev/llmd/integration/redistest"
	"github.com/llmd-dev/llmd/service/responses"
	"github.com/llmd-dev/llmd/service/responses/redisstore"
)

// gate stands before a Redis, and may answer in its place.
type gate struct {
	addr, redis string

	mu     sync.Mutex
	answer string // to all commands; "" = Redis answers
	conns  map[net.Conn]bool
}

func newGate(t *testing.T, redis string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	g := &gate{addr: l.Addr().String(), redis: redis, conns: map[net.Conn]bool{}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go g.serve(c)
		}
	}()
	return g
}

// say answers all with an error from now on; "" = Redis answers again.
func (g *gate) say(answer string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answer = answer
	for c := range g.conns {
		_ = c.Close()
	}
	clear(g.conns)
}

func (g *gate) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	g.mu.Lock()
	answer := g.answer
	g.conns[c] = true
	g.mu.Unlock()
	if answer == "" {
		up, err := net.Dial("tcp", g.redis)
		if err != nil {
			return
		}
		defer func() { _ = up.Close() }()
		go func() { _, _ = io.Copy(up, c); _ = up.Close() }()
		_, _ = io.Copy(c, up)
		return
	}
	r := bufio.NewReader(c)
	for {
		name, err := command(r)
		if err != nil {
			return
		}
		reply := "-" + answer + "\r\n"
		if strings.EqualFold(name, "hello") && !strings.HasPrefix(answer, "ERR max") {
			reply = "%0\r\n"
		}
		if _, err := io.WriteString(c, reply); err != nil {
			return
		}
	}
}

// command reads one command and returns its name.
func command(r *bufio.Reader) (name string, err error) {
	number := func(mark byte) (n int) {
		var line string
		if line, err = r.ReadString('\n'); err == nil && line[0] == mark {
			n, err = strconv.Atoi(strings.TrimSpace(line[1:]))
		}
		return n
	}
	for i, n := 0, number('*'); i < n && err == nil; i++ {
		word := make([]byte, number('$')+2)
		if _, err = io.ReadFull(r, word); err == nil && i == 0 {
			name = string(word[:len(word)-2])
		}
	}
	return name, err
}

// What a Redis answers that is not itself: while another takes its place, while it reads
// its data, when it takes no more. All who ask hear that it cannot be asked, nothing is
// taken for gone, and it heals.
func TestRefusals(t *testing.T) {
	r := redistest.Start(t)
	g := newGate(t, r.Addr)
	short := func(o *redisstore.Options) { o.Lease = 30 * time.Second }
	a, b := open(t, g.addr, "a", short), open(t, g.addr, "b", short)
	l := begin(t, a, "a.1", "q")
	l.Say("Hello")
	written(t, b, "a.1", "Hello")
	n := 0
	for _, c := range []struct{ answer, kind string }{
		{"CLUSTERDOWN The cluster is down", "failed"},
		{"CLUSTERDOWN Hash slot not served", "failed"},
		{"LOADING Redis is loading the dataset in memory", "failed"},
		{"READONLY You can't write against a read only replica.", "failed"},
		{"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", "failed"},
		{"TRYAGAIN Multiple keys request during rehashing of slot", "failed"},
		{"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", "failed"},
		{"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.", "failed"},
		{"NOREPLICAS Not enough good replicas to write.", "failed"},
		{"OOM command not allowed when used memory > 'maxmemory'.", "full"},
		{"NOPERM this user has no permissions to run the 'evalsha' command", "refused"},
		{"ERR max number of clients reached", "refused"},
		{"ERR unknown command 'EVALSHA'", "failed"},
		// Redis 6 tells so of what happens in a script.
		{"ERR Error running script (call to f_2d): @user_script:1: @user_script: 1: -OOM command not allowed when used memory > 'maxmemory'. ", "full"},
		{"ERR Error running script (call to f_2d): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica. ", "failed"},
	} {
		t.Run(c.answer, func(t *testing.T) {
			g.say(c.answer)
			eventually(t, "told", func() bool {
				var failed *responses.UnavailableError
				_, err := b.Message(limited(t), id("a.1"), 0)
				return errors.As(err, &failed) && failed.Kind == c.kind
			})
			for range 3 {
				n++
				if answers(t, b, id("a.1"), n) {
					t.Error("all went well")
				}
			}
			said := a.Stats().Failures
			l.Say(fmt.Sprint(" ", n))
			eventually(t, "tried", func() bool { return a.Stats().Failures > said })
			g.say("")
			want := text(l.Snapshot())
			eventually(t, "healed", func() bool {
				m, err := b.Message(limited(t), id("a.1"), 0)
				return err == nil && text(m.Message) == want
			})
			eventually(t, "all healed", func() bool { n++; return answers(t, b, id("a.1"), n) })
		})
	}
	l.End()
	if events, err := follow(t, b, id("a.1"), -1); err != nil {
		t.Error(err)
	} else if rest, from := newest(events); text(events[len(events)-1].GetDone().GetMessage()) != text(l.Snapshot()) || int(from)+len(rest) != len(l.Events()) {
		t.Errorf("%v", events)
	}
}

package procs

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// machine has so many processors by itself, and remembers what it was told.
type machine struct {
	mu   sync.Mutex
	all  int
	now  int
	told []int
}

func (m *machine) number() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *machine) use(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = n
	m.told = append(m.told, n)
}

func (m *machine) useAll() { m.use(m.all) }

func follow(t *testing.T, all int, others func() int64, test func(c *Calls, m *machine)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, m := NewCalls(), &machine{all: all, now: all}
		f := newFollower(c, others, m)
		go f.run()
		synctest.Wait()
		test(c, m)
		f.stop()
		if m.number() != m.all {
			t.Errorf("%d processors are left at the end, want %d", m.number(), m.all)
		}
	})
}

func none() int64 { return 0 }

// As many as there are calls, in steps of powers of two, up to all; fewer only after a
// while in which there were fewer calls.
func TestFollow(t *testing.T) {
	follow(t, 6, none, func(c *Calls, m *machine) {
		for i, want := range []int{1, 2, 4, 4, 6, 6, 6, 6} {
			c.Begin()
			synctest.Wait()
			if got := m.number(); got != want {
				t.Errorf("%d processors for %d calls, want %d", got, i+1, want)
			}
		}
		for range 6 {
			c.End()
		}
		synctest.Wait()
		if m.number() != 6 {
			t.Errorf("%d processors at once, want the 6 of before", m.number())
		}
		time.Sleep(2*look + 1)
		if m.number() != 2 {
			t.Errorf("%d processors for 2 calls, want 2", m.number())
		}
		c.End()
		c.End()
		time.Sleep(time.Hour)
		c.Begin() // a call at a time changes nothing
		c.End()
		synctest.Wait()
		if want := []int{1, 2, 4, 6, 2, 1}; !slices.Equal(m.told, want) {
			t.Errorf("the processors were %v, want %v", m.told, want)
		}
	})
}

// Calls that come and go within a look do not move it to and fro.
func TestFollowIsSteady(t *testing.T) {
	follow(t, 2, none, func(c *Calls, m *machine) {
		c.Begin()
		for range 1000 {
			c.Begin()
			time.Sleep(10 * time.Millisecond)
			c.End()
			time.Sleep(10 * time.Millisecond)
		}
		if want := []int{1, 2}; !slices.Equal(m.told, want) {
			t.Errorf("the processors were %v, want %v", m.told, want)
		}
		c.End()
	})
}

// What goes on without a call counts beside the calls, also where it becomes more while
// there is one call at a time, of which nothing is told.
func TestOthers(t *testing.T) {
	var left atomic.Int64
	follow(t, 8, left.Load, func(c *Calls, m *machine) {
		for _, step := range []struct {
			calls int
			left  int64
			want  int
		}{{calls: 3, left: 3, want: 8}, {calls: 0, left: 3, want: 4}, {calls: 1, left: 0, want: 1}, {calls: 1, left: 4, want: 8}, {calls: 0, left: 0, want: 1}, {calls: 1, left: 1, want: 2}} {
			for range step.calls {
				c.Begin()
			}
			left.Store(step.left)
			time.Sleep(time.Minute)
			if m.number() != step.want {
				t.Errorf("%d processors for %d calls and %d others, want %d", m.number(), step.calls, step.left, step.want)
			}
			for range step.calls {
				c.End()
			}
		}
	})
}

// The limits of a container may change: what Go then uses by itself counts.
func TestMachineChanges(t *testing.T) {
	follow(t, 2, none, func(c *Calls, m *machine) {
		m.mu.Lock()
		m.all = 4
		m.mu.Unlock()
		for range 5 {
			c.Begin()
		}
		synctest.Wait()
		if m.number() != 4 {
			t.Errorf("%d processors, want 4", m.number())
		}
	})
}

// Calls that begin while there are about to be fewer are seen.
func TestRace(t *testing.T) {
	c, m := NewCalls(), &machine{all: 2, now: 2}
	f := newFollower(c, none, m)
	f.set(2)
	c.Begin()
	c.Begin() // there are enough: nothing is told
	f.set(1)  // by what was so before
	select {
	case <-c.more:
	default:
		t.Error("two calls stay with one processor")
	}
}

// Go's own processors: one without calls, all in the end, and untouched where the
// environment says how many.
func TestProcess(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	runtime.SetDefaultGOMAXPROCS()
	all := runtime.GOMAXPROCS(0)
	stop := Follow(NewCalls(), none)
	for deadline := time.Now().Add(10 * time.Second); runtime.GOMAXPROCS(0) != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d processors without calls", runtime.GOMAXPROCS(0))
		}
	}
	stop()
	if got := runtime.GOMAXPROCS(0); got != all {
		t.Errorf("%d processors in the end, want %d", got, all)
	}
	t.Setenv("GOMAXPROCS", "3")
	Follow(NewCalls(), none)()
	if got := runtime.GOMAXPROCS(0); got != all {
		t.Errorf("%d processors though the environment has been asked, want %d", got, all)
	}
}

// Nobody has to count.
func TestNil(*testing.T) {
	var c *Calls
	c.Begin()
	c.End()
}

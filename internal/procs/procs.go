// Package procs sets how many processors Go uses by how many calls are at work.
//
// Go wakes an idle thread whenever a goroutine becomes ready, so that it may run beside
// the one that made it so. But a call is a chain of goroutines that wait for each other:
// the thread finds nothing to do, or takes the next link of the chain to another
// processor. With one call at a time that is a quarter of what the call costs, and more
// on large machines, all of whose processors an llmd sees that runs beside its service.
// So there are as many processors as there are calls, rounded up to a power of two, and
// at most as many as Go uses by itself.
//
// See https://pkg.go.dev/runtime#GOMAXPROCS.
package procs

import (
	"math"
	"math/bits"
	"os"
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// look is how often it is seen whether fewer are enough. A change stops all goroutines
	// for some tens of microseconds, so that even one at each look costs next to nothing.
	look = 100 * time.Millisecond
	// rest is how often it is seen whether there are more others, while there is one
	// processor and nothing to give back: a process that does nothing should sleep.
	rest = time.Second
)

// Calls counts the calls that are at work. A nil one counts nothing.
type Calls struct {
	now  atomic.Int64
	peak atomic.Int64 // of now, since the last look
	// enough is for how many there are processors; more is told when there are more.
	enough atomic.Int64
	more   chan struct{}
}

// NewCalls is a count of none.
func NewCalls() *Calls {
	c := &Calls{more: make(chan struct{}, 1)}
	c.enough.Store(math.MaxInt64) // until somebody follows
	return c
}

// Begin counts a call.
func (c *Calls) Begin() {
	if c == nil {
		return
	}
	n := c.now.Add(1)
	for peak := c.peak.Load(); n > peak && !c.peak.CompareAndSwap(peak, n); {
		peak = c.peak.Load()
	}
	if n > c.enough.Load() {
		c.tell()
	}
}

// Now is how many there are.
func (c *Calls) Now() int64 { return c.now.Load() }

func (c *Calls) tell() {
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// End is called once for each Begin.
func (c *Calls) End() {
	if c != nil {
		c.now.Add(-1)
	}
}

// Follow lets Go use as many processors as there are calls until stop is called, which
// gives it all of them again. others is work that is no call; it is asked now and
// then, since nobody tells when it becomes more. Follow does nothing where the environment says
// GOMAXPROCS: somebody has thought about it.
func Follow(c *Calls, others func() int64) (stop func()) {
	if os.Getenv("GOMAXPROCS") != "" || runtime.GOMAXPROCS(0) == 1 {
		return func() {}
	}
	f := newFollower(c, others, goProcessors{})
	go f.run()
	return f.stop
}

// processors are those that goroutines run on.
type processors interface {
	// number is how many there are now.
	number() int
	// use sets it.
	use(n int)
	// useAll leaves it to Go, which goes by the machine and the limits of the container.
	useAll()
}

type goProcessors struct{}

func (goProcessors) number() int { return runtime.GOMAXPROCS(0) }
func (goProcessors) use(n int)   { runtime.GOMAXPROCS(n) }
func (goProcessors) useAll()     { runtime.SetDefaultGOMAXPROCS() }

type follower struct {
	calls       *Calls
	others      func() int64
	processors  processors
	most        int // what Go uses by itself, as far as is known
	over, ended chan struct{}
}

func newFollower(c *Calls, others func() int64, p processors) *follower {
	return &follower{calls: c, others: others, processors: p, most: p.number(), over: make(chan struct{}), ended: make(chan struct{})}
}

func (f *follower) stop() {
	close(f.over)
	<-f.ended
}

func (f *follower) run() {
	defer close(f.ended)
	f.set(f.want(f.calls.now.Load()))
	timer := time.NewTimer(f.pause())
	defer timer.Stop()
	for {
		select {
		case <-f.over:
			f.set(f.most)
			return
		case <-f.calls.more:
			// Nothing is taken back here: that is for the next look.
			f.set(max(f.want(f.calls.peak.Load()), f.processors.number()))
		case <-timer.C:
			peak := f.calls.peak.Swap(f.calls.now.Load())
			f.set(f.want(peak + f.others()))
		}
		timer.Reset(f.pause())
	}
}

func (f *follower) pause() time.Duration {
	if f.processors.number() == 1 {
		return rest
	}
	return look
}

// want is how many processors there should be for so many calls.
func (f *follower) want(calls int64) int {
	if calls >= int64(f.most) {
		return f.most
	}
	return min(1<<bits.Len64(uint64(max(calls, 1)-1)), f.most)
}

func (f *follower) set(n int) {
	switch {
	case n == f.processors.number():
	case n >= f.most:
		f.processors.useAll()
		f.most = f.processors.number()
	default:
		f.processors.use(n)
	}
	enough := int64(math.MaxInt64)
	if n < f.most {
		enough = int64(n)
	}
	f.calls.enough.Store(enough)
	if f.calls.now.Load() > enough {
		f.calls.tell() // who began just before went by the old number
	}
}

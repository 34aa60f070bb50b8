package gcpace

import (
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"
)

func TestPercent(t *testing.T) {
	for alive, want := range map[uint64]int{0: 400, 4 << 20: 400, 16 << 20: 100, 32 << 20: 50, 48 << 20: 33, 64 << 20: 25, 480 << 20: 25} {
		if got := percent(alive); got != want {
			t.Errorf("%d MiB alive: %d, want %d", alive>>20, got, want)
		}
	}
}

// The pace follows what is alive, under a limit of memory too; and
// Go's own comes back.
func TestStart(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "1GiB")
	stop := Start()
	heap := make([]byte, 100<<20)
	deadline := time.Now().Add(10 * time.Second)
	for current() != 25 {
		if time.Now().After(deadline) {
			t.Fatalf("the pace is %d with 100 MiB alive, want 25", current())
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	runtime.KeepAlive(heap)
	stop()
	if got := current(); got != 100 {
		t.Errorf("the pace is %d at the end", got)
	}
}

// TestStartLeavesSettingsAlone: who sets the pace by the environment gets it.
func TestStartLeavesSettingsAlone(t *testing.T) {
	t.Setenv("GOGC", "70")
	before := current()
	defer Start()()
	runtime.GC()
	time.Sleep(10 * time.Millisecond)
	if got := current(); got != before {
		t.Errorf("the pace is %d, was %d", got, before)
	}
}

func current() int {
	now := debug.SetGCPercent(100)
	debug.SetGCPercent(now)
	return now
}

// TestTidy: what was garbage when it became quiet goes back to the system, although no
// collection was due.
func TestTidy(t *testing.T) {
	t.Setenv("GOGC", "")
	runtime.GC()
	heap := make([]byte, 200<<20) // the next collection is 50 MiB away
	defer runtime.KeepAlive(heap)
	defer Start()()
	runtime.GC()
	cycles := read("/gc/cycles/total:gc-cycles")
	for range 40 {
		garbage = make([]byte, 1<<20)
	}
	garbage = nil
	deadline := time.Now().Add(20 * time.Second)
	for read("/gc/cycles/total:gc-cycles") == cycles {
		if time.Now().After(deadline) {
			t.Fatal("nothing was given back")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

var garbage []byte // so that it is on the heap

// TestTidyOften: a quiet second gives back what was kept for use again, and another one
// what was in use at that time by goroutines that have ended; nothing more.
func TestTidyOften(t *testing.T) {
	var pool sync.Pool
	pool.Put(&[64 << 20]byte{})
	p := &pacer{}
	cycles := func() uint64 { return read("/gc/cycles/total:gc-cycles") }
	look := func(what string, tidies bool) {
		t.Helper()
		before := cycles()
		p.tidy()
		if got := cycles() != before; got != tidies {
			t.Errorf("%s: tidied %v", what, got)
		}
	}
	hold, ended := make(chan struct{}), sync.WaitGroup{}
	for range 100 {
		ended.Go(func() { <-hold })
	}
	look("busy", false)
	look("quiet", true)
	if heap := read("/memory/classes/heap/objects:bytes"); heap > 64<<20 {
		t.Errorf("%d MiB are left: the pool's, too", heap>>20)
	}
	look("quiet again", false)
	close(hold)
	ended.Wait()
	look("with fewer goroutines", true)
	look("quiet again", false)
}

// Package gcpace sets the pace of the garbage collector by what is alive.
//
// Go collects when the heap has doubled. For a server that is mostly small that is
// too often: with 5 MB alive, every hundredth request pays for a collection. And for
// ten thousand open streams it is too rarely: half a gigabyte would be garbage.
//
// Nor does Go know of a container's limit of memory, as it does of its processors: it is
// told, so that it collects more often before the kernel ends the process.
//
// And when nothing happens it does not collect at all for two minutes: what ten
// thousand streams left behind when they began stays while they wait. So a quiet second
// after a busy one gives the memory back.
package gcpace

import (
	"io/fs"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

const (
	// leastRoom is how much is allocated at least between two collections, in bytes.
	leastRoom = 16 << 20
	// share of what is alive that may be allocated between two collections, when that
	// is more: one part in so many.
	share = 4

	// look is how often is looked whether it is quiet, and quiet how much may be
	// allocated between two looks for that, in bytes.
	look  = time.Second
	quiet = 256 << 10
	// fewer goroutines are those that are less by one part in so many.
	fewer = 8
)

// percent is GOGC for so many bytes of heap and stacks that are alive.
func percent(n uint64) int {
	n = max(n, 4<<20) // before the first collection nothing is known
	return int(100 * max(leastRoom, n/share) / n)
}

// Start sets the pace after each collection, and the limit, until stop is called, which
// sets Go's own again. The environment's GOGC and GOMEMLIMIT stand, each for itself:
// somebody has thought about it. The limit is no pace: Go keeps to it whatever GOGC is,
// and collects earlier near it.
func Start() (stop func()) { return start(os.DirFS("/")) }

func start(root fs.FS) (stop func()) {
	p := &pacer{over: make(chan struct{}), root: root, limit: math.MaxInt64}
	p.paces, p.limits = os.Getenv("GOGC") == "", os.Getenv("GOMEMLIMIT") == ""
	if p.limits {
		p.setLimit()
	}
	if p.paces {
		p.set()
		p.await()
	}
	ended := make(chan struct{})
	go func() { defer close(ended); p.look() }()
	return func() {
		p.stopped.Store(true)
		close(p.over)
		<-ended
		if p.paces {
			debug.SetGCPercent(100)
		}
		if p.limits {
			debug.SetMemoryLimit(math.MaxInt64)
		}
	}
}

type pacer struct {
	paces, limits bool
	stopped       atomic.Bool
	over          chan struct{}
	now           int // the percentage in force
	root          fs.FS
	limit         int64 // in force
	// tidied and before are what was allocated at the last tidying and the last look,
	// goroutines how many there were at that tidying.
	tidied, before, goroutines uint64
}

// look does now and then what no collection asks for.
func (p *pacer) look() {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-p.over:
			return
		case <-ticker.C:
		}
		if p.paces {
			p.tidy()
		}
		if p.limits && n%relook == 0 {
			p.setLimit()
		}
	}
}

// tidy gives memory back in a quiet second: at most once for as much as is allocated
// between two collections anyhow, so that it adds little to them. But once more where
// there are fewer goroutines by then: what ended may have held what it had been sending.
func (p *pacer) tidy() {
	allocated, goroutines := read("/gc/heap/allocs:bytes"), read("/sched/goroutines:goroutines")
	grown := allocated-p.tidied > max(leastRoom, alive()/share)
	if allocated-p.before < quiet && (grown || goroutines < p.goroutines-p.goroutines/fewer) {
		runtime.GC() // a sync.Pool lets go at the second collection
		debug.FreeOSMemory()
		allocated = read("/gc/heap/allocs:bytes")
		p.tidied, p.goroutines = allocated, goroutines
	}
	p.before = allocated
}

// setLimit tells Go of the container's limit. What cannot be read, as when the process
// has no files left, raises none.
func (p *pacer) setLimit() {
	limit, whole := memoryLimit(p.root)
	if !whole {
		limit = min(limit, p.limit)
	}
	if limit != p.limit {
		p.limit = limit
		debug.SetMemoryLimit(limit)
	}
}

// alive is what the last collection left, and the stacks, in bytes.
func alive() uint64 { return read("/gc/heap/live:bytes") + read("/gc/scan/stack:bytes") }

func read(name string) uint64 {
	samples := []metrics.Sample{{Name: name}}
	metrics.Read(samples)
	return samples[0].Value.Uint64()
}

// marker is garbage from the beginning: its cleanup runs after the next collection.
// The pointer keeps the runtime from packing it together with other objects.
type marker struct{ p *pacer }

func (p *pacer) await() {
	runtime.AddCleanup(&marker{p}, func(p *pacer) {
		if !p.stopped.Load() {
			p.set()
			p.await()
		}
	}, p)
}

// set costs a short stop of all goroutines, so that small changes are not made.
func (p *pacer) set() {
	want := percent(alive())
	if want > p.now*9/10 && want < p.now*11/10 {
		return
	}
	p.now = want
	debug.SetGCPercent(want)
}

// Package gcpace sets the pace of the garbage collector by what is alive.
//
// Go collects when the heap has doubled. For a server that is mostly small that is
// too often: with 5 MB alive, every hundredth request pays for a collection. And for
// ten thousand open streams it is too rarely: half a gigabyte would be garbage.
//
// And when nothing happens it does not collect at all for two minutes: what ten
// thousand streams left behind when they began stays while they wait. So a quiet second
// after a busy one gives the memory back.
package gcpace

import (
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
)

// percent is GOGC for so many bytes of heap and stacks that are alive.
func percent(n uint64) int {
	n = max(n, 4<<20) // before the first collection nothing is known
	return int(100 * max(leastRoom, n/share) / n)
}

// Start sets the pace after each collection until stop is called, which sets Go's own
// again. It does nothing where the environment says GOGC: somebody has thought about it.
// A GOMEMLIMIT is no pace: Go keeps to it whatever GOGC is, and collects earlier near it.
func Start() (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	p := &pacer{over: make(chan struct{})}
	p.set()
	p.await()
	go p.tidy()
	return func() {
		p.stopped.Store(true)
		close(p.over)
		debug.SetGCPercent(100)
	}
}

type pacer struct {
	stopped atomic.Bool
	over    chan struct{}
	now     int // the percentage in force
}

// tidy gives memory back in quiet seconds: at most once for as much as is allocated
// between two collections anyhow, so that it adds little to them.
func (p *pacer) tidy() {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	tidied, before := uint64(0), uint64(0)
	for {
		select {
		case <-p.over:
			return
		case <-ticker.C:
		}
		allocated := read("/gc/heap/allocs:bytes")
		if allocated-before < quiet && allocated-tidied > max(leastRoom, alive()/share) {
			debug.FreeOSMemory()
			allocated = read("/gc/heap/allocs:bytes")
			tidied = allocated
		}
		before = allocated
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

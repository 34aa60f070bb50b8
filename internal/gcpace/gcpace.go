// Package gcpace sets the pace of the garbage collector by what is alive.
//
// Go collects when the heap has doubled. For a server that is mostly small that is
// too often: with 5 MB alive, every hundredth request pays for a collection. And for
// ten thousand open streams it is too rarely: half a gigabyte would be garbage.
package gcpace

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

const (
	// leastRoom is how much is allocated at least between two collections, in bytes.
	leastRoom = 16 << 20
	// share of what is alive that may be allocated between two collections, when that
	// is more: one part in so many.
	share = 3
)

// percent is GOGC for so many bytes of heap and stacks that are alive.
func percent(alive uint64) int {
	alive = max(alive, 4<<20) // before the first collection nothing is known
	return int(100 * max(leastRoom, alive/share) / alive)
}

// Start sets the pace after each collection until stop is called, which sets Go's own
// again. It does nothing where the environment says GOGC or GOMEMLIMIT: somebody has
// thought about it.
func Start() (stop func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	p := &pacer{}
	p.set()
	p.await()
	return func() {
		p.stopped.Store(true)
		debug.SetGCPercent(100)
	}
}

type pacer struct {
	stopped atomic.Bool
	now     int // the percentage in force
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
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}}
	metrics.Read(samples)
	want := percent(samples[0].Value.Uint64() + samples[1].Value.Uint64())
	if want > p.now*9/10 && want < p.now*11/10 {
		return
	}
	p.now = want
	debug.SetGCPercent(want)
}

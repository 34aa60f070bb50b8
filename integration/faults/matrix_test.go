package faults

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// board counts the cells of the matrix.
type board struct {
	mu      sync.Mutex
	faults  []string
	cells   map[string][2]int // fault + phase: passed, run
	closing []time.Duration
}

func (b *board) note(fault string, p Phase, ok bool, closed time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.faults, fault) {
		b.faults = append(b.faults, fault)
	}
	key := fault + p.String()
	c := b.cells[key]
	c[1]++
	if ok {
		c[0]++
	}
	b.cells[key] = c
	if closed > 0 {
		b.closing = append(b.closing, closed)
	}
}

// String is the matrix: cells that passed of cells that ran, over all wires.
func (b *board) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%-38s", "fault \\ phase")
	for p := range phases {
		fmt.Fprintf(&out, "%16s", p)
	}
	passed, run := 0, 0
	for _, f := range b.faults {
		fmt.Fprintf(&out, "\n%-38s", f)
		for p := range phases {
			c, ok := b.cells[f+p.String()]
			passed, run = passed+c[0], run+c[1]
			if !ok {
				fmt.Fprintf(&out, "%16s", "-")
				continue
			}
			fmt.Fprintf(&out, "%16s", fmt.Sprintf("%d/%d", c[0], c[1]))
		}
	}
	fmt.Fprintf(&out, "\n%d of %d cells passed", passed, run)
	return out.String()
}

func percentile(ds []time.Duration, p float64) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	slices.Sort(ds)
	return ds[min(len(ds)-1, int(p*float64(len(ds))))]
}

// openFiles counts this process's descriptors; -1 where that cannot be known.
func openFiles() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(list)
}

// number is what the environment says, else short or long.
func number(t *testing.T, name string, short, longForm int) int {
	t.Helper()
	s := os.Getenv(name)
	switch {
	case s == "" && long():
		return longForm
	case s == "":
		return short
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestMatrix: each wire API x each fault x each phase, over HTTP/1.1 and HTTP/2.
func TestMatrix(t *testing.T) {
	wires := spoken(t)
	t.Run("HTTP1", func(t *testing.T) { matrix(t, wires, NewPlayer(t), providerFaults()) })
	t.Run("HTTP2", func(t *testing.T) { matrix(t, wires, NewHTTP2Player(t), http2Faults()) })
}

func matrix(t *testing.T, wires []*Wire, p *Player, faults []*providerFault) {
	t.Helper()
	l := harness.Start(t, "", hosts(p, wires)...)
	b := &board{cells: map[string][2]int{}}
	for _, f := range faults {
		b.faults = append(b.faults, f.name)
	}
	rounds := number(t, "LLMD_MATRIX_ROUNDS", 1, 30)
	runtime.GC()
	var before, goroutines, files int
	for n := range rounds {
		round(t, l, p, wires, b, faults, n)
		if n == 0 { // by now all that is made once is made
			before, goroutines, files = settled(), runtime.NumGoroutine(), openFiles()
		}
	}
	after := settled()
	t.Logf("\n%s", b)
	t.Logf("cancel, Abort or vanishing to upstream closed: n %d, p50 %v, p99 %v, most %v",
		len(b.closing), percentile(b.closing, 0.50), percentile(b.closing, 0.99), percentile(b.closing, 1))
	t.Logf("after %d rounds: %d goroutines (%d after the first), %d files (%d), %d KiB heap (%d)",
		rounds, runtime.NumGoroutine(), goroutines, openFiles(), files, after>>10, before>>10)
	if g := runtime.NumGoroutine(); g > goroutines+50 {
		t.Errorf("goroutines grew from %d to %d", goroutines, g)
	}
	if f := openFiles(); f > files+50 {
		t.Errorf("open files grew from %d to %d", files, f)
	}
}

// settled waits for idle things to end, and gives the heap in bytes.
func settled() int {
	time.Sleep(300 * time.Millisecond)
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// round runs every cell once, many at a time.
func round(t *testing.T, l *harness.LLMD, p *Player, wires []*Wire, b *board, faults []*providerFault, n int) {
	t.Helper()
	var wg sync.WaitGroup
	var alone []func() // what strikes a whole connection must not strike others' streams
	slots := make(chan struct{}, 48)
	run := func(f func()) {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			f()
		})
	}
	for _, w := range wires {
		for _, f := range clientFaults() {
			for phase := range phases {
				run(func() {
					closed, ok := newTrial(t, l, p, w, phase, f.name, n).client(f)
					b.note(f.name, phase, ok, closed)
				})
			}
		}
		for _, f := range faults {
			if f.not != nil && f.not(w) {
				continue
			}
			where := f.where
			if f.heavy && (!long() || n > 0) {
				where = where[:1]
			}
			for _, phase := range where {
				cell := func() { b.note(f.name, phase, newTrial(t, l, p, w, phase, f.name, n).provider(f), 0) }
				if !f.connection {
					run(cell)
					continue
				}
				alone = append(alone, func() {
					reconnect(t, l, p, w)
					cell()
				})
			}
		}
	}
	wg.Wait()
	for _, cell := range alone {
		cell()
	}
}

// reconnect makes requests until one succeeds: one that is sent while the connection
// goes is lost, since nobody can tell whether the provider has seen it.
func reconnect(t *testing.T, l *harness.LLMD, p *Player, w *Wire) {
	t.Helper()
	if !within(patience, func() bool {
		s := p.Add(answers(w, Sample()))
		defer p.Forget(s)
		return harness.Run(harness.Limited(t, patience), l, request(w, s, ""), nil).Stop() == "TOOL_USE"
	}) {
		t.Errorf("%s: no connection can be made", w.API)
	}
}

// TestShutdownMatrix: a server that stops gives every stream, in whatever phase, its
// receipt, and ends.
func TestShutdownMatrix(t *testing.T) {
	t.Parallel()
	wires := spoken(t)
	p := NewPlayer(t)
	l := harness.Start(t, "  drain_timeout: 5s\n", hosts(p, wires)...)
	b := &board{cells: map[string][2]int{}}
	var wg sync.WaitGroup
	var ready sync.WaitGroup
	for _, w := range wires {
		for phase := range phases {
			if phase == afterMarker {
				continue // that ends by itself
			}
			x := newTrial(t, l, p, w, phase, "shutdown", 0)
			x.script = p.Add(func(e *Exchange) bool { x.play(e, nil); e.Reach(); return e.Hold() })
			ready.Add(1)
			wg.Go(func() {
				o := x.run(t.Context(), nil, l, ready.Done)
				x.gone()
				x.shutdown(o)
				b.note("shutdown", phase, x.passed(), 0)
			})
		}
	}
	ready.Wait()
	began := time.Now()
	l.Stop()
	wg.Wait()
	if !l.Stopped(patience) {
		t.Error("the server does not end")
	}
	t.Logf("\n%s\nended after %v", b, time.Since(began))
}

func (x *trial) shutdown(o *harness.Outcome) {
	for _, f := range o.Faults {
		x.errorf("grammar: %s", f)
	}
	if o.Aborted.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_SHUTDOWN || o.Reason() != "SERVER_SHUTTING_DOWN" || o.Message.GetError().GetReason() != "SERVER_SHUTTING_DOWN" {
		x.errorf("cause %v, status %v", o.Aborted.GetCause(), o.Status)
		return
	}
	if d := o.Aborted.GetUpstreamCloseDelay(); d == nil || d.AsDuration() > patience {
		x.errorf("upstream_close_delay %v", d)
	}
	x.content(o.Message, added(x.sent), false)
}

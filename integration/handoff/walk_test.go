package handoff

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/llmd-dev/llmd/transform"
)

func newWorld(t testing.TB) *World {
	t.Helper()
	w, err := NewWorld(transform.Apply)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// limit ends the long run before its time.
var limit = flag.Duration("limit", 0, "begin no conversation after this time; 0 = all of them")

// long says whether the long run is asked for.
func long() bool { return os.Getenv("LLMD_LONG") == "1" }

// firstSeed is where to begin, to find a failure again: LLMD_SEED.
func firstSeed(t *testing.T) uint64 {
	t.Helper()
	text, ok := os.LookupEnv("LLMD_SEED")
	if !ok {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// failure is a turn that breaks a law, with the walk it was found on.
type failure struct {
	seed uint64
	turn Turn
	*broken
}

// stroll walks one conversation to its end or to a broken law.
func stroll(w *World, seed uint64, count *matrix) *failure {
	k := NewWalk(w, seed)
	for {
		turn, more := k.Next()
		if !more {
			count.conversation(k.Context)
			return nil
		}
		p, b := judge(w, turn)
		if b != nil {
			return &failure{seed, turn, b}
		}
		if p == nil {
			continue // the model cannot go on here: another one, later
		}
		count.turn(turn, p)
		a, err := w.Answer(p, k.Cut())
		if err != nil {
			return &failure{seed, turn, breach("answered", "%v", err)}
		}
		k.Take(a)
	}
}

// Any history, any model: all laws hold of every turn. With LLMD_LONG=1 this is the
// long run, and -matrix puts its figures into docs/handoff.md.
func TestLaws(t *testing.T) {
	walks := uint64(250)
	if long() {
		walks = 20_000
	}
	began := time.Now()
	w := newWorld(t)
	count := newMatrix()
	var next atomic.Uint64
	first := firstSeed(t)
	next.Store(first)
	var found atomic.Pointer[failure]
	var done atomic.Uint64
	var wg sync.WaitGroup
	enough := func() bool { return *limit > 0 && time.Since(began) > *limit }
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := next.Add(1) - 1; seed < first+walks && found.Load() == nil && !enough(); seed = next.Add(1) - 1 {
				if f := stroll(w, seed, count); f != nil {
					found.CompareAndSwap(nil, f)
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	if f := found.Load(); f != nil {
		t.Fatal(explain(w, f))
	}
	count.check(t)
	if long() {
		t.Log("\n" + count.text(done.Load()))
		if *writeMatrix {
			count.write(t, done.Load())
		}
	}
}

// explain says what is broken, with a small conversation that shows it.
func explain(w *World, f *failure) string {
	small := minimise(w, f.turn, f.law)
	_, b := judge(w, small)
	name, err := store(small, f.law)
	if err != nil {
		name = err.Error()
	}
	return fmt.Sprintf("seed %d, to %s: %v\nminimal: %v\n%s\nas a case: %s", f.seed, f.turn.Model.Name(), f.broken, b, show(small), name)
}

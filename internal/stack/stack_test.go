package stack

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// ways are the two of AsideThen.
func ways() map[string]func(func() (rest func())) {
	return map[string]func(func() (rest func())){"here": here, "away": away}
}

// alone is a call without a rest.
func alone(f func()) func() (rest func()) { return func() (rest func()) { f(); return nil } }

func faulty() { panic("fault") }

// catch is deferred: the panic has come, and its place is known.
func catch(t *testing.T, way string) {
	t.Helper()
	p, place := recover(), string(debug.Stack())
	aside, ok := p.(*Panic)
	if ok {
		p, place = aside.Value, string(aside.Stack)
	}
	if p != "fault" || !strings.Contains(place, "stack.faulty") || ok != (way == "away") {
		t.Errorf("%s: recovered %v, of\n%s", way, p, place)
	}
}

func TestAside(t *testing.T) {
	for name, way := range ways() {
		done := false
		way(alone(func() { done = true }))
		if !done {
			t.Errorf("%s: it did not wait", name)
		}
		func() {
			defer catch(t, name)
			way(alone(faulty))
			t.Errorf("%s: the panic was lost", name)
		}()
		// It keeps its place, however many stacks lie between.
		func() {
			defer catch(t, name)
			way(alone(func() { way(alone(faulty)) }))
			t.Errorf("%s: the panic within was lost", name)
		}()
	}
	done := false
	Aside(func() { done = true })
	if !done {
		t.Error("Aside did not wait")
	}
}

// TestAsideThen: the caller goes on before the rest, which is done all the same.
func TestAsideThen(t *testing.T) {
	for name, way := range ways() {
		on, rested := make(chan bool), make(chan bool)
		first := false
		way(func() (rest func()) {
			first = true
			return func() { <-on; close(rested) }
		})
		if !first {
			t.Errorf("%s: it did not wait", name)
		}
		close(on)
		<-rested
	}
}

// TestAsideGoexit: a test that fails aside ends, as anywhere else.
func TestAsideGoexit(t *testing.T) {
	for name, way := range ways() {
		over := make(chan bool)
		go func() {
			defer close(over)
			way(alone(runtime.Goexit))
			over <- true
		}()
		if <-over {
			t.Errorf("%s: it returned as if all had been done", name)
		}
	}
}

// TestFew: there are, and then there are not.
func TestFew(t *testing.T) {
	if !Few() {
		t.Fatalf("%d goroutines are many", runtime.NumGoroutine())
	}
	end := make(chan struct{})
	defer close(end)
	for range plenty {
		go func() { <-end }()
	}
	if Few() {
		t.Errorf("%d goroutines are few", runtime.NumGoroutine())
	}
}

// deep goes as deep as planning a request does.
//
//go:noinline
func deep(n int) int {
	var frame [200]byte
	if n == 0 {
		return int(frame[n])
	}
	return deep(n-1) + int(frame[n%len(frame)])
}

// BenchmarkGrow shows what growing at once saves.
func BenchmarkGrow(b *testing.B) {
	for name, prepare := range map[string]func(){"step by step": func() {}, "at once": Grow} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				done := make(chan struct{})
				go func() {
					prepare()
					deep(30)
					close(done)
				}()
				<-done
			}
		})
	}
}

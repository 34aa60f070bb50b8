package stack

import (
	"runtime"
	"strings"
	"testing"
)

func TestAside(t *testing.T) {
	done := false
	Aside(func() { done = true })
	if !done {
		t.Error("Aside did not wait")
	}
	defer func() {
		p, ok := recover().(*Panic)
		if !ok || p.Value != "fault" || !strings.Contains(string(p.Stack), "stack.faulty") {
			t.Errorf("recovered %v", p)
		}
	}()
	Aside(faulty)
	t.Error("the panic was lost")
}

// TestAsideWithin: a panic keeps its place, however many stacks lie between.
func TestAsideWithin(t *testing.T) {
	defer func() {
		p, ok := recover().(*Panic)
		if !ok || p.Value != "fault" || !strings.Contains(string(p.Stack), "stack.faulty") {
			t.Errorf("recovered %v", p)
		}
	}()
	Aside(func() { Aside(faulty) })
	t.Error("the panic was lost")
}

func faulty() { panic("fault") }

// TestAsideThen: the caller goes on before the rest, which is done all the same.
func TestAsideThen(t *testing.T) {
	on, rested := make(chan bool), make(chan bool)
	first := false
	AsideThen(func() (rest func()) {
		first = true
		return func() { <-on; close(rested) }
	})
	if !first {
		t.Error("AsideThen did not wait")
	}
	close(on)
	<-rested
	defer func() {
		if p, ok := recover().(*Panic); !ok || p.Value != "fault" {
			t.Errorf("recovered %v", p)
		}
	}()
	AsideThen(func() (rest func()) { faulty(); return nil })
	t.Error("the panic was lost")
}

// TestAsideGoexit: a test that fails aside ends, as anywhere else.
func TestAsideGoexit(t *testing.T) {
	over := make(chan bool)
	go func() {
		defer close(over)
		Aside(runtime.Goexit)
		over <- true
	}()
	if <-over {
		t.Error("Aside returned as if all had been done")
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

// Package stack keeps the stacks of goroutines at the size that they need.
//
// A goroutine's stack begins with 2 to 4 KiB. It doubles whenever a call goes deeper
// than ever before, which copies it and looks up every frame of it; and it hardly
// shrinks while the goroutine waits. Both cost where there are many goroutines that
// go deep once and then wait: a fifth of the memory of ten thousand open streams, and
// an eighth of the processor time of a short one.
//
// Going aside is a goroutine more to start and to wait for, a thread to wake, and so a
// part of the time to the first word. It buys nothing where there are [Few] goroutines.
package stack

import (
	"runtime"
	"runtime/debug"
)

// plenty is from how many goroutines on their stacks are worth saving: those of about a
// hundred streams. Those of the first hundred may stay 4 to 12 KiB larger each.
const plenty = 512

// Few says that there are so few goroutines that it does not matter how large their
// stacks are.
func Few() bool { return runtime.NumGoroutine() < plenty }

// Panic is what a panic of f in [Aside] is on the caller's side. Its words are of the
// stack alone: the value may hold what somebody said.
type Panic struct {
	Value any
	// Stack is where it was, as debug.Stack writes it.
	Stack []byte
}

// Aside calls f on a goroutine of its own, whose stack goes when f returns, and waits
// for it: for what goes deep at the beginning of a goroutine that will wait long. A
// panic of f is Aside's, as a *[Panic]. Where there are [Few], it calls f as it is.
func Aside(f func()) {
	AsideThen(func() (rest func()) { f(); return nil })
}

// AsideThen is Aside for what leads to work that nobody waits for: the rest that f
// returns goes on where f was, on a stack that is large already, while the caller goes
// its way. A panic of the rest is not caught. The rest may be nil. Where there are
// [Few], only the rest gets a goroutine.
func AsideThen(f func() (rest func())) {
	if Few() {
		here(f)
	} else {
		away(f)
	}
}

func here(f func() (rest func())) {
	if rest := f(); rest != nil {
		go func() {
			Grow()
			rest()
		}()
		// The rest is what somebody waits for; who waits for it may as well begin later.
		runtime.Gosched()
	}
}

func away(f func() (rest func())) {
	a := &aside{done: make(chan struct{})}
	go func() {
		if rest := a.run(f); rest != nil {
			rest()
		}
	}()
	<-a.done
	switch {
	case a.panicked != nil:
		panic(a.panicked) //nolint:forbidigo // it is f's, on its way to who catches it
	case !a.ended:
		runtime.Goexit() // as f did
	}
}

// aside is one call of a function aside: done is closed at its end.
type aside struct {
	done     chan struct{}
	ended    bool // it returned
	panicked *Panic
}

func (a *aside) run(f func() (rest func())) (rest func()) {
	defer close(a.done)
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *Panic: // of a call aside within this one
			a.panicked = v
		default:
			a.panicked = &Panic{Value: v, Stack: debug.Stack()}
		}
	}()
	Grow()
	rest = f()
	a.ended = true
	return rest
}

// Grow makes room for about 8 KiB on the stack at once. Called while the stack is
// still shallow, before what goes deep, it saves growing step by step with ever more
// to copy.
func Grow() { large(-1) }

// large has a frame of that size, and so has the caller's stack before it begins. It is
// not cleared, which would take longer than the rest: that is for who goes on to use it.
//
//go:noinline
func large(i int) byte {
	if i < 0 {
		return 0
	}
	var frame [8 << 10]byte
	return frame[i]
}

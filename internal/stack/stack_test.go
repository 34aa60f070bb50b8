package stack

import "testing"

func TestAside(t *testing.T) {
	done := false
	Aside(func() { done = true })
	if !done {
		t.Error("Aside did not wait")
	}
	defer func() {
		if v := recover(); v != "fault" {
			t.Errorf("recovered %v", v)
		}
	}()
	Aside(func() { panic("fault") })
	t.Error("the panic was lost")
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

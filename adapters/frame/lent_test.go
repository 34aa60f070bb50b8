package frame

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

// A body's buffer may be another's before and after, so that nothing may be left in it
// that is still in use: here, by a parser. That decoders keep nothing of a frame is what
// package adaptertest sees to, which spoils each frame once it is decoded.

// spoiler spoils a buffer as another body would, before it reads into it.
type spoiler struct{ r io.Reader }

func (s spoiler) Read(p []byte) (int, error) {
	spoil(p)
	return s.r.Read(p)
}

func spoil(p []byte) {
	for i := range p {
		p[i] = '?'
	}
}

// deltas is a body of so many events of one caller, long enough for all buffers.
func deltas(caller, n int) (body []byte, frames []string) {
	var b bytes.Buffer
	for i := range n {
		data := fmt.Sprintf(`{"caller":%d,"delta":%q}`, caller, strings.Repeat("x", i%700))
		frames = append(frames, data)
		fmt.Fprintf(&b, "event: delta\ndata: %s\n\n", data)
	}
	return b.Bytes(), frames
}

// TestLentBuffers: bodies that are read at the same time, and one after another, never
// see each other's bytes, however much a read brings.
func TestLentBuffers(t *testing.T) {
	var all sync.WaitGroup
	for caller := range 8 {
		all.Go(func() {
			for _, most := range []int{300, 512, 513, 3000, 1 << 20} {
				body, want := deltas(caller, 300)
				r := NewReader(SSE, spoiler{&atMost{bytes.NewReader(body), most}}, 0)
				for i, data := range want {
					if f, err := r.Next(); err != nil || string(f.Data) != data || f.Event != "delta" {
						t.Errorf("caller %d, %d bytes a read: frame %d is %s of %q, %v", caller, most, i, f.Data, f.Event, err)
						break
					}
				}
				// The usual end: nothing is read after the last frame.
				r.Close()
			}
		})
	}
	all.Wait()
}

// atMost reads so many bytes at once at most.
type atMost struct {
	r io.Reader
	n int
}

func (a *atMost) Read(p []byte) (int, error) { return a.r.Read(p[:min(len(p), a.n)]) }

// TestBufferSizes: a body that is waited for keeps no more than it needs for what came
// last, and a buffer is lent to one body at a time.
func TestBufferSizes(t *testing.T) {
	for _, c := range []struct {
		reads []int // bytes that there are
		want  int   // size of the buffer behind them
	}{
		{nil, 512},
		{[]int{511}, 512},
		{[]int{512}, 1 << 10},
		{[]int{512, 1 << 10}, 2 << 10},
		{[]int{512, 1 << 10, 2<<10 - 1}, 2 << 10},
		{[]int{512, 1 << 10, 2 << 10}, 16 << 10},
		{[]int{512, 1 << 10, 2 << 10, 2 << 10}, 16 << 10},
		{[]int{512, 1 << 10, 2 << 10, 16 << 10, 10}, 2 << 10},
	} {
		in := &inPieces{}
		for _, n := range c.reads {
			in.pieces = append(in.pieces, make([]byte, n))
		}
		b := &body{r: in}
		for range c.reads {
			if !b.more() {
				t.Fatal("it ended")
			}
			b.skip(len(b.window))
		}
		if got := len(b.buffer()); got != c.want {
			t.Errorf("after reads of %v: %d bytes, want %d", c.reads, got, c.want)
		}
	}
}

// TestClose: a reader that was closed has nothing to read, and gives back nothing twice.
func TestClose(t *testing.T) {
	body, _ := deltas(0, 300)
	r := NewReader(SSE, bytes.NewReader(body), 0)
	for range 200 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	made, ok := r.(*reader)
	if !ok {
		t.Fatalf("a %T", r)
	}
	in := made.in
	if in.borrowed == nil {
		t.Error("nothing was borrowed for a body that comes at once")
	}
	r.Close()
	if in.borrowed != nil || len(in.window) > 0 {
		t.Error("it still has the buffer")
	}
	r.Close()
	if _, err := r.Next(); err == nil {
		t.Error("it was read after it was closed")
	}
}

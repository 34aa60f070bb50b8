package adaptertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
)

// Keeps is a way to make a decoder keep what it tells only later.
type Keeps struct {
	// Begin and End are frames before and after the pieces; without an End the rest is
	// not looked at.
	Begin, End []frame.Frame
	// Piece is a frame that comes often. In its event and data, %[1]s is a long text and
	// %[2]d the number of the piece.
	Piece frame.Frame
}

// CountsHeld fails unless what a decoder keeps counts towards the size of the answer while
// it is kept, and not any more when it was told.
func CountsHeld(t *testing.T, a adapters.Adapter, cases map[string]Keeps) {
	t.Helper()
	const pieces, long = 50, 1000
	for name, k := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDriver(a, NewCall(defaultModel(a.API(), a.API(), "model")))
			frames := k.Begin
			for i := range pieces {
				data := fmt.Sprintf(string(k.Piece.Data), strings.Repeat("x", long), i)
				frames = append(frames, frame.Frame{Event: k.Piece.Event, Data: []byte(data)})
			}
			d.feed(t, frames)
			if n := d.sink.Held; n < pieces*long || n > 3*pieces*long {
				t.Errorf("%d pieces of %d bytes count as %d", pieces, long, n)
			}
			d.feed(t, k.End)
			if k.End != nil && d.sink.Held != 0 {
				t.Errorf("%d bytes are kept after the end", d.sink.Held)
			}
		})
	}
}

func (d *driver) feed(t *testing.T, frames []frame.Frame) {
	t.Helper()
	for _, f := range frames {
		if err := d.decode(f); err != nil {
			t.Fatal(err)
		}
	}
}

// Held is what a decoder keeps of frames, in bytes as it counts them.
func Held(t *testing.T, a adapters.Adapter, frames ...frame.Frame) int {
	t.Helper()
	d := newDriver(a, NewCall(defaultModel(a.API(), a.API(), "model")))
	d.feed(t, frames)
	return d.sink.Held
}

package adaptertest

import (
	"bytes"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
)

const (
	// frameBudget is how many bytes the cuts of one frame may cost together. A cut
	// costs the frame's length, so short frames are cut everywhere and long ones at
	// some places, at the least fewestCuts.
	frameBudget = 512 << 10
	fewestCuts  = 32
	// replays is how many frame boundaries an answer is cut at with a decoder of
	// its own.
	replays = 24
)

// cutter cuts one recorded answer everywhere, at a cost that is linear in its
// length: the decoder is not begun anew for each cut. Instead a probe goes through
// the frames beside the real decoder and is also fed each beginning of the next
// frame. As decoders must refuse those whole, without a trace, it stays in step;
// where one does not, a new probe is made.
type cutter struct {
	a        adapters.Adapter
	call     *adapters.Call
	body     []byte
	frames   []frame.Frame
	problems problems
}

// run returns the index of the frame with the terminal marker, -1 if there is none.
func (c *cutter) run() (marker int) {
	marker = -1
	live, probe := newDriver(c.a, c.call), newDriver(c.a, c.call)
	for i, f := range c.frames {
		if marker < 0 && !c.cutFrame(i, &probe) {
			return marker
		}
		before := len(live.sink.Parts)
		if live.decode(f) != nil {
			return marker // the whole answer says so, too
		}
		_ = probe.decode(f) // in step, or its parts differ below
		if marker < 0 && hasStop(live.sink.Parts[before:]) {
			marker = i
		}
	}
	if got, want := Lines(probe.sink.Parts, nil), Lines(live.sink.Parts, nil); got != want {
		c.problems.add("frames that could not be read left a trace: the parts are\n%s\nwithout them\n%s", got, want)
	}
	return marker
}

// cutFrame cuts inside frame i. It reports false after the first fault. What the
// framing makes of a cut is known: an AWS message is not given out at all, a text
// frame with the data that came. [cutter.places] goes through the framing itself.
func (c *cutter) cutFrame(i int, probe **driver) bool {
	if c.a.Framing() == frame.EventStream {
		return true
	}
	f := c.frames[i]
	data := bytes.TrimSpace(f.Data)
	f.Unterminated = true
	for _, n := range offsets(len(data), max(fewestCuts, frameBudget/max(1, len(data)))) {
		if n == 0 {
			continue
		}
		p := *probe
		before := len(p.sink.Parts)
		f.Data = data[:n]
		err := p.decode(f)
		if hasStop(p.sink.Parts[before:]) {
			c.problems.add("cut %d bytes into frame %d: a stop", n, i)
			return false
		}
		if err == nil || len(p.sink.Parts) > before {
			*probe = c.replay(i)
		}
	}
	return true
}

// replay is a decoder that has read the first n frames.
func (c *cutter) replay(n int) *driver {
	d := newDriver(c.a, c.call)
	for _, f := range c.frames[:n] {
		if d.decode(f) != nil {
			break
		}
	}
	return d
}

// boundaries cuts between frames and ends the decoder there.
func (c *cutter) boundaries(whole *Folded, marker int) {
	step := len(c.frames)/replays + 1
	for n := 0; n < len(c.frames); n++ {
		near := marker >= 0 && n >= marker-1 && n <= marker+2
		if n%step != 0 && !near {
			continue
		}
		d := c.replay(n)
		err := d.decoder.Finish(&d.sink)
		hasMarker := marker >= 0 && n > marker
		if problem := checkCut(Fold(d.sink.Parts), err, whole, hasMarker); problem != "" {
			c.problems.add("cut before frame %d of %d: %s", n, len(c.frames), problem)
			return
		}
		if hasMarker && err != nil {
			c.problems.add("cut before frame %d of %d, behind the terminal marker: %v", n, len(c.frames), err)
			return
		}
	}
}

// places cuts the body itself, at places spread over it.
func (c *cutter) places(whole *Folded) {
	marker := markerEnd(c.a, c.call, c.body)
	for n := range replays {
		cut := len(c.body) * n / replays
		parts, err := Decode(c.a, c.call, bytes.NewReader(c.body[:cut]))
		if problem := checkCut(Fold(parts), err, whole, cut >= marker); problem != "" {
			c.problems.add("cut at byte %d of %d: %s", cut, len(c.body), problem)
			return
		}
	}
}

func hasStop(parts []adapters.Part) bool {
	for i := range parts {
		if parts[i].Kind == adapters.PartStop {
			return true
		}
	}
	return false
}

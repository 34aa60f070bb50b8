package adaptertest

import (
	"bytes"
	"errors"
	"io"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// NewCall is a call of a model that says "Hi" and has tools of these names.
func NewCall(m *profile.Model, tools ...string) *adapters.Call {
	c := &llmdv1.Context{Messages: []*llmdv1.Message{{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{
		Content: []*llmdv1.UserContent{{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: "Hi"}}}},
	}}}}}
	for _, name := range tools {
		c.Tools = append(c.Tools, &llmdv1.Tool{Name: name, ParametersJsonSchema: `{"type":"object"}`})
	}
	g := &llmdv1.Generation{Model: m.Name(), Context: c}
	return &adapters.Call{Generation: g, Context: c, Model: m, Options: &adapters.Options{Tools: c.GetTools()}}
}

// Decode reads a body as the engine does: frame by frame until the decoder says
// that nothing of use follows, or the body ends. The error is the decoder's, the
// framing's, or [adapters.ErrTruncated]; the parts found before it are returned
// with it.
func Decode(a adapters.Adapter, call *adapters.Call, r io.Reader) ([]adapters.Part, error) {
	d := newDriver(a, call)
	frames := frame.NewReader(a.Framing(), r, 0)
	defer frames.Close()
	for !d.complete() {
		f, err := frames.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = d.decode(f)
		}
		if err != nil {
			return d.sink.Parts, err
		}
	}
	return d.sink.Parts, d.decoder.Finish(&d.sink)
}

// driver feeds one decoder.
type driver struct {
	decoder adapters.Decoder
	sink    adapters.Sink
	buffer  []byte
}

func newDriver(a adapters.Adapter, call *adapters.Call) *driver {
	return &driver{decoder: a.NewDecoder(call)}
}

// decode gives the decoder a frame that becomes garbage right after, so that a
// decoder which keeps bytes of it shows. Nothing is read once it is complete.
func (d *driver) decode(f frame.Frame) error {
	if d.complete() {
		return nil
	}
	d.buffer = append(d.buffer[:0], f.Data...)
	f.Data = d.buffer
	err := d.decoder.Decode(f, &d.sink)
	if d.sink.Held < 0 {
		return errors.New("adaptertest: the decoder told more than it kept")
	}
	for i := range d.buffer {
		d.buffer[i] = '?'
	}
	var upstream *adapters.UpstreamError
	if err != nil && f.Unterminated && !errors.As(err, &upstream) {
		// What the end of the body cut is no protocol error (contract 1.24).
		return adapters.ErrTruncated
	}
	return err
}

func (d *driver) complete() bool {
	n := len(d.sink.Parts)
	return n > 0 && d.sink.Parts[n-1].Kind == adapters.PartComplete
}

// readFrames reads all frames of a body, with data of their own, and how the body
// ended.
func readFrames(kind frame.Kind, body []byte) ([]frame.Frame, error) {
	r := frame.NewReader(kind, bytes.NewReader(body), 0)
	var all []frame.Frame
	for {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		f.Data = bytes.Clone(f.Data)
		all = append(all, f)
	}
}

// pieces reads a body in reads of these sizes, the last one repeated.
type pieces struct {
	body  []byte
	sizes []int
}

// Read implements [io.Reader].
func (p *pieces) Read(buf []byte) (int, error) {
	if len(p.body) == 0 {
		return 0, io.EOF
	}
	n := min(p.sizes[0], len(p.body), len(buf))
	copy(buf, p.body[:n])
	p.body = p.body[n:]
	if len(p.sizes) > 1 {
		p.sizes = p.sizes[1:]
	}
	return n, nil
}

package jsonwire

import (
	"bytes"
	"encoding/base64"
	"io"
	"slices"
)

// largeData is how much data [Writer.Base64] writes at once, in bytes. What is larger
// is left where it is until the body is sent.
const largeData = 64 << 10

// Body is JSON text with large data left out: that in base64 is a third larger, and a
// request with many images would stand in memory twice and more.
type Body struct {
	// Text is the text without the base64 of Large.
	Text []byte
	// Large is what was left out, in order.
	Large []Hole
}

// Hole is data whose base64 belongs into a text.
type Hole struct {
	// At is where, in bytes of the text without any base64.
	At int
	// Data must not change.
	Data []byte
}

// Len is the length of the whole text in bytes.
func (b Body) Len() int64 {
	n := int64(len(b.Text))
	for _, h := range b.Large {
		n += int64(base64.StdEncoding.EncodedLen(len(h.Data)))
	}
	return n
}

// Bytes is the whole text. Without holes that is Text itself, which then must not be
// changed.
func (b Body) Bytes() []byte {
	if len(b.Large) == 0 {
		return b.Text
	}
	out := slices.Grow([]byte(nil), int(b.Len()))
	from := 0
	for _, h := range b.Large {
		out = append(out, b.Text[from:h.At]...)
		out = base64.StdEncoding.AppendEncode(out, h.Data)
		from = h.At
	}
	return append(out, b.Text[from:]...)
}

// Reader reads the whole text, encoding as it goes. The text can be read any number
// of times, and at the same time.
func (b Body) Reader() io.Reader {
	if len(b.Large) == 0 {
		return bytes.NewReader(b.Text)
	}
	var pieces []io.Reader
	from := 0
	for _, h := range b.Large {
		pieces = append(pieces, bytes.NewReader(b.Text[from:h.At]), &encoded{rest: h.Data})
		from = h.At
	}
	return io.MultiReader(append(pieces, bytes.NewReader(b.Text[from:]))...)
}

// WriteTo implements io.WriterTo.
func (b Body) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, b.Reader()) }

// encoded reads data as base64.
type encoded struct {
	rest []byte
	// few are encoded bytes for readers that take fewer than four at a time.
	few []byte
}

// Read implements io.Reader.
func (e *encoded) Read(p []byte) (int, error) {
	if len(e.few) > 0 {
		n := copy(p, e.few)
		e.few = e.few[n:]
		return n, nil
	}
	if len(e.rest) == 0 {
		return 0, io.EOF
	}
	if len(p) < 4 {
		n := min(len(e.rest), 3)
		e.few = base64.StdEncoding.AppendEncode(nil, e.rest[:n])
		e.rest = e.rest[n:]
		return e.Read(p)
	}
	n := min(len(p)/4*3, len(e.rest)) // whole groups of three, but for the last
	base64.StdEncoding.Encode(p, e.rest[:n])
	e.rest = e.rest[n:]
	return base64.StdEncoding.EncodedLen(n), nil
}

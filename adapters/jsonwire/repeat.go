package jsonwire

import "bytes"

// Repeat knows a frame that says what the one before it said but for one string: most
// frames of a long answer. Such a frame means the same with another string in its place,
// so that nothing else of it need be read.
//
// A reader takes that string with [Cursor.Piece], and keeps what it made of the frame:
//
//	if text, ok := r.Piece(data); ok {
//		last.text = text
//		return last
//	}
//	c := jsonwire.NewCursor(data)
//	...
//	r.Keep(&c)
type Repeat struct {
	around []byte // the frame before, without the string
	at     int    // where that was
	known  bool
}

// maxAround is how much of a frame is kept, in bytes: a stream may wait with it.
const maxAround = 1 << 10

// Piece is the string of a frame that repeats the one before.
func (r *Repeat) Piece(data []byte) (piece string, ok bool) {
	head, tail := r.around[:r.at], r.around[r.at:]
	end := len(data) - len(tail)
	if !r.known || end < len(head) || !bytes.Equal(data[:len(head)], head) || !bytes.Equal(data[end:], tail) {
		return "", false
	}
	c := Cursor{data: data[:end], at: len(head)}
	if c.Next() != '"' {
		return "", false
	}
	piece = c.Text()
	return piece, !c.failed && c.at == end
}

// Forget says that the frame before the next is none that repeats.
func (r *Repeat) Forget() { r.known = false }

// Keep takes the frame that was read for the one before the next, if it was read to its
// end and had one piece.
func (r *Repeat) Keep(c *Cursor) {
	r.known = c.pieces == 1 && c.Whole() && len(c.data)-(c.to-c.from) <= maxAround
	if r.known {
		r.around = append(append(r.around[:0], c.data[:c.from]...), c.data[c.to:]...)
		r.at = c.from
	}
}

package frame

import "io"

const (
	// A stream that waits for its provider keeps its buffer, so that it begins small:
	// enough for the few frames that come at once. It grows as reads fill it, up to
	// dozens of usual frames; large ones come in several reads.
	firstReadSize = 1 << 10
	maxReadSize   = 16 << 10
	// maxEmptyReads is how often a Read may return nothing and no error.
	maxEmptyReads = 100
)

// body is the input of a parser: the unread bytes of the last Read, and the
// facts every framing needs for its errors.
type body struct {
	r     io.Reader
	max   int // limit of a frame in bytes
	index int // index of the frame being read

	buf    []byte
	filled bool   // the last Read filled buf
	window []byte // unread part of buf
	offset int64  // of window[0] in the body
	err    error  // how the body ended; kept until window is empty
}

// more reports whether window holds a byte. It reads only if there is none, and
// after the end of the body, told by err, not at all.
func (b *body) more() bool {
	if len(b.window) > 0 {
		return true
	}
	switch {
	case b.buf == nil:
		b.buf = make([]byte, firstReadSize)
	case b.filled && len(b.buf) < maxReadSize:
		b.buf = make([]byte, 2*len(b.buf))
	}
	for range maxEmptyReads {
		if b.err != nil {
			return false
		}
		var n int
		n, b.err = b.r.Read(b.buf)
		if n > 0 {
			b.filled = n == len(b.buf)
			b.window = b.buf[:n]
			return true
		}
	}
	if b.err == nil {
		b.err = io.ErrNoProgress
	}
	return false
}

// skip drops the first n bytes of window.
func (b *body) skip(n int) {
	b.window = b.window[n:]
	b.offset += int64(n)
}

// truncated describes a body that ended inside the frame begun at offset.
func (b *body) truncated(offset int64) error {
	err := b.err
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return &TruncatedError{Offset: offset, Index: b.index, Err: err}
}

func (b *body) tooLarge(offset int64) error {
	return &TooLargeError{Limit: b.max, Offset: offset, Index: b.index}
}

func (b *body) corrupt(offset int64, reason string) error {
	return &CorruptError{Offset: offset, Index: b.index, Reason: reason}
}

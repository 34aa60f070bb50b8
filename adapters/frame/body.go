package frame

import (
	"io"
	"sync"
)

const (
	// A stream that waits for its provider keeps its own buffer, so that it is small:
	// enough for the few frames that come at once. It grows as reads fill it.
	firstReadSize = 512
	ownReadSize   = 2 << 10
	// While reads fill that, too, a body borrows a buffer for dozens of usual frames;
	// large ones come in several reads.
	maxReadSize = 16 << 10
	// maxEmptyReads is how often a Read may return nothing and no error.
	maxEmptyReads = 100
)

// large are the buffers that no body has borrowed. Made anew for each stream, they were
// a quarter of all that a short one allocates.
//
//nolint:gochecknoglobals // a pool serves all streams
var large = sync.Pool{New: func() any { return new([maxReadSize]byte) }}

// body is the input of a parser: the unread bytes of the last Read, and the
// facts every framing needs for its errors.
type body struct {
	r     io.Reader
	max   int // limit of a frame in bytes
	index int // index of the frame being read

	own      []byte
	borrowed *[maxReadSize]byte // nil = own is read into
	last     int                // bytes of the last Read

	window []byte // unread part of what was read
	offset int64  // of window[0] in the body
	err    error  // how the body ended; kept until window is empty
}

// more reports whether window holds a byte. It reads only if there is none, and
// after the end of the body, told by err, not at all.
func (b *body) more() bool {
	if len(b.window) > 0 {
		return true
	}
	buf := b.buffer()
	for range maxEmptyReads {
		if b.err != nil {
			return false
		}
		var n int
		n, b.err = b.r.Read(buf)
		if n > 0 {
			b.last = n
			b.window = buf[:n]
			return true
		}
	}
	if b.err == nil {
		b.err = io.ErrNoProgress
	}
	return false
}

// buffer is what the next Read is for. Nothing of the last one is in use any more: the
// parsers copy what goes on in the next, and a frame's data is valid until the next call.
func (b *body) buffer() []byte {
	switch {
	case b.own == nil:
		b.own = make([]byte, firstReadSize)
	case b.last < len(b.own):
		b.release()
	case len(b.own) < ownReadSize:
		b.own = make([]byte, 2*len(b.own))
	case b.borrowed == nil:
		b.borrowed = large.Get().(*[maxReadSize]byte) //nolint:forcetypeassert,errcheck // there is nothing else in it
	}
	if b.borrowed != nil {
		return b.borrowed[:]
	}
	return b.own
}

// release gives back what was borrowed. Nobody may look at window's bytes again.
func (b *body) release() {
	if b.borrowed != nil {
		large.Put(b.borrowed)
		b.borrowed = nil
	}
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

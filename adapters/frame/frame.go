package frame

import (
	"errors"
	"io"
)

// DefaultMaxFrame is the limit of one frame in bytes, 16 MiB, where [NewReader]
// is given none. Frames with inline images come to several MiB.
const DefaultMaxFrame = 16 << 20

// Kind is the framing a provider was asked for.
type Kind int

const (
	// SSE is a body of server-sent events.
	SSE Kind = iota
	// EventStream is a body of AWS event-stream messages.
	EventStream
	// JSON is a body that may be server-sent events or a JSON array (Google).
	// It is read like SSE, by what the body begins with; the two kinds differ
	// in what an adapter promises, not in how bytes are cut.
	JSON
)

// Frame is one unit of a body.
type Frame struct {
	// Event is the name of the frame: the SSE "event" field, or the
	// :event-type, :exception-type or :error-code of an AWS message. It is empty
	// where the framing gives no name.
	Event string
	// Data is the payload, valid only until the next call of Next or Close.
	Data []byte
	// Offset is where the frame began, in bytes from the start of the body: its
	// first "event" or "data" line, its message, its opening brace.
	Offset int64
	// Index counts the frames of the body: 0, 1, 2...
	Index int
	// Exception is set where an AWS message says :message-type exception or
	// error. It ends the stream.
	Exception bool
	// Unterminated is set where the body ended or broke before the frame's own
	// delimiter: Data may be cut.
	Unterminated bool
}

// Reader reads the frames of one body. It is not safe for concurrent use.
//
// Next blocks in the body's Read only while it holds no whole frame. It returns
// either a frame or an error, and after an error always that error; the package
// documentation lists the errors.
//
// Close gives back memory that other bodies may use; it does not close the body. The
// data of the last frame is not valid any more, and Next fails. It may be called more
// than once.
type Reader interface {
	Next() (Frame, error)
	Close()
}

// NewReader returns a Reader over the body r. A frame over maxFrame bytes fails
// with [*TooLargeError] before it is stored; the limit counts the data and the
// name of an SSE event, a whole AWS message, or a JSON value. maxFrame <= 0
// means [DefaultMaxFrame]. Comments and white space between frames are not
// limited, as hosts send them for as long as they are busy.
func NewReader(kind Kind, r io.Reader, maxFrame int) Reader {
	if maxFrame <= 0 {
		maxFrame = DefaultMaxFrame
	}
	in := &body{r: r, max: maxFrame}
	return &reader{in: in, parser: &sniffer{kind: kind, in: in}}
}

// parser is one framing. It leaves Frame.Index to the reader and is not called
// again after an error.
type parser interface {
	next() (Frame, error)
}

// reader adds to a parser what all framings share: numbering and final errors.
type reader struct {
	in     *body
	parser parser
	err    error
}

var errClosed = errors.New("frame: the reader is closed")

func (r *reader) Close() {
	r.err = errClosed
	r.in.window = nil
	r.in.release()
}

func (r *reader) Next() (Frame, error) {
	if r.err != nil {
		return Frame{}, r.err
	}
	f, err := r.parser.next()
	if err != nil {
		r.err = err
		return Frame{}, err
	}
	f.Index = r.in.index
	r.in.index++
	return f, nil
}

package frame

import (
	"errors"
	"fmt"
)

// ErrNoEvents says that a whole body holds no line of an event stream, as the page of a
// proxy that answers with status 200.
var ErrNoEvents = errors.New("frame: the body is no event stream")

// TooLargeError says that a frame is larger than the reader's limit.
type TooLargeError struct {
	Limit  int   // bytes
	Offset int64 // where the frame began
	Index  int   // the index it would have had
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("frame: frame %d at byte %d is larger than %d bytes", e.Index, e.Offset, e.Limit)
}

// CorruptError says that the bytes break the rules of their framing.
type CorruptError struct {
	Offset int64  // where the message began; in a JSON array, the byte at fault
	Index  int    // the index the frame would have had
	Reason string // fixed words, never bytes of the body
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("frame: frame %d at byte %d is corrupt: %s", e.Index, e.Offset, e.Reason)
}

// TruncatedError says that the body ended or broke where its framing does not
// allow it.
type TruncatedError struct {
	Offset int64 // where the missing frame began or should have begun
	Index  int   // the index it would have had
	Err    error // io.ErrUnexpectedEOF, or the error of the read
}

func (e *TruncatedError) Error() string {
	return fmt.Sprintf("frame: body cut in frame %d at byte %d: %v", e.Index, e.Offset, e.Err)
}

// Unwrap returns Err, so that a cancelled context can be found.
func (e *TruncatedError) Unwrap() error { return e.Err }

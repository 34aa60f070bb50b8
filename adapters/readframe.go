package adapters

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonstream"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// ReadFrame parses the JSON of a frame into v, which should be new. Some hosts forget
// to escape what stands in strings; that is mended, but a frame that was cut is not.
// Members of a wrong type are left out and the others read, as there is nothing to be
// lost with them. The error is a [FrameError].
func ReadFrame(f frame.Frame, v any) error {
	err := jsonwire.Unmarshal(f.Data, v)
	if Readable(err) {
		return nil
	}
	if !f.Unterminated {
		if r := jsonstream.Repair(f.Data); r.Error == "" {
			err = json.Unmarshal([]byte(r.JSON), v)
		}
	}
	if Readable(err) {
		return nil
	}
	return NewFrameError(f, err)
}

// Readable says whether JSON was read but for members of a wrong type.
func Readable(err error) bool {
	_, wrong := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || wrong
}

// WholeObject is the text of an object that came in pieces: as it is if it is one, else
// what can be read of it, as a broken one could never be sent back.
func WholeObject(text string) json.RawMessage {
	text = jsonwire.Clean(text)
	if jsonstream.Object([]byte(text)) == nil {
		return json.RawMessage(text)
	}
	return json.RawMessage(jsonstream.Repair([]byte(text)).JSON)
}

// InnerObject is the object in a JSON string that holds the text of one, as hosts send
// that encode arguments twice. Any other text stays as it is.
func InnerObject(text string) string {
	in := strings.TrimSpace(text)
	if !strings.HasPrefix(in, `"`) || !json.Valid([]byte(in)) {
		return text
	}
	var inner jsonwire.Text
	if inner.UnmarshalJSON([]byte(in)) != nil || jsonstream.Object([]byte(jsonwire.Clean(string(inner)))) != nil {
		return text
	}
	return string(inner)
}

// InnerBeginning is what has come of such an object where its string was cut.
func InnerBeginning(text string) string {
	in := strings.TrimSpace(text)
	for half := range min(len(in), len(`\u0000`)) { // of an escape, or the closing quote
		var inner jsonwire.Text
		whole := []byte(in[:len(in)-half] + `"`)
		if !json.Valid(whole) || inner.UnmarshalJSON(whole) != nil {
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(string(inner)), "{") {
			return string(inner)
		}
		break
	}
	return text
}

// WholeInput is the text of a call's input that came at once. Some hosts send the object
// as a string.
func WholeInput(input json.RawMessage) string {
	var text jsonwire.Text
	if len(input) > 0 && (input[0] == '"' || input[0] == 'n') {
		_ = text.UnmarshalJSON(input) // a valid string or null
		return string(text)
	}
	return string(input)
}

// FrameError means that a frame could not be read. Its text does not quote it.
type FrameError struct {
	// Index is the frame's number, Offset its place in the body.
	Index  int
	Offset int64
	// Err is the cause. Its text may quote a byte of the frame. It is [ErrTruncated]
	// where the end of the body cut the frame.
	Err error
}

// NewFrameError is the error of a frame that is not what it should be.
func NewFrameError(f frame.Frame, cause error) *FrameError {
	if f.Unterminated {
		cause = ErrTruncated
	}
	return &FrameError{Index: f.Index, Offset: f.Offset, Err: cause}
}

func (e *FrameError) Error() string {
	return fmt.Sprintf("adapters: frame %d at byte %d cannot be read", e.Index, e.Offset)
}

// Unwrap gives the cause.
func (e *FrameError) Unwrap() error { return e.Err }

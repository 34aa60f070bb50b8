package frame

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var errBroken = errors.New("connection broken")

// result is all that a body gives: its frames, with data copied, and its end.
type result struct {
	Frames []Frame
	Err    string
}

// said tells an error's type and every fact in it.
func said(err error) string { return fmt.Sprintf("%T: %v", err, err) }

func readAll(t testing.TB, kind Kind, r io.Reader, maxFrame int) result {
	t.Helper()
	reader := NewReader(kind, r, maxFrame)
	var got result
	for {
		f, err := reader.Next()
		if err != nil {
			if _, again := reader.Next(); again != err {
				t.Errorf("error after the error: %v, then %v", err, again)
			}
			if (err == io.EOF) != errors.Is(err, io.EOF) {
				t.Errorf("io.EOF is wrapped: %v", err)
			}
			got.Err = said(err)
			return got
		}
		if f.Index != len(got.Frames) {
			t.Errorf("frame %d has index %d", len(got.Frames), f.Index)
		}
		f.Data = bytes.Clone(f.Data)
		got.Frames = append(got.Frames, f)
	}
}

// differ is cmp.Diff, but quick where nothing differs: it runs for every cut.
func differ[T any](want, got T) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}

// check fills in the indexes of the frames wanted, to keep tables short.
func check(t *testing.T, got result, frames []Frame, err error) {
	t.Helper()
	want := result{Err: said(err)}
	for i, f := range frames {
		f.Index = i
		want.Frames = append(want.Frames, f)
	}
	if diff := differ(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// inPieces reads each piece with one Read, nothing between two pieces, then err.
type inPieces struct {
	pieces [][]byte
	err    error
}

func (r *inPieces) Read(p []byte) (int, error) {
	if len(r.pieces) == 0 {
		return 0, r.err
	}
	if len(r.pieces[0]) == 0 {
		r.pieces = r.pieces[1:]
		return 0, nil
	}
	n := copy(p, r.pieces[0])
	r.pieces[0] = r.pieces[0][n:]
	return n, nil
}

func cutAt(body []byte, at int, err error) *inPieces {
	return &inPieces{pieces: [][]byte{body[:at], body[at:]}, err: err}
}

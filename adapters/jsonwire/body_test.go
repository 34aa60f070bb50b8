package jsonwire

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"testing"
	"testing/iotest"
)

// A body with large data is the text that it would be in one piece, however it is
// read.
func TestBody(t *testing.T) {
	for _, sizes := range [][]int{{}, {10}, {largeData}, {largeData + 1}, {largeData + 2, 5, largeData + 3}, {largeData + 300, largeData + 301}} {
		t.Run(fmt.Sprint(sizes), func(t *testing.T) {
			var w Writer
			want := []byte(`["first"`)
			w.BeginArray()
			w.String("first")
			large := 0
			for i, n := range sizes {
				data := bytes.Repeat([]byte{byte(i), 0xfb, 0xff, 7}, n/4+1)[:n]
				w.Base64("data:x;base64,", data)
				want = append(base64.StdEncoding.AppendEncode(append(want, `,"data:x;base64,`...), data), '"')
				if n > largeData {
					large++
				}
			}
			w.EndArray()
			want = append(want, ']')
			b := w.Body()
			if len(b.Large) != large {
				t.Errorf("%d holes, want %d", len(b.Large), large)
			}
			if b.Len() != int64(len(want)) {
				t.Errorf("%d bytes, want %d", b.Len(), len(want))
			}
			var written bytes.Buffer
			if _, err := b.WriteTo(&written); err != nil {
				t.Fatal(err)
			}
			for name, got := range map[string][]byte{
				"Bytes": b.Bytes(), "Writer.Bytes": w.Bytes(), "WriteTo": written.Bytes(),
				"whole": read(t, b.Reader()), "by bytes": read(t, iotest.OneByteReader(b.Reader())), "by halves": read(t, iotest.HalfReader(b.Reader())),
			} {
				if !bytes.Equal(got, want) {
					t.Errorf("%s differs: %d bytes, want %d", name, len(got), len(want))
				}
			}
			if err := iotest.TestReader(b.Reader(), want); err != nil {
				t.Error(err)
			}
		})
	}
}

func read(t *testing.T, r io.Reader) []byte {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Large data is not copied.
func TestBodyMemory(t *testing.T) {
	data := make([]byte, 8<<20)
	r := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var w Writer
			w.Base64("", data)
			if _, err := w.Body().WriteTo(io.Discard); err != nil {
				b.Fatal(err)
			}
		}
	})
	if got := r.AllocedBytesPerOp(); got > 128<<10 {
		t.Errorf("%d bytes are allocated for sending %d", got, len(data))
	}
}

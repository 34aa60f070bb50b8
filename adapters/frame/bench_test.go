package frame

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// A stream of 10,000 frames, shaped like token deltas, and one of large frames.
func BenchmarkReader(b *testing.B) {
	token := `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}}`
	large := `{"candidates":[{"data":"` + strings.Repeat("QUJD", 64<<10) + `"}]}`
	bodies := []struct {
		name string
		kind Kind
		body []byte
	}{
		{"SSE/tokens", SSE, []byte(strings.Repeat("event: content_block_delta\ndata: "+token+"\n\n", 10000))},
		{"SSE/large", SSE, []byte(strings.Repeat("data: "+large+"\n\n", 10))},
		{"JSON/tokens", JSON, []byte("[" + strings.Repeat(token+",\n", 10000) + "]")},
		{"EventStream/tokens", EventStream, bytes.Repeat(event(b, "contentBlockDelta", token), 10000)},
	}
	for _, c := range bodies {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.body)))
			b.ReportAllocs()
			for b.Loop() {
				readThrough(b, c.kind, c.body)
			}
		})
	}
}

// An event in each read, as a provider writes them one by one.
func BenchmarkEventARead(b *testing.B) {
	one := []byte(`event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}}

`)
	r := NewReader(SSE, endless(one), 0)
	b.SetBytes(int64(len(one)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

// endless gives the same bytes at each Read.
type endless []byte

func (e endless) Read(p []byte) (int, error) { return copy(p, e), nil }

// The cost of a byte must not depend on how long its frame is, nor on how
// small the pieces are in which it comes.
func BenchmarkGrowth(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 16, 1 << 22} {
		b.Run(fmt.Sprintf("SSE/%dKiB", size>>10), func(b *testing.B) {
			body := []byte("data: {" + strings.Repeat("x", size) + "\n\n")
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				readThrough(b, SSE, body)
			}
		})
	}
}

func readThrough(b *testing.B, kind Kind, body []byte) {
	b.Helper()
	r := NewReader(kind, bytes.NewReader(body), 0)
	for {
		if _, err := r.Next(); err == io.EOF {
			return
		} else if err != nil {
			b.Fatal(err)
		}
	}
}

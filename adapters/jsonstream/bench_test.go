package jsonstream_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters/jsonstream"
)

// BenchmarkScanner streams documents in deltas of 4 bytes, about what a model's token is, and
// asks for the prefix after each. The time per byte at 64 KiB and at 1 MiB should be the same.
func BenchmarkScanner(b *testing.B) {
	kinds := []struct {
		name, unit string
		grows      int // by mending, in bytes
	}{
		{"prose", `"The quick brown fox jumps over the lazy dog and on.",`, 0},
		{"records", `{"id":12345,"ok":true,"tags":["a","b"],"x":{"y":null}},`, 0},
		{"unicode", `"Größe 大きさ 😀 \u00e9\ud83d\ude00",`, 0},
		{"mended", "\"C:\\dir\\x\n\ty\",", 4},
	}
	for _, k := range kinds {
		for _, size := range []int{64 << 10, 1 << 20} {
			n := (size - len(`{"a":[0]}`)) / (len(k.unit) + k.grows)
			text := []byte(`{"a":[` + strings.Repeat(k.unit, n) + `0]}`)
			b.Run(fmt.Sprintf("%s/%dKiB", k.name, size>>10), func(b *testing.B) { stream(b, text) })
		}
	}
}

func stream(b *testing.B, text []byte) {
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		var s jsonstream.Scanner
		for at := 0; at < len(text); at += 4 {
			s.Write(text[at:min(at+4, len(text))])
			s.Prefix()
		}
		if r := s.Finish(); r.Error != "" {
			b.Fatal(r.Error)
		}
	}
	perByte := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / float64(len(text))
	b.ReportMetric(perByte, "ns/byte")
}

// BenchmarkObject checks a text that is there as a whole.
func BenchmarkObject(b *testing.B) {
	unit := `{"id":12345,"ok":true,"tags":["a","b"],"x":{"y":null},"t":"The quick brown fox"},`
	text := []byte(`{"a":[` + strings.Repeat(unit, 1<<20/len(unit)-1) + `0]}`)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := jsonstream.Object(text); err != nil {
			b.Fatal(err)
		}
	}
}

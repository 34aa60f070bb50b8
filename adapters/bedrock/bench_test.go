package bedrock

import (
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
)

// BenchmarkDecode reads one delta of text, of which answers mostly consist.
func BenchmarkDecode(b *testing.B) {
	f := frame.Frame{Event: "contentBlockDelta", Data: []byte(`{"contentBlockIndex":0,"delta":{"text":" popular tourist cities"},"p":"abcdefghijklmnopqrstuvwxyz"}`)}
	d := New().NewDecoder(nil)
	var sink adapters.Sink
	b.ReportAllocs()
	b.SetBytes(int64(len(f.Data)))
	for b.Loop() {
		sink.Reset()
		if err := d.Decode(f, &sink); err != nil {
			b.Fatal(err)
		}
	}
}

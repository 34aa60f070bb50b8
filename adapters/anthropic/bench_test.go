package anthropic

import (
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
)

// BenchmarkDecode reads the most frequent frame of all.
func BenchmarkDecode(b *testing.B) {
	start := frame.Frame{Event: "content_block_start", Data: []byte(blockStart(0, `{"type":"text","text":""}`))}
	data := frame.Frame{Event: "content_block_delta", Data: []byte(blockDelta(0, `{"type":"text_delta","text":" a few words of text"}`))}
	d := New().NewDecoder(&adapters.Call{})
	var sink adapters.Sink
	if err := d.Decode(start, &sink); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data.Data)))
	b.ReportAllocs()
	for b.Loop() {
		sink.Reset()
		if err := d.Decode(data, &sink); err != nil {
			b.Fatal(err)
		}
	}
}

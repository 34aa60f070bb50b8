package anthropic

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
)

// sameAsPlain: what is read as usual is what the plain way reads.
func sameAsPlain(t *testing.T, data []byte) bool {
	t.Helper()
	var got, want event
	if !got.readUsual(data) {
		return false
	}
	if err := adapters.ReadFrame(frame.Frame{Data: data}, &want); err != nil {
		t.Errorf("%s: read as usual, plainly %v", data, err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: plain -, usual +\n%s", data, d)
	}
	return true
}

func TestUsual(t *testing.T) {
	for _, in := range []string{
		blockDelta(0, `{"type":"text_delta","text":" word"}`),
		blockDelta(12, `{"type":"thinking_delta","thinking":"\u00e9\n"}`),
		blockDelta(1, `{"type":"input_json_delta","partial_json":"{\"a\":\"\ud83d"}`),
		` { "delta" : {"text":"a", "type":"text_delta"}, "index":3, "type":"content_block_delta" } `,
		`{"type":"content_block_stop","index":3}`, `{"type":"message_stop"}`,
		`{"type":"content_block_delta","index":0,"index":1,"delta":{"type":"text_delta","text":"a","text":"b"}}`,
	} {
		if !sameAsPlain(t, []byte(in)) {
			t.Errorf("%s: not usual", in)
		}
	}
	for _, in := range []string{
		blockDelta(0, `{"type":"signature_delta","signature":"c2ln"}`),
		blockDelta(0, `{"type":"text_delta","text":" word","citation":{}}`),
		blockDelta(0, `{"type":"text_delta","text":5}`),
		blockDelta(0, `{"type":"text_delta","text":"a"`),
		`{"type":"message_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`,
		`{"index":0,"delta":{"type":"text_delta","text":"a"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"},"error":{}}`,
		`{"type":"content_block_delta","Type":"error","index":0,"delta":{"type":"text_delta","text":"a"}}`,
	} {
		if (&event{}).readUsual([]byte(in)) {
			t.Errorf("%s: taken for usual", in)
		}
	}
}

// TestUsualIsUsual: the fast way is the one that deltas really take.
func TestUsualIsUsual(t *testing.T) {
	d := New().NewDecoder(&adapters.Call{})
	var sink adapters.Sink
	if err := d.Decode(frame.Frame{Data: []byte(blockStart(0, `{"type":"text","text":""}`))}, &sink); err != nil {
		t.Fatal(err)
	}
	delta := frame.Frame{Event: deltaEvent, Data: []byte(blockDelta(0, `{"type":"text_delta","text":" word"}`))}
	if n := testing.AllocsPerRun(100, func() {
		sink.Reset()
		if err := d.Decode(delta, &sink); err != nil {
			t.Fatal(err)
		}
	}); n > 1 { // the text itself
		t.Errorf("%v allocations for a delta", n)
	}
}

func FuzzUsual(f *testing.F) {
	f.Add([]byte(blockDelta(0, `{"type":"text_delta","text":"a\ud83d\ude00","thinking":null}`)))
	f.Add([]byte(`{"type":"content_block_delta","type":null,"delta":{"partial_json":"\\","type":"input_json_delta"},"index":0}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		sameAsPlain(t, data)
	})
}

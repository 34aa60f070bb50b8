package anthropic

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// sameAsPlain: what is read as usual is what the plain way reads.
func sameAsPlain(t *testing.T, data []byte) bool {
	t.Helper()
	var want event
	got := (&usual{}).read(data)
	if got == nil {
		return false
	}
	if err := adapters.ReadFrame(frame.Frame{Data: data}, &want); err != nil {
		t.Errorf("%s: read as usual, plainly %v", data, err)
	}
	if d := cmp.Diff(&want, got, cmp.AllowUnexported(usage{}, count{})); d != "" {
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
		`{"type":"message_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`,
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-1","content":[],"stop_reason":null,"stop_sequence":null,"stop_details":null,` +
			`"usage":{"input_tokens":9,"cache_creation_input_tokens":3,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":1,"ephemeral_1h_input_tokens":2},` +
			`"output_tokens":1,"service_tier":"standard","inference_geo":"us"}}}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":100},"context_management":{"applied_edits":[]}}`,
		`{"type":"message_start","message":{"id":"msg_1","input_transformations":[]}}`,
		blockStart(0, `{"type":"text","text":""}`), blockStart(1, ` { "type" : "other", "x" : [ 1, "\u00e9" ] } `),
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
		`{"index":0,"delta":{"type":"text_delta","text":"a"}}`,
		`{"type":"message_start","message":{"id":"msg_1"},"message":{"model":"m"}}`,
		`{"type":"message_start","message":{"id":"msg_1","content":[{"type":"text"}]}}`,
		`{"type":"message_start","message":{"id":"msg_\u0031"}}`,
		`{"type":"message_start","message":{"input_transformations":[{}]}}`,
		`{"type":"message_start","message":{"stop_reason":"end_turn"}}`,
		`{"type":"message_start","message":{"Model":"m"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"explanation":"no"}}}`,
		`{"type":"message_delta","usage":{"output_tokens":1,"cost":0.1}}`,
		`{"type":"message_delta","usage":{"output_tokens":1.0}}`,
		`{"type":"message_delta","usage":{"output_tokens":1},"usage":{"input_tokens":1}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"},"error":{}}`,
		`{"type":"content_block_delta","Type":"error","index":0,"delta":{"type":"text_delta","text":"a"}}`,
	} {
		if (&usual{}).read([]byte(in)) != nil {
			t.Errorf("%s: taken for usual", in)
		}
	}
}

// sameBlock: what is read as a usual block is what the plain way reads.
func sameBlock(t *testing.T, data []byte) bool {
	t.Helper()
	var got, want startedBlock
	if !got.readUsual(data) {
		return false
	}
	if err := jsonwire.Unmarshal(data, &want); err != nil {
		t.Errorf("%s: read as usual, plainly %v", data, err)
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(usage{}, count{})); d != "" {
		t.Errorf("%s: plain -, usual +\n%s", data, d)
	}
	return true
}

func TestUsualBlock(t *testing.T) {
	for _, in := range []string{
		`{"type":"text","text":""}`, `{"type":"text","text":"\ud83d","citations":null}`,
		`{"type":"thinking","thinking":"","signature":""}`,
		`{"type":"tool_use","id":"toolu_1","name":"write","input":{ "a" : [1] }}`,
	} {
		if !sameBlock(t, []byte(in)) {
			t.Errorf("%s: not usual", in)
		}
	}
	for _, in := range []string{
		`{"type":"redacted_thinking","data":"c2ln"}`, `{"type":"text","text":"","citations":[]}`, `{"type":"text","Text":"a"}`,
		`{"text":"a"}`, `{"type":"text"`, `null`, `{"type":"tool_use","name":"\u0061"}`, `{"type":"tool_use","input":{]}`,
	} {
		if (&startedBlock{}).readUsual([]byte(in)) {
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

// sameAfter: a frame means the same, whatever frame came before it.
func sameAfter(t *testing.T, before, data []byte) {
	t.Helper()
	var warm, fresh usual
	warm.read(before)
	if d := cmp.Diff(fresh.read(data), warm.read(data), cmp.AllowUnexported(usage{}, count{})); d != "" {
		t.Errorf("%s\nafter %s: fresh -, warm +\n%s", data, before, d)
	}
}

// TestUsualRepeats: a frame that differs in its piece alone is read by that.
func TestUsualRepeats(t *testing.T) {
	frames := []string{
		blockDelta(0, `{"type":"text_delta","text":" word"}`),
		blockDelta(0, `{"type":"text_delta","text":"\u00e9\"}"}`),
		blockDelta(0, `{"type":"text_delta","text":""}`),
		blockDelta(0, `{"type":"text_delta","text":null}`),
		blockDelta(0, `{"type":"text_delta","text":"a","text":"b"}`),
		blockDelta(0, `{"type":"text_delta","text":"a","text":null}`),
		blockDelta(0, `{"type":"text_delta","text":"b","text":null}`),
		blockDelta(0, `{"type":"text_delta","text":"","text":"a"}`),
		blockDelta(0, `{"type":"text_delta","text":"","text":"b"}`),
		blockDelta(1, `{"type":"text_delta","text":" word"}`),
		blockDelta(0, `{"type":"thinking_delta","thinking":" word"}`),
		blockDelta(0, `{"type":"text_delta","text":" word"} `),
		blockDelta(0, `{"type":"text_delta","text":" word","x":"y"}`),
		`{"type":"message_delta","delta":{"text":"a"},"usage":{"output_tokens":1}}`,
		`{"type":"content_block_stop","index":0}`,
	}
	for _, before := range frames {
		for _, data := range frames {
			sameAfter(t, []byte(before), []byte(data))
		}
	}
	var u usual
	u.read([]byte(frames[0]))
	if text, ok := u.repeat.Piece([]byte(frames[1])); !ok || text != "é\"}" {
		t.Errorf("the piece is %q, %v", text, ok)
	}
	u.read([]byte(frames[len(frames)-1]))
	if _, ok := u.repeat.Piece([]byte(frames[0])); ok {
		t.Error("a delta repeats the end of a block")
	}
}

func FuzzUsual(f *testing.F) {
	f.Add([]byte(blockDelta(0, `{"type":"text_delta","text":"a\ud83d\ude00","thinking":null}`)), []byte(blockDelta(0, `{"type":"text_delta","text":"b","thinking":null}`)))
	f.Add([]byte(`{"type":"content_block_delta","type":null,"delta":{"partial_json":"\\","type":"input_json_delta"},"index":0}`), []byte{})
	f.Add([]byte(`{"type":"message_start","message":{"id":"a","model":"b","content":[],"usage":{"input_tokens":1,"cache_creation":{"ephemeral_1h_input_tokens":2}}}}`), []byte{})
	f.Add([]byte(blockStart(0, `{"type":"tool_use","id":"a","name":"b","input":{},"text":null}`)), []byte(`\n"}`))
	f.Add([]byte(`{"type":"tool_use","id":"a","name":"b","input":{"a":"\ud83d"},"signature":"c","thinking":""}`), []byte{})
	f.Fuzz(func(t *testing.T, data, other []byte) {
		sameAsPlain(t, data)
		sameBlock(t, data)
		sameAfter(t, data, other)
		var u usual
		u.read(data)
		for variant := range adaptertest.Variants(data, other) {
			if _, repeats := u.repeat.Piece(variant); repeats {
				sameAfter(t, data, variant)
			}
		}
	})
}

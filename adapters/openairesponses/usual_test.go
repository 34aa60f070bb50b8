package openairesponses

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
)

// sameAsPlain: what is read as usual is what the plain way reads.
func sameAsPlain(t *testing.T, u *usual, data []byte) bool {
	t.Helper()
	got := u.read(data)
	if got == nil {
		return false
	}
	var want event
	if err := adapters.ReadFrame(frame.Frame{Data: data}, &want); err != nil {
		t.Errorf("%s: read as usual, plainly %v", data, err)
	}
	if d := cmp.Diff(&want, got); d != "" {
		t.Errorf("%s: plain -, usual +\n%s", data, d)
	}
	return true
}

// The members in the orders in which hosts send them.
const (
	usualText      = `{"type":"response.output_text.delta","content_index":0,"delta":" word","item_id":"msg_1","logprobs":[],"obfuscation":"x4","output_index":2,"sequence_number":5}`
	usualSummary   = `{"type":"response.reasoning_summary_text.delta","sequence_number":5,"item_id":"rs_1","output_index":0,"summary_index":1,"delta":"**A","obfuscation":"x4"}`
	usualThought   = `{"content_index":1,"delta":"So, ","item_id":"rs_1","output_index":0,"sequence_number":5,"type":"response.reasoning_text.delta"}`
	usualArguments = `{"type":"response.function_call_arguments.delta","delta":"{\"a\":","item_id":"fc_1","obfuscation":"x4","output_index":1,"sequence_number":5}`
)

func TestUsual(t *testing.T) {
	const head = `{"type":"response.output_text.delta",`
	for _, in := range []string{
		usualText, usualSummary, usualThought, usualArguments,
		` { "delta" : "a", "type":"response.output_text.delta" } `,
		head + `"delta":"\u00e9 \ud83d"}`, head + `"delta":"é"}`, head + `"delta":""}`, head + `"delta":null}`, head + `"item_id":"msg_1"}`,
		head + `"delta":"a","logprobs":[{"token":"a","logprob":-0.1,"bytes":[97],"top_logprobs":[]}],"sequence_number":-1,"obfuscation":null}`,
		head + `"delta":"a","delta":"b"}`, head + `"delta":"a","delta":null}`,
		head + `"output_index":1,"output_index":2,"item_id":"a","item_id":"b","content_index":1,"content_index":0}`,
		head + `"type":"response.reasoning_text.delta","delta":"a"}`,
	} {
		if !sameAsPlain(t, &usual{}, []byte(in)) {
			t.Errorf("%s: not usual", in)
		}
	}
	for _, in := range []string{
		created, completed,
		`{"type":"response.output_text.done","text":"a"}`, `{"type":"response.refusal.delta","delta":"a"}`,
		`{"delta":"a"}`, `{}`, `[]`, `null`, ``, `{"type":null,"delta":"a"}`, `{"type":5}`,
		`{"type":"response.output_text.delta","type":"error","delta":"a"}`,
		`{"type":"error","type":"response.output_text.delta","delta":"a"}`,
		`{"type":"response.output_text.d\u0065lta","delta":"a"}`,
		head + `"delta":"a"`, head + `"delta":"a"}}`, head + `"delta":"a",}`, head + `"delta":"a"}{}`, head + `"delta":"a","logprobs":[}`,
		head + `"delta":{"a":1}}`, head + `"delta":5}`, head + `"delta":["a"]}`,
		head + `"Delta":"a"}`, head + `"delta":"a","DELTA":"b"}`, head + `"delta":"a","outputIndex":1}`, head + `"d\u0065lta":"a"}`,
		head + `"output_index":null}`, head + `"output_index":"1"}`, head + `"output_index":-1}`, head + `"output_index":1.0}`, head + `"output_index":12345678901}`,
		head + `"content_index":null}`, head + `"summary_index":"1"}`,
		head + `"item_id":null}`, head + `"item_id":7}`, head + `"item_id":"\ud83d"}`, head + `"item_id":"é"}`,
		head + `"delta":"a","response":{"id":"resp_1"}}`, head + `"delta":"a","object":"error"}`, head + `"delta":"a","error":{"message":"m"}}`, head + `"delta":"a","error":null}`,
		head + `"item":{}}`, head + `"text":"a"}`, head + `"refusal":"a"}`, head + `"arguments":"{}"}`, head + `"part":{}}`, head + `"call_id":"c"}`, head + `"name":"f"}`,
		head + `"delta":"a","other":1}`,
	} {
		if (&usual{}).read([]byte(in)) != nil {
			t.Errorf("%s: taken for usual", in)
		}
	}
}

// TestUsualLeavesNothing: a frame shows nothing of the one before.
func TestUsualLeavesNothing(t *testing.T) {
	frames := []string{
		usualText, usualSummary, usualThought, usualArguments,
		`{"type":"response.output_text.delta"}`, `{"item_id":"msg_1","type":"response.refusal.delta"}`, `{"item_id":"msg_`,
	}
	for _, before := range frames {
		for _, data := range frames {
			u := &usual{}
			u.read([]byte(before))
			sameAsPlain(t, u, []byte(data))
		}
	}
}

// TestUsualInAnErrorEvent: the name of an event says that it is an error, whatever is in it.
func TestUsualInAnErrorEvent(t *testing.T) {
	var sink adapters.Sink
	if err := New().NewDecoder(nil).Decode(frame.Frame{Event: "error", Data: []byte(usualText)}, &sink); err == nil {
		t.Error("no error")
	}
}

// TestUsualIsUsual: the fast way is the one that deltas really take.
func TestUsualIsUsual(t *testing.T) {
	for _, in := range []string{usualText, usualSummary, usualThought, usualArguments} {
		d, delta := New().NewDecoder(nil), frame.Frame{Data: []byte(in)}
		var sink adapters.Sink
		if n := testing.AllocsPerRun(100, func() {
			sink.Reset()
			if err := d.Decode(delta, &sink); err != nil {
				t.Fatal(err)
			}
		}); n > 1 { // the piece itself
			t.Errorf("%s: %v allocations", in, n)
		}
	}
}

func FuzzUsual(f *testing.F) {
	f.Add([]byte(usualText), []byte(usualArguments))
	f.Add([]byte(usualSummary), []byte(usualThought))
	f.Add([]byte(`{"type":"response.output_text.delta","delta":"a\ud83d\ude00","item_id":"\u00e9","output_index":0,"output_index":1}`), []byte(`{"item_id":"a"`))
	f.Add([]byte(`{"type":"response.reasoning_text.delta","delta":null,"delta":"\\","logprobs":{"a":[-1e+5,true]},"Name":""}`), []byte{})
	f.Fuzz(func(t *testing.T, data, other []byte) {
		u := &usual{}
		sameAsPlain(t, u, other)
		sameAsPlain(t, u, data)
	})
}

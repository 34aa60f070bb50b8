package openaichat

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/frame"
)

// sameAsPlain: what is read as usual is what the plain way reads, but for empty
// values that mean the same as none.
func sameAsPlain(t *testing.T, data []byte) bool {
	t.Helper()
	d := decoder{responseID: "chatcmpl-1", model: "m1", tier: "default"}
	var want chunk
	got := d.usual.read(data, &d)
	if got == nil {
		return false
	}
	if err := adapters.ReadFrame(frame.Frame{Data: data}, &want); err != nil {
		t.Errorf("%s: read as usual, plainly %v", data, err)
	}
	nulls(&want)
	if d := cmp.Diff(&want, got, cmp.AllowUnexported(chunk{}, content{}, callDelta{}, extraContent{})); d != "" {
		t.Errorf("%s: plain -, usual +\n%s", data, d)
	}
	return true
}

// nulls drops the raw nulls that the plain way keeps; jsonwire.Says and blank take
// them for nothing.
func nulls(c *chunk) {
	for _, raw := range []*[]byte{
		(*[]byte)(&c.Citations), (*[]byte)(&c.SearchResults), (*[]byte)(&c.Error),
	} {
		drop(raw)
	}
	for i := range c.Choices {
		ch := &c.Choices[i]
		drop((*[]byte)(&ch.Error))
		if ch.Delta != nil {
			drop((*[]byte)(&ch.Delta.Images))
			drop((*[]byte)(&ch.Delta.ExecutedTools))
			drop((*[]byte)(&ch.Delta.Audio))
		}
	}
}

func drop(raw *[]byte) {
	if string(*raw) == "null" {
		*raw = nil
	}
}

func TestUsual(t *testing.T) {
	const head = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m1",`
	for _, in := range []string{
		head + `"choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}`,
		head + `"choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":""}],"obfuscation":"x"}`,
		head + `"choices":[{"index":0,"delta":{"content":null,"reasoning_content":"\u00e9 \ud83d"}}]}`,
		head + `"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{\"a\":"}}]}}]}`,
		head + `"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}]}}]}`,
		head + `"choices":[]}`, head + `"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
		head + `"choices":[{"index":1,"delta":{"content":"other answer","tool_calls":null}}]}`,
		head + `"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":100,"total_tokens":109}}`,
		head + `"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":0,"total_tokens":9,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":2,"audio_tokens":0},` +
			`"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}`,
		head + `"choices":[],"usage":{"prompt_cache_hit_tokens":3,"prompt_cache_miss_tokens":6,"cached_tokens":1,"prompt_tokens_details":null,"completion_tokens_details":null}}`,
		head + `"choices":[],"usage":{"prompt_tokens_details":{"cached_tokens":4},"prompt_tokens_details":null,"prompt_tokens_details":{"cache_write_tokens":1}}}`,
		`{"id":null,"model":"m2","service_tier":"flex","choices":[{"delta":{}}],"error":null,"citations":null}`,
	} {
		if !sameAsPlain(t, []byte(in)) {
			t.Errorf("%s: not usual", in)
		}
	}
	for _, in := range []string{
		head + `"choices":[{"index":0,"delta":{},"finish_reason":"stop","error":{}}]}`,
		head + `"choices":[],"usage":{"prompt_tokens":1,"cost":0.1}}`,
		head + `"choices":[],"usage":{"prompt_tokens":"1"}}`,
		head + `"choices":[],"usage":{"Prompt_Tokens":1}}`,
		head + `"choices":[],"usage":{"prompt_tokens":1},"usage":{"completion_tokens":1}}`,
		head + `"choices":[],"usage":{"prompt_tokens":1},"usage":null}`,
		head + `"choices":[{"index":0,"delta":{"content":[{"text":"a"}]}}]}`,
		head + `"choices":[{"index":0,"delta":{"content":"a","Content":"b"}}]}`,
		head + `"choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}]}`,
		head + `"choices":[{"index":0,"delta":{"content":"a"}}],"choices":[]}`,
		head + `"choices":[{"index":0,"delta":{"content":"a"},"delta":{"refusal":null}}]}`,
		head + `"choices":[{"index":0,"delta":{"refusal":"no"}}]}`,
		head + `"choices":[{"index":"0","delta":{"content":"a"}}]}`,
		head + `"choices":[{"index":0,"delta":{"content":"a"}}],"error":{"message":"m"}}`,
		`{"error":{"message":"m"}}`, `{"choices":null}`,
	} {
		d := &decoder{}
		if d.usual.read([]byte(in), d) != nil {
			t.Errorf("%s: taken for usual", in)
		}
	}
}

// TestUsualLeavesNothing: a frame shows nothing of the one before.
func TestUsualLeavesNothing(t *testing.T) {
	d := &decoder{}
	read := func(in string) *chunk {
		c := d.usual.read([]byte(in), d)
		if c == nil {
			t.Fatalf("%s: not usual", in)
		}
		return c
	}
	read(`{"id":"a","choices":[{"index":3,"delta":{"content":"x","tool_calls":[{"index":5,"id":"c","function":{"name":"f","arguments":"{"}}]}}]}`)
	read(`{"choices":[{"delta":{"tool_calls":[{}]}}]}`)
	got := read(`{"choices":[{"delta":{"tool_calls":[{"function":{}}]}}]}`)
	want := &chunk{Choices: []choice{{Delta: &delta{ToolCalls: []callDelta{{}}}}}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(chunk{}, content{}, callDelta{}, extraContent{})); d != "" {
		t.Error(d)
	}
}

// TestUsualIsUsual: the fast way is the one that deltas really take.
func TestUsualIsUsual(t *testing.T) {
	data := []byte(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m1","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}`)
	d := New().NewDecoder(&adapters.Call{Model: model()})
	var sink adapters.Sink
	if n := testing.AllocsPerRun(100, func() {
		sink.Reset()
		if err := d.Decode(frame.Frame{Data: data}, &sink); err != nil {
			t.Fatal(err)
		}
	}); n > 1 { // the text itself
		t.Errorf("%v allocations for a delta", n)
	}
}

// sameAfter: a frame means the same, whatever frame came before it.
func sameAfter(t *testing.T, before, data []byte) {
	t.Helper()
	warm, fresh := &decoder{}, &decoder{}
	warm.usual.read(before, warm)
	want, got := fresh.usual.read(data, fresh), warm.usual.read(data, warm)
	if d := cmp.Diff(want, got, cmp.AllowUnexported(chunk{}, content{}, callDelta{}, extraContent{})); d != "" {
		t.Errorf("%s\nafter %s: fresh -, warm +\n%s", data, before, d)
	}
}

// TestUsualRepeats: a frame that differs in its piece alone is read by that.
func TestUsualRepeats(t *testing.T) {
	const head = `{"id":"chatcmpl-1","choices":[{"index":0,"delta":`
	frames := []string{
		head + `{"content":" word"}}]}`, head + `{"content":"\u00e9\"}"}}]}`, head + `{"content":""}}]}`, head + `{"content":null}}]}`,
		head + `{"content":"a","content":"b"}}]}`, head + `{"content":" word","x":"y"}}]}`,
		head + `{"content":"a","content":null}}]}`, head + `{"content":"b","content":null}}]}`, head + `{"content":"","content":"a"}}]}`, head + `{"content":"","content":"b"}}]}`,
		head + `{"content":" word"},"finish_reason":"stop"}]}`,
		head + `{"content":"a","reasoning_content":""}}]}`, head + `{"content":"","reasoning_content":"a"}}]}`, head + `{"content":"a","reasoning_content":"b"}}]}`,
		head + `{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]}}]}`, head + `{"tool_calls":[{"index":0,"function":{"arguments":"1"}}]}}]}`,
		head + `{"tool_calls":[{"index":1,"function":{"arguments":"1"}}]}}]}`,
		`{"id":"chatcmpl-1","choices":[],"usage":{"total_tokens":1}}`,
	}
	for _, before := range frames {
		for _, data := range frames {
			sameAfter(t, []byte(before), []byte(data))
		}
	}
	d := &decoder{}
	d.usual.read([]byte(frames[0]), d)
	if text, ok := d.usual.repeat.Piece([]byte(frames[1])); !ok || text != "é\"}" {
		t.Errorf("the piece is %q, %v", text, ok)
	}
	d.usual.read([]byte(frames[len(frames)-1]), d)
	if _, ok := d.usual.repeat.Piece([]byte(frames[0])); ok {
		t.Error("a delta repeats the usage")
	}
}

// TestRepeatsAreDecoded: what is made of a frame does not depend on how it was read.
func TestRepeatsAreDecoded(t *testing.T) {
	call := func(entry string) string { return `{"choices":[{"index":0,"delta":{"tool_calls":[` + entry + `]}}]}` }
	text := func(delta string) string { return `{"choices":[{"index":0,"delta":{` + delta + `}}]}` }
	for name, frames := range map[string][]string{
		"text": {text(`"content":"a"`), text(`"content":"b"`), text(`"content":"c"`), text(`"reasoning":"d"`), text(`"content":"e"`), text(`"content":"f"`)},
		// A gateway says the id and the name of the second call before it begins.
		"a call after the first": {
			call(`{"index":0,"id":"c1","function":{"name":"f","arguments":"{}"}}`), call(`{"index":0,"id":"c2","function":{"name":"f","arguments":""}}`),
			call(`{"index":0,"function":{"arguments":"{\"a\":"}}`), call(`{"index":0,"function":{"arguments":"[1,"}}`), call(`{"index":0,"function":{"arguments":"2]"}}`),
			call(`{"index":0,"function":{"arguments":"}"}}`), call(`{"index":0,"function":{"arguments":"{\"b\":1}"}}`),
		},
		"whole calls": {
			call(`{"id":"c1","function":{"name":"f","arguments":"{}"}}`), call(`{"id":"c1","function":{"name":"f","arguments":"{\"a\":1}"}}`),
			call(`{"function":{"name":"f","arguments":"{}"}}`), call(`{"function":{"name":"f","arguments":"{}"}}`), call(`{"function":{"name":"f","arguments":"{\"a\":1}"}}`),
		},
	} {
		once, _ := New().NewDecoder(&adapters.Call{Model: model()}).(*decoder)
		anew, _ := New().NewDecoder(&adapters.Call{Model: model()}).(*decoder)
		repeats := 0
		for _, in := range frames {
			var got, want adapters.Sink
			if _, ok := once.usual.repeat.Piece([]byte(in)); ok {
				repeats++
			}
			if err := once.Decode(frame.Frame{Data: []byte(in)}, &got); err != nil {
				t.Fatal(err)
			}
			anew.usual.repeat.Forget()
			if err := anew.Decode(frame.Frame{Data: []byte(in)}, &want); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want.Parts, got.Parts); d != "" {
				t.Errorf("%s: %s: anew -, repeated +\n%s", name, in, d)
			}
		}
		if repeats == 0 {
			t.Errorf("%s: nothing repeats", name)
		}
	}
}

func FuzzUsual(f *testing.F) {
	f.Add([]byte(`{"id":"chatcmpl-1","model":"m1","service_tier":null,"choices":[{"index":0,"delta":{"content":"a\ud83d\ude00","reasoning":null,"reasoning_content":"b"},"logprobs":{"a":[1]},"finish_reason":""}],"usage":null}`), []byte(`\n`))
	f.Add([]byte(`{"choices":[{"delta":{"tool_calls":[{"index":0,"index":1,"id":null,"function":{"name":"f"},"function":{"arguments":"\\"}}]},"index":2}],"object":null}`), []byte(`\n`))
	f.Add([]byte(`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10,"cached_tokens":0,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":1}}}`), []byte(`\n`))
	f.Fuzz(func(t *testing.T, data, other []byte) {
		sameAsPlain(t, data)
		sameAfter(t, data, other)
		d := &decoder{}
		d.usual.read(data, d)
		for variant := range adaptertest.Variants(data, other) {
			if _, repeats := d.usual.repeat.Piece(variant); repeats {
				sameAfter(t, data, variant)
			}
		}
	})
}

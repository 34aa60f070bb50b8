package openaichat

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
)

// sameAsPlain: what is read as usual is what the plain way reads, but for empty
// values that mean the same as none.
func sameAsPlain(t *testing.T, data []byte) bool {
	t.Helper()
	d := decoder{responseID: "chatcmpl-1", model: "m1", tier: "default"}
	var got, want chunk
	if !d.usual.read(data, &d, &got) {
		return false
	}
	if err := adapters.ReadFrame(frame.Frame{Data: data}, &want); err != nil {
		t.Errorf("%s: read as usual, plainly %v", data, err)
	}
	nulls(&want)
	if d := cmp.Diff(want, got, cmp.AllowUnexported(content{}, callDelta{}, extraContent{})); d != "" {
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
		if d.usual.read([]byte(in), d, &chunk{}) {
			t.Errorf("%s: taken for usual", in)
		}
	}
}

// TestUsualLeavesNothing: a frame shows nothing of the one before.
func TestUsualLeavesNothing(t *testing.T) {
	d := &decoder{}
	read := func(in string) *chunk {
		c := &chunk{}
		if !d.usual.read([]byte(in), d, c) {
			t.Fatalf("%s: not usual", in)
		}
		return c
	}
	read(`{"id":"a","choices":[{"index":3,"delta":{"content":"x","tool_calls":[{"index":5,"id":"c","function":{"name":"f","arguments":"{"}}]}}]}`)
	read(`{"choices":[{"delta":{"tool_calls":[{}]}}]}`)
	got := read(`{"choices":[{"delta":{"tool_calls":[{"function":{}}]}}]}`)
	want := &chunk{Choices: []choice{{Delta: &delta{ToolCalls: []callDelta{{}}}}}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(content{}, callDelta{}, extraContent{})); d != "" {
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

func FuzzUsual(f *testing.F) {
	f.Add([]byte(`{"id":"chatcmpl-1","model":"m1","service_tier":null,"choices":[{"index":0,"delta":{"content":"a\ud83d\ude00","reasoning":null,"reasoning_content":"b"},"logprobs":{"a":[1]},"finish_reason":""}],"usage":null}`))
	f.Add([]byte(`{"choices":[{"delta":{"tool_calls":[{"index":0,"index":1,"id":null,"function":{"name":"f"},"function":{"arguments":"\\"}}]},"index":2}],"object":null}`))
	f.Add([]byte(`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10,"cached_tokens":0,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":1}}}`))
	f.Fuzz(func(t *testing.T, data []byte) { sameAsPlain(t, data) })
}

package openaichat

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// delta is a chunk with one delta, end one with a finish_reason.
func deltaOf(d string) string {
	return `{"id":"c1","model":"m1-x","choices":[{"index":0,"delta":` + d + `}]}`
}

func end(word string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":` + fmt.Sprintf("%q", word) + `}]}`
}
func calling(entries string) string { return deltaOf(`{"tool_calls":[` + entries + `]}`) }

func text(s string) *foldedBlock { return &foldedBlock{Kind: "text", Text: s} }
func thought(s, format, data string) *foldedBlock {
	return &foldedBlock{Kind: "thinking", Text: s, Format: format, Signature: data}
}

func toolCallOf(id, name, args string) *foldedBlock {
	return &foldedBlock{Kind: "tool_call", ID: id, Name: name, Arguments: args}
}

func kept(kind, raw string) *foldedBlock {
	return &foldedBlock{Kind: "provider_content", Name: kind, Text: raw}
}

func TestDecode(t *testing.T) {
	for name, c := range map[string]struct {
		in   []string
		want []*foldedBlock
	}{
		"content and reasoning as parts": {
			[]string{deltaOf(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},{"type":"text","text":"Hi"},"!"]}`)},
			[]*foldedBlock{thought("Hm.", "", ""), text("Hi!")},
		},
		"reasoning as an object": {
			[]string{deltaOf(`{"reasoning":{"text":"Hm."},"content":"Hi"}`)},
			[]*foldedBlock{thought("Hm.", formatField, "reasoning"), text("Hi")},
		},
		"the first reasoning field alone counts": {
			[]string{deltaOf(`{"reasoning":"a","reasoning_content":"a","reasoning_text":""}`), deltaOf(`{"reasoning_text":"b"}`)},
			[]*foldedBlock{thought("ab", formatField, "reasoning_content")},
		},
		"later deltas go on where they were": {
			[]string{deltaOf(`{"content":"a"}`), deltaOf(`{"reasoning":"x"}`), calling(`{"index":0,"id":"1","function":{"name":"f","arguments":"{}"}}`), deltaOf(`{"content":"b","reasoning":"y"}`)},
			[]*foldedBlock{text("ab"), thought("xy", formatField, "reasoning"), toolCallOf("1", "f", "{}")},
		},
		"other choices": {
			[]string{`{"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"stop"},{"index":0,"delta":{"content":"yes"}}]}`},
			[]*foldedBlock{text("yes")},
		},
		"a message beside the delta": {
			[]string{`{"choices":[{"index":0,"delta":{"content":"Hi"},"message":{"content":"Hi"}}]}`, `{"choices":[{"message":{"content":"Hi there"}}]}`},
			[]*foldedBlock{text("Hi")},
		},
		"details in pieces": {
			[]string{
				deltaOf(`{"reasoning":"Be","reasoning_details":[{"type":"reasoning.text","text":"Be","index":0,"signature":""}]}`),
				deltaOf(`{"reasoning":"gin <","reasoning_details":[{"type":"reasoning.text","text":"gin <","index":0,"signature":"S1"}]}`),
				deltaOf(`{"reasoning_details":[{"type":"reasoning.text","text":"Next","index":0,"signature":null}]}`),
				deltaOf(`{"reasoning_details":[{"type":"reasoning.encrypted", "data" : "x","index":0},{"type":"reasoning.encrypted","data":"y","index":0}]}`),
				deltaOf(`{"reasoning_details":[]}`), deltaOf(`{"reasoning_details":null}`),
			},
			[]*foldedBlock{thought("Begin <", formatDetails,
				`[{"type":"reasoning.text","text":"Begin <","index":0,"signature":"S1"},{"type":"reasoning.text","text":"Next","index":0,"signature":null},`+
					`{"type":"reasoning.encrypted", "data" : "x","index":0},{"type":"reasoning.encrypted","data":"y","index":0}]`)},
		},
		"details: summaries of two items": {
			[]string{
				deltaOf(`{"reasoning_details":[{"type":"reasoning.summary","summary":"a","id":"1","index":0},{"type":"reasoning.summary","summary":"b","id":"2","index":0}]}`),
				deltaOf(`{"reasoning_details":[{"type":"reasoning.summary","summary":"\ud83d","id":"2","index":0}]}`),
				deltaOf(`{"reasoning_details":[{"type":"reasoning.summary","summary":"\ude00","index":0,"format":"f"}]}`),
			},
			[]*foldedBlock{thought("", formatDetails,
				`[{"type":"reasoning.summary","summary":"a","id":"1","index":0},{"type":"reasoning.summary","summary":"b😀","id":"2","index":0,"format":"f"}]`)},
		},
		"the old function_call": {
			[]string{deltaOf(`{"function_call":{"name":"f","arguments":"{\"a\""}}`), deltaOf(`{"function_call":{"arguments":":1}"}}`)},
			[]*foldedBlock{toolCallOf("", "f", `{"a":1}`)},
		},
		"what hosts did themselves": {
			[]string{deltaOf(`{"executed_tools":[{"index":0,"type":"search"}],"images":[]}`), deltaOf(`{"images":[{"type":"image_url"}]}`)},
			[]*foldedBlock{kept("executed_tools", `[{"index":0,"type":"search"}]`), kept("images", `[{"type":"image_url"}]`)},
		},
		"sources": {
			[]string{`{"citations":["u"],"choices":[]}`, `{"citations":["u", "v"],"search_results":[{"url":"u"}],"choices":[{"index":0,"delta":{"content":"a[1]","annotations":[{"type":"url_citation"}]}}]}`},
			[]*foldedBlock{text("a[1]"), kept("citations", `{"citations":["u", "v"],"search_results":[{"url":"u"}]}`), kept("annotations", `[{"type":"url_citation"}]`)},
		},
		"fields of odd types": {
			[]string{`{"id":7,"model":null,"created":"x","choices":[{"index":"0","delta":{"content":"a","role":7,"tool_calls":null}}],"usage":null,"error":null,"x_groq":{}}`},
			[]*foldedBlock{text("a")},
		},
		"nothing after the marker": {
			[]string{end("stop"), deltaOf(`{"content":"late"}`), `{"error":{"message":"late"}}`},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := decode(t, model(), chunks(append(c.in, end("stop"), "[DONE]")...), false)
			if got.Err != nil || got.Stopped != 1 || got.Complete != 1 {
				t.Errorf("error %v, %d markers, %d completions", got.Err, got.Stopped, got.Complete)
			}
			if d := cmp.Diff(c.want, got.Blocks, cmp.AllowUnexported(foldedBlock{}), cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".key" }, cmp.Ignore())); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestToolCalls(t *testing.T) {
	for name, c := range map[string]struct {
		in   []string
		want []string // id name arguments
	}{
		"the id changes under one index": {
			[]string{`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`, `{"index":0,"id":"b","function":{"arguments":":1}"}}`},
			[]string{`a f {"x":1}`},
		},
		"one index for all calls": {
			[]string{`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`, `{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":1}"}}`, `{"index":0,"id":"c","function":{"name":"g","arguments":"{}"}}`},
			[]string{`a f {"x":1}`, `b f {"x":1}`, `c g {}`},
		},
		"no index, the id each time": {
			[]string{`{"id":"a","function":{"name":"f","arguments":"{\"x\""}}`, `{"id":"b","function":{"name":"f","arguments":"{\"x\""}}`, `{"id":"a","function":{"arguments":":1}"}}`, `{"id":"b","function":{"arguments":":2}"}}`},
			[]string{`a f {"x":1}`, `b f {"x":2}`},
		},
		"no index, no id": {
			[]string{`{"function":{"name":"f","arguments":"{\"x\""}}`, `{"function":{"arguments":":1}"}}`, `{"function":{"name":"f","arguments":"{\"x\":2}"}}`, `{"function":{"name":"g"}}`},
			[]string{` f {"x":1}`, ` f {"x":2}`, ` g {}`},
		},
		"no index, no id, twice the same in one delta": {
			[]string{`{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"f","arguments":"{}"}}`},
			[]string{` f {}`, ` f {}`},
		},
		"the index comes late": {
			[]string{`{"id":"a","function":{"name":"f"}}`, `{"index":0,"function":{"arguments":"{}"}}`},
			[]string{`a f {}`},
		},
		"the id comes late": {
			[]string{`{"index":0,"function":{"name":"f","arguments":"{"}}`, `{"index":0,"id":"a","function":{"arguments":"}"}}`},
			[]string{`a f {}`},
		},
		"the name in each chunk": {
			[]string{`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`, `{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}`, `{"index":0,"id":"a","function":{"name":"f","arguments":""}}`},
			[]string{`a f {"x":1}`},
		},
		"an empty object as a placeholder": {
			[]string{`{"index":0,"id":"a","function":{"name":"f","arguments":{}}}`, `{"index":0,"function":{"arguments":"{\"x\":1}"}}`, `{"index":1,"id":"b","function":{"name":"f","arguments":"{}"}}`},
			[]string{`a f {"x":1}`, `b f {}`},
		},
		"the whole text again at the end": {
			[]string{`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`, `{"index":0,"function":{"arguments":":1}"}}`, `{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`},
			[]string{`a f {"x":1}`},
		},
		"the whole text so far each time": {
			[]string{`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}`, `{"index":0,"function":{"arguments":"{\"x\""}}`, `{"index":0,"function":{"arguments":"{\"x\":1"}}`, `{"index":0,"function":{"arguments":"{\"x\":1}"}}`},
			[]string{`a f {"x":1}`},
		},
		"an object in another with the same key": {
			[]string{`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`, `{"index":0,"function":{"arguments":"{\"x\":1"}}`, `{"index":0,"function":{"arguments":"}}"}}`},
			[]string{`a f {"x":{"x":1}}`},
		},
		"the same, whole": {
			[]string{`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`, `{"index":0,"function":{"arguments":"{\"x\":1}}"}}`},
			[]string{`a f {"x":{"x":1}}`},
		},
		"braces in strings": {
			[]string{`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":\"}\\\"{\""}}`, `{"index":0,"id":"b","function":{"name":"f","arguments":"}"}}`},
			[]string{`a f {"x":"}\"{"}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var in []string
			for _, e := range c.in {
				in = append(in, calling(e))
			}
			got := decode(t, model(), chunks(append(in, end("tool_calls"))...), false)
			var have []string
			for _, b := range got.Blocks {
				have = append(have, b.ID+" "+b.Name+" "+b.Arguments)
			}
			if !slices.Equal(have, c.want) {
				t.Errorf("got  %q\nwant %q", have, c.want)
			}
		})
	}
}

// TestCallOrder: a call that waits for its name opens before what follows it.
func TestCallOrder(t *testing.T) {
	got := decode(t, model(), chunks(calling(`{"index":0,"id":"a","function":{}}`), deltaOf(`{"content":"x"}`), calling(`{"index":0,"function":{"name":"f"}}`), end("stop")), false)
	if len(got.Blocks) != 2 || got.Blocks[0].Kind != "tool_call" || got.Blocks[0].Name != "f" {
		t.Errorf("got %+v", got.Blocks)
	}
}

func TestWholeAnswer(t *testing.T) {
	got := decode(t, model(), []byte(` {"id":"c1","object":"chat.completion","model":"m1","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","reasoning_content":"Hm.",
		"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`), false)
	if got.Err != nil || got.Stop != llmdv1.StopReason_STOP_REASON_TOOL_USE || got.Usage.GetTotalTokens() != 5 || len(got.Blocks) != 3 || got.ID != "c1" {
		t.Errorf("got %+v", got)
	}
}

func TestStopWords(t *testing.T) {
	for word, want := range map[string]struct {
		stop   llmdv1.StopReason
		reason string
	}{
		"stop":                {llmdv1.StopReason_STOP_REASON_STOP, ""},
		"end":                 {llmdv1.StopReason_STOP_REASON_STOP, ""},
		"eos":                 {llmdv1.StopReason_STOP_REASON_STOP, ""},
		"STOP":                {llmdv1.StopReason_STOP_REASON_STOP, ""},
		"length":              {llmdv1.StopReason_STOP_REASON_LENGTH, ""},
		"tool_calls":          {llmdv1.StopReason_STOP_REASON_TOOL_USE, ""},
		"function_call":       {llmdv1.StopReason_STOP_REASON_TOOL_USE, ""},
		"content_filter":      {llmdv1.StopReason_STOP_REASON_ERROR, adapters.ReasonContentFiltered},
		"sensitive":           {llmdv1.StopReason_STOP_REASON_ERROR, adapters.ReasonContentFiltered},
		"network_error":       {llmdv1.StopReason_STOP_REASON_ERROR, adapters.ReasonProviderError},
		"rate_limit_exceeded": {llmdv1.StopReason_STOP_REASON_ERROR, adapters.ReasonProviderError},
	} {
		d := New().NewDecoder(&adapters.Call{Model: model()})
		var s adapters.Sink
		if err := d.Decode(frame.Frame{Data: []byte(end(word))}, &s); err != nil || len(s.Parts) != 1 {
			t.Fatalf("%s: %v, %d parts", word, err, len(s.Parts))
		}
		p := s.Parts[0]
		if p.Kind != adapters.PartStop || p.Stop != want.stop || p.Name != word {
			t.Errorf("%s: %+v", word, p)
		}
		if want.reason != "" && (p.Err.Reason != want.reason || !strings.Contains(p.Err.Message, word)) {
			t.Errorf("%s: %+v", word, p.Err)
		}
		if err := d.Finish(&s); err != nil {
			t.Errorf("%s: %v", word, err)
		}
	}
}

func TestRefusal(t *testing.T) {
	for word, want := range map[string][]string{"stop": {"refusal"}, "length": nil} {
		got := decode(t, model(), chunks(deltaOf(`{"refusal":"No."}`), end(word)), false)
		if !slices.Equal(got.Diags, want) || got.Blocks[0].Text != "No." {
			t.Errorf("%s: %v, %+v", word, got.Diags, got.Blocks[0])
		}
	}
}

func TestEndWithoutMarker(t *testing.T) {
	silent := model()
	silent.Compat.SupportsFinishReason = false
	for name, c := range map[string]struct {
		silent bool
		in     []string
		want   llmdv1.StopReason
	}{
		"a host with finish_reason":    {false, []string{deltaOf(`{"content":"a"}`), "[DONE]"}, llmdv1.StopReason_STOP_REASON_ERROR},
		"a host without":               {true, []string{deltaOf(`{"content":"a"}`), "[DONE]"}, llmdv1.StopReason_STOP_REASON_STOP},
		"a host without, with a call":  {true, []string{calling(`{"index":0,"id":"a","function":{"name":"f"}}`), "[DONE]"}, llmdv1.StopReason_STOP_REASON_TOOL_USE},
		"a host without, cut":          {true, []string{deltaOf(`{"content":"a"}`)}, llmdv1.StopReason_STOP_REASON_ERROR},
		"a host without that sends it": {true, []string{end("length")}, llmdv1.StopReason_STOP_REASON_LENGTH},
	} {
		m := model()
		if c.silent {
			m = silent
		}
		got := decode(t, m, chunks(c.in...), false)
		if got.Stop != c.want || (c.want == llmdv1.StopReason_STOP_REASON_ERROR) != errors.Is(got.Err, adapters.ErrTruncated) {
			t.Errorf("%s: %s, %v", name, got.Stop, got.Err)
		}
		if c.silent && got.Word != "" && got.Word != "length" {
			t.Errorf("%s: the word %q is not the provider's", name, got.Word)
		}
	}
}

func TestFrameErrors(t *testing.T) {
	for name, c := range map[string]struct {
		event, data string
		reason      string // empty = not the provider's words
		message     string
	}{
		"an error object":      {"", `{"error":{"message":"slow down","code":429}}`, adapters.ReasonRateLimited, "slow down"},
		"a text":               {"", `{"error":"it broke"}`, adapters.ReasonProviderError, "it broke"},
		"with choices":         {"", `{"id":"x","error":{"code":502,"message":"upstream"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`, adapters.ReasonProviderError, "upstream"},
		"vLLM":                 {"", `{"object":"error","message":"too long","type":"BadRequestError","code":400}`, adapters.ReasonRejectedRequest, "too long"},
		"by event name":        {"error", `{"detail":"no"}`, adapters.ReasonProviderError, "no"},
		"a message alone":      {"", `{"message":"Arrearage","code":"Arrearage"}`, adapters.ReasonQuotaExhausted, "Arrearage"},
		"an aggregator":        {"", `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"bad image\"}}"}}}`, adapters.ReasonRejectedRequest, "bad image"},
		"MiniMax":              {"", `{"base_resp":{"status_code":1041,"status_msg":"conn limit"}}`, adapters.ReasonRateLimited, "conn limit"},
		"no JSON":              {"", `{"id":"c`, "", ""},
		"an empty error":       {"", `{"error":{},"choices":[]}`, "-", ""},
		"not an object":        {"", `[1,2`, "-", ""},
		"choices no list":      {"", `{"id":"x","choices":{}}`, "-", ""},
		"an error in a choice": {"", `{"choices":[{"index":0,"delta":{},"finish_reason":"error","error":{"message":"overloaded","code":529}}]}`, "-", ""},
	} {
		var s adapters.Sink
		err := New().NewDecoder(&adapters.Call{Model: model()}).Decode(frame.Frame{Event: c.event, Data: []byte(c.data)}, &s)
		var up *adapters.UpstreamError
		errors.As(err, &up)
		switch {
		case c.reason == "-" && err != nil, c.reason == "" && (err == nil || up != nil):
			t.Errorf("%s: %v", name, err)
		case c.reason != "" && c.reason != "-" && (up == nil || up.Reason != c.reason || !strings.Contains(up.Message, c.message)):
			t.Errorf("%s: %+v", name, up)
		}
		if name == "an error in a choice" {
			if p := s.Parts[len(s.Parts)-1]; p.Err == nil || p.Err.Reason != adapters.ReasonOverloaded || p.Name != "error" {
				t.Errorf("%s: %+v", name, p)
			}
		}
	}
}

// TestCutFrames: what the end of the body cut is a truncation, and nothing after
// the marker.
func TestCutFrames(t *testing.T) {
	d := New().NewDecoder(&adapters.Call{Model: model()})
	var s adapters.Sink
	cut := frame.Frame{Data: []byte(`{"usage":{"prom`), Unterminated: true}
	if err := d.Decode(cut, &s); !errors.Is(err, adapters.ErrTruncated) {
		t.Errorf("before the marker: %v", err)
	}
	if err := d.Decode(frame.Frame{Data: []byte(end("stop"))}, &s); err != nil {
		t.Error(err)
	}
	if err := d.Decode(cut, &s); err != nil {
		t.Errorf("after the marker: %v", err)
	}
}

func TestCompletion(t *testing.T) {
	const u = `"usage":{"prompt_tokens":1,"completion_tokens":1}`
	for name, c := range map[string]struct {
		in   []string
		want int // the frame that completes
	}{
		"usage with the marker":   {[]string{`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],` + u + `}`, "[DONE]"}, 0},
		"usage after it":          {[]string{end("stop"), `{"choices":[],` + u + `}`, "[DONE]"}, 1},
		"usage before it, [DONE]": {[]string{`{"choices":[],` + u + `}`, end("stop"), "[DONE]"}, 2},
		"usage in a choice":       {[]string{`{"choices":[{"index":0,"delta":{},"finish_reason":"stop",` + u + `}]}`}, 0},
		"usage of Groq":           {[]string{end("stop"), `{"choices":[],"x_groq":{` + u + `}}`}, 1},
	} {
		d := New().NewDecoder(&adapters.Call{Model: model()})
		at := -1
		for i, data := range c.in {
			var s adapters.Sink
			if err := d.Decode(frame.Frame{Data: []byte(data)}, &s); err != nil {
				t.Fatal(err)
			}
			if at < 0 && slices.ContainsFunc(s.Parts, func(p adapters.Part) bool { return p.Kind == adapters.PartComplete }) {
				at = i
			}
		}
		if at != c.want {
			t.Errorf("%s: complete at frame %d, want %d", name, at, c.want)
		}
	}
}

func TestUsage(t *testing.T) {
	for in, want := range map[string]*llmdv1.Usage{
		`{}`: nil,
		`{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30},"completion_tokens_details":{"reasoning_tokens":2}}`: {
			InputTokens: 10, CacheReadTokens: 60, CacheWriteTokens: 30, OutputTokens: 5, ReasoningTokens: proto.Int32(2), TotalTokens: 105,
		},
		`{"prompt_tokens":100,"completion_tokens":5,"prompt_cache_hit_tokens":80,"prompt_tokens_details":{"cached_tokens":0}}`: {InputTokens: 20, CacheReadTokens: 80, OutputTokens: 5, TotalTokens: 105},
		`{"prompt_tokens":10,"cached_tokens":12}`: {CacheReadTokens: 12, TotalTokens: 12},
		// Reasoning beside the completion, as the total says.
		`{"prompt_tokens":10,"completion_tokens":2,"total_tokens":19,"completion_tokens_details":{"reasoning_tokens":7}}`: {InputTokens: 10, OutputTokens: 9, ReasoningTokens: proto.Int32(7), TotalTokens: 19},
		`{"prompt_tokens":10.0,"completion_tokens":"2","prompt_tokens_details":null,"completion_tokens_details":[]}`:      {InputTokens: 10, OutputTokens: 2, TotalTokens: 12},
		`{"prompt_tokens":-1,"completion_tokens":99999999999}`:                                                            {OutputTokens: 1<<31 - 1, TotalTokens: 1<<31 - 1},
	} {
		var u usage
		if err := json.Unmarshal([]byte(in), &u); err != nil && !strings.Contains(in, "[]") {
			t.Fatalf("%s: %v", in, err)
		}
		if d := cmp.Diff(want, u.message(), protocmp.Transform()); d != "" {
			t.Errorf("%s: %s", in, d)
		}
	}
}

func TestCost(t *testing.T) {
	for in, want := range map[string]int64{
		`{"cost":0.00041625,"is_byok":false}`:  416_250_000,
		`{"cost":5.67e-06,"is_byok":false}`:    5_670_000,
		`{"cost":0,"is_byok":false}`:           0,
		`{"cost":0.5}`:                         -1, // whose key paid?
		`{"cost":-1,"is_byok":false}`:          -1,
		`{"cost":null,"is_byok":false}`:        -1,
		`{"cost":1e300,"is_byok":false}`:       -1,
		`{"cost":1e-99999999,"is_byok":false}`: -1,
		`{"cost":0.05,"is_byok":true,"cost_details":{"upstream_inference_cost":1}}`:                                                                                   1_050_000_000_000,
		`{"cost":0.05,"is_byok":true,"cost_details":{"upstream_inference_cost":null,"upstream_inference_prompt_cost":0.1,"upstream_inference_completions_cost":0.2}}`: 350_000_000_000,
		`{"cost":0.05,"is_byok":true}`:                              -1,
		`{"cost":{"input_tokens_cost":1e-05,"total_cost":0.00501}}`: 5_010_000_000,
		`{"cost":{"input_tokens_cost":1e-05}}`:                      -1,
		`{"cost_in_usd_ticks":37756000}`:                            3_775_600_000, // 0.0037756 USD
		`{"cost":0.0000000000014,"is_byok":false}`:                  1,
		`{"cost":0.0000000000015,"is_byok":false}`:                  2,
	} {
		var u usage
		if err := json.Unmarshal([]byte(in), &u); err != nil {
			t.Fatal(err)
		}
		c := u.cost()
		if want < 0 != (c == nil) || c != nil && (c.GetTotalPicoUsd() != want || !c.GetFromProvider()) {
			t.Errorf("%s: %v, want %d", in, c, want)
		}
	}
}

func TestIDsAndTier(t *testing.T) {
	got := decode(t, model(), chunks(`{"id":"","model":"","choices":[]}`, `{"id":"c1","model":"m","service_tier":"","choices":[]}`, `{"id":"c2","model":"n","service_tier":"flex","choices":[]}`, end("stop")), false)
	if got.ID != "c1" || got.Model != "m" || got.Tier != "flex" {
		t.Errorf("got %q %q %q", got.ID, got.Model, got.Tier)
	}
}

// FuzzDecode: no body makes the decoder panic or stop twice.
func FuzzDecode(f *testing.F) {
	f.Add(string(chunks(calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}`), deltaOf(`{"content":["a",{"text":"b"}],"reasoning_details":[{"type":"reasoning.text","text":"x"},{}]}`), end("stop"), "[DONE]")))
	f.Fuzz(func(t *testing.T, body string) {
		got := decode(t, model(), []byte(body), false)
		if got.Stopped > 1 || got.Stopped == 0 && got.Err == nil {
			t.Fatalf("%d markers, %v", got.Stopped, got.Err)
		}
	})
}

// BenchmarkDecode reads deltas of text, the usual load.
func BenchmarkDecode(b *testing.B) {
	data := []byte(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m1","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}`)
	d := New().NewDecoder(&adapters.Call{Model: model()})
	var s adapters.Sink
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		s.Reset()
		if err := d.Decode(frame.Frame{Data: data}, &s); err != nil {
			b.Fatal(err)
		}
	}
}

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
	"github.com/llmd-dev/llmd/adapters/jsonwire"
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

// TestRepeatedArguments: hosts that send a placeholder first, or the whole text so far
// each time. Until the end tells, such an answer reads otherwise, so this is no golden.
func TestRepeatedArguments(t *testing.T) {
	for name, c := range map[string]struct{ in, want []string }{
		"a placeholder": {
			[]string{`{"index":0,"id":"a","function":{"name":"f","arguments":{}}}`, `{"index":0,"function":{"arguments":"{\"x\":1}"}}`, `{"index":1,"id":"b","function":{"name":"f","arguments":"{}"}}`},
			[]string{`{"x":1}`, `{}`},
		},
		"the whole text so far": {
			[]string{`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}`, `{"index":0,"function":{"arguments":"{\"x\""}}`, `{"index":0,"function":{"arguments":"{\"x\":1"}}`, `{"index":0,"function":{"arguments":"{\"x\":1}"}}`},
			[]string{`{"x":1}`},
		},
		"in quotes": {
			[]string{`{"index":0,"id":"a","function":{"name":"f","arguments":"\"{\\\"x\\\":"}}`, `{"index":0,"function":{"arguments":"1}\""}}`, `{"index":1,"id":"b","function":{"name":"f","arguments":"\"no object\""}}`},
			[]string{`{"x":1}`, `"no object"`},
		},
	} {
		var in []string
		for _, e := range c.in {
			in = append(in, calling(e))
		}
		got, err := decode(model(), chunks(append(in, end("tool_calls"))...))
		var have []string
		for _, b := range got.Blocks {
			have = append(have, b.Text)
		}
		if err != nil || !slices.Equal(have, c.want) {
			t.Errorf("%s: %v, %q, want %q", name, err, have, c.want)
		}
	}
}

func TestStopWords(t *testing.T) {
	for word, want := range map[string]struct {
		stop   llmdv1.StopReason
		reason string
	}{
		"stop":           {llmdv1.StopReason_STOP_REASON_STOP, ""},
		"end":            {llmdv1.StopReason_STOP_REASON_STOP, ""},
		"eos":            {llmdv1.StopReason_STOP_REASON_STOP, ""},
		"STOP":           {llmdv1.StopReason_STOP_REASON_STOP, ""},
		"length":         {llmdv1.StopReason_STOP_REASON_LENGTH, ""},
		"tool_calls":     {llmdv1.StopReason_STOP_REASON_TOOL_USE, ""},
		"function_call":  {llmdv1.StopReason_STOP_REASON_TOOL_USE, ""},
		"content_filter": {llmdv1.StopReason_STOP_REASON_ERROR, adapters.ReasonContentFiltered},
		"sensitive":      {llmdv1.StopReason_STOP_REASON_ERROR, adapters.ReasonContentFiltered},
		"refusal":        {llmdv1.StopReason_STOP_REASON_ERROR, adapters.ReasonContentFiltered},

		// Words of other APIs that gateways hand on, and Google's own behind OpenAI's.
		"end_turn":             {llmdv1.StopReason_STOP_REASON_STOP, ""},
		"max_tokens":           {llmdv1.StopReason_STOP_REASON_LENGTH, ""},
		"MAX_TOKENS":           {llmdv1.StopReason_STOP_REASON_LENGTH, ""},
		"tool_use":             {llmdv1.StopReason_STOP_REASON_TOOL_USE, ""},
		"SAFETY":               {llmdv1.StopReason_STOP_REASON_ERROR, adapters.ReasonContentFiltered},
		"guardrail_intervened": {llmdv1.StopReason_STOP_REASON_ERROR, adapters.ReasonContentFiltered},

		"content_filter: PROHIBITED_CONTENT":            {llmdv1.StopReason_STOP_REASON_ERROR, adapters.ReasonContentFiltered},
		"function_call_filter: MALFORMED_FUNCTION_CALL": {llmdv1.StopReason_STOP_REASON_ERROR, adapters.ReasonProviderError},

		"model_context_window_exceeded": {llmdv1.StopReason_STOP_REASON_ERROR, adapters.ReasonContextLengthExceeded},
		"network_error":                 {llmdv1.StopReason_STOP_REASON_ERROR, adapters.ReasonProviderError},
		"rate_limit_exceeded":           {llmdv1.StopReason_STOP_REASON_ERROR, adapters.ReasonProviderError},
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

// TestLaterMarkers: where each piece has a marker, the last one says why the answer ended.
// One that stands alone counts only where the others say no more than "stop".
func TestLaterMarkers(t *testing.T) {
	marked := func(delta, word string) string {
		return fmt.Sprintf(`{"choices":[{"index":0,"delta":%s,"finish_reason":%q}]}`, delta, word)
	}
	for name, c := range map[string]struct {
		in   []string
		stop llmdv1.StopReason
		word string
	}{
		"length":           {[]string{marked(`{"content":"a"}`, "stop"), end("length")}, llmdv1.StopReason_STOP_REASON_LENGTH, "length"},
		"a filter":         {[]string{marked(`{"content":"a"}`, "stop"), end("content_filter")}, llmdv1.StopReason_STOP_REASON_ERROR, "content_filter"},
		"stop again":       {[]string{marked(`{"content":"a"}`, "stop"), end("end_turn")}, llmdv1.StopReason_STOP_REASON_STOP, "stop"},
		"a proxy's own":    {[]string{marked(`{"content":"a"}`, "length"), end("stop")}, llmdv1.StopReason_STOP_REASON_LENGTH, "length"},
		"another's answer": {[]string{end("stop"), `{"choices":[{"index":1,"delta":{},"finish_reason":"length"}]}`}, llmdv1.StopReason_STOP_REASON_STOP, "stop"},
		"with reasoning":   {[]string{marked(`{"reasoning_content":"a"}`, "stop"), marked(`{"reasoning_content":"b"}`, "length")}, llmdv1.StopReason_STOP_REASON_LENGTH, "length"},
	} {
		got, err := decode(model(), chunks(c.in...))
		if err != nil || got.Stop != c.stop || got.Word != c.word {
			t.Errorf("%s: %v, %v %q", name, err, got.Stop, got.Word)
		}
		if name == "with reasoning" && (len(got.Blocks) != 1 || got.Blocks[0].Text != "ab") {
			t.Errorf("%s: %+v", name, got.Blocks)
		}
	}
	late, err := decode(model(), chunks(end("stop"), deltaOf(`{"reasoning":"b"}`)))
	if err != nil || !slices.Equal(late.Diagnostics, []string{"content_after_end"}) {
		t.Errorf("thoughts behind the end: %v, %v", err, late.Diagnostics)
	}
}

// TestLongIDs: a signature in an id is the call's where the id would be too long with it.
func TestLongIDs(t *testing.T) {
	for _, c := range []struct{ id, want, signature string }{
		{"call_1__thought__U0lH", "call_1__thought__U0lH", ""},
		{"call_1__thought__" + strings.Repeat("U0lH", 200), "call_1", "__thought__" + strings.Repeat("U0lH", 200)},
		{strings.Repeat("x", 600), strings.Repeat("x", 600), ""},
	} {
		got, err := decode(model(), chunks(
			calling(fmt.Sprintf(`{"index":0,"id":%q,"function":{"name":"f","arguments":""}}`, c.id)),
			calling(fmt.Sprintf(`{"id":%q,"function":{"arguments":"{}"}}`, c.id)), end("tool_calls")))
		if err != nil || len(got.Blocks) != 1 || got.Blocks[0].ID != c.want || got.Blocks[0].Text != "{}" || got.Blocks[0].Signature != c.signature {
			t.Errorf("%.30s: %v, %+v", c.id, err, got.Blocks)
		}
	}
}

func TestRefusal(t *testing.T) {
	for word, want := range map[string][]string{"stop": {"refusal"}, "length": nil} {
		got, err := decode(model(), chunks(deltaOf(`{"refusal":"No."}`), end(word)))
		if err != nil || !slices.Equal(got.Diagnostics, want) || got.Blocks[0].Text != "No." {
			t.Errorf("%s: %v, %v, %+v", word, err, got.Diagnostics, got.Blocks[0])
		}
	}
}

func TestEndWithoutMarker(t *testing.T) {
	const truncated = llmdv1.StopReason_STOP_REASON_UNSPECIFIED
	for name, c := range map[string]struct {
		silent bool
		in     []string
		want   llmdv1.StopReason
	}{
		"a host with finish_reason":    {false, []string{deltaOf(`{"content":"a"}`), "[DONE]"}, truncated},
		"a host without":               {true, []string{deltaOf(`{"content":"a"}`), "[DONE]"}, llmdv1.StopReason_STOP_REASON_STOP},
		"a host without, with a call":  {true, []string{calling(`{"index":0,"id":"a","function":{"name":"f"}}`), "[DONE]"}, llmdv1.StopReason_STOP_REASON_TOOL_USE},
		"a host without, cut":          {true, []string{deltaOf(`{"content":"a"}`)}, truncated},
		"a host without that sends it": {true, []string{end("length")}, llmdv1.StopReason_STOP_REASON_LENGTH},
	} {
		m := model()
		m.Compat.SupportsFinishReason = !c.silent
		got, err := decode(m, chunks(c.in...))
		if got.Stop != c.want || (c.want == truncated) != errors.Is(err, adapters.ErrTruncated) {
			t.Errorf("%s: %s, %v", name, got.Stop, err)
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
		"errors in a list":     {"", `{"success":false,"errors":[{"code":10000,"message":"Authentication error"}]}`, adapters.ReasonCredentialsInvalid, "Authentication"},
		"a short name":         {"", `{"code":"InvalidParameter","msg":"bad"}`, adapters.ReasonRejectedRequest, "bad"},
		"error_message":        {"", `{"error_code":"X","error_message":"bad"}`, adapters.ReasonProviderError, "bad"},
		"MiniMax":              {"", `{"base_resp":{"status_code":1041,"status_msg":"conn limit"}}`, adapters.ReasonRateLimited, "conn limit"},
		"no JSON":              {"", `{"id":"c`, "", ""},
		"an empty error":       {"", `{"error":{},"choices":[]}`, "-", ""},
		"Google's list":        {"", ` [{"error":{"code":503,"message":"it is overloaded","status":"UNAVAILABLE"}}]`, adapters.ReasonOverloaded, "it is overloaded"},
		"a list":               {"", `[{"id":1}]`, "-", ""},
		"not an object":        {"", `[1,2`, "-", ""},
		"choices no list":      {"", `{"id":"x","choices":{}}`, "-", ""},
		"an error in a choice": {"", `{"choices":[{"index":0,"delta":{},"finish_reason":"error","error":{"message":"overloaded","code":529}}]}`, adapters.ReasonOverloaded, "overloaded"},
		"Groq":                 {"", `{"id":"x","choices":[{"index":0,"delta":{}}],"x_groq":{"id":"req_1","error":"it broke"}}`, adapters.ReasonProviderError, "it broke"},
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
	}
}

// TestChoiceErrors: an error that stands in a choice ends the answer, whatever marker it
// comes with. https://openrouter.ai/docs/api-reference/overview#completionsresponse-format
func TestChoiceErrors(t *testing.T) {
	for marker, word := range map[string]string{
		`"finish_reason":"error",`: "error", `"finish_reason":"stop",`: "stop", `"finish_reason":null,`: "", ``: "",
	} {
		got, err := decode(model(), chunks(deltaOf(`{"content":"a"}`),
			`{"choices":[{"index":0,"delta":{"content":"b"},`+marker+`"error":{"message":"overloaded","code":529}}]}`, "[DONE]"))
		failed := got.Err
		errors.As(err, &failed)
		if failed == nil || failed.Reason != adapters.ReasonOverloaded || got.Word != word || len(got.Blocks) != 1 || got.Blocks[0].Text != "ab" {
			t.Errorf("%s: %v, %+v", marker, err, got)
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

// TestDetailsWithMarkers: details are told as a whole, once where the answer ends and once
// more where further ones came with further markers, and not with each.
func TestDetailsWithMarkers(t *testing.T) {
	const markers = 1000
	d := New().NewDecoder(&adapters.Call{Model: model()})
	var told []string
	look := func(s *adapters.Sink, err error) {
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range s.Parts {
			if p.Kind == adapters.PartSignature {
				told = append(told, string(p.Data))
			}
		}
	}
	for i := range markers {
		var s adapters.Sink
		const piece = `{"choices":[{"index":0,"delta":{"content":"x","reasoning_details":[{"type":"reasoning.encrypted","data":"d","index":%d}]},"finish_reason":"stop"}]}`
		look(&s, d.Decode(frame.Frame{Data: fmt.Appendf(nil, piece, i)}, &s))
	}
	var s adapters.Sink
	look(&s, d.Finish(&s))
	if len(told) != 2 || strings.Count(told[0], `"index"`) != 1 || strings.Count(told[1], `"index"`) != markers {
		t.Errorf("told %d times: %.300q", len(told), told)
	}
}

func TestCompletion(t *testing.T) {
	const u = `"usage":{"prompt_tokens":1,"completion_tokens":1}`
	marked := func(content string) string {
		return `{"choices":[{"index":0,"delta":{"content":"` + content + `"},"finish_reason":"stop"}],` + u + `}`
	}
	for name, c := range map[string]struct {
		in   []string
		want int // the frame that completes
	}{
		"usage with the marker":   {[]string{`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],` + u + `}`, "[DONE]"}, 0},
		"usage after it":          {[]string{end("stop"), `{"choices":[],` + u + `}`, "[DONE]"}, 1},
		"usage before it, [DONE]": {[]string{`{"choices":[],` + u + `}`, end("stop"), "[DONE]"}, 2},
		"usage in a choice":       {[]string{`{"choices":[{"index":0,"delta":{},"finish_reason":"stop",` + u + `}]}`}, 0},
		// Gemini has both in every frame, and gateways that hand on each as it is.
		"both with every piece":  {[]string{marked("a"), marked("b"), marked("")}, 2},
		"both with the last one": {[]string{deltaOf(`{"content":"a"}`), marked("b"), "[DONE]"}, 1},
		"usage of Groq":          {[]string{end("stop"), `{"choices":[],"x_groq":{` + u + `}}`}, 1},
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
		// Alibaba, https://www.alibabacloud.com/help/en/model-studio/context-cache, and LiteLLM.
		`{"prompt_tokens":3019,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":2048,"cache_creation_input_tokens":500,"cache_creation":{"ephemeral_1h_input_tokens":300},"cache_type":"ephemeral"}}`: {
			InputTokens: 471, CacheReadTokens: 2048, CacheWriteTokens: 500, CacheWrite_1HTokens: 300, OutputTokens: 4, TotalTokens: 3023,
		},
		`{"prompt_tokens":130,"completion_tokens":25,"prompt_tokens_details":{"cached_tokens":20,"cache_creation_tokens":10,"cache_creation_token_details":{"ephemeral_5m_input_tokens":7,"ephemeral_1h_input_tokens":3}}}`: {
			InputTokens: 100, CacheReadTokens: 20, CacheWriteTokens: 10, CacheWrite_1HTokens: 3, OutputTokens: 25, TotalTokens: 155,
		},
		`{"prompt_tokens":10.0,"completion_tokens":"2","prompt_tokens_details":null,"completion_tokens_details":[]}`: {InputTokens: 10, OutputTokens: 2, TotalTokens: 12},
		`{"prompt_tokens":-1,"completion_tokens":99999999999}`:                                                       {OutputTokens: 1<<31 - 1, TotalTokens: 1<<31 - 1},
	} {
		var u usage
		if err := json.Unmarshal([]byte(in), &u); err != nil && !strings.Contains(in, "[]") {
			t.Fatalf("%s: %v", in, err)
		}
		if d := cmp.Diff(want, u.message("m1"), protocmp.Transform()); d != "" {
			t.Errorf("%s: %s", in, d)
		}
	}
	// Of Google's own endpoint the total alone says how much was thought. The counts are
	// those of https://discuss.ai.google.dev/t/127400.
	u := usage{Prompt: new(jsonwire.Number(9)), Completion: new(jsonwire.Number(3)), Total: 105}
	want := &llmdv1.Usage{InputTokens: 9, OutputTokens: 96, ReasoningTokens: proto.Int32(93), TotalTokens: 105}
	if d := cmp.Diff(want, u.message("gemini-3-flash-preview"), protocmp.Transform()); d != "" {
		t.Error(d)
	}
}

// FuzzDecode: no body makes the decoder panic, or end in silence.
func FuzzDecode(f *testing.F) {
	f.Add(chunks(calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}`), deltaOf(`{"content":["a",{"text":"b"}],"reasoning_details":[{"type":"reasoning.text","text":"x"},{}]}`), end("stop"), "[DONE]"))
	f.Fuzz(func(t *testing.T, body string) {
		got, err := decode(model(), body)
		if stopped := got.Stop != llmdv1.StopReason_STOP_REASON_UNSPECIFIED; !stopped && err == nil {
			t.Fatal("neither a stop nor an error")
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

// TestManyMembers: an item of thinking in pieces is one item again, however many members it
// has; of a name said twice the first counts.
func TestManyMembers(t *testing.T) {
	piece := func(text string, from, to int) string {
		var w jsonwire.Writer
		w.BeginObject()
		w.Member("type", "reasoning.text")
		w.Member("text", text)
		for i := from; i < to; i++ {
			w.Member(fmt.Sprint("k", i), text)
		}
		w.EndObject()
		return deltaOf(`{"reasoning_details":[` + string(w.Bytes()) + `]}`)
	}
	got, err := decode(model(), chunks(piece("a", 0, 20), piece("b", 10, 40), piece("c", 0, 40), end("stop")))
	if err != nil || len(got.Blocks) != 1 {
		t.Fatalf("%v, %+v", err, got)
	}
	want := `[{"type":"reasoning.text","text":"abc"`
	for i := range 40 {
		value := "a"
		if i >= 20 {
			value = "b"
		}
		want += fmt.Sprintf(`,"k%d":%q`, i, value)
	}
	if want += "}]"; got.Blocks[0].Signature != want {
		t.Errorf("got  %s\nwant %s", got.Blocks[0].Signature, want)
	}
}

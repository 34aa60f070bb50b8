package google

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/frame"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// parts decodes frames, each the JSON of one.
func parts(t *testing.T, a *Adapter, frames ...string) ([]adapters.Part, error) {
	t.Helper()
	d := a.NewDecoder(&adapters.Call{})
	var sink adapters.Sink
	for _, f := range frames {
		if err := d.Decode(frame.Frame{Data: []byte(f)}, &sink); err != nil {
			return sink.Parts, err
		}
	}
	err := d.Finish(&sink)
	return sink.Parts, err
}

// say is a frame with these parts.
func say(parts string) string { return `{"candidates":[{"content":{"parts":[` + parts + `]}}]}` }

const stopFrame = `{"candidates":[{"finishReason":"STOP"}]}`

// TestMetadata: what is said about the whole answer comes once, at the end, the last of
// each. That the end of the body tells is why this is no golden.
func TestMetadata(t *testing.T) {
	got, err := parts(t, New(),
		`{"candidates":[{"groundingMetadata":{"a":1},"content":{"parts":[{"text":"a"}]}}]}`,
		`{"candidates":[{"groundingMetadata":{"a":2},"citationMetadata":{"c":[]},"urlContextMetadata":{}}]}`,
		`{"candidates":[{"groundingMetadata":{}}]}`, stopFrame)
	blocks := adaptertest.Fold(got).Blocks
	want := []adaptertest.Block{
		{Kind: adaptertest.KindText, Text: "a"},
		{Kind: adaptertest.KindProviderContent, Name: "groundingMetadata", Text: `{"a":2}`, Ended: true},
		{Kind: adaptertest.KindProviderContent, Name: "citationMetadata", Text: `{"c":[]}`, Ended: true},
	}
	if diff := cmp.Diff(want, blocks); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestMetadataHeld: of what is said again the last is kept.
func TestMetadataHeld(t *testing.T) {
	metadata := func(n int) frame.Frame {
		return frame.Frame{Data: []byte(`{"candidates":[{"groundingMetadata":{"a":"` + strings.Repeat("x", n) + `"}}]}`)}
	}
	if n := adaptertest.Held(t, New(), metadata(1000), metadata(100_000), metadata(10_000)); n < 10_000 || n > 11_000 {
		t.Errorf("it counts as %d bytes", n)
	}
}

// TestLastMarker: old models say STOP with every frame, and at last why they stopped. That
// a cut between makes another answer of it is why this is no golden.
// https://github.com/BerriAI/litellm/issues/3468
func TestLastMarker(t *testing.T) {
	got, err := parts(t, New(), `{"candidates":[{"content":{"parts":[{"text":"The"}]},"finishReason":1}]}`, `{"candidates":[{"finishReason":2}]}`)
	if a := adaptertest.Fold(got); err != nil || a.Stop != llmdv1.StopReason_STOP_REASON_LENGTH || a.Word != "MAX_TOKENS" || a.Blocks[0].Text != "The" {
		t.Errorf("%v, %+v", err, a)
	}
}

func TestFinishReasons(t *testing.T) {
	for _, c := range []struct {
		api, raw, word, reason string
		stop                   llmdv1.StopReason
	}{
		{geminiAPI, `"STOP"`, "STOP", "", llmdv1.StopReason_STOP_REASON_STOP},
		{geminiAPI, `1`, "STOP", "", llmdv1.StopReason_STOP_REASON_STOP},
		{geminiAPI, `"MAX_TOKENS"`, "MAX_TOKENS", "", llmdv1.StopReason_STOP_REASON_LENGTH},
		{vertexAPI, `1.0`, "STOP", "", llmdv1.StopReason_STOP_REASON_STOP},
		{geminiAPI, `2e0`, "MAX_TOKENS", "", llmdv1.StopReason_STOP_REASON_LENGTH},
		{vertexAPI, `2`, "MAX_TOKENS", "", llmdv1.StopReason_STOP_REASON_LENGTH},
		{geminiAPI, `"SAFETY"`, "SAFETY", adapters.ReasonContentFiltered, llmdv1.StopReason_STOP_REASON_ERROR},
		{geminiAPI, `7`, "BLOCKLIST", adapters.ReasonContentFiltered, llmdv1.StopReason_STOP_REASON_ERROR},
		{vertexAPI, `7`, "PROHIBITED_CONTENT", adapters.ReasonContentFiltered, llmdv1.StopReason_STOP_REASON_ERROR},
		{vertexAPI, `10`, "MODEL_ARMOR", adapters.ReasonContentFiltered, llmdv1.StopReason_STOP_REASON_ERROR},
		{geminiAPI, `10`, "MALFORMED_FUNCTION_CALL", adapters.ReasonProviderError, llmdv1.StopReason_STOP_REASON_ERROR},
		{geminiAPI, `"LANGUAGE"`, "LANGUAGE", adapters.ReasonProviderError, llmdv1.StopReason_STOP_REASON_ERROR},
		{geminiAPI, `"SOMETHING_NEW"`, "SOMETHING_NEW", adapters.ReasonProviderError, llmdv1.StopReason_STOP_REASON_ERROR},
		{vertexAPI, `99`, "99", adapters.ReasonProviderError, llmdv1.StopReason_STOP_REASON_ERROR},
	} {
		got, err := parts(t, adapterFor(c.api), `{"candidates":[{"finishReason":`+c.raw+`,"finishMessage":"because"}]}`)
		if err != nil || len(got) != 1 || got[0].Stop != c.stop || got[0].Name != c.word {
			t.Errorf("%s %s: %+v, %v", c.api, c.raw, got, err)
			continue
		}
		e := got[0].Err
		switch {
		case c.reason == "" && e != nil:
			t.Errorf("%s fails: %+v", c.raw, e)
		case c.reason != "" && (e.Reason != c.reason || e.Type != c.word || e.Message != "Gemini stopped with "+c.word+": because"):
			t.Errorf("%s: error is %+v", c.raw, e)
		}
	}
	for _, none := range []string{`null`, `""`, `0`, `"FINISH_REASON_UNSPECIFIED"`, `{}`} {
		if got, err := parts(t, New(), `{"candidates":[{"finishReason":`+none+`}]}`); err != adapters.ErrTruncated || len(got) != 0 {
			t.Errorf("%s ends the answer: %+v, %v", none, got, err)
		}
	}
}

func TestErrorFrames(t *testing.T) {
	for _, c := range []struct{ name, frame, reason, message string }{
		{"error", `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`, adapters.ReasonOverloaded, "The model is overloaded."},
		{"in an array", `[{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}]`, adapters.ReasonRejectedRequest, "no"},
		{"bare", `{"code":503,"message":"no room","status":"UNAVAILABLE"}`, adapters.ReasonOverloaded, "no room"},
		{"of a proxy", `{"detail":"upstream timed out"}`, adapters.ReasonProviderError, "upstream timed out"},
		{"blocked", `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":3}}`, adapters.ReasonPromptBlocked, "Gemini stopped with PROHIBITED_CONTENT"},
		{"blocked, said", `{"promptFeedback":{"blockReason":2,"blockReasonMessage":"why"}}`, adapters.ReasonPromptBlocked, "Gemini stopped with 2: why"},
	} {
		got, err := parts(t, New(), c.frame)
		var e *adapters.UpstreamError
		if !errors.As(err, &e) || len(got) > 0 || e.Reason != c.reason || e.Message != c.message {
			t.Errorf("%s: %+v, %+v", c.name, e, got)
		}
	}
	for _, bad := range []string{`{"candidates":[{"content":{"parts":[{"te`, `{"candidates":[{"content":{"parts":[{"text":7}]}}]}`, `[{]`, `secret`} {
		_, err := parts(t, New(), bad)
		var e *adapters.UpstreamError
		if err == nil || errors.As(err, &e) || errors.Is(err, adapters.ErrTruncated) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	// Feedback beside an answer blocks nothing.
	if _, err := parts(t, New(), `{"promptFeedback":{"safetyRatings":[]},"candidates":[{"finishReason":"STOP"}]}`); err != nil {
		t.Error(err)
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		name, raw, tier string
		want            *llmdv1.Usage
	}{
		{
			"all", `{"promptTokenCount":100,"cachedContentTokenCount":40,"toolUsePromptTokenCount":7,"candidatesTokenCount":20,"thoughtsTokenCount":30,"totalTokenCount":157,"serviceTier":"flex",
			"promptTokensDetails":[{"modality":"TEXT","tokenCount":90},{"modality":2,"tokenCount":10}],"toolUsePromptTokensDetails":[{"modality":"TEXT","tokenCount":7}],"candidatesTokensDetails":[{"modality":"TEXT","tokenCount":20}]}`, "flex",
			&llmdv1.Usage{
				InputTokens: 67, CacheReadTokens: 40, OutputTokens: 50, ReasoningTokens: proto.Int32(30), TotalTokens: 157,
				Modalities: []*llmdv1.ModalityTokens{
					{Modality: llmdv1.Modality_MODALITY_TEXT, InputTokens: 97, OutputTokens: 20},
					{Modality: llmdv1.Modality_MODALITY_IMAGE, InputTokens: 10},
				},
			},
		},
		{"more cached than asked", `{"promptTokenCount":5,"cachedContentTokenCount":9}`, "", &llmdv1.Usage{CacheReadTokens: 9, TotalTokens: 9}},
		{"too much", `{"promptTokenCount":99999999999}`, "", &llmdv1.Usage{InputTokens: 1<<31 - 1, TotalTokens: 1<<31 - 1}},
		{"nothing", `{"trafficType":"ON_DEMAND_PRIORITY"}`, "priority", nil},
		{"bought", `{"trafficType":2,"promptTokenCount":1}`, "", &llmdv1.Usage{InputTokens: 1, TotalTokens: 1}},
	} {
		got, err := parts(t, NewVertex(), `{"usageMetadata":`+c.raw+`}`)
		if err != adapters.ErrTruncated {
			t.Fatalf("%s: %v", c.name, err)
		}
		a := adaptertest.Fold(got)
		if diff := cmp.Diff(c.want, a.Usage, protocmp.Transform()); diff != "" || a.Tier != c.tier {
			t.Errorf("%s: tier %q, usage (-want +got):\n%s", c.name, a.Tier, diff)
		}
	}
}

func TestModalities(t *testing.T) {
	for raw, want := range map[word]llmdv1.Modality{
		"TEXT": llmdv1.Modality_MODALITY_TEXT, "3": llmdv1.Modality_MODALITY_VIDEO, "AUDIO": llmdv1.Modality_MODALITY_AUDIO,
		"5": llmdv1.Modality_MODALITY_DOCUMENT, "SMELL": llmdv1.Modality_MODALITY_UNSPECIFIED, "": llmdv1.Modality_MODALITY_UNSPECIFIED,
	} {
		if got := modality(raw); got != want {
			t.Errorf("%q is %v, want %v", raw, got, want)
		}
	}
}

func TestDecodeError(t *testing.T) {
	e := New().DecodeError(429, nil, []byte(`[{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED","details":[`+
		`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel"}]},`+
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"12.6s"}]}}]`))
	if e.Reason != adapters.ReasonRateLimited || e.RetryDelay == nil || *e.RetryDelay != 12600*time.Millisecond {
		t.Errorf("per minute: %+v", e)
	}
	e = New().DecodeError(429, nil, []byte(`{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED","details":[`+
		`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},`+
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"30s"}]}}`))
	if e.Reason != adapters.ReasonQuotaExhausted || e.RetryDelay != nil || e.Retryable() {
		t.Errorf("per day: %+v", e)
	}
	e = NewVertex().DecodeError(400, nil, []byte(`{"error":{"code":400,"message":"Corrupted thought signature.","status":"INVALID_ARGUMENT"}}`))
	if e.Reason != adapters.ReasonSignatureRejected {
		t.Errorf("signature: %+v", e)
	}
	if e := New().DecodeError(502, nil, []byte(`<html>bad gateway`)); e.Reason != adapters.ReasonProviderError || e.Message != "" {
		t.Errorf("markup: %+v", e)
	}
}

// FuzzDecode: no frame makes the decoder panic or break the rules for parts.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(say(`{"text":"a","thoughtSignature":"QUI="},{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.a[0]['b']","stringValue":"x","willContinue":true}],"willContinue":true}}`)))
	f.Add([]byte(`[{"candidates":[{"finishReason":3}]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := New().NewDecoder(&adapters.Call{})
		var sink adapters.Sink
		for range 2 { // the second time into the state that the first left
			_ = d.Decode(frame.Frame{Data: data}, &sink)
		}
		_ = d.Finish(&sink)
		if faults := adaptertest.Fold(sink.Parts).Faults; len(faults) > 0 {
			t.Fatal(faults)
		}
	})
}

// adapterFor is the adapter of an API's id.
func adapterFor(api string) *Adapter {
	if api == vertexAPI {
		return NewVertex()
	}
	return New()
}

// TestOddFrames: members of odd types, and parts that hold two things, lose no content.
func TestOddFrames(t *testing.T) {
	const image = `"inlineData":{"mimeType":"image/png","data":"AAAA"}`
	for name, c := range map[string]struct {
		in   []string
		want string // the blocks
	}{
		"a text beside something else":   {[]string{say(`{"text":"x","executableCode":{"code":"1"},"thoughtSignature":"AAAA"}`)}, `text(x) executableCode({"executableCode":{"code":"1"},"thoughtSignature":"AAAA"})`},
		"a text beside a call":           {[]string{say(`{"text":"x","functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"AAAA"}`)}, `text(x) tool_call({"a":1})`},
		"an empty one":                   {[]string{say(`{"text":"",` + image + `}`)}, `inlineData({` + image + `})`},
		"a thought beside it":            {[]string{say(`{"text":"x","thought":true,` + image + `}`)}, `thinking(x) inlineData({"thought":true,` + image + `})`},
		"nothing else":                   {[]string{say(`{"text":"x","inlineData":null}`)}, `text(x)`},
		"answers without numbers":        {[]string{`{"candidates":[{"content":{"parts":[{"text":"a"}]}},{"content":{"parts":[{"text":"b"}]}}]}`}, `text(a)`},
		"facts of other types":           {[]string{`{"responseId":5,"modelVersion":["x"],"usageMetadata":"x","candidates":[{"index":null,"finishMessage":{},"content":{"parts":[{"text":"a"}]}}]}`}, `text(a)`},
		"arguments as text":              {[]string{say(`{"functionCall":{"name":"f","args":"{\"a\":1}"}}`)}, `tool_call({"a":1})`},
		"a piece that says all again":    {[]string{say(`{"functionCall":{"name":"f","id":"1","willContinue":true}}`), say(`{"functionCall":{"name":"f","id":"1","partialArgs":[{"jsonPath":"$.a","numberValue":1}]}}`)}, `tool_call({"a":1})`},
		"an empty call beside a text":    {[]string{say(`{"text":"x","functionCall":{},"thoughtSignature":"AAAA"}`), say(`{"text":"y","functionCall":{}}`)}, `text(xy)`},
		"an id in digits":                {[]string{say(`{"functionCall":{"name":"f","id":7,"args":{"a":1}}}`)}, `tool_call({"a":1})`},
		"the next call of the same tool": {[]string{say(`{"functionCall":{"name":"f","id":"1"}},{"functionCall":{"name":"f","id":"2"}}`)}, `tool_call() tool_call()`},
		"no reason to block":             {[]string{`{"promptFeedback":{"blockReason":"BLOCK_REASON_UNSPECIFIED"}}`, say(`{"text":"a"}`)}, `text(a)`},
	} {
		p, err := parts(t, New(), append(c.in, stopFrame)...)
		f := adaptertest.Fold(p)
		var got []string
		for _, b := range f.Blocks {
			kind := b.Kind
			if kind == adaptertest.KindProviderContent {
				kind = b.Name
			}
			got = append(got, kind+"("+b.Text+")")
		}
		if s := strings.Join(got, " "); err != nil || s != c.want || len(f.Faults) > 0 {
			t.Errorf("%s: %v %v\n%s, want\n%s", name, err, f.Faults, s, c.want)
		}
	}
}

// TestOddCounts: counts are numbers however they are written.
func TestOddCounts(t *testing.T) {
	p, err := parts(t, New(), `{"usageMetadata":{"promptTokenCount":"10","candidatesTokenCount":3.0,"thoughtsTokenCount":null,"cachedContentTokenCount":4,"promptTokensDetails":"x"}}`, stopFrame)
	u := adaptertest.Fold(p).Usage
	if err != nil || u.GetInputTokens() != 6 || u.GetCacheReadTokens() != 4 || u.GetOutputTokens() != 3 || u.ReasoningTokens != nil {
		t.Errorf("%v %v", err, u)
	}
}

package google

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/llmd-dev/llmd/adapters"
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

func said(block int, s string) adapters.Part {
	return adapters.Part{Kind: adapters.PartText, Block: block, Text: s}
}

func signed(block int, s string) adapters.Part {
	return adapters.Part{Kind: adapters.PartSignature, Block: block, Format: "google.thought", Data: []byte(s)}
}

func ended(block int) adapters.Part { return adapters.Part{Kind: adapters.PartEnd, Block: block} }

func TestDecodeParts(t *testing.T) {
	stop := adapters.Part{Kind: adapters.PartStop, Stop: llmdv1.StopReason_STOP_REASON_STOP, Name: "STOP"}
	call := func(block int, id, name string) adapters.Part {
		return adapters.Part{Kind: adapters.PartToolCall, Block: block, ID: id, Name: name}
	}
	args := func(block int, s string) adapters.Part {
		return adapters.Part{Kind: adapters.PartArguments, Block: block, Text: s}
	}
	own := func(block int, kind, raw string) adapters.Part {
		return adapters.Part{Kind: adapters.PartProviderContent, Block: block, Name: kind, Data: []byte(raw)}
	}
	think := func(block int, s string) adapters.Part {
		return adapters.Part{Kind: adapters.PartThinking, Block: block, Text: s}
	}
	for _, c := range []struct {
		name   string
		frames []string
		want   []adapters.Part
	}{
		{
			"text goes on over frames, and a late signature is its own",
			[]string{say(`{"text":"a"}`), say(`{"text":"b"}`), say(`{"text":"","thoughtSignature":"QUI="}`)},
			[]adapters.Part{said(0, "a"), said(0, "b"), said(0, ""), signed(0, "QUI=")},
		},
		{
			"a part that is a signature alone",
			[]string{say(`{"text":"a"},{"thoughtSignature":"QUI="}`)},
			[]adapters.Part{said(0, "a"), said(0, ""), signed(0, "QUI=")},
		},
		{
			"a signature after a call stands alone",
			[]string{say(`{"functionCall":{"name":"f"}},{"text":"","thoughtSignature":"QUI="}`)},
			[]adapters.Part{call(0, "", "f"), ended(0), said(1, ""), signed(1, "QUI=")},
		},
		{"empty parts say nothing", []string{say(`{"text":""},{},{"text":"","thought":true},{"functionCall":{}}`)}, nil},
		{
			"thinking, text, thinking",
			[]string{say(`{"text":"h","thought":true},{"text":"t"},{"text":"g","thought":true,"thoughtSignature":"QUI="}`)},
			[]adapters.Part{think(0, "h"), ended(0), said(1, "t"), ended(1), think(2, "g"), signed(2, "QUI=")},
		},
		{
			"calls keep the bytes of their arguments",
			[]string{say(`{"text":"x"},{"functionCall":{"id":"i","name":"f","args":{ "z" : 1.0, "a":"\ud83d" }},"thoughtSignature":"QUI="},{"functionCall":{"name":"g","args":null}}`)},
			[]adapters.Part{said(0, "x"), ended(0), call(1, "i", "f"), signed(1, "QUI="), args(1, `{ "z" : 1.0, "a":"\ud83d" }`), ended(1), call(2, "", "g"), ended(2)},
		},
		{
			"halves of a surrogate pair wait for each other",
			[]string{say(`{"text":"\ud83d"}`), say(`{"text":"\ude00"}`)},
			[]adapters.Part{said(0, "\xed\xa0\xbd"), said(0, "\xed\xb8\x80")},
		},
		{
			"parts without a type are kept as they came",
			[]string{say(`{"text":"a"},{ "executableCode": {"language":"PYTHON", "code":"1"} },{"text":"b"},{"thought":true,"inlineData":{"mimeType":"image/png","data":"QQ=="}},{"neverSeen":[1]}`)},
			[]adapters.Part{
				said(0, "a"), ended(0), own(1, "executableCode", `{ "executableCode": {"language":"PYTHON", "code":"1"} }`),
				said(2, "b"), ended(2), own(3, "inlineData", `{"thought":true,"inlineData":{"mimeType":"image/png","data":"QQ=="}}`),
				own(4, "neverSeen", `{"neverSeen":[1]}`),
			},
		},
		{
			"metadata comes once, at the end, the last of each",
			[]string{
				`{"candidates":[{"groundingMetadata":{"a":1},"content":{"parts":[{"text":"a"}]}}]}`,
				`{"candidates":[{"groundingMetadata":{"a":2},"citationMetadata":{"c":[]},"urlContextMetadata":{}}]}`,
				`{"candidates":[{"groundingMetadata":{}}]}`,
			},
			[]adapters.Part{said(0, "a"), own(1, "groundingMetadata", `{"a":2}`), own(2, "citationMetadata", `{"c":[]}`)},
		},
		{"other candidates are not the answer", []string{`{"candidates":[{"index":1,"content":{"parts":[{"text":"no"}]},"finishReason":"SAFETY"},{"index":0,"content":{"parts":[{"text":"yes"}]}}]}`}, []adapters.Part{said(0, "yes")}},
		{"old models stop with every frame", []string{stopFrame, say(`{"text":"more"}`)}, []adapters.Part{stop, said(0, "more")}},
		{"what is no answer is passed over", []string{"[DONE]", "  ", "{}", `{"candidates":null,"usageMetadata":null}`, `{"candidates":[{"content":null}]}`}, nil},
		{"an unusual count loses no content", []string{`{"usageMetadata":{"promptTokenCount":"many"},"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`}, []adapters.Part{said(0, "a")}},
		{
			"ids are told when they are new",
			[]string{`{"responseId":"r","modelVersion":"m"}`, `{"responseId":"r","modelVersion":"m"}`},
			[]adapters.Part{{Kind: adapters.PartIDs, ID: "r", Name: "m"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parts(t, New(), append(c.frames, stopFrame)...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(append(slices.Clone(c.want), stop), withStopLast(got)); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
		})
	}
}

// withStopLast moves the terminal marker that the test adds behind what only the
// end of the answer says.
func withStopLast(got []adapters.Part) []adapters.Part {
	for i, stop := range slices.Backward(got) {
		if stop.Kind == adapters.PartStop {
			return append(slices.Delete(slices.Clone(got), i, i+1), stop)
		}
	}
	return got
}

func TestFinishReasons(t *testing.T) {
	for _, c := range []struct {
		api, raw, word, reason string
		stop                   llmdv1.StopReason
	}{
		{geminiAPI, `"STOP"`, "STOP", "", llmdv1.StopReason_STOP_REASON_STOP},
		{geminiAPI, `1`, "STOP", "", llmdv1.StopReason_STOP_REASON_STOP},
		{geminiAPI, `"MAX_TOKENS"`, "MAX_TOKENS", "", llmdv1.StopReason_STOP_REASON_LENGTH},
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
		a := &answer{}
		a.fold(t, got, map[int]*block{})
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

// streamCase is a case of ../shared/cases that this package can judge alone.
type streamCase struct {
	Kind, API, Body string
	Encoding        string `json:"body_encoding"`
	Status          int
	Expect          struct {
		Content []struct {
			Type, Text, Thinking, Name, ThoughtSignature string
			Arguments                                    any
		}
		Stop      string         `json:"stop_reason"`
		Message   map[string]any `json:"error_message"`
		Usage     map[string]int32
		Kind      string
		Alt       []string `json:"kind_alt"`
		Retryable *bool
	}
}

func TestCases(t *testing.T) {
	n := 0
	for _, file := range shared(t, "cases/*.json") {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c streamCase
		if json.Unmarshal(raw, &c) != nil || !strings.HasPrefix(c.API, "google-") || c.Encoding != "text" {
			continue
		}
		n++
		if c.Kind == "error" {
			e := adapterFor(c.API).DecodeError(c.Status, nil, []byte(c.Body))
			var want []string
			for _, k := range append(c.Expect.Alt, c.Expect.Kind) {
				want = append(want, reasonsOf(k)...)
			}
			if !slices.Contains(want, e.Reason) || c.Expect.Retryable != nil && e.Retryable() != *c.Expect.Retryable {
				t.Errorf("%s: %+v", file, e)
			}
			continue
		}
		got, err := readBytes(t, adapterFor(c.API), []byte(c.Body))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		want := &expected{Stop: strings.ReplaceAll(c.Expect.Stop, "toolUse", "tool_use")}
		for _, b := range c.Expect.Content {
			w := expectedBlock{Type: strings.ReplaceAll(b.Type, "toolCall", "tool_call"), Text: b.Text, Thinking: b.Thinking, Name: b.Name, Arguments: b.Arguments}
			if b.ThoughtSignature != "" {
				w.Signature = &b.ThoughtSignature
			}
			want.Content = append(want.Content, w)
		}
		want.checkContent(t, got)
		if got.Stop != want.stop() || c.Expect.Usage != nil && (got.Usage.GetInputTokens() != c.Expect.Usage["input"] || got.Usage.GetOutputTokens() != c.Expect.Usage["output"]) {
			t.Errorf("%s: stop %v, usage %v", file, got.Stop, got.Usage)
		}
	}
	if n == 0 {
		t.Error("no case read")
	}
	t.Logf("%d cases", n)
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(say(`{"text":"a","thoughtSignature":"QUI="},{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.a[0]['b']","stringValue":"x","willContinue":true}],"willContinue":true}}`)))
	f.Add([]byte(`[{"candidates":[{"finishReason":3}]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := New().NewDecoder(&adapters.Call{})
		out, byKey := &answer{}, map[int]*block{}
		var sink adapters.Sink
		for range 2 { // the second time into the state that the first left
			sink.Reset()
			_ = d.Decode(frame.Frame{Data: data}, &sink)
			out.fold(t, sink.Parts, byKey)
		}
		sink.Reset()
		_ = d.Finish(&sink)
		out.fold(t, sink.Parts, byKey)
	})
}

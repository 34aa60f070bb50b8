package openairesponses

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// stream writes events as a body.
func stream(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

const (
	created   = `{"type":"response.created","response":{"id":"resp_1","model":"m","status":"in_progress","output":[],"usage":null}}`
	completed = `{"type":"response.completed","response":{"id":"resp_1","model":"m","status":"completed","output":[]}}`
)

func TestDecodeEnds(t *testing.T) {
	const delta = `{"type":"response.output_text.delta","output_index":0,"item_id":"msg_1","delta":"He"}`
	for name, c := range map[string]struct {
		event  string
		stop   llmdv1.StopReason
		word   string
		reason string // of the error
		says   string
	}{
		"completed":                {completed, llmdv1.StopReason_STOP_REASON_STOP, "completed", "", ""},
		"status not set":           {`{"type":"response.completed","response":{"status":"in_progress"}}`, llmdv1.StopReason_STOP_REASON_STOP, "completed", "", ""},
		"done":                     {`{"type":"response.done","response":{}}`, llmdv1.StopReason_STOP_REASON_STOP, "completed", "", ""},
		"limit":                    {`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`, llmdv1.StopReason_STOP_REASON_LENGTH, "incomplete.max_output_tokens", "", ""},
		"filter":                   {`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}}`, llmdv1.StopReason_STOP_REASON_ERROR, "incomplete.content_filter", adapters.ReasonContentFiltered, "content filter"},
		"incomplete for something": {`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_tool_calls"}}}`, llmdv1.StopReason_STOP_REASON_ERROR, "incomplete.max_tool_calls", adapters.ReasonProviderError, "incomplete"},
		"incomplete for nothing":   {`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":null}}`, llmdv1.StopReason_STOP_REASON_ERROR, "incomplete", adapters.ReasonProviderError, "incomplete"},
		"failed":                   {`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"Sorry."}}}`, llmdv1.StopReason_STOP_REASON_ERROR, "failed", adapters.ReasonProviderError, "Sorry."},
		"failed for a rate":        {`{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Slower."}}}`, llmdv1.StopReason_STOP_REASON_ERROR, "failed", adapters.ReasonRateLimited, "Slower."},
		"failed for a filter":      {`{"type":"response.failed","response":{"status":"failed","incomplete_details":{"reason":"content_filter"}}}`, llmdv1.StopReason_STOP_REASON_ERROR, "failed.content_filter", adapters.ReasonContentFiltered, "content filter"},
		"limit, status completed":  {`{"type":"response.incomplete","response":{"status":"completed","incomplete_details":{"reason":"max_output_tokens"}}}`, llmdv1.StopReason_STOP_REASON_LENGTH, "incomplete.max_output_tokens", "", ""},
		"failed for nothing":       {`{"type":"response.failed","response":{"status":"failed","error":null}}`, llmdv1.StopReason_STOP_REASON_ERROR, "failed", adapters.ReasonProviderError, "without a reason"},
		"cancelled":                {`{"type":"response.cancelled","response":{"status":"cancelled"}}`, llmdv1.StopReason_STOP_REASON_ERROR, "cancelled", adapters.ReasonProviderError, "cancelled"},
		"unknown status":           {`{"type":"response.completed","response":{"status":"paused"}}`, llmdv1.StopReason_STOP_REASON_ERROR, "paused", adapters.ReasonProviderError, "not known"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := decode(stream(created, delta, c.event, delta, "[DONE]"))
			if err != nil {
				t.Fatal(err)
			}
			if a.Stop != c.stop || a.Word != c.word || !a.Complete {
				t.Errorf("%s %q, complete %v", a.Stop, a.Word, a.Complete)
			}
			if e := a.Err; (e != nil) != (c.reason != "") || e != nil && (e.Reason != c.reason || !strings.Contains(e.Message, c.says)) {
				t.Errorf("error %+v", e)
			}
			if got := a.Blocks[0].Text; got != "He" {
				t.Errorf("text %q", got)
			}
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	for name, c := range map[string]struct {
		events      []string
		reason, say string
	}{
		"nested":           {[]string{created, `{"type":"error","error":{"type":"insufficient_quota","code":"insufficient_quota","message":"No money."}}`}, adapters.ReasonQuotaExhausted, "No money."},
		"flat":             {[]string{created, `{"type":"error","code":"rate_limit_exceeded","message":"Slower.","param":null}`}, adapters.ReasonRateLimited, "Slower."},
		"without a type":   {[]string{created, `{"error":{"message":"Overloaded","code":"server_overloaded"}}`}, adapters.ReasonOverloaded, "Overloaded"},
		"of a type":        {[]string{created, `{"type":"response.error","error":{"code":"rate_limit_exceeded","message":"Slower."}}`}, adapters.ReasonRateLimited, "Slower."},
		"vLLM":             {[]string{`{"object":"error","message":"too long","type":"BadRequestError","code":400}`}, adapters.ReasonRejectedRequest, "too long"},
		"a detail":         {[]string{`{"detail":"Unauthorized"}`}, adapters.ReasonProviderError, "Unauthorized"},
		"a message":        {[]string{`{"code":"Arrearage","message":"Pay."}`}, adapters.ReasonQuotaExhausted, "Pay."},
		"failed at once":   {[]string{`{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Slower."}}}`}, adapters.ReasonRateLimited, "Slower."},
		"context overflow": {[]string{created, `{"type":"error","error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}`}, adapters.ReasonContextLengthExceeded, "context window"},
	} {
		_, err := decode(stream(c.events...))
		var up *adapters.UpstreamError
		if !errors.As(err, &up) || up.Reason != c.reason || !strings.Contains(up.Message, c.say) {
			t.Errorf("%s: %+v, %v", name, up, err)
		}
	}
	_, err := decode(stream(created) + "event: error\ndata: {\"type\":\"server_error\",\"message\":\"Sorry.\"}\n\n")
	if up := (*adapters.UpstreamError)(nil); !errors.As(err, &up) || up.Reason != adapters.ReasonProviderError || up.Message != "Sorry." {
		t.Errorf("an event named error: %v", err)
	}
	_, err = decode("event: response.completed\ndata: {\"type\":\"response.completed\",\"respo\n\n")
	if fe := (*adapters.FrameError)(nil); !errors.As(err, &fe) || strings.Contains(err.Error(), "respo\"") {
		t.Errorf("a broken frame: %v", err)
	}
	if _, err = decode(stream(`{"type":"host.note","message":"queued"}`, created, completed)); err != nil {
		t.Errorf("a host's own type: %v", err)
	}
	if _, err = decode("event: host.note\ndata: {not json}\n\n" + stream(created, completed)); err != nil {
		t.Errorf("a host's own event: %v", err)
	}
}

func TestDecodeErrorBody(t *testing.T) {
	h := http.Header{"Apim-Request-Id": {"req-7"}}
	e := NewAzure().DecodeError(404, h, []byte(`{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`))
	if e.Reason != adapters.ReasonModelNotFound || e.RequestID != "req-7" || e.Status != 404 {
		t.Errorf("%+v", e)
	}
	if e = New().DecodeError(502, nil, []byte("<html>bad gateway</html>")); e.Reason != adapters.ReasonProviderError || strings.Contains(e.Message, "html") {
		t.Errorf("%+v", e)
	}
}

// TestLastWord: an item's last word replaces what its deltas said, which no golden can
// show: the answer that is cut before it reads otherwise.
func TestLastWord(t *testing.T) {
	for name, c := range map[string]struct {
		events []string
		want   string
	}{
		"of a message": {
			[]string{
				`{"type":"response.output_text.delta","output_index":0,"item_id":"msg_1","delta":"Hex"}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"id":"msg_1","type":"message","content":[{"type":"output_text","text":"Hey"}]}}`,
				`{"type":"response.output_text.delta","output_index":0,"delta":"late"}`,
			}, "Hey",
		},
		"of a part that nothing follows": {
			[]string{
				`{"type":"response.output_text.delta","output_index":0,"item_id":"msg_1","delta":"Hex"}`,
				`{"type":"response.output_text.done","output_index":0,"item_id":"msg_1","text":"Hey"}`,
			}, "Hey",
		},
		"of a part that another follows": {
			[]string{
				`{"type":"response.output_text.delta","output_index":0,"item_id":"msg_1","delta":"Hey"}`,
				`{"type":"response.output_text.done","output_index":0,"item_id":"msg_1","text":"Hey"}`,
				`{"type":"response.output_text.delta","output_index":0,"content_index":1,"item_id":"msg_1","delta":" you"}`,
			}, "Hey you",
		},
		"of arguments in quotes": {
			[]string{
				`{"type":"response.output_item.added","output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"c1","name":"f","arguments":""}}`,
				`{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"fc_1","delta":"\"{\\\"a\\\":1}\""}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"c1","name":"f","arguments":"\"{\\\"a\\\":1}\""}}`,
			}, `{"a":1}`,
		},
		"of reasoning": {
			[]string{
				`{"type":"response.reasoning_text.delta","output_index":0,"item_id":"rs_1","delta":"Raw."}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Sum."}]}}`,
			}, "Sum.",
		},
	} {
		a, err := decode(stream(append(append([]string{created}, c.events...), completed)...))
		if err != nil || len(a.Blocks) != 1 || a.Blocks[0].Text != c.want || !a.Blocks[0].Ended && !strings.HasPrefix(name, "of a part") {
			t.Errorf("%s: %v, %+v", name, err, a.Blocks)
		}
	}
}

func TestDecodeUsage(t *testing.T) {
	reasoning := int32(22)
	for in, want := range map[string]*llmdv1.Usage{
		`{"input_tokens":100,"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":30},"output_tokens":37,"output_tokens_details":{"reasoning_tokens":22},"total_tokens":137}`: {
			InputTokens: 10, CacheReadTokens: 60, CacheWriteTokens: 30, OutputTokens: 37, ReasoningTokens: &reasoning, TotalTokens: 137,
		},
		`{"input_tokens":1524,"input_tokens_details":{"cached_tokens":1305},"output_tokens":2,"x_details":[{"prompt_tokens_details":{"cache_creation_input_tokens":213,"cached_tokens":1305}}]}`: {
			InputTokens: 6, CacheReadTokens: 1305, CacheWriteTokens: 213, OutputTokens: 2, TotalTokens: 1526,
		},
		`{"input_tokens":5,"input_tokens_details":{"cached_tokens":9},"output_tokens":1,"output_tokens_details":null}`: {
			CacheReadTokens: 9, OutputTokens: 1, TotalTokens: 10,
		},
		`{"input_tokens":"5","output_tokens":"1","input_tokens_details":{"cached_tokens":"2"}}`: {
			InputTokens: 3, CacheReadTokens: 2, OutputTokens: 1, TotalTokens: 6,
		},
		`{}`: nil,
		`{"input_tokens":1,"output_tokens":2,"cost":1.13e-05,"is_byok":false}`: {
			InputTokens: 1, OutputTokens: 2, TotalTokens: 3, Cost: &llmdv1.Cost{TotalPicoUsd: 11_300_000, FromProvider: true},
		},
		// With a key of the caller's own, the upstream provider bills its share besides.
		`{"input_tokens":1,"output_tokens":2,"cost":0.05,"is_byok":true,"cost_details":{"upstream_inference_cost":1}}`: {
			InputTokens: 1, OutputTokens: 2, TotalTokens: 3, Cost: &llmdv1.Cost{TotalPicoUsd: 1_050_000_000_000, FromProvider: true},
		},
		`{"input_tokens":1,"output_tokens":2,"cost":0.05}`: {InputTokens: 1, OutputTokens: 2, TotalTokens: 3},
		`{"input_tokens":1,"output_tokens":2,"cost_in_usd_ticks":37756000}`: {
			InputTokens: 1, OutputTokens: 2, TotalTokens: 3, Cost: &llmdv1.Cost{TotalPicoUsd: 3_775_600_000, FromProvider: true},
		},
	} {
		a, err := decode(stream(created,
			`{"type":"response.completed","response":{"status":"completed","service_tier":"priority","usage":`+in+`}}`))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, a.Usage, protocmp.Transform()); d != "" || a.Tier != "priority" {
			t.Errorf("%s: tier %q\n%s", in, a.Tier, d)
		}
	}
}

// FuzzDecode: no body makes the decoder panic, or end in silence.
func FuzzDecode(f *testing.F) {
	f.Add(stream(created, completed))
	f.Add(stream(`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"annotations":[1]}]}}`))
	f.Fuzz(func(t *testing.T, body string) {
		a, err := decode(body)
		if stopped := a.Stop != llmdv1.StopReason_STOP_REASON_UNSPECIFIED; !stopped && err == nil {
			t.Fatal("neither a stop nor an error")
		}
	})
}

func BenchmarkDecodeDelta(b *testing.B) {
	data := []byte(`{"type":"response.output_text.delta","content_index":0,"delta":" token","item_id":"msg_1","logprobs":[],"obfuscation":"abcdefgh","output_index":0,"sequence_number":5}`)
	d := New().NewDecoder(nil)
	var sink adapters.Sink
	b.ReportAllocs()
	for b.Loop() {
		sink.Reset()
		if err := d.Decode(frame.Frame{Data: data}, &sink); err != nil {
			b.Fatal(err)
		}
	}
}

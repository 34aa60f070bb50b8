package openairesponses

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
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

func text(s, sig string) block {
	b := block{kind: adapters.PartText, text: s, ended: true}
	if sig != "" {
		b.format, b.signature = formatMessage, sig
	}
	return b
}

func thought(s, sig string) block {
	return block{kind: adapters.PartThinking, text: s, format: formatReasoning, signature: sig, ended: true}
}

func call(id, name, arguments, item string) block {
	return block{kind: adapters.PartToolCall, id: id, name: name, text: arguments, format: formatItemID, signature: item, ended: true}
}

func raw(kind, data string) block {
	return block{kind: adapters.PartProviderContent, name: kind, text: data, ended: true}
}

func TestDecodeItems(t *testing.T) {
	const reasoning1 = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"One."},{"type":"summary_text","text":"Two."}],"encrypted_content":"E"}`
	const search = `{"id":"ws_1","type":"web_search_call", "status":"completed"}`
	for name, c := range map[string]struct {
		events []string
		want   []block
	}{
		"message": {
			[]string{
				`{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","content":[]}}`,
				`{"type":"response.output_text.delta","output_index":0,"item_id":"msg_1","content_index":0,"delta":"He"}`,
				`{"type":"response.output_text.delta","output_index":0,"item_id":"msg_1","content_index":0,"delta":"y \ud83d"}`,
				`{"type":"response.output_text.delta","output_index":0,"item_id":"msg_1","content_index":0,"delta":"\ude00"}`,
				`{"type":"response.output_text.done","output_index":0,"item_id":"msg_1","content_index":0,"text":"Hey 😀"}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"id":"msg_1","type":"message","phase":"final_answer","content":[{"type":"output_text","text":"Hey 😀","annotations":[]}]}}`,
				completed,
			},
			[]block{text("Hey 😀", `{"id":"msg_1","phase":"final_answer"}`)},
		},
		"text only in the done events": {
			[]string{
				`{"type":"response.output_text.done","output_index":0,"item_id":"msg_1","content_index":0,"text":"Hey"}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"id":"msg_1","type":"message","content":null}}`,
				completed,
			},
			[]block{text("Hey", `{"id":"msg_1"}`)},
		},
		"the item's last word wins": {
			[]string{
				`{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","content":[]}}`,
				`{"type":"response.output_text.delta","output_index":0,"delta":"Hex"}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"id":"msg_1","type":"message","content":[{"type":"output_text","text":"Hey"}]}}`,
				`{"type":"response.output_text.delta","output_index":0,"delta":"late"}`,
				completed,
			},
			[]block{text("Hey", `{"id":"msg_1"}`)},
		},
		"summary parts are separated": {
			[]string{
				`{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}`,
				`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"One."}`,
				`{"type":"response.reasoning_summary_text.done","output_index":0,"summary_index":0,"text":"One."}`,
				`{"type":"response.reasoning_summary_text.done","output_index":0,"summary_index":1,"text":"Two."}`,
				`{"type":"response.output_item.done","output_index":0,"item":` + reasoning1 + `}`,
				completed,
			},
			[]block{thought("One.\n\nTwo.", reasoning1)},
		},
		"reasoning text, and its summary at the end": {
			[]string{
				`{"type":"response.reasoning_text.delta","output_index":0,"item_id":"rs_1","content_index":0,"delta":"Raw."}`,
				`{"type":"response.reasoning_summary_text.delta","output_index":0,"item_id":"rs_1","summary_index":0,"delta":"ignored"}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"Raw."}]}}`,
				completed,
			},
			[]block{thought("Raw.", `{"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"Raw."}]}`)},
		},
		"encrypted content comes with the end": {
			[]string{
				`{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}`,
				`{"type":"response.completed","response":{"status":"completed","output":[{"id":"rs_1","type":"reasoning","encrypted_content":"LATE","summary":[]}]}}`,
			},
			[]block{thought("", `{"id":"rs_1","type":"reasoning","encrypted_content":"LATE","summary":[]}`)},
		},
		"calls that interleave and end out of order": {
			[]string{
				`{"type":"response.output_item.added","output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"a","arguments":""}}`,
				`{"type":"response.output_item.added","output_index":1,"item":{"id":"fc_2","type":"function_call","call_id":"call_2","name":"b","arguments":"","namespace":"ns"}}`,
				`{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"y\":"}`,
				`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"x\": 1.0}"}`,
				`{"type":"response.function_call_arguments.done","output_index":1,"arguments":"{\"y\":2}"}`,
				`{"type":"response.output_item.done","output_index":1,"item":{"id":"fc_2","type":"function_call","call_id":"call_2","name":"b","arguments":"{\"y\":2}","namespace":"ns"}}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"a","arguments":"{\"x\": 1.0}"}}`,
				completed,
			},
			[]block{
				call("call_1", "a", `{"x": 1.0}`, "fc_1"),
				{kind: adapters.PartToolCall, id: "call_2", name: "b", namespace: "ns", text: `{"y":2}`, format: formatItemID, signature: "fc_2", ended: true},
			},
		},
		"ids change in every event": {
			[]string{
				`{"type":"response.output_item.added","output_index":0,"item":{"id":"a","type":"function_call","call_id":"call_1","name":"f","arguments":""}}`,
				`{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"b","delta":"{}"}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"id":"c","type":"function_call","call_id":"call_1","name":"f","arguments":"{}"}}`,
				`{"type":"response.completed","response":{"status":"completed","output":[{"id":"d","type":"function_call","call_id":"call_1","name":"f","arguments":"{}"}]}}`,
			},
			[]block{call("call_1", "f", `{}`, "c")},
		},
		"no output_index": {
			[]string{
				`{"type":"response.output_item.added","item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"a","arguments":"{}"}}`,
				`{"type":"response.output_item.added","item":{"id":"fc_2","type":"function_call","call_id":"call_2","name":"b","arguments":"{}"}}`,
				`{"type":"response.function_call_arguments.delta","item_id":"fc_1","delta":"{\"x\":1}"}`,
				`{"type":"response.output_item.done","item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"a","arguments":""}}`,
				`{"type":"response.output_item.done","item":{"id":"fc_2","type":"function_call","call_id":"call_2","name":"b","arguments":""}}`,
				completed,
			},
			[]block{call("call_1", "a", `{"x":1}`, "fc_1"), call("call_2", "b", `{}`, "fc_2")},
		},
		"arguments as an object, and a name that comes late": {
			[]string{
				`{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"fc_1","delta":"{"}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"f","arguments":{"q": [1,2]}}}`,
				completed,
			},
			[]block{call("call_1", "f", `{"q": [1,2]}`, "fc_1")},
		},
		"arguments begin with the call, and an item is said twice": {
			[]string{
				`{"type":"response.output_item.added","output_index":0,"item":{"id":"fc_1","type":"function_call","name":"f","arguments":"{\"a"}}`,
				`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"\":1}"}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"id":"fc_1","type":"function_call","name":"f","arguments":null}}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"id":"fc_1","type":"function_call","name":"f","arguments":null}}`,
				`{"type":"response.output_item.added","output_index":1,"item":{"id":"fc_2","type":"function_call","call_id":"call_2","name":"g","arguments":"{}"}}`,
				`{"type":"response.completed","response":{"status":"completed","output":[{"id":"fc_1","type":"function_call","name":"f"},{"id":"fc_2","type":"function_call","call_id":"call_2","name":"g"}]}}`,
			},
			[]block{call("fc_1", "f", `{"a":1}`, "fc_1"), call("call_2", "g", `{}`, "fc_2")},
		},
		"other items are kept as they are": {
			[]string{
				`{"type":"response.output_item.added","output_index":0,"item":{"id":"ws_1","type":"web_search_call","status":"in_progress"}}`,
				`{"type":"response.web_search_call.searching","output_index":0,"item_id":"ws_1"}`,
				`{"type":"response.output_item.done","output_index":0,"item":` + search + `}`,
				`{"type":"response.something.new","output_index":1,"delta":{"a":1}}`,
				completed,
			},
			[]block{raw("web_search_call", search)},
		},
		"citations follow their text": {
			[]string{
				`{"type":"response.output_text.delta","output_index":0,"item_id":"msg_1","content_index":0,"delta":"See."}`,
				`{"type":"response.output_text.annotation.added","output_index":0,"annotation":{"type":"url_citation"}}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"id":"msg_1","type":"message","content":[{"type":"output_text", "text":"See.","annotations":[{"type":"url_citation","url":"https://x.example/?a=1&b=<2>"}]}]}}`,
				completed,
			},
			[]block{
				text("See.", `{"id":"msg_1"}`),
				raw(kindMessageContent, `[{"type":"output_text", "text":"See.","annotations":[{"type":"url_citation","url":"https://x.example/?a=1&b=<2>"}]}]`),
			},
		},
		"items that the stream left out": {
			[]string{
				`{"type":"response.output_text.delta","output_index":0,"item_id":"msg_1","delta":"Hey"}`,
				`{"type":"response.completed","response":{"status":"completed","output":[{"id":"msg_1","type":"message","content":[{"type":"output_text","text":"Hey you"}]},{"id":"fc_1","type":"function_call","call_id":"call_1","name":"f","arguments":"{}"}]}}`,
			},
			[]block{text("Hey you", `{"id":"msg_1"}`), call("call_1", "f", `{}`, "fc_1")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := decode(t, strings.NewReader(stream(append([]string{created}, c.events...)...)))
			if err != nil {
				t.Fatal(err)
			}
			got := summary(a)
			for i := range got {
				if got[i].kind == adapters.PartText {
					got[i].text = cleaned(got[i].text)
				}
			}
			if d := cmp.Diff(c.want, got, cmp.AllowUnexported(block{})); d != "" {
				t.Error(d)
			}
			if a.id != "resp_1" || a.model != "m" || !a.complete {
				t.Errorf("id %q, model %q, complete %v", a.id, a.model, a.complete)
			}
		})
	}
}

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
		"failed for nothing":       {`{"type":"response.failed","response":{"status":"failed","error":null}}`, llmdv1.StopReason_STOP_REASON_ERROR, "failed", adapters.ReasonProviderError, "without a reason"},
		"cancelled":                {`{"type":"response.cancelled","response":{"status":"cancelled"}}`, llmdv1.StopReason_STOP_REASON_ERROR, "cancelled", adapters.ReasonProviderError, "cancelled"},
		"unknown status":           {`{"type":"response.completed","response":{"status":"paused"}}`, llmdv1.StopReason_STOP_REASON_ERROR, "paused", adapters.ReasonProviderError, "not known"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := decode(t, strings.NewReader(stream(created, delta, c.event, delta, "[DONE]")))
			if err != nil {
				t.Fatal(err)
			}
			if a.stop.Stop != c.stop || a.stop.Name != c.word || !a.complete {
				t.Errorf("%s %q, complete %v", a.stop.Stop, a.stop.Name, a.complete)
			}
			if e := a.stop.Err; (e != nil) != (c.reason != "") || e != nil && (e.Reason != c.reason || !strings.Contains(e.Message, c.says)) {
				t.Errorf("error %+v", e)
			}
			if got := a.blocks[0].text; got != "He" {
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
		"failed at once":   {[]string{`{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Slower."}}}`}, adapters.ReasonRateLimited, "Slower."},
		"context overflow": {[]string{created, `{"type":"error","error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}`}, adapters.ReasonContextLengthExceeded, "context window"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decode(t, strings.NewReader(stream(c.events...)))
			var up *adapters.UpstreamError
			if !errors.As(err, &up) || up.Reason != c.reason || !strings.Contains(up.Message, c.say) {
				t.Errorf("%+v, %v", up, err)
			}
		})
	}

	_, err := decode(t, strings.NewReader(stream(created)+"event: error\ndata: {\"type\":\"server_error\",\"message\":\"Sorry.\"}\n\n"))
	if up := (*adapters.UpstreamError)(nil); !errors.As(err, &up) || up.Reason != adapters.ReasonProviderError || up.Message != "Sorry." {
		t.Errorf("an event named error: %v", err)
	}
	a, err := decode(t, strings.NewReader(stream(created, `{"type":"response.output_text.delta","delta":"He"}`)))
	if !errors.Is(err, adapters.ErrTruncated) || a.stop != nil {
		t.Errorf("without a terminal event: %v", err)
	}
	_, err = decode(t, strings.NewReader("event: response.completed\ndata: {\"type\":\"response.completed\",\"respo"))
	if fe := (*FrameError)(nil); !errors.As(err, &fe) || strings.Contains(err.Error(), "respo\"") {
		t.Errorf("a cut frame: %v", err)
	}
	if _, err = decode(t, strings.NewReader("event: host.note\ndata: {not json}\n\n"+stream(created, completed))); err != nil {
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

func TestDecodeRefusal(t *testing.T) {
	a, err := decode(t, strings.NewReader(stream(created,
		`{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","content":[]}}`,
		`{"type":"response.refusal.delta","output_index":0,"content_index":0,"delta":"I can't"}`,
		`{"type":"response.refusal.done","output_index":0,"content_index":0,"refusal":"I can't"}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"id":"msg_1","type":"message","content":[{"type":"refusal","refusal":"I can't do that."}]}}`,
		completed)))
	if err != nil {
		t.Fatal(err)
	}
	if a.stop.Stop != llmdv1.StopReason_STOP_REASON_STOP || a.blocks[0].text != "I can't do that." || !cmp.Equal(a.diagnostics, []string{"refusal"}) {
		t.Errorf("%s %q %v", a.stop.Stop, a.blocks[0].text, a.diagnostics)
	}
}

// An item that the limit cut is not ended by the decoder: it is the assembler's to
// say what became of it.
func TestDecodeCutItem(t *testing.T) {
	a, err := decode(t, strings.NewReader(stream(created,
		`{"type":"response.output_item.added","output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"f","arguments":""}}`,
		`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"a\":"}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"id":"fc_1","type":"function_call","status":"incomplete","call_id":"call_1","name":"f","arguments":"{\"a\":"}}`,
		`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`)))
	if err != nil || a.stop.Stop != llmdv1.StopReason_STOP_REASON_LENGTH || a.blocks[0].ended || a.blocks[0].text != `{"a":` {
		t.Errorf("%v %+v", err, a.blocks[0])
	}
}

func TestDecodeUsage(t *testing.T) {
	reasoning := int32(22)
	for in, want := range map[string]*llmdv1.Usage{
		`{"input_tokens":100,"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":30},"output_tokens":37,"output_tokens_details":{"reasoning_tokens":22},"total_tokens":137}`: {
			InputTokens: 10, CacheReadTokens: 60, CacheWriteTokens: 30, OutputTokens: 37, ReasoningTokens: &reasoning, TotalTokens: 137,
		},
		`{"input_tokens":5,"input_tokens_details":{"cached_tokens":9},"output_tokens":1,"output_tokens_details":null}`: {
			CacheReadTokens: 9, OutputTokens: 1, TotalTokens: 10,
		},
		`{"input_tokens":1,"output_tokens":2,"cost":1.13e-05}`: {
			InputTokens: 1, OutputTokens: 2, TotalTokens: 3, Cost: &llmdv1.Cost{TotalPicoUsd: 11_300_000, FromProvider: true},
		},
		`{"input_tokens":1,"output_tokens":2,"cost":{"total_cost":1}}`: {InputTokens: 1, OutputTokens: 2, TotalTokens: 3},
	} {
		a, err := decode(t, strings.NewReader(stream(created,
			`{"type":"response.completed","response":{"status":"completed","service_tier":"priority","usage":`+in+`}}`)))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, a.usage, protocmp.Transform()); d != "" || a.tier != "priority" {
			t.Errorf("%s: tier %q\n%s", in, a.tier, d)
		}
	}
}

// TestCases runs the public cases of this API that are streams or errors.
func TestCases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shared(t, "cases"), "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range files {
		var c struct {
			API, Kind, Body string
			Status          int
			Headers         map[string]string
			Expect          struct {
				Content json.RawMessage
				Stop    string `json:"stop_reason"`
				Usage   struct {
					Input, Output int32
					CacheRead     int32 `json:"cache_read"`
				}
				Kind      string
				Retryable *bool
			}
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &c); err != nil || c.API != apiOpenAI {
			continue
		}
		n++
		t.Run(filepath.Base(file), func(t *testing.T) {
			if c.Kind == "error" {
				e := New().DecodeError(c.Status, nil, []byte(c.Body))
				want := map[string][]string{
					"rate_limit": {adapters.ReasonRateLimited, adapters.ReasonQuotaExhausted},
					"server":     {adapters.ReasonProviderError},
				}[c.Expect.Kind]
				if !strings.Contains(strings.Join(want, " "), e.Reason) || e.Reason == "" {
					t.Errorf("%+v", e)
				}
				return
			}
			a, err := decode(t, strings.NewReader(c.Body))
			var content []struct {
				Type, Text, Thinking, Name string
				Arguments                  json.RawMessage
			}
			if json.Unmarshal(c.Expect.Content, &content) == nil {
				for i, w := range content {
					g := a.blocks[i].text
					if w.Text+w.Thinking != "" && g != w.Text+w.Thinking || w.Name != "" && (a.blocks[i].name != w.Name || !sameJSON(t, w.Arguments, g)) {
						t.Errorf("block %d is %q", i, g)
					}
				}
				if len(content) != len(a.blocks) {
					t.Errorf("%d blocks, want %d", len(a.blocks), len(content))
				}
			}
			var up *adapters.UpstreamError
			switch failed := errors.As(err, &up) || a.stop.Err != nil; {
			case c.Expect.Stop == "error" && !failed:
				// The other way to refuse a cut call: it is there, and unfinished.
				if b := a.blocks[0]; b.kind != adapters.PartToolCall || b.ended || json.Valid([]byte(b.text)) {
					t.Errorf("not refused: %+v", b)
				}
			case c.Expect.Stop == "error":
			case a.stop.Stop == llmdv1.StopReason_STOP_REASON_LENGTH != (c.Expect.Stop == "length"), a.usage.GetInputTokens() != c.Expect.Usage.Input,
				a.usage.GetOutputTokens() != c.Expect.Usage.Output, a.usage.GetCacheReadTokens() != c.Expect.Usage.CacheRead:
				t.Errorf("%v %v", a.stop, a.usage)
			}
		})
	}
	if n == 0 {
		t.Error("no cases")
	}
}

func sameJSON(t *testing.T, want json.RawMessage, got string) bool {
	t.Helper()
	var a, b bytes.Buffer
	if json.Compact(&a, want) != nil || json.Compact(&b, []byte(got)) != nil {
		return false
	}
	return a.String() == b.String()
}

func cleaned(s string) string {
	m := (&answer{blocks: []*block{{kind: adapters.PartText, text: s}}}).message("", "")
	return m.GetAssistant().GetContent()[0].GetText().GetText()
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(stream(created, completed)))
	f.Add([]byte(stream(`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"annotations":[1]}]}}`)))
	f.Fuzz(func(t *testing.T, body []byte) {
		d := New().NewDecoder(nil)
		r := frame.NewReader(frame.SSE, bytes.NewReader(body), 0)
		a := &answer{}
		for {
			fr, err := r.Next()
			if err != nil {
				if errors.Is(err, io.EOF) {
					break
				}
				return
			}
			var sink adapters.Sink
			if d.Decode(fr, &sink) != nil {
				return
			}
			a.take(t, sink.Parts)
		}
	})
}

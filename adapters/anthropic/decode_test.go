package anthropic

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// stream writes events as the API does, each with its name.
func stream(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		_, rest, _ := strings.Cut(e, `"type":"`)
		name, _, _ := strings.Cut(rest, `"`)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, e)
	}
	return b.String()
}

const (
	evStart = `{"type":"message_start","message":{"id":"msg_1","model":"claude-x","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}`
	evStop  = `{"type":"message_stop"}`
	evPing  = `{"type":"ping"}`
)

func blockStart(i int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block)
}

func blockDelta(i int, delta string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, delta)
}

func blockStop(i int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i) }

func messageDelta(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":5}}`
}

// answer is a stream around blocks.
func answer(reason string, blocks ...string) string {
	events := append([]string{evStart}, blocks...)
	return stream(append(events, messageDelta(reason), evStop)...)
}

func TestDecodeBlocks(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"text": {
			answer("end_turn", blockStart(0, `{"type":"text","text":"A"}`), evPing, blockDelta(0, `{"type":"text_delta","text":"B"}`), blockStop(0)),
			"text AB\nstop STOP_REASON_STOP end_turn\n",
		},
		"thinking with its signature in pieces": {
			answer("end_turn", blockStart(0, `{"type":"thinking","thinking":"Hm","signature":"S1"}`), blockDelta(0, `{"type":"thinking_delta","thinking":"."}`),
				blockDelta(0, `{"type":"signature_delta","signature":"S2"}`), blockDelta(0, `{"type":"signature_delta","signature":"=="}`), blockStop(0)),
			"thinking Hm. [anthropic.thinking S1S2==]\nstop STOP_REASON_STOP end_turn\n",
		},
		"redacted": {
			answer("end_turn", blockStart(0, `{"type":"redacted_thinking","data":"XY=="}`), blockStop(0)),
			"thinking  redacted [anthropic.redacted_thinking XY==]\nstop STOP_REASON_STOP end_turn\n",
		},
		"call in fragments": {
			answer("tool_use", blockStart(0, `{"type":"tool_use","id":"toolu_1","name":"f","input":{}}`), blockDelta(0, `{"type":"input_json_delta","partial_json":""}`),
				blockDelta(0, `{"type":"input_json_delta","partial_json":"{\"a\": 1.0"}`), blockDelta(0, `{"type":"input_json_delta","partial_json":"}"}`), blockStop(0)),
			"tool_call toolu_1 f {\"a\": 1.0}\nstop STOP_REASON_TOOL_USE tool_use\n",
		},
		"call that began whole": {
			answer("tool_use", blockStart(0, `{"type":"tool_use","id":"toolu_1","name":"f","input":{"p": 1.50}}`), blockStop(0)),
			"tool_call toolu_1 f {\"p\": 1.50}\nstop STOP_REASON_TOOL_USE tool_use\n",
		},
		"fragments replace what a call began with": {
			answer("tool_use", blockStart(0, `{"type":"tool_use","id":"toolu_1","name":"f","input":{"p":1}}`),
				blockDelta(0, `{"type":"input_json_delta","partial_json":"{\"q\":2}"}`), blockStop(0)),
			"tool_call toolu_1 f {\"q\":2}\nstop STOP_REASON_TOOL_USE tool_use\n",
		},
		"input as text": {
			answer("tool_use", blockStart(0, `{"type":"tool_use","id":"toolu_1","name":"f","input":"{\"p\":1}"}`), blockStop(0)),
			"tool_call toolu_1 f {\"p\":1}\nstop STOP_REASON_TOOL_USE tool_use\n",
		},
		"server tool with fragments": {
			answer("end_turn", blockStart(0, `{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{},"caller":{"type":"direct"}}`),
				blockDelta(0, `{"type":"input_json_delta","partial_json":"{\"query\":"}`), blockDelta(0, `{"type":"input_json_delta","partial_json":" \"x\"}"}`), blockStop(0)),
			`provider_content server_tool_use {"type":"server_tool_use","id":"srv_1","name":"web_search","input":{"query": "x"},"caller":{"type":"direct"}}` + "\nstop STOP_REASON_STOP end_turn\n",
		},
		"server tool whose input was cut": {
			answer("max_tokens", blockStart(0, `{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{}}`),
				blockDelta(0, `{"type":"input_json_delta","partial_json":"{\"query\":\"x"}`), blockStop(0)),
			`provider_content server_tool_use {"type":"server_tool_use","id":"srv_1","name":"web_search","input":{"query":"x"}}` + "\nstop STOP_REASON_LENGTH max_tokens\n",
		},
		"whole block keeps its bytes": {
			answer("end_turn", blockStart(0, `{ "type":"web_search_tool_result", "content":[ 1.0 ]}`), blockStop(0)),
			`provider_content web_search_tool_result { "type":"web_search_tool_result", "content":[ 1.0 ]}` + "\nstop STOP_REASON_STOP end_turn\n",
		},
		"compaction": {
			answer("end_turn", blockStart(0, `{"type":"compaction","content":null}`), blockDelta(0, `{"type":"compaction_delta","content":"So "}`),
				blockDelta(0, `{"type":"compaction_delta","content":"far.","encrypted_content":null,"n":7}`), blockStop(0)),
			`provider_content compaction {"type":"compaction","content":"So far.","n":7}` + "\nstop STOP_REASON_STOP end_turn\n",
		},
		"citations follow their text": {
			answer("end_turn", blockStart(0, `{"type":"text","text":"","citations":[]}`), blockDelta(0, `{"type":"text_delta","text":"high"}`),
				blockDelta(0, `{"type":"citations_delta","citation":{"type":"x","n":1.0}}`), blockDelta(0, `{"type":"citations_delta","citation":{"type":"y"}}`), blockStop(0),
				blockStart(1, `{"type":"text","text":"!"}`), blockStop(1)),
			"text high\n" + `provider_content text_citations {"type":"text_citations","citations":[{"type":"x","n":1.0},{"type":"y"}]}` + "\ntext !\nstop STOP_REASON_STOP end_turn\n",
		},
		"interleaved": {
			answer("tool_use", blockStart(0, `{"type":"text","text":""}`), blockStart(1, `{"type":"tool_use","id":"t","name":"f","input":{}}`),
				blockDelta(1, `{"type":"input_json_delta","partial_json":"{"}`), blockDelta(0, `{"type":"text_delta","text":"x"}`),
				blockDelta(1, `{"type":"input_json_delta","partial_json":"}"}`), blockStop(0), blockStop(1)),
			"text x\ntool_call t f {}\nstop STOP_REASON_TOOL_USE tool_use\n",
		},
		"what belongs to no block, or to none of its kind": {
			answer("end_turn", blockStart(0, `{"type":"text","text":"a"}`), blockDelta(7, `{"type":"text_delta","text":"no"}`),
				blockDelta(0, `{"type":"thinking_delta","thinking":"no"}`), blockDelta(0, `{"type":"future_delta","text":"no"}`), blockStop(3), blockStop(0),
				blockDelta(0, `{"type":"text_delta","text":"no"}`), `{"type":"future_event","x":1}`),
			"text a\nstop STOP_REASON_STOP end_turn\n",
		},
		"blocks that are never ended": {
			answer("tool_use", blockStart(0, `{"type":"thinking","thinking":"t","signature":"S"}`), blockStart(1, `{"type":"tool_use","id":"t","name":"f","input":{"a":1}}`)),
			"thinking t [anthropic.thinking S]\ntool_call t f {\"a\":1}\nstop STOP_REASON_TOOL_USE tool_use\n",
		},
		"content and stop at the start": {
			stream(`{"type":"message_start","message":{"id":"m","model":"c","content":[{"type":"tool_use","id":"t","name":"f","input":{"a":1}}],"stop_reason":"tool_use"}}`, evStop),
			"tool_call t f {\"a\":1}\nstop STOP_REASON_TOOL_USE tool_use\n",
		},
		"an answer that is no stream": {
			`{"type":"message","id":"m","model":"c","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}`,
			"text hi\nstop STOP_REASON_STOP end_turn\n",
		},
		"halves of a surrogate pair": {
			answer("end_turn", blockStart(0, `{"type":"text","text":""}`), blockDelta(0, `{"type":"text_delta","text":"\ud83d"}`), blockDelta(0, `{"type":"text_delta","text":"\ude00"}`), blockStop(0)),
			"text 😀\nstop STOP_REASON_STOP end_turn\n",
		},
		"characters that should have been escaped": {
			answer("end_turn", blockStart(0, `{"type":"text","text":""}`), blockDelta(0, "{\"type\":\"text_delta\",\"text\":\"a\tb A\\H\"}"), blockStop(0)),
			"text a\tb A\\H\nstop STOP_REASON_STOP end_turn\n",
		},
		"no names, nulls, [DONE]": {
			"data: " + evStart + "\n\ndata: " + blockStart(0, `{"type":"text","text":null}`) + "\n\ndata: " + blockDelta(0, `{"type":"text_delta","text":"x"}`) +
				"\n\ndata: " + `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_details":null},"usage":null}` + "\n\ndata: " + evStop + "\n\ndata: [DONE]\n\n",
			"text x\nstop STOP_REASON_STOP end_turn\n",
		},
		"an unreadable event of a strange name": {
			"event: done\ndata: {oops\n\n" + answer("end_turn"), "stop STOP_REASON_STOP end_turn\n",
		},
		"nothing after message_stop": {
			answer("end_turn") + answer("tool_use", blockStart(0, `{"type":"text","text":"x"}`)), "stop STOP_REASON_STOP end_turn\n",
		},
		"fallback before any content": {
			answer("end_turn", blockStart(0, `{"type":"fallback"}`), blockStop(0), blockStart(1, `{"type":"text","text":"x"}`), blockStop(1)),
			"text x\nstop STOP_REASON_STOP end_turn\n",
		},
	} {
		if got := foldText(t, c.body).describe(); got != c.want {
			t.Errorf("%s:\n%swant\n%s", name, got, c.want)
		}
	}
}

func TestDecodeStops(t *testing.T) {
	for word, want := range map[string]string{
		"end_turn":                      "stop STOP_REASON_STOP end_turn\n",
		"stop_sequence":                 "stop STOP_REASON_STOP stop_sequence\n",
		"pause_turn":                    "stop STOP_REASON_STOP pause_turn\nremark pause_turn\n",
		"compaction":                    "stop STOP_REASON_STOP compaction\nremark compaction\n",
		"max_tokens":                    "stop STOP_REASON_LENGTH max_tokens\n",
		"model_context_window_exceeded": "stop STOP_REASON_LENGTH model_context_window_exceeded\n",
		"tool_use":                      "stop STOP_REASON_TOOL_USE tool_use\n",
		"refusal":                       "stop STOP_REASON_ERROR refusal\nfailure CONTENT_FILTERED: the model refused to complete the request\n",
		"sensitive":                     "stop STOP_REASON_ERROR sensitive\nfailure CONTENT_FILTERED: the model refused to complete the request\n",
		"new_word":                      "stop STOP_REASON_ERROR new_word\nfailure PROVIDER_ERROR: the provider stopped for a reason that is not known\n",
		"":                              "stop STOP_REASON_ERROR \nfailure PROVIDER_ERROR: the answer ended without a stop reason\n",
	} {
		f := foldText(t, answer(word))
		if got := f.describe(); got != want || !f.complete {
			t.Errorf("%q: %swant %s", word, got, want)
		}
		if f.failure != nil && f.failure.Retryable() != (f.failure.Reason == adapters.ReasonProviderError) {
			t.Errorf("%q: retryable is %v", word, f.failure.Retryable())
		}
	}
}

func TestDecodeUsage(t *testing.T) {
	for name, c := range map[string]struct {
		start, delta string
		want         *llmdv1.Usage
	}{
		"start and delta are not added": {
			`{"input_tokens":205,"cache_creation_input_tokens":3072,"cache_read_input_tokens":0,"output_tokens":1}`,
			`{"output_tokens":37,"input_tokens":205,"cache_creation_input_tokens":3072,"cache_read_input_tokens":0}`,
			&llmdv1.Usage{InputTokens: 205, CacheWriteTokens: 3072, OutputTokens: 37, TotalTokens: 3314},
		},
		"delta without input keeps it": {
			`{"input_tokens":10,"cache_read_input_tokens":4,"output_tokens":1}`, `{"input_tokens":null,"output_tokens":6}`,
			&llmdv1.Usage{InputTokens: 10, CacheReadTokens: 4, OutputTokens: 6, TotalTokens: 20},
		},
		"input in the delta alone": {
			`{"input_tokens":0,"output_tokens":0}`, `{"output_tokens":6,"input_tokens":50,"cache_read_input_tokens":20}`,
			&llmdv1.Usage{InputTokens: 50, CacheReadTokens: 20, OutputTokens: 6, TotalTokens: 76},
		},
		"one hour and thinking": {
			`{"input_tokens":1,"cache_creation_input_tokens":30,"cache_creation":{"ephemeral_5m_input_tokens":20,"ephemeral_1h_input_tokens":10},"output_tokens":1}`,
			`{"output_tokens":9,"output_tokens_details":{"thinking_tokens":0},"iterations":[{"input_tokens":99}]}`,
			&llmdv1.Usage{InputTokens: 1, CacheWriteTokens: 30, CacheWrite_1HTokens: 10, OutputTokens: 9, ReasoningTokens: proto.Int32(0), TotalTokens: 40},
		},
		"odd numbers": {
			`{"input_tokens":12.0,"output_tokens":-1,"cache_read_input_tokens":"7"}`, `{"output_tokens":1e12}`,
			&llmdv1.Usage{InputTokens: 12, OutputTokens: 2147483647, TotalTokens: 2147483647},
		},
		"billed by an aggregator": {
			`{"input_tokens":1,"output_tokens":1}`, `{"output_tokens":1,"cost":0.0125,"is_byok":false}`,
			&llmdv1.Usage{InputTokens: 1, OutputTokens: 1, TotalTokens: 2, Cost: &llmdv1.Cost{TotalPicoUsd: 12_500_000_000, FromProvider: true}},
		},
		"billed beside a key of one's own": {
			`{"input_tokens":1,"output_tokens":1}`,
			`{"output_tokens":1,"cost":0.001,"is_byok":true,"cost_details":{"upstream_inference_cost":null,"upstream_inference_prompt_cost":0.002,"upstream_inference_completions_cost":0.003}}`,
			&llmdv1.Usage{InputTokens: 1, OutputTokens: 1, TotalTokens: 2, Cost: &llmdv1.Cost{TotalPicoUsd: 6_000_000_000, FromProvider: true}},
		},
		"a cost without saying whose key": {
			`{"input_tokens":1,"output_tokens":1}`, `{"output_tokens":1,"cost":0.0125}`,
			&llmdv1.Usage{InputTokens: 1, OutputTokens: 1, TotalTokens: 2},
		},
		"none": {`null`, `{}`, nil},
	} {
		f := foldText(t, stream(`{"type":"message_start","message":{"usage":`+c.start+`}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":`+c.delta+`}`, evStop))
		if d := cmp.Diff(c.want, f.usage, protocmp.Transform()); d != "" {
			t.Errorf("%s: (-want +got)\n%s", name, d)
		}
	}
}

func TestDecodeSpeed(t *testing.T) {
	f := foldText(t, stream(`{"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":1,"speed":"fast"}}}`))
	if d := cmp.Diff([]string{"tier fast"}, f.remarks); d != "" {
		t.Error(d)
	}
}

func TestDecodeFailures(t *testing.T) {
	overloaded := `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
	for name, c := range map[string]struct{ body, reason, says string }{
		"overloaded":        {stream(evStart, overloaded), adapters.ReasonOverloaded, "Overloaded"},
		"named by event":    {"event: error\ndata: {\"error\":{\"type\":\"invalid_request_error\",\"message\":\"demo: bad input\"}}\n\n", adapters.ReasonRejectedRequest, "bad input"},
		"bare body":         {`{"error":{"type":"api_error","message":"boom"}}`, adapters.ReasonProviderError, "boom"},
		"typed bare body":   {overloaded, adapters.ReasonOverloaded, "Overloaded"},
		"fallback too late": {stream(evStart, blockStart(0, `{"type":"text","text":"x"}`), blockStart(1, `{"type":"fallback"}`)), adapters.ReasonProviderError, "changed the model"},
	} {
		var e *adapters.UpstreamError
		if f := foldText(t, c.body); !errors.As(f.err, &e) || e.Reason != c.reason || !strings.Contains(e.Message, c.says) || f.stop != 0 {
			t.Errorf("%s: error %v, stop %v, want %s", name, f.err, f.stop, c.reason)
		}
	}
	for name, body := range map[string]string{
		"no JSON":              "event: content_block_delta\ndata: {secret words\n\n",
		"cut, without a name":  "data: {\"type\":\"message_st",
		"text that is no text": stream(evStart, blockDelta(0, `{"type":"text_delta","text":1}`)),
	} {
		var e *FrameError
		if f := foldText(t, body); !errors.As(f.err, &e) || strings.Contains(e.Error(), "secret") || errors.Unwrap(e) == nil {
			t.Errorf("%s: error %v", name, f.err)
		}
	}
	for name, body := range map[string]string{
		"nothing":        "",
		"before stop":    stream(evStart, messageDelta("end_turn")),
		"in a call":      stream(evStart, blockStart(0, `{"type":"tool_use","id":"t","name":"f","input":{}}`), blockDelta(0, `{"type":"input_json_delta","partial_json":"{\"a"}`)),
		"[DONE] instead": stream(evStart, messageDelta("end_turn")) + "data: [DONE]\n\n",
	} {
		if f := foldText(t, body); !errors.Is(f.err, adapters.ErrTruncated) || f.stop != 0 {
			t.Errorf("%s: error %v, stop %v", name, f.err, f.stop)
		}
	}
}

func TestMarkerWithoutDelimiter(t *testing.T) {
	body := strings.TrimRight(answer("end_turn"), "\n")
	if f := foldText(t, body); f.stop != llmdv1.StopReason_STOP_REASON_STOP {
		t.Errorf("stop is %v: its last byte had come", f.stop)
	}
	if f := foldText(t, body[:len(body)-1]); f.stop != 0 || f.err == nil {
		t.Errorf("stop is %v, error %v: its last byte had not come", f.stop, f.err)
	}
}

func TestDecodeError(t *testing.T) {
	body := []byte(`{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.3: Invalid ` + "`signature` in `thinking`" + ` block"},"request_id":"req_b"}`)
	e := New().DecodeError(400, http.Header{"Request-Id": {"req_h"}}, body)
	if e.Reason != adapters.ReasonSignatureRejected || e.Status != 400 || e.RequestID != "req_h" || e.Retryable() {
		t.Errorf("%+v", e)
	}
	if e := New().DecodeError(524, http.Header{}, nil); e.Status != 524 || e.Reason != adapters.ReasonProviderError {
		t.Errorf("%+v", e)
	}
}

// TestLongBlocks: each byte is handled a bounded number of times, so ten times the
// fragments allocate about ten times the memory.
func TestLongBlocks(t *testing.T) {
	grown := func(n int) float64 {
		events := []string{evStart, blockStart(0, `{"type":"server_tool_use","id":"s","name":"x","input":{}}`), blockDelta(0, `{"type":"input_json_delta","partial_json":"{\"a\":\""}`)}
		for range n {
			events = append(events, blockDelta(0, `{"type":"input_json_delta","partial_json":"xxxxxxxxxxxxxxxx"}`))
		}
		body := stream(append(events, blockDelta(0, `{"type":"input_json_delta","partial_json":"\"}"}`), blockStop(0), messageDelta("end_turn"), evStop)...)
		return testing.AllocsPerRun(1, func() { fold(t, strings.NewReader(body)) })
	}
	if small, large := grown(1000), grown(10000); large > 12*small {
		t.Errorf("1,000 fragments need %v allocations, 10,000 %v", small, large)
	}
}

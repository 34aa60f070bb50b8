package anthropic

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/adaptertest"
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

// fold reads an answer of this API.
func fold(body string) (*adaptertest.Folded, error) {
	return adaptertest.FoldBody(New(), adaptertest.NewCall(newSetup().m), body)
}

func TestDecodeStops(t *testing.T) {
	const (
		stop   = llmdv1.StopReason_STOP_REASON_STOP
		length = llmdv1.StopReason_STOP_REASON_LENGTH
		tool   = llmdv1.StopReason_STOP_REASON_TOOL_USE
		failed = llmdv1.StopReason_STOP_REASON_ERROR
	)
	for word, want := range map[string]struct {
		stop   llmdv1.StopReason
		reason string // of a failure
		says   string // also the code of a remark
	}{
		"end_turn":                      {stop: stop},
		"stop_sequence":                 {stop: stop},
		"pause_turn":                    {stop: stop, says: "pause_turn"},
		"compaction":                    {stop: stop, says: "compaction"},
		"max_tokens":                    {stop: length},
		"model_context_window_exceeded": {stop: length},
		"tool_use":                      {stop: tool},
		"refusal":                       {failed, adapters.ReasonContentFiltered, "the model refused to complete the request"},
		"sensitive":                     {failed, adapters.ReasonContentFiltered, "the model refused to complete the request"},
		"new_word":                      {failed, adapters.ReasonProviderError, "the provider stopped for a reason that is not known"},
		"":                              {failed, adapters.ReasonProviderError, "the answer ended without a stop reason"},
	} {
		f, err := fold(answer(word))
		if err != nil || f.Stop != want.stop || f.Word != word || !f.Complete {
			t.Errorf("%q: stop %v %q, complete %v, error %v", word, f.Stop, f.Word, f.Complete, err)
		}
		switch {
		case want.reason == "":
			if got := strings.Join(f.Diagnostics, " "); f.Err != nil || got != want.says {
				t.Errorf("%q: failure %v, remarks %q", word, f.Err, got)
			}
		case f.Err == nil || f.Err.Reason != want.reason || f.Err.Message != want.says:
			t.Errorf("%q: failure %+v", word, f.Err)
		case f.Err.Retryable() != (want.reason == adapters.ReasonProviderError):
			t.Errorf("%q: retryable is %v", word, f.Err.Retryable())
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
			&llmdv1.Usage{InputTokens: 1, CacheWriteTokens: 30, CacheWrite_1HTokens: 10, OutputTokens: 9, ReasoningTokens: new(int32(0)), TotalTokens: 40},
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
		"a fee beside a key of one's own, and nothing of the rest": {
			`{"input_tokens":1,"output_tokens":1}`, `{"output_tokens":1,"cost":0.001,"is_byok":true}`,
			&llmdv1.Usage{InputTokens: 1, OutputTokens: 1, TotalTokens: 2},
		},
		"billed in ticks of 1e-10 USD": {
			`{"input_tokens":1,"output_tokens":1}`, `{"output_tokens":1,"cost_in_usd_ticks":15}`,
			&llmdv1.Usage{InputTokens: 1, OutputTokens: 1, TotalTokens: 2, Cost: &llmdv1.Cost{TotalPicoUsd: 1500, FromProvider: true}},
		},
		"a cost without saying whose key": {
			`{"input_tokens":1,"output_tokens":1}`, `{"output_tokens":1,"cost":0.0125}`,
			&llmdv1.Usage{InputTokens: 1, OutputTokens: 1, TotalTokens: 2},
		},
		"none": {`null`, `{}`, nil},
	} {
		f, err := fold(stream(`{"type":"message_start","message":{"usage":`+c.start+`}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":`+c.delta+`}`, evStop))
		if d := cmp.Diff(c.want, f.Usage, protocmp.Transform()); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, d)
		}
	}
}

func TestFrameErrors(t *testing.T) {
	for name, body := range map[string]string{
		"no JSON":              "event: content_block_delta\ndata: {secret words\n\n",
		"text that is no text": stream(evStart, blockDelta(0, `{"type":"text_delta","text":1}`)),
	} {
		var e *adapters.FrameError
		if _, err := fold(body); !errors.As(err, &e) || strings.Contains(e.Error(), "secret") || errors.Unwrap(e) == nil {
			t.Errorf("%s: error %v", name, err)
		}
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
		return testing.AllocsPerRun(1, func() {
			if _, err := fold(body); err != nil {
				t.Error(err)
			}
		})
	}
	if small, large := grown(1000), grown(10000); large > 12*small {
		t.Errorf("1,000 fragments need %v allocations, 10,000 %v", small, large)
	}
}

// TestStray: a piece that belongs to no block is remarked on, once.
func TestStray(t *testing.T) {
	const text = `{"type":"text","text":""}`
	for name, c := range map[string]struct {
		blocks []string
		said   string
	}{
		"before its block":    {[]string{blockDelta(0, `{"type":"text_delta","text":"a"}`), blockDelta(0, `{"type":"input_json_delta","partial_json":"{}"}`)}, "stray_delta"},
		"behind its block":    {[]string{blockStart(0, text), blockStop(0), blockDelta(0, `{"type":"text_delta","text":"a"}`)}, "stray_delta"},
		"of another kind":     {[]string{blockStart(0, text), blockDelta(0, `{"type":"thinking_delta","thinking":"a"}`), blockStop(0)}, "stray_delta"},
		"of a kind to come":   {[]string{blockStart(0, text), blockDelta(0, `{"type":"novel_delta","x":"a"}`), blockStop(0)}, "stray_delta"},
		"that says nothing":   {[]string{blockDelta(0, `{"type":"text_delta","text":""}`), blockDelta(0, `null`), blockDelta(0, `{"type":"citations_delta","citation":null}`)}, ""},
		"a citation of none":  {[]string{blockStart(0, text), blockDelta(0, `{"type":"citations_delta","citation":null}`), blockStop(0)}, ""},
		"that has its place":  {[]string{blockStart(0, text), blockDelta(0, `{"type":"text_delta","text":"a"}`), blockStop(0)}, ""},
		"of an unknown block": {[]string{blockStart(0, `{"type":"novel"}`), blockDelta(0, `{"type":"novel_delta","x":"a"}`), blockStop(0)}, ""},
	} {
		f, err := fold(answer("end_turn", c.blocks...))
		if got := strings.Join(f.Diagnostics, " "); err != nil || got != c.said || len(f.Faults) > 0 {
			t.Errorf("%s: %v, %q, %v", name, err, got, f.Faults)
		}
		if n := len(f.Blocks); name == "a citation of none" && n != 1 {
			t.Errorf("%s: %d blocks", name, n)
		}
	}
}

package options

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// Prices in US dollars per million tokens. A dollar a million is 1,000,000 pico
// dollars a token.
const (
	price = "{input: 3, cache_read: 0.3, cache_write: 3.75, output: 15}"
	// above and below differ in whether a prompt of 1,500 tokens is over the threshold.
	above = "{input: 3, cache_read: 0.3, cache_write: 3.75, output: 15, tiers: [{above: 1499, input: 5, cache_read: 0.5, cache_write: 6, output: 20}]}"
	below = "{input: 3, cache_read: 0.3, cache_write: 3.75, output: 15, tiers: [{above: 1500, input: 5, cache_read: 0.5, cache_write: 6, output: 20}]}"
)

// counts are 1,000 new, 200 read, 300 written and 500 put out, of which 120 thought.
func counts(written, hour int32, thought bool) *llmdv1.Usage {
	u := &llmdv1.Usage{
		InputTokens: 1000, CacheReadTokens: 200, CacheWriteTokens: written, CacheWrite_1HTokens: hour, OutputTokens: 500,
		TotalTokens: 1700 + written,
	}
	if thought {
		u.ReasoningTokens = proto.Int32(120)
	}
	return u
}

// costs are those of counts at the price, in millions of pico dollars: 3,000 for what
// is new, 60 for what was read and 7,500 for what was put out.
func costs(u *llmdv1.Usage, write int64) *llmdv1.Usage {
	u.Cost = &llmdv1.Cost{
		InputPicoUsd: 3_000e6, CacheReadPicoUsd: 60e6, CacheWritePicoUsd: write * 1e6, OutputPicoUsd: 7_500e6,
		TotalPicoUsd: (10_560 + write) * 1e6,
	}
	return u
}

// times changes a cost by the factor num/den.
func times(u *llmdv1.Usage, num, den int64) *llmdv1.Usage {
	c := u.GetCost()
	for _, n := range []*int64{&c.InputPicoUsd, &c.CacheReadPicoUsd, &c.CacheWritePicoUsd, &c.OutputPicoUsd, &c.TotalPicoUsd} {
		*n = *n * num / den
	}
	return u
}

// billed has the provider's own total.
func billed(u *llmdv1.Usage, total int64) *llmdv1.Usage {
	if u.Cost == nil {
		u.Cost = &llmdv1.Cost{}
	}
	u.Cost.TotalPicoUsd, u.Cost.FromProvider = total, true
	return u
}

// answered is an answer as a provider sends it, and what is made of its counts.
type answered struct {
	name, api string
	pricing   string // empty = unknown
	body      string
	want      *llmdv1.Usage
}

// events writes server-sent events.
func events(data ...string) string { return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n" }

// chatBody is a streamed answer of Chat Completions, with usage behind it as OpenAI
// sends it.
func chatBody(usage string) string {
	return events(`{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}`,
		`{"id":"c","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
		`{"id":"c","model":"m","choices":[],"usage":`+usage+`}`, "[DONE]")
}

func responsesBody(tier string) string {
	return events(`{"type":"response.created","response":{"id":"r"}}`,
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}`,
		`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Hi"}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi"}]}}`,
		`{"type":"response.completed","response":{"id":"r","status":"completed","service_tier":"`+tier+`","usage":{"input_tokens":1500,`+
			`"input_tokens_details":{"cached_tokens":200,"cache_write_tokens":300},"output_tokens":500,"output_tokens_details":{"reasoning_tokens":120},"total_tokens":2000}}}`)
}

func anthropicBody(start, end string) string {
	var b strings.Builder
	for _, e := range []string{
		`{"type":"message_start","message":{"id":"m","model":"m","role":"assistant","content":[],"usage":` + start + `}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":` + end + `}`,
		`{"type":"message_stop"}`,
	} {
		kind := regexp.MustCompile(`"type":"(\w+)"`).FindStringSubmatch(e)[1]
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", kind, e)
	}
	return b.String()
}

func googleBody(usage string) string {
	return events(`{"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},"finishReason":"STOP"}],"usageMetadata":` + usage + `,"responseId":"g"}`)
}

func answers() []answered {
	const (
		start   = `{"input_tokens":1000,"cache_read_input_tokens":200,"cache_creation_input_tokens":300,"cache_creation":{"ephemeral_5m_input_tokens":200,"ephemeral_1h_input_tokens":100},"output_tokens":1}`
		end     = `{"output_tokens":500,"output_tokens_details":{"thinking_tokens":120}}`
		chat    = `"prompt_tokens":1500,"completion_tokens":500,"total_tokens":2000,"prompt_tokens_details":{"cached_tokens":200,"cache_write_tokens":300},"completion_tokens_details":{"reasoning_tokens":120}`
		gemini  = `{"promptTokenCount":1200,"cachedContentTokenCount":200,"candidatesTokenCount":380,"thoughtsTokenCount":120,"totalTokenCount":1700}`
		bedrock = `{"usage":{"inputTokens":1000,"outputTokens":500,"totalTokens":2000,"cacheReadInputTokens":200,"cacheWriteInputTokens":300,"cacheDetails":[{"ttl":"5m","inputTokens":200},{"ttl":"1h","inputTokens":100}]},"metrics":{"latencyMs":1}}`
		mistral = `{"prompt_tokens":1200,"completion_tokens":500,"total_tokens":1700,"prompt_tokens_details":{"cached_tokens":200}}`
	)
	// 200 tokens at 3.75 and 100 at twice 3 dollars.
	const hourly = 750 + 600
	over := func() *llmdv1.Usage {
		u := counts(300, 0, true)
		u.Cost = &llmdv1.Cost{InputPicoUsd: 5_000e6, CacheReadPicoUsd: 100e6, CacheWritePicoUsd: 1_800e6, OutputPicoUsd: 10_000e6, TotalPicoUsd: 16_900e6}
		return u
	}
	free := func() *llmdv1.Usage {
		u := counts(300, 0, true)
		u.Cost = &llmdv1.Cost{}
		return u
	}
	return []answered{
		{"an hour's cache", apiAnthropic, price, anthropicBody(start, end), costs(counts(300, 100, true), hourly)},
		{"all counts at the end", apiAnthropic, price, anthropicBody(`{"input_tokens":0,"output_tokens":0}`, strings.Replace(start, `"output_tokens":1`, end[1:len(end)-1], 1)), costs(counts(300, 100, true), hourly)},
		{"fast mode", apiAnthropic, price, anthropicBody(start, strings.TrimSuffix(end, "}")+`,"speed":"fast"}`), times(costs(counts(300, 100, true), hourly), 2, 1)},
		{"billed", apiAnthropic, price, anthropicBody(start, strings.TrimSuffix(end, "}")+`,"cost":0.0123,"is_byok":false}`), billed(costs(counts(300, 100, true), hourly), 12_300e6)},
		{
			"more for an hour than written", apiAnthropic, price,
			anthropicBody(strings.Replace(start, `"ephemeral_1h_input_tokens":100`, `"ephemeral_1h_input_tokens":900`, 1), end), costs(counts(300, 300, true), 300*6),
		},
		{"no price", apiAnthropic, "", anthropicBody(start, end), counts(300, 100, true)},

		{"disjoint", apiChat, price, chatBody("{" + chat + "}"), costs(counts(300, 0, true), 1125)},
		{"over the threshold", apiChat, above, chatBody("{" + chat + "}"), over()},
		{"at the threshold", apiChat, below, chatBody("{" + chat + "}"), costs(counts(300, 0, true), 1125)},
		{"free", apiChat, "{}", chatBody("{" + chat + "}"), free()},
		{"no price", apiChat, "", chatBody("{" + chat + "}"), counts(300, 0, true)},
		{"DeepSeek's cache", apiChat, price, chatBody(`{"prompt_tokens":1200,"completion_tokens":500,"prompt_cache_hit_tokens":200,"prompt_cache_miss_tokens":1000}`), costs(counts(0, 0, false), 0)},
		{
			"Moonshot's place", apiChat, price,
			events(`{"id":"c","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop","usage":{"prompt_tokens":1200,"completion_tokens":500,"cached_tokens":200}}]}`, "[DONE]"),
			costs(counts(0, 0, false), 0),
		},
		{"thinking beside", apiChat, price, chatBody(`{"prompt_tokens":1200,"completion_tokens":380,"total_tokens":1700,"prompt_tokens_details":{"cached_tokens":200},"completion_tokens_details":{"reasoning_tokens":120}}`), costs(counts(0, 0, true), 0)},
		{"billed", apiChat, price, chatBody("{" + chat + `,"cost":0.0123,"is_byok":false}`), billed(costs(counts(300, 0, true), 1125), 12_300e6)},
		{"billed, own key", apiChat, price, chatBody("{" + chat + `,"cost":0.0005,"is_byok":true,"cost_details":{"upstream_inference_cost":0.0123}}`), billed(costs(counts(300, 0, true), 1125), 12_800e6)},
		{"billed, own key, in two", apiChat, price, chatBody("{" + chat + `,"cost":0,"is_byok":true,"cost_details":{"upstream_inference_cost":null,"upstream_inference_prompt_cost":0.0003,"upstream_inference_completions_cost":0.0004}}`), billed(costs(counts(300, 0, true), 1125), 700e6)},
		{"billed, meaning unknown", apiChat, price, chatBody("{" + chat + `,"cost":0.0123}`), costs(counts(300, 0, true), 1125)},
		{"billed, no price", apiChat, "", chatBody("{" + chat + `,"cost":0.0123,"is_byok":false}`), billed(counts(300, 0, true), 12_300e6)},
		{"billed in ticks", apiChat, price, chatBody("{" + chat + `,"cost_in_usd_ticks":123}`), billed(costs(counts(300, 0, true), 1125), 12_300)},
		{"billed in parts", apiChat, price, chatBody("{" + chat + `,"cost":{"request_cost":0.005,"total_cost":0.0123}}`), billed(costs(counts(300, 0, true), 1125), 12_300e6)},
		{
			"more cached than sent", apiChat, price, chatBody(`{"prompt_tokens":100,"completion_tokens":0,"prompt_tokens_details":{"cached_tokens":200}}`),
			&llmdv1.Usage{CacheReadTokens: 200, TotalTokens: 200, Cost: &llmdv1.Cost{CacheReadPicoUsd: 60e6, TotalPicoUsd: 60e6}},
		},
		{"nothing counted", apiChat, price, events(`{"id":"c","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}`, "[DONE]"), nil},

		{"default tier", apiResponses, price, responsesBody("default"), costs(counts(300, 0, true), 1125)},
		{"flex tier", apiResponses, price, responsesBody("flex"), times(costs(counts(300, 0, true), 1125), 1, 2)},
		{"priority tier", apiResponses, price, responsesBody("priority"), times(costs(counts(300, 0, true), 1125), 2, 1)},
		{"no price", apiResponses, "", responsesBody("flex"), counts(300, 0, true)},
		{"a tier at Azure", apiAzure, price, responsesBody("flex"), costs(counts(300, 0, true), 1125)},

		{"thoughts beside", apiGemini, price, googleBody(gemini), costs(counts(0, 0, true), 0)},
		{"thoughts beside", apiVertex, price, googleBody(gemini), costs(counts(0, 0, true), 0)},
		{"no price", apiGemini, "", googleBody(gemini), counts(0, 0, true)},

		{
			"an hour's cache", apiBedrock, price,
			awsEvent("messageStart", `{"role":"assistant"}`) + awsEvent("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"Hi"}}`) +
				awsEvent("contentBlockStop", `{"contentBlockIndex":0}`) + awsEvent("messageStop", `{"stopReason":"end_turn"}`) + awsEvent("metadata", bedrock),
			costs(counts(300, 100, false), hourly),
		},

		{"cached", apiMistral, price, chatBody(mistral), costs(counts(0, 0, false), 0)},
		{"no price", apiMistral, "", chatBody(mistral), counts(0, 0, false)},
	}
}

// TestUsage: whatever way a provider counts, the buckets are disjoint and each token is
// paid for once, exactly.
func TestUsage(t *testing.T) {
	all := answers()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the caller has left
		}
		number := regexp.MustCompile(`case-(\d+)`).FindStringSubmatch(r.URL.Path + string(body))
		var i int
		if _, err := fmt.Sscan(number[1], &i); err != nil {
			t.Error(err)
		}
		kind := "text/event-stream"
		if all[i].api == apiBedrock {
			kind = "application/vnd.amazon.eventstream"
		}
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, all[i].body)
	}))
	defer provider.Close()
	client := harness.Start(t, usageConfiguration(all, provider.URL))
	for i, a := range all {
		g := &llmdv1.Generation{
			Model:   fmt.Sprintf("%s/case-%d", a.api, i),
			Context: &llmdv1.Context{Messages: []*llmdv1.Message{harness.User("Hi")}},
		}
		r, err := client.Complete(harness.Limited(t, 20*time.Second), &llmdv1.CompleteRequest{Generation: g})
		if err != nil {
			t.Errorf("%s, %s: %v", a.api, a.name, err)
			continue
		}
		if d := cmp.Diff(a.want, r.GetMessage().GetUsage(), protocmp.Transform()); d != "" {
			t.Errorf("%s, %s (-want +got):\n%s", a.api, a.name, d)
		}
	}
}

// usageConfiguration has a provider for each API, and a model for each answer.
func usageConfiguration(all []answered, address string) string {
	var b strings.Builder
	b.WriteString("providers:\n")
	for _, api := range apis() {
		fmt.Fprintf(&b, "  - id: %s\n    api: %s\n    base_url: %s/%s\n    api_key: k\n    compat: {supports_service_tier: true}\n    models:\n", api, api, address, api)
		for i, a := range all {
			if a.api != api {
				continue
			}
			pricing := ""
			if a.pricing != "" {
				pricing = ", pricing: " + a.pricing
			}
			fmt.Fprintf(&b, "      - {id: case-%d, reasoning: true%s}\n", i, pricing)
		}
	}
	return b.String()
}

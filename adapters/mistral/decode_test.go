package mistral_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/mistral"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// body makes server-sent events with these deltas, and an end.
func body(deltas ...string) []byte {
	var b strings.Builder
	for _, d := range deltas {
		fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", d)
	}
	b.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	return []byte(b.String())
}

// TestPrefill: an answer repeats the beginning that the caller wrote.
func TestPrefill(t *testing.T) {
	for name, c := range map[string]struct {
		prefix []string
		deltas []string
		want   string
	}{
		"repeated":                    {[]string{"Once"}, []string{`{"content":""}`, `{"content":"Once"}`, `{"content":" upon"}`}, " upon"},
		"with space at its end":       {[]string{"Once "}, []string{`{"content":"Once"}`, `{"content":" upon"}`, `{"content":" a"}`}, "upon a"},
		"with space that stays":       {[]string{"Once\n"}, []string{`{"content":"Once\n"}`, `{"content":"\nupon"}`}, "\nupon"},
		"of two texts, in a chunk":    {[]string{"On", "ce"}, []string{`{"content":[{"type":"text","text":"Once"}]}`, `{"content":" upon"}`}, " upon"},
		"after thinking":              {[]string{"Once"}, []string{`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"h"}]}]}`, `{"content":"Once"}`, `{"content":" upon"}`}, " upon"},
		"not repeated":                {[]string{"Once"}, []string{`{"content":" upon"}`, `{"content":"Once"}`}, " uponOnce"},
		"the answer begins like it":   {[]string{"a"}, []string{`{"content":"and"}`}, "and"},
		"no beginning":                {nil, []string{`{"content":"Once"}`}, "Once"},
		"space behind what is no end": {[]string{"x "}, []string{`{"content":" y"}`}, " y"},
	} {
		call := adaptertest.NewCall(model())
		var content []*llmdv1.AssistantContent
		for _, s := range c.prefix {
			content = append(content, assistantText(s))
		}
		if content != nil {
			call.Context.Messages = append(call.Context.Messages, assistantMessage(content...))
		}
		parts, err := adaptertest.Decode(mistral.New(), call, bytes.NewReader(body(c.deltas...)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got strings.Builder
		for _, b := range adaptertest.Fold(parts).Blocks {
			if b.Kind == adaptertest.KindText {
				got.WriteString(b.Text)
			}
		}
		if got.String() != c.want {
			t.Errorf("%s: %q, want %q", name, got.String(), c.want)
		}
	}
}

// TestLate: content behind the terminal marker is told once, and left out; the usage there
// is read.
func TestLate(t *testing.T) {
	const usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}\n\n"
	late := func(delta string) string { return `data: {"choices":[{"index":0,"delta":` + delta + "}]}\n\n" }
	for name, c := range map[string]struct {
		behind string
		told   int
	}{
		"nothing":   {"", 0},
		"empty":     {late(`{"content":""}`), 0},
		"text":      {late(`{"content":"x"}`) + late(`{"content":"y"}`), 1},
		"a call":    {late(`{"tool_calls":[{"id":"c","index":0,"function":{"name":"t","arguments":"{}"}}]}`), 1},
		"a thought": {late(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"h"}]}]}`), 1},
	} {
		wire := `data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}` + "\n\n" + c.behind + usage
		parts, err := adaptertest.Decode(mistral.New(), adaptertest.NewCall(model()), strings.NewReader(wire))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f := adaptertest.Fold(parts)
		if got := strings.Join(f.Diagnostics, " "); got != strings.Repeat("content_after_end", c.told) || len(f.Blocks) != 1 || f.Blocks[0].Text != "a" {
			t.Errorf("%s: %q, %+v", name, got, f.Blocks)
		}
	}
}

// TestUsage: all spellings of the cached tokens, none of which may make the rest
// negative.
func TestUsage(t *testing.T) {
	for usage, want := range map[string]*llmdv1.Usage{
		`{"prompt_tokens":10,"completion_tokens":2}`:                                                  {InputTokens: 10, OutputTokens: 2, TotalTokens: 12},
		`{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}`:      {InputTokens: 6, CacheReadTokens: 4, OutputTokens: 2, TotalTokens: 12},
		`{"prompt_tokens":10,"completion_tokens":2,"promptTokensDetails":{"cachedTokens":4}}`:         {InputTokens: 6, CacheReadTokens: 4, OutputTokens: 2, TotalTokens: 12},
		`{"prompt_tokens":10,"completion_tokens":2,"prompt_token_details":{"cached_tokens":4}}`:       {InputTokens: 6, CacheReadTokens: 4, OutputTokens: 2, TotalTokens: 12},
		`{"promptTokens":10,"completionTokens":2,"promptTokenDetails":{"cachedTokens":4}}`:            {InputTokens: 6, CacheReadTokens: 4, OutputTokens: 2, TotalTokens: 12},
		`{"prompt_tokens":10,"completion_tokens":2,"num_cached_tokens":4}`:                            {InputTokens: 6, CacheReadTokens: 4, OutputTokens: 2, TotalTokens: 12},
		`{"prompt_tokens":10,"completion_tokens":2,"numCachedTokens":4,"prompt_tokens_details":null}`: {InputTokens: 6, CacheReadTokens: 4, OutputTokens: 2, TotalTokens: 12},
		`{"prompt_tokens":10,"completion_tokens":2,"num_cached_tokens":40}`:                           {CacheReadTokens: 10, OutputTokens: 2, TotalTokens: 12},
		`{"prompt_tokens":10,"num_cached_tokens":-4}`:                                                 {InputTokens: 10, TotalTokens: 10},
		`{"prompt_tokens":"10","completion_tokens":2.0,"completion_tokens_details":{"reasoning_tokens":1}}`: {
			InputTokens: 10, OutputTokens: 2, TotalTokens: 12, ReasoningTokens: new(int32(1)),
		},
		`{"total_tokens":3}`: nil,
		`[1]`:                nil,
		`"many"`:             nil,
	} {
		wire := `data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}],"usage":` + usage + "}\n\n"
		parts, err := adaptertest.Decode(mistral.New(), adaptertest.NewCall(model()), strings.NewReader(wire))
		if err != nil {
			t.Errorf("%s: %v", usage, err)
			continue
		}
		got := adaptertest.Fold(parts).Usage
		if got.String() != want.String() {
			t.Errorf("%s: %v, want %v", usage, got, want)
		}
	}
}

// TestSignatureLimit: it is the assembler's business to say that a signature is too long to
// be taken back. Left out here, what stands beside the thinking would be lost in silence.
func TestSignatureLimit(t *testing.T) {
	long := `{"content":[{"type":"thinking","thinking":[{"type":"text","text":"` + strings.Repeat("a", 1<<20) + `"}],"signature":"x"}]}`
	parts, err := adaptertest.Decode(mistral.New(), adaptertest.NewCall(model()), bytes.NewReader(body(long)))
	if err != nil {
		t.Fatal(err)
	}
	if b := adaptertest.Fold(parts).Blocks; len(b) != 1 || len(b[0].Text) != 1<<20 || !strings.HasSuffix(b[0].Signature, `,"signature":"x"}`) {
		t.Errorf("%d blocks, signature of %d bytes", len(b), len(b[0].Signature))
	}
}

// TestWholeAnswers: answers that were recorded without streaming are read, too.
func TestWholeAnswers(t *testing.T) {
	for name, want := range map[string][]string{
		"mistral-mistral-small-latest-text-nonstream-t1":   {"thinking", "144"},
		"mistral-mistral-small-latest-replay-nonstream-t2": {"thinking", "154"},
	} {
		wire, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "fixtures", "mistral", name, "response.raw"))
		if err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip("../shared is absent: the recordings live beside the checkout")
		}
		parts, err := adaptertest.Decode(mistral.New(), adaptertest.NewCall(model()), bytes.NewReader(wire))
		if err != nil {
			t.Fatal(err)
		}
		f := adaptertest.Fold(parts)
		if len(f.Blocks) != 2 {
			t.Fatalf("%d blocks, want 2", len(f.Blocks))
		}
		if diff := cmp.Diff(want, []string{f.Blocks[0].Kind, f.Blocks[1].Text}); diff != "" || f.Stop != llmdv1.StopReason_STOP_REASON_STOP {
			t.Errorf("%s: stop %v %s", name, f.Stop, diff)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	deltas := make([]string, 2000)
	for i := range deltas {
		deltas[i] = `{"content":[{"type":"thinking","thinking":[{"type":"text","text":" user is presenting"}],"closed":true}]}`
	}
	wire := body(deltas...)
	call := adaptertest.NewCall(model())
	b.SetBytes(int64(len(wire)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := adaptertest.Decode(mistral.New(), call, bytes.NewReader(wire)); err != nil {
			b.Fatal(err)
		}
	}
}

// TestOddFrames: what says nothing opens no call, another answer is no part of this one,
// and a detail of the usage that cannot be read leaves the rest of it.
func TestOddFrames(t *testing.T) {
	const in = `data: {"choices":[{"delta":{"content":"a","tool_calls":[null,{},{"index":0,"function":null}]}},{"delta":{"content":"b"}}]}` + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":"10","completion_tokens":2.0,"prompt_tokens_details":null,"completion_tokens_details":"x"}}` + "\n\n"
	f, err := adaptertest.FoldBody(mistral.New(), adaptertest.NewCall(model()), in)
	if err != nil || len(f.Blocks) != 1 || f.Blocks[0].Text != "a" || f.Usage.GetInputTokens() != 10 || f.Usage.GetOutputTokens() != 2 {
		t.Errorf("%v %v %v", err, f.Blocks, f.Usage)
	}
}

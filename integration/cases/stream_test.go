package cases

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// stopNames are the contract's names of the cases' stop reasons.
var stopNames = map[string]string{"stop": "STOP", "length": "LENGTH", "toolUse": "TOOL_USE", "error": "ERROR", "aborted": "ABORTED"}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// blocks are the expected ones, false if the case does not say.
func (c *testCase) blocks() ([]map[string]any, bool) {
	l, ok := c.Expect.Content.([]any)
	if !ok {
		return nil, false
	}
	var out []map[string]any
	for _, x := range l {
		b, _ := x.(map[string]any)
		if b["$any_content"] != nil {
			return nil, false
		}
		out = append(out, b)
	}
	return out, true
}

// ask is a conversation of one message that the answer could be to.
func (c *testCase) ask() *llmdv1.Generation {
	var tools []string
	if c.Expect.ToolExecutable != nil { // the calls' names are not among the expectations
		tools = []string{"look", "write", "run"}
	}
	blocks, _ := c.blocks()
	for _, b := range blocks {
		if name, ok := b["name"].(string); ok && toolName.MatchString(name) && !slices.Contains(tools, name) {
			tools = append(tools, name)
		}
	}
	g := harness.Ask(providerOf(c.Provider)+"/"+c.Model, "Go.", tools...)
	if ms := c.Options.IdleTimeoutMS; ms > 0 {
		g.Watchdog = &llmdv1.Watchdog{IdleTimeout: durationpb.New(time.Duration(ms) * time.Millisecond)}
	}
	if c.RequestsMax > 0 || c.mayNotRetry() {
		g.Retry = &llmdv1.RetryPolicy{MaxRetries: 2}
	}
	return g
}

func (c *testCase) mayNotRetry() bool {
	return c.Expect.AutoRetrySafe != nil && !*c.Expect.AutoRetrySafe
}

// limit is when a call is given up: well after it should be over.
func (c *testCase) limit() time.Duration {
	return 20*time.Second + time.Duration(c.Expect.MaxMS)*time.Millisecond
}

func (c *testCase) checkTime(t *testing.T, took time.Duration) {
	t.Helper()
	if ms := c.Expect.MaxMS; ms > 0 && took > time.Duration(ms)*time.Millisecond {
		t.Errorf("took %v, at most %d ms allowed", took, ms)
	}
}

func checkGrammar(t *testing.T, o *harness.Outcome) {
	t.Helper()
	for _, f := range o.Faults {
		t.Errorf("grammar: %s", f)
	}
}

func (c *testCase) testStream(t *testing.T) {
	p := c.play(t)
	l := c.start(t, p.URL)
	if c.AbortAfter != nil {
		c.testCancel(t, l)
		c.testAbort(t, l)
		return
	}
	o := harness.Run(harness.Limited(t, c.limit()), l, &llmdv1.StreamRequest{Generation: c.ask()}, nil)
	checkGrammar(t, o)
	c.checkStop(t, o)
	c.checkContent(t, o.Message.GetContent())
	c.checkUsage(t, o.Message.GetUsage())
	c.checkFailure(t, o)
	c.checkExecutable(t, o)
	c.checkTime(t, o.Took)
	n := len(p.requests())
	if n == 0 || c.RequestsMax > 0 && n > c.RequestsMax || c.mayNotRetry() && n > 1 {
		t.Errorf("the provider saw %d requests", n)
	}
}

func (c *testCase) checkStop(t *testing.T, o *harness.Outcome) {
	t.Helper()
	want := []any{c.Expect.StopReason}
	if m, ok := c.Expect.StopReason.(map[string]any); ok {
		want, _ = m["$any"].([]any)
	}
	// The contract leaves no choice: TOOL_USE needs a call, and a pause is a stop.
	if len(want) > 1 && (!hasCall(o) && strings.Contains(c.Body, `"tool_calls"`) || strings.Contains(c.Body, `"pause_turn"`)) {
		want = []any{"stop"}
	}
	// A turn that ended well and holds broken calls alone is TOOL_USE with arguments_error.
	if c.Expect.StopReason == "error" && c.Expect.ToolExecutable != nil && hasCall(o) && !runnable(o) {
		want = append(want, "toolUse")
	}
	if c.Expect.StopReason != nil && !slices.ContainsFunc(want, func(x any) bool { return stopNames[fmt.Sprint(x)] == o.Stop() }) {
		t.Errorf("stop reason %s, want %v (%s)", o.Stop(), want, o.Words())
	}
	if o.Stop() == "STOP" && len(o.Message.GetContent()) == 0 {
		if want, told := c.blocks(); !told || len(want) > 0 {
			t.Error("an empty success")
		}
	}
	if !c.Expect.ErrorCode.given {
		return
	}
	var allowed []codes.Code
	for _, name := range append([]string{c.Expect.ErrorCode.text}, c.Expect.ErrorCodeAlt...) {
		if name == "" {
			name = "OK"
		}
		code, err := codeNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		allowed = append(allowed, code)
	}
	if !slices.Contains(allowed, o.Status.Code()) {
		t.Errorf("status %s, want one of %v (%s)", o.Status.Code(), allowed, o.Words())
	}
}

func hasCall(o *harness.Outcome) bool {
	return slices.ContainsFunc(o.Message.GetContent(), func(x *llmdv1.AssistantContent) bool { return x.GetToolCall() != nil })
}

// runnable says whether a call looks as if it could be executed.
func runnable(o *harness.Outcome) bool {
	return slices.ContainsFunc(o.Message.GetContent(), func(x *llmdv1.AssistantContent) bool {
		return x.GetToolCall() != nil && !x.GetToolCall().GetIncomplete() && x.GetToolCall().GetArgumentsError() == ""
	})
}

func (c *testCase) checkExecutable(t *testing.T, o *harness.Outcome) {
	t.Helper()
	if c.Expect.ToolExecutable == nil || *c.Expect.ToolExecutable || !runnable(o) {
		return
	}
	// Gemini's calls come whole in one frame; the error says not to run them.
	if o.Stop() != "ERROR" || !strings.HasPrefix(c.API, "google") {
		t.Errorf("a call that must not be executed looks complete (%s)", o.Stop())
	}
}

// checkContent compares the blocks that say something with the expected ones.
func (c *testCase) checkContent(t *testing.T, content []*llmdv1.AssistantContent) {
	t.Helper()
	want, told := c.blocks()
	if !told {
		return
	}
	ids := map[string]bool{"": true}
	var got []*llmdv1.AssistantContent
	for _, x := range content {
		if call := x.GetToolCall(); call != nil {
			if ids[call.GetId()] {
				t.Errorf("the call's id %q is empty or not unique", call.GetId())
			}
			ids[call.GetId()] = true
		} else if x.GetProviderContent() != nil || harness.TextOf(x) == "" && len(signature(x)) == 0 && !x.GetThinking().GetRedacted() {
			continue
		}
		got = append(got, x)
	}
	if len(got) != len(want) {
		t.Fatalf("%d blocks, want %d: %v", len(got), len(want), got)
	}
	for i, w := range want {
		c.checkBlock(t, fmt.Sprintf("content[%d]", i), w, got[i])
	}
}

func (c *testCase) checkBlock(t *testing.T, at string, want map[string]any, got *llmdv1.AssistantContent) {
	t.Helper()
	kinds := map[string]string{"text": "text", "thinking": "thinking", "toolCall": "tool_call"}
	for k, w := range want {
		d := ""
		switch k {
		case "type":
			d = match(kinds[as[string](w)], harness.KindOf(got))
		case "text":
			d = match(w, got.GetText().GetText())
		case "thinking":
			d = match(w, got.GetThinking().GetThinking())
		case "redacted":
			d = match(w, got.GetThinking().GetRedacted())
		case "signature", "thoughtSignature":
			if k == "thoughtSignature" || c.Expect.ContentMode != "ignore_signature" {
				d = match(w, signature(got))
			}
		case "id":
			d = match(w, got.GetToolCall().GetId())
		case "name":
			d = match(w, got.GetToolCall().GetName())
		case "arguments":
			v, err := parse(got.GetToolCall().GetArgumentsJson())
			if err != nil {
				t.Errorf("%s: %v", at, err)
			}
			// Arguments whose root is no object are {} with arguments_error (1.4, 1.22).
			if !strings.Contains(c.Body, `"arguments":"\"`) || got.GetToolCall().GetArgumentsError() == "" {
				d = match(w, v)
			}
		default:
			d = "is not known to this test"
		}
		if d != "" {
			t.Errorf("%s.%s %s", at, k, d)
		}
	}
}

func signature(c *llmdv1.AssistantContent) string {
	for _, s := range []*llmdv1.Signature{c.GetText().GetSignature(), c.GetThinking().GetSignature(), c.GetToolCall().GetSignature()} {
		if s != nil {
			return string(s.GetData())
		}
	}
	return ""
}

func (c *testCase) checkUsage(t *testing.T, u *llmdv1.Usage) {
	t.Helper()
	got := map[string]int32{
		"input": u.GetInputTokens(), "output": u.GetOutputTokens(), "reasoning": u.GetReasoningTokens(),
		"cache_read": u.GetCacheReadTokens(), "cache_write": u.GetCacheWriteTokens(),
	}
	for k, want := range c.Expect.Usage {
		if n, known := got[k]; !known || n != want {
			t.Errorf("usage.%s is %d, want %d", k, n, want)
		}
	}
}

// checkFailure looks at the error of a stream.
func (c *testCase) checkFailure(t *testing.T, o *harness.Outcome) {
	t.Helper()
	f := failureOf(o)
	if f == nil {
		if c.Expect.ErrorMessage != nil || c.Expect.ErrorKind != "" {
			t.Error("no error came out")
		}
		return
	}
	if w := c.Expect.ErrorMessage; w != nil {
		if d := match(w, o.Words()+" "+o.Message.GetProviderStopReason()); d != "" {
			t.Errorf("the error's words: %s", d)
		}
	}
	if k := c.Expect.ErrorKind; k != "" {
		if d := f.wrong(reasonsOf(k)); d != "" {
			t.Error(d)
		}
	} else if f.code != codeOf[f.reason] {
		t.Errorf("code %s for %s, want %s", f.code, f.reason, codeOf[f.reason])
	}
	if c.Options.IdleTimeoutMS > 0 && c.End != "" && f.reason != "PROVIDER_STREAM_IDLE" {
		t.Errorf("reason %s for a silent provider", f.reason)
	}
	if r := c.Expect.Retryable; r != nil && f.retryable != *r {
		t.Errorf("retryable is %v, want %v (%s)", f.retryable, *r, f.reason)
	}
}

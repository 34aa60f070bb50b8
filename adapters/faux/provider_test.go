package faux_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/faux"
	"github.com/llmd-dev/llmd/adapters/faux/fauxserver"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// ask sends a request through adapter and provider and folds the answer. err is
// how the answer ended, or the error in its place.
func ask(t *testing.T, model string, g *llmdv1.Generation) (*adaptertest.Folded, error) {
	t.Helper()
	a, call := faux.New(), callOf(t, model, g)
	r, err := a.Encode(call)
	if err != nil {
		t.Fatal(err)
	}
	hr, err := http.NewRequestWithContext(t.Context(), http.MethodPost, faux.BaseURL+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		t.Fatal(err)
	}
	hr.Header = r.Header
	resp, err := fauxserver.Transport().RoundTrip(hr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return adaptertest.Fold(nil), a.DecodeError(resp.StatusCode, resp.Header, body)
	}
	parts, err := adaptertest.Decode(a, call, resp.Body)
	f := adaptertest.Fold(parts)
	for _, fault := range f.Faults {
		t.Errorf("bad part: %s", fault)
	}
	return f, err
}

// mustAsk is ask for answers that must not fail.
func mustAsk(t *testing.T, model string, g *llmdv1.Generation) *adaptertest.Folded {
	t.Helper()
	f, err := ask(t, model, g)
	if err != nil {
		t.Fatalf("%s: %v (%s)", model, err, adaptertest.Lines(nil, err))
	}
	return f
}

// turn is an answer as a message of a history.
func turn(model string, f *adaptertest.Folded) *llmdv1.Message {
	a := &llmdv1.AssistantMessage{Api: "faux", Provider: "faux", Model: model}
	for _, b := range f.Blocks {
		switch b.Kind {
		case adaptertest.KindText:
			a.Content = append(a.Content, text(b.Text))
		case adaptertest.KindThinking:
			a.Content = append(a.Content, thinking(b.Text, b.Format, b.Signature, b.Redacted))
		case adaptertest.KindToolCall:
			a.Content = append(a.Content, toolCall(b.ID, b.Name, b.Text))
		}
	}
	return &llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: a}}
}

var weather = &llmdv1.Tool{
	Name:                 "weather",
	ParametersJsonSchema: `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1,"maximum":2}},"required":["city"]}`,
}

func TestEcho(t *testing.T) {
	f := mustAsk(t, "echo", &llmdv1.Generation{Context: contextOf(user("Grüezi, 世界 😀!"))})
	want := &adaptertest.Folded{
		Blocks:        []adaptertest.Block{{Kind: "text", Text: "Grüezi, 世界 😀!", Ended: true}},
		ResponseID:    f.ResponseID,
		ResponseModel: "echo",
		// 13 characters are 4 tokens, there and back.
		Usage:    &llmdv1.Usage{InputTokens: 4, OutputTokens: 4, TotalTokens: 8},
		Stop:     llmdv1.StopReason_STOP_REASON_STOP,
		Word:     "stop",
		Complete: true,
	}
	if !proto.Equal(f.Usage, want.Usage) {
		t.Errorf("usage %v, want %v", f.Usage, want.Usage)
	}
	f.Usage, want.Usage = nil, nil
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// An agent's whole loop: the signed thinking of each turn goes back and is
// accepted, byte for byte.
func TestAgentLoop(t *testing.T) {
	c := contextOf(user("Weather in Bern?"))
	c.Tools = []*llmdv1.Tool{weather}
	first := mustAsk(t, "agent", &llmdv1.Generation{Context: c})
	if got := kinds(first); got != "thinking text tool_call" || first.Stop != llmdv1.StopReason_STOP_REASON_TOOL_USE {
		t.Fatalf("the first answer is %s, stop %s", got, first.Stop)
	}
	call := first.Blocks[2]
	if call.Name != "weather" || call.Text != `{"city":"Zürich","days":2}` {
		t.Errorf("the call is %s %s", call.Name, call.Text)
	}
	if s := first.Blocks[0]; s.Format != faux.FormatThinking || s.Signature != fauxserver.Sign("agent", s.Text) {
		t.Errorf("the thinking's signature is %s %q", s.Format, s.Signature)
	}
	c.Messages = append(c.Messages, turn("agent", first), toolResult(call.ID, "sunny, 21 °C", false))
	second := mustAsk(t, "agent", &llmdv1.Generation{Context: c})
	if got := kinds(second); got != "thinking text" || second.Stop != llmdv1.StopReason_STOP_REASON_STOP {
		t.Fatalf("the second answer is %s, stop %s", got, second.Stop)
	}
	if got := second.Blocks[1].Text; got != "weather says: sunny, 21 °C" {
		t.Errorf("it says %q", got)
	}
	// The same request gives the same answer.
	if diff := cmp.Diff(second.Blocks, mustAsk(t, "agent", &llmdv1.Generation{Context: c}).Blocks); diff != "" {
		t.Errorf("asked again\n%s", diff)
	}
	if first.ResponseID == second.ResponseID {
		t.Error("two answers have one id")
	}
}

func kinds(f *adaptertest.Folded) string {
	var l []string
	for _, b := range f.Blocks {
		l = append(l, b.Kind)
	}
	return strings.Join(l, " ")
}

func TestThinkAndReplay(t *testing.T) {
	f := mustAsk(t, "think", &llmdv1.Generation{Context: contextOf(user("Why?"))})
	if got := kinds(f); got != "thinking thinking thinking text" || !f.Blocks[1].Redacted || f.Blocks[1].Text != "" {
		t.Fatalf("the answer is %s", got)
	}
	if f.Usage.GetReasoningTokens() < 500 || f.Usage.GetReasoningTokens() >= f.Usage.GetOutputTokens() {
		t.Errorf("usage is %v", f.Usage)
	}
	replay := func(model string, change func(*llmdv1.AssistantMessage)) error {
		m := turn("think", f)
		change(m.GetAssistant())
		_, err := ask(t, model, &llmdv1.Generation{Context: contextOf(user("Why?"), m, user("And?"))})
		return err
	}
	same := func(*llmdv1.AssistantMessage) {}
	if err := replay("think", same); err != nil {
		t.Errorf("the replay is refused: %v", err)
	}
	for name, err := range map[string]error{
		"another model": replay("agent", same),
		"another text": replay("think", func(a *llmdv1.AssistantMessage) {
			a.Content[0].GetThinking().Thinking += " "
		}),
		"another signature": replay("think", func(a *llmdv1.AssistantMessage) {
			a.Content[1].GetThinking().Signature.Data[3] ^= 1
		}),
	} {
		var upstream *adapters.UpstreamError
		if !asUpstream(err, &upstream) || upstream.Reason != adapters.ReasonSignatureRejected || upstream.Status != http.StatusBadRequest {
			t.Errorf("%s: got %v, want %s", name, err, adapters.ReasonSignatureRejected)
		}
	}
	off := &llmdv1.ReasoningConfig{Effort: llmdv1.ReasoningEffort_REASONING_EFFORT_NONE}
	if got := kinds(mustAsk(t, "think", &llmdv1.Generation{Context: contextOf(user("Why?")), Reasoning: off})); got != "text" {
		t.Errorf("without thinking the answer is %s", got)
	}
}

func TestParallel(t *testing.T) {
	c := contextOf(user("Compare."))
	c.Tools = []*llmdv1.Tool{weather, {Name: "time"}}
	f := mustAsk(t, "parallel", &llmdv1.Generation{Context: c})
	var calls []string
	ids := map[string]bool{}
	for _, b := range f.Blocks {
		if b.Kind == adaptertest.KindToolCall {
			calls = append(calls, b.Name+" "+b.Text)
			ids[b.ID] = true
		}
	}
	want := []string{`weather {"city":"Zürich","days":2}`, `time {}`, `weather {"city":"Zürich 3","days":2}`}
	if diff := cmp.Diff(want, calls); diff != "" || len(ids) != 3 {
		t.Errorf("%d ids; (-want +got)\n%s", len(ids), diff)
	}
	one := &llmdv1.GenerationConfig{ParallelToolCalls: new(false)}
	if got := kinds(mustAsk(t, "parallel", &llmdv1.Generation{Context: c, Config: one})); got != "text tool_call" {
		t.Errorf("without parallel calls the answer is %s", got)
	}
}

func TestOptionsAreHonoured(t *testing.T) {
	tools := []*llmdv1.Tool{weather}
	long := "One two three. END of it."
	for name, c := range map[string]struct {
		model    string
		g        *llmdv1.Generation
		wantText string
		stop     llmdv1.StopReason
	}{
		"limit": {
			"echo", &llmdv1.Generation{Config: &llmdv1.GenerationConfig{MaxOutputTokens: proto.Int32(2)}},
			"One two ", llmdv1.StopReason_STOP_REASON_LENGTH,
		},
		"limit reached exactly": {
			"echo", &llmdv1.Generation{Config: &llmdv1.GenerationConfig{MaxOutputTokens: proto.Int32(7)}},
			long, llmdv1.StopReason_STOP_REASON_STOP,
		},
		"stop sequence": {
			"echo", &llmdv1.Generation{Config: &llmdv1.GenerationConfig{StopSequences: []string{"it", "END"}}},
			"One two three. ", llmdv1.StopReason_STOP_REASON_STOP,
		},
		"schema": {
			"echo", &llmdv1.Generation{Config: &llmdv1.GenerationConfig{OutputJsonSchema: weather.GetParametersJsonSchema()}},
			`{"city":"Zürich","days":2}`, llmdv1.StopReason_STOP_REASON_STOP,
		},
		"required": {
			"echo", &llmdv1.Generation{ToolChoice: &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: llmdv1.ToolMode_TOOL_MODE_REQUIRED}}},
			"I will ask weather.", llmdv1.StopReason_STOP_REASON_TOOL_USE,
		},
		"none": {
			"parallel", &llmdv1.Generation{ToolChoice: &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: llmdv1.ToolMode_TOOL_MODE_NONE}}},
			long, llmdv1.StopReason_STOP_REASON_STOP,
		},
	} {
		c.g.Context = contextOf(user(long))
		c.g.Context.Tools = tools
		f := mustAsk(t, c.model, c.g)
		if f.Blocks[0].Text != c.wantText || f.Stop != c.stop {
			t.Errorf("%s: %q, %s", name, f.Blocks[0].Text, f.Stop)
		}
	}
}

func asUpstream(err error, target **adapters.UpstreamError) bool {
	e, ok := err.(*adapters.UpstreamError) //nolint:errorlint // ask returns it bare
	*target = e
	return ok && e != nil
}

func TestErrorModel(t *testing.T) {
	for _, c := range []struct {
		says   string
		reason string
		status int
		text   string // what came before
	}{
		{"please rate_limit me", adapters.ReasonRateLimited, 429, ""},
		{"quota", adapters.ReasonQuotaExhausted, 402, ""},
		{"auth", adapters.ReasonCredentialsInvalid, 401, ""},
		{"permission", adapters.ReasonPermissionDenied, 403, ""},
		{"not_found", adapters.ReasonModelNotFound, 404, ""},
		{"context", adapters.ReasonContextLengthExceeded, 400, ""},
		{"too_large", adapters.ReasonRequestTooLarge, 413, ""},
		{"server", adapters.ReasonProviderError, 500, ""},
		{"overloaded", adapters.ReasonOverloaded, 529, ""},
		{"html", adapters.ReasonProviderError, 502, ""},
		{"before", adapters.ReasonOverloaded, 0, ""},
		{"Mid-Stream", adapters.ReasonOverloaded, 0, "This answer will not end well."},
		{"hello", adapters.ReasonOverloaded, 0, "This answer will not end well."},
	} {
		f, err := ask(t, "error", &llmdv1.Generation{Context: contextOf(user(c.says))})
		var e *adapters.UpstreamError
		if !asUpstream(err, &e) || e.Reason != c.reason || e.Status != c.status {
			t.Errorf("%s: got %v, want %s %d", c.says, err, c.reason, c.status)
			continue
		}
		if c.status != 0 && e.RequestID == "" {
			t.Errorf("%s: no request id", c.says)
		}
		if c.reason == adapters.ReasonContextLengthExceeded && (e.LimitTokens != 200_000 || e.RequestedTokens != 234_567) {
			t.Errorf("%s: limit %d, requested %d", c.says, e.LimitTokens, e.RequestedTokens)
		}
		got := ""
		if len(f.Blocks) > 0 {
			got = f.Blocks[0].Text
		}
		if got != c.text {
			t.Errorf("%s: the text before is %q", c.says, got)
		}
	}
}

func TestErrorModelInTheStream(t *testing.T) {
	for says, want := range map[string]string{
		"refusal":   `stop ERROR "refusal" CONTENT_FILTERED type="refusal" message="This is a refusal, as asked for."`,
		"truncate":  "error truncated",
		"reset":     "error protocol", // a broken connection: the engine knows
		"malformed": "error protocol",
	} {
		f, err := ask(t, "error", &llmdv1.Generation{Context: contextOf(user(says))})
		lines := adaptertest.Lines(nil, err)
		if f.Err != nil {
			lines = adaptertest.Line(&adapters.Part{Kind: adapters.PartStop, Stop: f.Stop, Name: f.Word, Err: f.Err})
		}
		if strings.TrimSpace(lines) != want || kinds(f) != "text" {
			t.Errorf("%s: got %s after %s, want %s", says, lines, kinds(f), want)
		}
	}
}

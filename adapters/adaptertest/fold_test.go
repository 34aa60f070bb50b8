package adaptertest

import (
	"errors"
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

func TestFold(t *testing.T) {
	var s adapters.Sink
	usage := &llmdv1.Usage{InputTokens: 3, CacheReadTokens: 4, OutputTokens: 5, ReasoningTokens: proto.Int32(0), TotalTokens: 12}
	s.IDs("r1", "")
	s.IDs("", "m1")
	s.Thinking(7, "")
	s.Text(3, "a\xed\xa0\xbd") // half of a pair
	s.Thinking(7, "Hm.")
	s.Signature(7, "f", []byte("sig"))
	s.End(7)
	s.Text(3, "\xed\xb8\x80")
	s.ToolCall(4, "", "f", "")
	s.Arguments(4, `{"a`)
	s.ToolCall(4, "c1", "ignored", "ns")
	s.FinalArguments(4, `{"a":1}`)
	s.Redacted(5)
	s.Signature(5, "g", []byte{0xff})
	s.ProviderContent(6, "search", []byte(`{"x":1}`))
	s.FinalText(3, "whole\xed\xa0\xbd")
	s.ServiceTier("flex")
	s.Usage(&llmdv1.Usage{InputTokens: 1})
	s.Usage(usage)
	s.Diagnostic(-1, "note", "words")
	s.Stop(llmdv1.StopReason_STOP_REASON_STOP, "first")
	s.Stop(llmdv1.StopReason_STOP_REASON_TOOL_USE, "tool_calls")
	s.Complete()
	want := &Folded{
		Blocks: []Block{
			{Kind: KindThinking, Text: "Hm.", Format: "f", Signature: "sig", Ended: true},
			{Kind: KindText, Text: "whole\uFFFD"},
			{Kind: KindToolCall, ID: "c1", Name: "f", Namespace: "ns", Text: `{"a":1}`},
			{Kind: KindThinking, Redacted: true, Format: "g", Signature: "\xff"},
			{Kind: KindProviderContent, Name: "search", Text: `{"x":1}`, Ended: true},
		},
		ResponseID: "r1", ResponseModel: "m1", Tier: "flex", Usage: usage,
		Stop: llmdv1.StopReason_STOP_REASON_TOOL_USE, Word: "tool_calls", Complete: true, Diagnostics: []string{"note"},
	}
	got := Fold(s.Parts)
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !got.Calls() || got.stop(nil) != "tool_use" || got.stop(adapters.ErrTruncated) != "error" {
		t.Error("the stop reason is wrong")
	}
}

func TestFaults(t *testing.T) {
	for want, fill := range map[string]func(*adapters.Sink){
		"has not opened":       func(s *adapters.Sink) { s.Arguments(0, "{") },
		"has ended":            func(s *adapters.Sink) { s.Text(0, ""); s.End(0); s.Text(0, "x") },
		"is of kind text":      func(s *adapters.Sink) { s.Text(0, ""); s.Arguments(0, "{") },
		"is of kind tool_call": func(s *adapters.Sink) { s.ToolCall(0, "", "", ""); s.Text(0, "x") },
		"not JSON":             func(s *adapters.Sink) { s.ProviderContent(0, "x", []byte("{")) },
		"do not go together":   func(s *adapters.Sink) { s.Stop(llmdv1.StopReason_STOP_REASON_ERROR, "x") },
		"nothing follows":      func(s *adapters.Sink) { s.Complete(); s.Text(0, "x") },
	} {
		var s adapters.Sink
		fill(&s)
		got := Fold(s.Parts).Faults
		if len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("want one fault with %q, got %q", want, got)
		}
	}
	// A signature may come behind its block's end.
	var s adapters.Sink
	s.Text(0, "x")
	s.End(0)
	s.Signature(0, "f", []byte("late"))
	if f := Fold(s.Parts); len(f.Faults) > 0 || f.Blocks[0].Signature != "late" {
		t.Errorf("a late signature gives %+v", f)
	}
}

func TestNotBeginning(t *testing.T) {
	whole := &Folded{Blocks: []Block{{Kind: KindText, Text: "a😀b"}, {Kind: KindThinking, Text: "x"}}}
	for _, c := range []struct {
		cut  []Block
		want string
	}{
		{nil, ""},
		{[]Block{{Kind: KindText, Text: "a"}}, ""},
		{[]Block{{Kind: KindText, Text: "a\uFFFD"}}, ""}, // half of the pair
		{[]Block{{Kind: KindText, Text: "b"}}, "block 0"},
		{[]Block{{Kind: KindThinking, Text: "a"}}, "block 0"},
		{append(whole.Blocks, Block{}), "3 blocks"},
	} {
		if got := notBeginning(&Folded{Blocks: c.cut}, whole); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%v: got %q, want %q", c.cut, got, c.want)
		}
	}
}

func TestLines(t *testing.T) {
	delay := 1500 * time.Millisecond
	u := &llmdv1.Usage{
		InputTokens: 1, CacheReadTokens: 2, CacheWriteTokens: 3, CacheWrite_1HTokens: 1, OutputTokens: 4, ReasoningTokens: proto.Int32(0), TotalTokens: 10,
		Modalities: []*llmdv1.ModalityTokens{{Modality: llmdv1.Modality_MODALITY_IMAGE, InputTokens: 5}},
		Cost:       &llmdv1.Cost{TotalPicoUsd: 9, FromProvider: true},
	}
	var s adapters.Sink
	s.ToolCall(1, "i", "n", "ns")
	s.FinalText(0, "t")
	s.FinalArguments(1, "{}")
	s.Usage(u)
	s.Diagnostic(2, "code", "words")
	s.Fail("w", &adapters.UpstreamError{
		Reason: "R", Status: 400, Type: "t", Message: "m", RequestID: "q", RetryDelay: &delay, LimitTokens: 5, RequestedTokens: 6,
	})
	want := `tool_call 1 id="i" name="n" namespace="ns"
final_text 0 "t"
final_args 1 "{}"
usage input=1 cache_read=2 cache_write=3 cache_write_1h=1 output=4 reasoning=0 total=10 image=5/0 cost=9pUSD from_provider=true
diagnostic 2 code "words"
stop ERROR "w" R status=400 type="t" message="m" request_id="q" retry_delay=1.5s limit_tokens=5 requested_tokens=6
error truncated
`
	if diff := cmp.Diff(want, Lines(s.Parts, &frame.TruncatedError{Err: errors.New("x")})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for err, want := range map[error]string{
		adapters.ErrTruncated:                     "truncated",
		errors.New("x"):                           "protocol",
		&adapters.UpstreamError{Reason: "REASON"}: "REASON",
	} {
		if got := errorText(err); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}

package google

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// expected is a recording's expected.json.
type expected struct {
	API      string           `json:"api"`
	Kind     string           `json:"kind"`
	Skip     any              `json:"skip"`
	Content  []expectedBlock  `json:"content"`
	Stop     string           `json:"stop_reason"`
	Word     *string          `json:"provider_stop_reason"`
	Usage    map[string]int32 `json:"usage"`
	ID       *string          `json:"response_id"`
	Model    *string          `json:"response_model"`
	Opaque   map[string]int   `json:"unrepresented"`
	Error    *expectedError   `json:"error"`
	location string
}

type expectedBlock struct {
	Type      string  `json:"type"`
	Text      string  `json:"text"`
	Thinking  string  `json:"thinking"`
	Signature *string `json:"signature"`
	Optional  bool    `json:"optional"`
	Split     bool    `json:"split_allowed"`
	ID        *string `json:"id"`
	Name      string  `json:"name"`
	Arguments any     `json:"arguments"`
}

type expectedError struct {
	Kind     string   `json:"kind"`
	Accept   []string `json:"accept_kinds"`
	Contains string   `json:"message_contains"`
	Status   int      `json:"status"`
	Retry    bool     `json:"retryable"`
}

func recordings(t *testing.T) []*expected {
	t.Helper()
	var out []*expected
	for _, file := range shared(t, "fixtures/google-*/*/expected.json") {
		e := &expected{location: filepath.Dir(file)}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, e); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if e.Skip == nil {
			out = append(out, e)
		}
	}
	return out
}

func (e *expected) body(t *testing.T) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(e.location, "response.raw"))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestRecordings(t *testing.T) {
	streams, failures := 0, 0
	for _, e := range recordings(t) {
		t.Run(e.API+"/"+filepath.Base(e.location), func(t *testing.T) {
			switch e.Kind {
			case "stream":
				streams++
				e.checkStream(t)
			case "error":
				failures++
				e.checkError(t)
			default:
				t.Skipf("kind %q", e.Kind)
			}
		})
	}
	t.Logf("%d streams, %d errors", streams, failures)
}

func (e *expected) checkStream(t *testing.T) {
	a, body := adapterFor(e.API), e.body(t)
	got, err := readBytes(t, a, body)
	if err != nil {
		t.Fatal(err)
	}
	slow, err := readSlowly(t, a, body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, slow, protocmp.Transform(), cmpopts.IgnoreUnexported(answer{}), cmpopts.IgnoreFields(answer{}, "Err")); diff != "" {
		t.Errorf("one byte at a time reads otherwise:\n%s", diff)
	}
	e.checkContent(t, got)
	e.checkOpaque(t, got)
	if want := e.stop(); got.Stop != want {
		t.Errorf("stop is %v, want %v", got.Stop, want)
	}
	for _, c := range []struct {
		name, got string
		want      *string
	}{{"word", got.Word, e.Word}, {"id", got.ID, e.ID}, {"model", got.Model, e.Model}} {
		if c.want != nil && c.got != *c.want {
			t.Errorf("%s is %q, want %q", c.name, c.got, *c.want)
		}
	}
	e.checkUsage(t, got.Usage)
}

// stop is the provider's own meaning: that a call makes STOP a TOOL_USE is the
// assembler's business.
func (e *expected) stop() llmdv1.StopReason {
	switch e.Stop {
	case "stop", "tool_use":
		return llmdv1.StopReason_STOP_REASON_STOP
	case "length":
		return llmdv1.StopReason_STOP_REASON_LENGTH
	case "error":
		return llmdv1.StopReason_STOP_REASON_ERROR
	}
	return llmdv1.StopReason_STOP_REASON_UNSPECIFIED
}

func (e *expected) checkContent(t *testing.T, got *answer) {
	t.Helper()
	blocks := slices.DeleteFunc(slices.Clone(got.Blocks), func(b *block) bool { return b.Kind == "provider" })
	for i, w := range e.Content {
		if len(blocks) == 0 || blocks[0].Kind != w.Type {
			if !w.Optional {
				t.Fatalf("block %d: want %s, got %+v", i, w.Type, blocks)
			}
			continue
		}
		b := *blocks[0]
		blocks = blocks[1:]
		for w.Split && len(blocks) > 0 && blocks[0].Kind == w.Type && b.Text != w.Text+w.Thinking {
			b.Text += blocks[0].Text
			b.Signature += blocks[0].Signature
			blocks = blocks[1:]
		}
		switch w.Type {
		case "text", "thinking":
			if want := w.Text + w.Thinking; b.Text != want {
				t.Errorf("block %d is %q, want %q", i, b.Text, want)
			}
		case "tool_call":
			checkCall(t, &b, &w)
		}
		if w.Signature != nil && b.Signature != *w.Signature {
			t.Errorf("block %d has signature %q, want %q", i, b.Signature, *w.Signature)
		}
	}
	if len(blocks) > 0 {
		t.Errorf("more blocks than wanted: %+v", blocks[0])
	}
}

func checkCall(t *testing.T, b *block, w *expectedBlock) {
	t.Helper()
	if b.Name != w.Name || w.ID != nil && b.ID != *w.ID || !b.Ended {
		t.Errorf("call is %+v, want %s", b, w.Name)
	}
	text := b.Text
	if text == "" {
		text = "{}"
	}
	var arguments any
	if err := json.Unmarshal([]byte(text), &arguments); err != nil || !reflect.DeepEqual(arguments, w.Arguments) {
		t.Errorf("arguments are %s (%v), want %v", text, err, w.Arguments)
	}
}

// checkOpaque counts what is kept as it came.
func (e *expected) checkOpaque(t *testing.T, got *answer) {
	t.Helper()
	have := map[string]int{}
	for _, b := range got.Blocks {
		if b.Kind != "provider" {
			continue
		}
		have[b.Name]++
		if !json.Valid([]byte(b.Text)) {
			t.Errorf("%s is not valid JSON", b.Name)
		}
		if strings.Contains(b.Text, `"thoughtSignature"`) {
			have["signature on "+b.Name]++
		}
	}
	if diff := cmp.Diff(e.Opaque, have, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("provider content (-want +got):\n%s", diff)
	}
}

func (e *expected) checkUsage(t *testing.T, u *llmdv1.Usage) {
	t.Helper()
	got := map[string]int32{
		"input": u.GetInputTokens(), "cache_read": u.GetCacheReadTokens(), "cache_write": u.GetCacheWriteTokens(),
		"output": u.GetOutputTokens(), "reasoning": u.GetReasoningTokens(),
	}
	if diff := cmp.Diff(e.Usage, got); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	if want := got["input"] + got["cache_read"] + got["cache_write"] + got["output"]; u.GetTotalTokens() != want {
		t.Errorf("total is %d, want %d", u.GetTotalTokens(), want)
	}
}

// reasonsOf are the reasons that a recording's kind of error stands for.
func reasonsOf(kind string) []string {
	switch kind {
	case "auth":
		return []string{adapters.ReasonCredentialsInvalid}
	case "permission":
		return []string{adapters.ReasonPermissionDenied, adapters.ReasonPrecondition}
	case "not_found":
		return []string{adapters.ReasonModelNotFound}
	case "invalid_request":
		return []string{adapters.ReasonRejectedRequest}
	case "rate_limit":
		return []string{adapters.ReasonRateLimited}
	case "quota":
		return []string{adapters.ReasonQuotaExhausted}
	case "overloaded":
		return []string{adapters.ReasonOverloaded}
	case "server":
		return []string{adapters.ReasonProviderError, adapters.ReasonOverloaded}
	case "context_overflow":
		return []string{adapters.ReasonContextLengthExceeded}
	}
	return nil
}

func (e *expected) checkError(t *testing.T) {
	got := adapterFor(e.API).DecodeError(e.Error.Status, nil, e.body(t))
	var want []string
	for _, k := range append([]string{e.Error.Kind}, e.Error.Accept...) {
		want = append(want, reasonsOf(k)...)
	}
	if !slices.Contains(want, got.Reason) || got.Retryable() != e.Error.Retry || got.Status != e.Error.Status {
		t.Errorf("error is %+v, want one of %v", got, want)
	}
	if !strings.Contains(got.Message, e.Error.Contains) {
		t.Errorf("message is %q, want %q in it", got.Message, e.Error.Contains)
	}
}

// TestCutRecordings ends each recording after every frame: there is no terminal
// word before its marker, and nothing that had come is lost.
func TestCutRecordings(t *testing.T) {
	for _, e := range recordings(t) {
		if e.Kind != "stream" {
			continue
		}
		a, body := adapterFor(e.API), e.body(t)
		whole, err := readBytes(t, a, body)
		if err != nil {
			t.Errorf("%s: %v", e.location, err)
			continue
		}
		for n := range whole.stopFrames {
			cut, err := read(t, a, bytes.NewReader(body), n)
			if err != adapters.ErrTruncated || cut.Stop != 0 {
				t.Errorf("%s after %d frames: %v, stop %v", e.location, n, err, cut.Stop)
			}
			checkPrefix(t, e.location, cut, whole)
		}
	}
}

func checkPrefix(t *testing.T, name string, cut, whole *answer) {
	t.Helper()
	for i, b := range cut.Blocks {
		if i >= len(whole.Blocks) || !strings.HasPrefix(whole.Blocks[i].Text, b.Text) || b.Name != whole.Blocks[i].Name {
			t.Errorf("%s: block %d is %+v, which the whole answer does not begin with", name, i, b)
		}
	}
}

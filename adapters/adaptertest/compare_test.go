package adaptertest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// An expectation in the shape of the recordings, with an answer that meets it.
const expectation = `{
 "model": "m", "kind": "stream", "stop_reason": "tool_use", "provider_stop_reason": "calls", "response_id": "r", "response_model": "m-1",
 "content": [
  {"type": "thinking", "thinking": "Hm.", "signature": "sig", "signature_kind": "opaque"},
  {"type": "thinking", "redacted": true, "thinking": "[hidden]"},
  {"type": "text", "text": "", "optional": true},
  {"type": "text", "text": "One two", "split_allowed": true, "signature": "x", "signature_kind": "message_ref_json", "signature_contains": ["msg<1"]},
  {"type": "tool_call", "id": "c1|i1", "name": "f", "arguments": {"a": 1}, "arguments_text": "{\"a\": 1}"},
  {"type": "tool_call", "id": null, "name": "g", "arguments": {"n": 12345678901234567890}}
 ],
 "usage": {"input": 5, "cache_read": 0, "cache_write": 0, "output": 7, "reasoning": 2},
 "accept": {"usage.input": [6], "usage": {"output": [8]}, "response_id": ["q", null]}
}`

func answer() *Folded {
	reasoning := int32(2)
	return &Folded{
		Blocks: []Block{
			{Kind: KindThinking, Text: "Hm.", Signature: "sig"},
			{Kind: KindThinking, Redacted: true},
			{Kind: KindProviderContent, Text: "{}"},
			{Kind: KindText, Text: "One "},
			{Kind: KindText, Text: "two", Signature: `{"id":"msg\u003c1"}`},
			{Kind: KindToolCall, ID: "c1", Name: "f", Text: `{"a": 1}`},
			{Kind: KindToolCall, ID: "made", Name: "g", Text: `{ "n":12345678901234567890 }`},
			{Kind: KindText},
		},
		ResponseID: "r", ResponseModel: "m-1", Word: "calls", Stop: llmdv1.StopReason_STOP_REASON_STOP,
		Usage: &llmdv1.Usage{InputTokens: 5, OutputTokens: 7, ReasoningTokens: &reasoning, TotalTokens: 12},
	}
}

func expected(t *testing.T) *recording {
	t.Helper()
	r := &recording{api: "openai-responses"}
	if err := json.Unmarshal([]byte(expectation), r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCompare(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Folded)
		want   string // "" = no problem
	}{
		"right":                {func(*Folded) {}, ""},
		"accepted input":       {func(f *Folded) { f.Usage.InputTokens, f.Usage.TotalTokens = 6, 13 }, ""},
		"accepted output":      {func(f *Folded) { f.Usage.OutputTokens, f.Usage.TotalTokens = 8, 13 }, ""},
		"accepted id":          {func(f *Folded) { f.ResponseID = "" }, ""},
		"one text":             {func(f *Folded) { f.Blocks[3].Text, f.Blocks[4].Text = "One two", "" }, "does not hold"},
		"stop":                 {func(f *Folded) { f.Stop = llmdv1.StopReason_STOP_REASON_LENGTH }, "stop reason is length"},
		"word":                 {func(f *Folded) { f.Word = "" }, "word for the stop"},
		"thinking":             {func(f *Folded) { f.Blocks[0].Text = "Hm" }, `thinking is "Hm"`},
		"signature":            {func(f *Folded) { f.Blocks[0].Signature = "other" }, "signature is"},
		"redacted":             {func(f *Folded) { f.Blocks[1].Redacted = false; f.Blocks[1].Text = "x" }, "not marked redacted"},
		"text":                 {func(f *Folded) { f.Blocks[4].Text = "three" }, "text is"},
		"id":                   {func(f *Folded) { f.Blocks[5].ID = "c1|i1" }, "id is"},
		"name":                 {func(f *Folded) { f.Blocks[5].Name = "h" }, "name is"},
		"spacing":              {func(f *Folded) { f.Blocks[5].Text = `{"a":1}` }, "arguments are"},
		"digits":               {func(f *Folded) { f.Blocks[6].Text = `{"n":12345678901234567168}` }, "arguments are"},
		"missing":              {func(f *Folded) { f.Blocks = f.Blocks[:6] }, "is missing"},
		"extra":                {func(f *Folded) { f.Blocks[7].Text = "more" }, "extra text block"},
		"usage":                {func(f *Folded) { f.Usage.InputTokens = 4 }, "usage.input is 4"},
		"total":                {func(f *Folded) { f.Usage.TotalTokens = 11 }, "usage.total"},
		"response id":          {func(f *Folded) { f.ResponseID = "z" }, "response_id"},
		"response model":       {func(f *Folded) { f.ResponseModel = "m" }, "response_model"},
		"no usage on the wire": {func(f *Folded) { f.Usage = nil }, "usage.input is 0"},
	} {
		got := answer()
		c.change(got)
		p := strings.Join(expected(t).compare(got, nil), "; ")
		if (p == "") != (c.want == "") || !strings.Contains(p, c.want) {
			t.Errorf("%s: got %q, want %q", name, p, c.want)
		}
	}
}

func TestCompareErrors(t *testing.T) {
	no := false
	for name, c := range map[string]struct {
		want *wantError
		err  error
		ok   bool
	}{
		"right":      {&wantError{Kind: "overloaded", Contains: "BUSY"}, &adapters.UpstreamError{Reason: adapters.ReasonOverloaded, Message: "busy"}, true},
		"second":     {&wantError{Kind: "server", Accept: []string{"rate_limit"}}, &adapters.UpstreamError{Reason: adapters.ReasonRateLimited}, true},
		"reason":     {&wantError{Kind: "auth", Accept: []string{"server"}}, &adapters.UpstreamError{Reason: adapters.ReasonProviderError}, false},
		"retryable":  {&wantError{Kind: "overloaded", Retryable: &no}, &adapters.UpstreamError{Reason: adapters.ReasonOverloaded}, false},
		"words":      {&wantError{Kind: "overloaded", Contains: "busy"}, &adapters.UpstreamError{Reason: adapters.ReasonOverloaded}, false},
		"no facts":   {&wantError{Kind: "overloaded"}, errors.New("x"), false},
		"signature":  {&wantError{Kind: "signature"}, &adapters.UpstreamError{Reason: adapters.ReasonSignatureRejected}, true},
		"quota":      {&wantError{Kind: "rate_limit", Retryable: &no}, &adapters.UpstreamError{Reason: adapters.ReasonQuotaExhausted}, true},
		"permission": {&wantError{Kind: "permission"}, &adapters.UpstreamError{Reason: adapters.ReasonPrecondition}, true},
	} {
		r := &recording{StopReason: "error", Error: c.want}
		if p := r.compare(&Folded{}, c.err); (len(p) == 0) != c.ok {
			t.Errorf("%s: got %q", name, p)
		}
	}
	r := &recording{StopReason: "error", Error: &wantError{Kind: "server"}, Accept: map[string]json.RawMessage{"error_message": json.RawMessage(`["ended"]`)}}
	if p := r.compare(&Folded{}, adapters.ErrTruncated); len(p) > 0 {
		t.Errorf("a truncation that the recording accepts: %q", p)
	}
}

// Recordings finds its folder, reads streams and errors, and obeys "skip".
func TestRecordingsOfOurOwn(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("repo/go.mod", "module x\n")
	scenario := func(name, expected, meta, body string) {
		dir := "shared/fixtures/toy/" + name
		write(dir+"/expected.json", expected)
		write(dir+"/meta.json", meta)
		write(dir+"/response.raw", body)
	}
	scenario("stream", `{"scenario":"stream","kind":"stream","stop_reason":"stop","content":[{"type":"text","text":"Hé you"}]}`, `{"status":200}`, toyBody)
	scenario("error", `{"scenario":"error","kind":"error","error":{"kind":"overloaded","message_contains":"busy"}}`, `{"status":503}`, "busy")
	scenario("skipped", `{"scenario":"skipped","kind":"nonstream","skip":{"why":"so"}}`, `{"status":200}`, "{}")
	t.Chdir(filepath.Join(root, "repo"))
	Recordings(t, &toy{}, "toy")
}

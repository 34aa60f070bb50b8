package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// recordedAPIs are the folders of ../shared/fixtures with the wire API that llmd
// calls them by, and what a base URL of it ends with.
var recordedAPIs = []struct{ folder, api, base string }{
	{"anthropic-messages", "anthropic-messages", ""},
	{"openai-completions", "openai-completions", "/v1"},
	{"openai-responses", "openai-responses", "/v1"},
	{"google-generative-ai", "google-generative-ai", ""},
	{"google-vertex", "google-vertex", ""},
	{"bedrock-converse-stream", "bedrock-converse-stream", ""},
	{"mistral", "mistral-conversations", "/v1"},
}

// recording is one recorded answer with what an independent reader made of it.
type recording struct {
	folder, api, dir string
	base             string

	Scenario  string           `json:"scenario"`
	Provider  string           `json:"provider"`
	Model     string           `json:"model"`
	Kind      string           `json:"kind"`
	Skip      json.RawMessage  `json:"skip"`
	Content   []recordedBlock  `json:"content"`
	Stop      string           `json:"stop_reason"`
	StopWord  *string          `json:"provider_stop_reason"`
	Usage     map[string]*int  `json:"usage"`
	ID        *string          `json:"response_id"`
	RespModel *string          `json:"response_model"`
	Error     *recordedError   `json:"error"`
	ErrorHas  string           `json:"error_message_contains"`
	Accept    map[string][]any `json:"accept"`

	status int
	header map[string]string
	body   []byte
}

type recordedBlock struct {
	Type, Text, Thinking, Name string
	ID                         *string
	Signature                  *string
	SignatureKind              string   `json:"signature_kind"`
	SignatureHas               []string `json:"signature_contains"`
	Redacted, Optional         bool
	Split                      bool            `json:"split_allowed"`
	Arguments                  json.RawMessage `json:"arguments"`
	ArgumentsText              *string         `json:"arguments_text"`
}

type recordedError struct {
	Kind      string   `json:"kind"`
	Accept    []string `json:"accept_kinds"`
	Retryable *bool    `json:"retryable"`
	Contains  string   `json:"message_contains"`
	Status    int      `json:"status"`
}

// loadRecordings reads the recordings of the wire APIs that llmd speaks.
func loadRecordings(t testing.TB, folders ...string) []*recording {
	t.Helper()
	var all []*recording
	for _, a := range recordedAPIs {
		if len(folders) > 0 && !slices.Contains(folders, a.folder) {
			continue
		}
		files, err := filepath.Glob(filepath.Join(shared(t, "fixtures", a.folder), "*", "expected.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no recordings of %s: %v", a.folder, err)
		}
		for _, f := range files {
			r := &recording{folder: a.folder, api: a.api, dir: filepath.Dir(f), base: a.base}
			readJSON(t, f, r)
			var meta struct {
				Status  int               `json:"status"`
				Headers map[string]string `json:"headers"`
			}
			readJSON(t, filepath.Join(r.dir, "meta.json"), &meta)
			r.status, r.header = meta.Status, transferless(meta.Headers)
			if r.body, err = os.ReadFile(filepath.Join(r.dir, "response.raw")); err != nil {
				t.Fatal(err)
			}
			if r.Provider == "aws-bedrock" {
				r.Provider = "amazon-bedrock"
			}
			if string(r.Skip) == "" || string(r.Skip) == "null" {
				all = append(all, r)
			}
		}
	}
	return all
}

// transferless drops the headers about the transfer, which is another one here.
func transferless(h map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range h {
		switch strings.ToLower(k) {
		case "transfer-encoding", "content-length", "connection", "date", "content-encoding":
		default:
			out[k] = v
		}
	}
	return out
}

func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func (r *recording) name() string { return r.folder + "/" + r.Scenario }

func (r *recording) script() *script {
	return &script{status: r.status, header: r.header, body: r.body}
}

// request is a minimal conversation that leads to the answer.
func (r *recording) request(prompt string) *llmdv1.StreamRequest {
	var tools []string
	for _, b := range r.Content {
		if b.Type == "tool_call" && validName(b.Name) && !slices.Contains(tools, b.Name) {
			tools = append(tools, b.Name)
		}
	}
	return &llmdv1.StreamRequest{Generation: ask(r.Provider+"/"+r.Model, prompt, tools...)}
}

func validName(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(c rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", c)
	})
}

// hostsOf makes one provider for each that the recordings name.
func hostsOf(up *replay, rs []*recording) []*host {
	by := map[string]*host{}
	var hosts []*host
	for _, r := range rs {
		h := by[r.folder+" "+r.Provider]
		if h == nil {
			h = &host{ID: r.Provider, API: r.api, Base: up.URL + r.base}
			by[r.folder+" "+r.Provider] = h
			hosts = append(hosts, h)
		}
		thinks := slices.ContainsFunc(r.Content, func(b recordedBlock) bool { return b.Type == "thinking" })
		i := slices.IndexFunc(h.Models, func(m model) bool { return m.ID == r.Model })
		if i < 0 {
			h.Models = append(h.Models, model{ID: r.Model})
			i = len(h.Models) - 1
		}
		h.Models[i].Reasoning = h.Models[i].Reasoning || thinks
	}
	return hosts
}

// TestRecordings plays real providers' bytes, whole and in small reads, to a real
// client.
func TestRecordings(t *testing.T) {
	for _, a := range recordedAPIs {
		t.Run(a.folder, func(t *testing.T) {
			rs := loadRecordings(t, a.folder)
			up := newReplay(t)
			l := start(t, hostsOf(up, rs)...)
			for _, every := range []int{0, 1, 7, 64} {
				t.Run(fmt.Sprintf("reads of %d", every), func(t *testing.T) {
					for _, r := range rs {
						t.Run(r.Scenario, func(t *testing.T) {
							t.Parallel()
							s := r.script()
							s.every = every
							o := l.stream(limited(t, 60*time.Second), r.request(up.add(s)), nil)
							r.check(t, o)
						})
					}
				})
			}
		})
	}
}

func (r *recording) accepts(field string, got any) bool {
	return slices.ContainsFunc(r.Accept[field], func(x any) bool { return fmt.Sprint(x) == fmt.Sprint(got) })
}

// check compares what a client saw with what the recording says.
func (r *recording) check(t *testing.T, o *outcome) {
	t.Helper()
	for _, f := range o.Faults {
		t.Errorf("grammar: %s", f)
	}
	stops := map[string]string{"stop": "STOP", "length": "LENGTH", "tool_use": "TOOL_USE", "error": "ERROR", "aborted": "ABORTED"}
	if got, want := o.Stop(), stops[r.Stop]; got != want && !r.accepts("stop_reason", strings.ToLower(got)) {
		t.Fatalf("stop reason %s, want %s (%s)", got, want, o.Words())
	}
	if r.Kind == "error" && len(o.Events) > 0 {
		t.Errorf("%d events before the commit point", len(o.Events))
	}
	r.checkContent(t, o)
	if o.Stop() == "ERROR" {
		r.checkError(t, o)
	}
	if o.Message == nil {
		return
	}
	r.checkUsage(t, o.Message.GetUsage())
	if r.ID != nil && o.Message.GetProviderResponseId() != *r.ID && !r.accepts("response_id", o.Message.GetProviderResponseId()) {
		t.Errorf("provider_response_id %q, want %q", o.Message.GetProviderResponseId(), *r.ID)
	}
	if got := o.Message.GetResponseModel(); r.RespModel != nil && got != *r.RespModel && !r.accepts("response_model", got) {
		t.Errorf("response_model %q, want %q", got, *r.RespModel)
	}
	if o.Message.GetProvider() != r.Provider || o.Message.GetModel() != r.Model || o.Message.GetApi() != r.api {
		t.Errorf("the message names %s %s %s", o.Message.GetApi(), o.Message.GetProvider(), o.Message.GetModel())
	}
}

func (r *recording) checkUsage(t *testing.T, u *llmdv1.Usage) {
	t.Helper()
	got := map[string]int32{
		"input": u.GetInputTokens(), "cache_read": u.GetCacheReadTokens(), "cache_write": u.GetCacheWriteTokens(),
		"output": u.GetOutputTokens(), "reasoning": u.GetReasoningTokens(),
	}
	for k, n := range got {
		want := r.Usage[k]
		if r.Usage == nil && n != 0 && !u.GetEstimated() {
			t.Errorf("usage.%s is %d though the wire has none", k, n)
		}
		if want != nil && int(n) != *want && !r.accepts("usage."+k, n) {
			t.Errorf("usage.%s is %d, want %d", k, n, *want)
		}
	}
}

func (r *recording) checkError(t *testing.T, o *outcome) {
	t.Helper()
	if r.Error == nil {
		if r.ErrorHas != "" && !containsFold(o.Words(), r.ErrorHas) {
			t.Errorf("the error does not say %q: %s", r.ErrorHas, o.Words())
		}
		return
	}
	var want []string
	for _, k := range append([]string{r.Error.Kind}, r.Error.Accept...) {
		want = append(want, reasonsOf(k)...)
	}
	if !slices.Contains(want, o.Reason()) {
		t.Errorf("reason %s, want one of %v: %s", o.Reason(), want, o.Words())
	}
	if r.Error.Contains != "" && !containsFold(o.Words(), r.Error.Contains) && len(o.Status.Message()) < 200 {
		t.Errorf("the error does not say %q: %s", r.Error.Contains, o.Words())
	}
}

// reasonsOf are the rows of contract section 3 for the kinds of ../shared/cases/SCHEMA.md.
func reasonsOf(kind string) []string {
	return map[string][]string{
		"rate_limit":       {"RATE_LIMITED", "QUOTA_EXHAUSTED"},
		"quota":            {"QUOTA_EXHAUSTED"},
		"overloaded":       {"PROVIDER_OVERLOADED"},
		"server":           {"PROVIDER_ERROR", "PROVIDER_OVERLOADED"},
		"context_overflow": {"CONTEXT_LENGTH_EXCEEDED"},
		"auth":             {"PROVIDER_CREDENTIALS_INVALID"},
		"permission":       {"PROVIDER_PERMISSION_DENIED", "PROVIDER_PRECONDITION"},
		"invalid_request":  {"PROVIDER_REJECTED_REQUEST", "SIGNATURE_REJECTED", "PROMPT_BLOCKED", "REQUEST_TOO_LARGE"},
		"not_found":        {"MODEL_NOT_FOUND"},
		"refusal":          {"CONTENT_FILTERED", "PROMPT_BLOCKED"},
		"content_filter":   {"CONTENT_FILTERED", "PROMPT_BLOCKED"},
	}[kind]
}

func containsFold(a, b string) bool { return strings.Contains(strings.ToLower(a), strings.ToLower(b)) }

// speaking drops blocks that have no counterpart in a recording's result: untyped
// ones, and empty ones without a signature.
func speaking(o *outcome) []*llmdv1.AssistantContent {
	var out []*llmdv1.AssistantContent
	for _, c := range o.Message.GetContent() {
		if c.GetProviderContent() == nil && (c.GetToolCall() != nil || harness.TextOf(c) != "" || c.GetText().GetSignature() != nil || c.GetThinking().GetSignature() != nil || c.GetThinking().GetRedacted()) {
			out = append(out, c)
		}
	}
	return out
}

func (r *recording) checkContent(t *testing.T, o *outcome) {
	t.Helper()
	got := speaking(o)
	var signatures strings.Builder
	for _, c := range got {
		signatures.Write(signatureOf(c).GetData())
	}
	for i, w := range r.Content {
		if w.Optional && (len(got) == 0 || harness.KindOf(got[0]) != w.Type || w.Text+w.Thinking == "" && harness.TextOf(got[0]) != "") {
			continue
		}
		if len(got) == 0 {
			if w.Text+w.Thinking != "" || w.Type == "tool_call" || w.Redacted || w.Signature != nil {
				t.Errorf("content[%d] (%s) is missing", i, w.Type)
			}
			continue
		}
		c := got[0]
		if harness.KindOf(c) != w.Type {
			if w.Text+w.Thinking == "" && w.Type != "tool_call" && w.Signature == nil {
				continue
			}
			t.Errorf("content[%d] is %s, want %s", i, harness.KindOf(c), w.Type)
			return
		}
		got = got[1:]
		for w.Split && harness.TextOf(c) != w.Text+w.Thinking && len(got) > 0 && harness.KindOf(got[0]) == w.Type {
			c = joined(c, got[0])
			got = got[1:]
		}
		w.check(t, i, c, signatures.String())
	}
	for _, c := range got {
		t.Errorf("an extra %s: %.60q", harness.KindOf(c), harness.TextOf(c))
	}
}

// joined is two blocks that a recording's result counts as one.
func joined(a, b *llmdv1.AssistantContent) *llmdv1.AssistantContent {
	a = proto.CloneOf(a)
	if x := a.GetText(); x != nil {
		x.Text += b.GetText().GetText()
	} else if x := a.GetThinking(); x != nil {
		x.Thinking += b.GetThinking().GetThinking()
	}
	return a
}

func signatureOf(c *llmdv1.AssistantContent) *llmdv1.Signature {
	switch {
	case c.GetText() != nil:
		return c.GetText().GetSignature()
	case c.GetThinking() != nil:
		return c.GetThinking().GetSignature()
	}
	return c.GetToolCall().GetSignature()
}

func (w *recordedBlock) check(t *testing.T, i int, c *llmdv1.AssistantContent, signatures string) {
	t.Helper()
	if w.Type == "tool_call" {
		w.checkCall(t, i, c.GetToolCall())
	} else if w.Redacted {
		if !c.GetThinking().GetRedacted() || c.GetThinking().GetThinking() != "" {
			t.Errorf("content[%d] must be redacted, with empty text", i)
		}
	} else if got, want := harness.TextOf(c), w.Text+w.Thinking; got != want {
		t.Errorf("content[%d] is %.80q, want %.80q", i, got, want)
	}
	switch w.SignatureKind {
	case "opaque":
		if w.Signature != nil && string(signatureOf(c).GetData()) != *w.Signature {
			t.Errorf("content[%d] has another signature", i)
		}
	case "reasoning_details_json":
		for _, s := range w.SignatureHas {
			if !strings.Contains(signatures, s) {
				t.Errorf("content[%d]: no signature holds %.40q", i, s)
			}
		}
	}
}

func (w *recordedBlock) checkCall(t *testing.T, i int, c *llmdv1.ToolCall) {
	t.Helper()
	if w.ID != nil {
		if id, _, _ := strings.Cut(*w.ID, "|"); c.GetId() != id && c.GetId() != *w.ID {
			t.Errorf("content[%d] has the id %q, want %q", i, c.GetId(), *w.ID)
		}
	}
	if c.GetName() != w.Name {
		t.Errorf("content[%d] calls %q, want %q", i, c.GetName(), w.Name)
	}
	if w.ArgumentsText != nil && isObject(*w.ArgumentsText) {
		if c.GetArgumentsJson() != *w.ArgumentsText {
			t.Errorf("content[%d] has the arguments %.80q, want %.80q", i, c.GetArgumentsJson(), *w.ArgumentsText)
		}
	} else if len(w.Arguments) > 0 && !sameJSON(c.GetArgumentsJson(), string(w.Arguments)) {
		t.Errorf("content[%d] has the arguments %.80q, want %.80q", i, c.GetArgumentsJson(), w.Arguments)
	}
}

func isObject(s string) bool {
	var v map[string]json.RawMessage
	return json.Unmarshal([]byte(s), &v) == nil && v != nil
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && fmt.Sprint(x) == fmt.Sprint(y)
}

// TestRecordingsComplete: the unary RPC says the same as the stream.
func TestRecordingsComplete(t *testing.T) {
	rs := loadRecordings(t)
	up := newReplay(t)
	for _, a := range recordedAPIs {
		mine := slices.DeleteFunc(slices.Clone(rs), func(r *recording) bool { return r.folder != a.folder || r.Kind == "error" || r.Stop == "error" })
		l := start(t, hostsOf(up, mine)...)
		for _, r := range mine {
			streamed := l.stream(limited(t, 30*time.Second), r.request(up.add(r.script())), nil)
			got, err := l.Complete(limited(t, 30*time.Second), &llmdv1.CompleteRequest{Generation: r.request(up.add(r.script())).GetGeneration()})
			if err != nil {
				t.Errorf("%s: %v", r.name(), err)
				continue
			}
			want := proto.CloneOf(streamed.Message)
			want.ResponseId, want.CreateTime = got.GetMessage().GetResponseId(), got.GetMessage().GetCreateTime()
			for i, c := range want.GetContent() {
				// Ids that llmd makes hold the response's id.
				if tc := c.GetToolCall(); tc != nil && strings.HasPrefix(tc.GetId(), "call_") && i < len(got.GetMessage().GetContent()) {
					tc.Id = got.GetMessage().GetContent()[i].GetToolCall().GetId()
				}
			}
			if !proto.Equal(want, got.GetMessage()) {
				t.Errorf("%s: Complete and Stream differ", r.name())
			}
		}
	}
}

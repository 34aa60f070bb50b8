package openairesponses

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// recording is one folder of ../shared/fixtures.
type recording struct {
	Scenario, Kind, Provider, Model string
	Content                         []expectedBlock
	Stop                            string  `json:"stop_reason"`
	Word                            *string `json:"provider_stop_reason"`
	Usage                           map[string]int32
	ID                              *string `json:"response_id"`
	RespModel                       *string `json:"response_model"`
	Error                           *struct {
		Kind     string
		Contains string   `json:"message_contains"`
		Accept   []string `json:"accept_kinds"`
	}
	Accept map[string][]*string
	body   []byte
	meta   struct {
		Status       int
		Conversation struct{ ID string }
	}
	request struct{ Input []json.RawMessage }
}

type expectedBlock struct {
	Type, Text, Thinking, Name, Namespace string
	CallID                                string   `json:"call_id"`
	ItemID                                string   `json:"item_id"`
	Arguments                             *string  `json:"arguments_text"`
	Signature                             []string `json:"signature_contains"`
}

func recordings(t *testing.T) []*recording {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(shared(t, "fixtures", apiOpenAI), "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	var rs []*recording
	for _, dir := range dirs {
		r := &recording{}
		load := func(name string, v any) {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil {
				err = json.Unmarshal(b, v)
			}
			// A request's input may be a mere string.
			if wrong := (*json.UnmarshalTypeError)(nil); err != nil && !errors.As(err, &wrong) {
				t.Fatalf("%s/%s: %v", dir, name, err)
			}
		}
		load("expected.json", r)
		load("meta.json", &r.meta)
		load("request.json", &r.request)
		if r.body, err = os.ReadFile(filepath.Join(dir, "response.raw")); err != nil {
			t.Fatal(err)
		}
		rs = append(rs, r)
	}
	return rs
}

func TestRecordings(t *testing.T) {
	for _, r := range recordings(t) {
		t.Run(r.Scenario, func(t *testing.T) {
			if r.Kind == "error" {
				r.checkError(t, New().DecodeError(r.meta.Status, nil, r.body))
				return
			}
			a, err := decode(t, bytes.NewReader(r.body))
			r.check(t, a, err)
			again, err := decode(t, iotest.OneByteReader(bytes.NewReader(r.body)))
			r.check(t, again, err)
			if d := cmp.Diff(summary(a), summary(again), cmp.AllowUnexported(block{})); d != "" {
				t.Errorf("read in bytes it differs:\n%s", d)
			}
		})
	}
}

// summary is an answer without what cannot be compared.
func summary(a *answer) []block {
	var bs []block
	for _, b := range a.blocks {
		bs = append(bs, *b)
	}
	return bs
}

func (r *recording) check(t *testing.T, a *answer, err error) {
	t.Helper()
	var up *adapters.UpstreamError
	if r.Stop == "error" {
		if errors.As(err, &up) {
			r.checkError(t, up)
		} else if a.stop == nil || a.stop.Err == nil {
			t.Errorf("no error: %v", err)
		} else {
			r.checkError(t, a.stop.Err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]llmdv1.StopReason{
		"stop": llmdv1.StopReason_STOP_REASON_STOP, "length": llmdv1.StopReason_STOP_REASON_LENGTH,
		"tool_use": llmdv1.StopReason_STOP_REASON_TOOL_USE,
	}[r.Stop]
	if got := a.stopReason(); got != want {
		t.Errorf("stop reason %s, want %s", got, want)
	}
	if !a.complete {
		t.Error("the decoder did not say that it is complete")
	}
	if r.Word != nil && a.stop.Name != *r.Word {
		t.Errorf("stop word %q, want %q", a.stop.Name, *r.Word)
	}
	if r.ID != nil && a.id != *r.ID && !r.accepts("response_id", a.id) {
		t.Errorf("response id %q, want %q", a.id, *r.ID)
	}
	if r.RespModel != nil && a.model != *r.RespModel && !r.accepts("response_model", a.model) {
		t.Errorf("model %q, want %q", a.model, *r.RespModel)
	}
	got := map[string]int32{
		"input": a.usage.GetInputTokens(), "cache_read": a.usage.GetCacheReadTokens(), "cache_write": a.usage.GetCacheWriteTokens(),
		"output": a.usage.GetOutputTokens(), "reasoning": a.usage.GetReasoningTokens(),
	}
	if d := cmp.Diff(r.Usage, got); d != "" {
		t.Errorf("usage: %s", d)
	}
	if sum := got["input"] + got["cache_read"] + got["cache_write"] + got["output"]; sum != a.usage.GetTotalTokens() {
		t.Errorf("total %d, the buckets make %d", a.usage.GetTotalTokens(), sum)
	}
	r.checkContent(t, a)
}

func (r *recording) accepts(field, got string) bool {
	for _, a := range r.Accept[field] {
		if a == nil && got == "" || a != nil && *a == got {
			return true
		}
	}
	return false
}

func (r *recording) checkContent(t *testing.T, a *answer) {
	t.Helper()
	var got, want []expectedBlock
	signatures := map[int]string{}
	for _, b := range a.blocks {
		if !b.ended && r.Stop != "length" {
			t.Errorf("block %q has no end", b.text)
		}
		e := expectedBlock{}
		switch b.kind {
		case adapters.PartText:
			e.Type, e.Text = "text", jsonwire.Clean(b.text)
		case adapters.PartThinking:
			e.Type, e.Thinking = "thinking", jsonwire.Clean(b.text)
		case adapters.PartToolCall:
			e.Type, e.Name, e.Namespace, e.CallID, e.Arguments = "tool_call", b.name, b.namespace, b.id, &b.text
			if b.format == formatItemID {
				e.ItemID = b.signature
			}
		default:
			continue
		}
		signatures[len(got)] = b.signature
		got = append(got, e)
	}
	for i, w := range r.Content {
		for _, s := range w.Signature {
			if !strings.Contains(signatures[i], s) {
				t.Errorf("the signature of block %d does not hold %.40q", i, s)
			}
		}
		w.Signature = nil
		if w.Arguments == nil && i < len(got) {
			got[i].Arguments = nil // the recording does not say
		}
		want = append(want, w)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("content:\n%s", d)
	}
}

func (r *recording) checkError(t *testing.T, e *adapters.UpstreamError) {
	t.Helper()
	want := map[string]string{
		"not_found": adapters.ReasonModelNotFound, "auth": adapters.ReasonCredentialsInvalid, "quota": adapters.ReasonQuotaExhausted,
	}[r.Error.Kind]
	if e.Reason != want || !strings.Contains(e.Message, r.Error.Contains) {
		t.Errorf("%s %q, want %s with %q", e.Reason, e.Message, want, r.Error.Contains)
	}
}

// TestRecordingsTruncated cuts each recording after every frame: before the terminal
// marker nothing may look like an end.
func TestRecordingsTruncated(t *testing.T) {
	for _, r := range recordings(t) {
		if r.Kind != "stream" || r.Stop == "error" {
			continue
		}
		frames := bytes.SplitAfter(bytes.ReplaceAll(r.body, []byte("\r\n"), []byte("\n")), []byte("\n\n"))
		d := New().NewDecoder(nil)
		var sink adapters.Sink
		reader := frame.NewReader(frame.SSE, bytes.NewReader(bytes.Join(frames, nil)), 0)
		for {
			f, err := reader.Next()
			if err != nil {
				t.Fatalf("%s: no terminal marker: %v", r.Scenario, err)
			}
			if terminal(f.Data) {
				break
			}
			sink.Reset()
			if err := d.Decode(f, &sink); err != nil {
				t.Fatalf("%s: %v", r.Scenario, err)
			}
			for _, p := range sink.Parts {
				if p.Kind == adapters.PartStop || p.Kind == adapters.PartComplete {
					t.Fatalf("%s: an end before the marker", r.Scenario)
				}
			}
			if !errors.Is(d.Finish(&sink), adapters.ErrTruncated) {
				t.Fatalf("%s: not truncated before the marker", r.Scenario)
			}
		}
	}
}

func terminal(data []byte) bool {
	var e struct{ Type string }
	return json.Unmarshal(data, &e) == nil && (e.Type == "response.completed" || e.Type == "response.incomplete" || e.Type == "response.failed")
}

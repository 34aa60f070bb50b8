package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonstream"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// expected is what an independent implementation reads from a recording.
type expected struct {
	Kind    string
	Content []struct {
		Type, Text, Thinking, Signature string
		Redacted                        bool
		ID, Name                        string
		Arguments                       json.RawMessage
		ArgumentsText                   string `json:"arguments_text"`
	}
	Stop          string         `json:"stop_reason"`
	Word          string         `json:"provider_stop_reason"`
	Usage         map[string]any `json:"usage"`
	ID            string         `json:"response_id"`
	Model         string         `json:"response_model"`
	Unrepresented map[string]int `json:"unrepresented"`
	Says          string         `json:"error_message_contains"`
	Skip          json.RawMessage
	Segments      []expected
	Error         struct{ Kind string }
}

type recording struct {
	name     string
	body     []byte
	expected expected
	meta     struct {
		Status  int
		Headers map[string]string
	}
}

func recordings(t *testing.T) []recording {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(shared(t, "fixtures", "anthropic-messages"), "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	var rs []recording
	for _, dir := range dirs {
		r := recording{name: filepath.Base(dir)}
		for file, v := range map[string]any{"expected.json": &r.expected, "meta.json": &r.meta} {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				continue
			}
			if err := json.Unmarshal(text, v); err != nil {
				t.Fatalf("%s: %v", dir, err)
			}
		}
		if r.body, err = os.ReadFile(filepath.Join(dir, "response.raw")); err != nil {
			t.Fatal(err)
		}
		if r.expected.Kind != "" {
			rs = append(rs, r)
		}
	}
	return rs
}

func TestRecordings(t *testing.T) {
	for _, r := range recordings(t) {
		t.Run(r.name, func(t *testing.T) {
			switch {
			case r.expected.Kind == "error":
				checkError(t, &r)
			case r.expected.Segments != nil:
				checkSegments(t, &r)
			default:
				// A body that is no stream is read all the same, see decoder.whole.
				checkAnswer(t, foldText(t, string(r.body)), &r.expected)
			}
		})
	}
}

// checkSegments reads a file that holds the answers of several requests.
func checkSegments(t *testing.T, r *recording) {
	parts := strings.Split(string(r.body), "event: message_start")
	if len(parts)-1 != len(r.expected.Segments) {
		t.Fatalf("%d answers, want %d", len(parts)-1, len(r.expected.Segments))
	}
	for i, e := range r.expected.Segments {
		e.Kind = "stream"
		checkAnswer(t, foldText(t, "event: message_start"+parts[i+1]), &e)
	}
	// A real stream ends at the first message_stop.
	first := r.expected.Segments[0]
	first.Kind = "stream"
	checkAnswer(t, foldText(t, string(r.body)), &first)
}

func checkAnswer(t *testing.T, f *folded, want *expected) {
	t.Helper()
	if f.err != nil || !f.complete {
		t.Fatalf("error %v, complete %v", f.err, f.complete)
	}
	stops := map[string]string{"stop": "STOP", "length": "LENGTH", "tool_use": "TOOL_USE", "error": "ERROR"}
	if got := strings.TrimPrefix(f.stop.String(), "STOP_REASON_"); got != stops[want.Stop] {
		t.Errorf("stop is %s, want %s", got, want.Stop)
	}
	for name, pair := range map[string][2]string{
		"word": {f.word, want.Word}, "id": {f.id, want.ID}, "model": {f.model, want.Model},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %q, want %q", name, pair[0], pair[1])
		}
	}
	if want.Says != "" && (f.failure == nil || f.failure.Reason != adapters.ReasonContentFiltered || !strings.Contains(f.failure.Message, want.Says)) {
		t.Errorf("the failure is %+v, want words %q", f.failure, want.Says)
	}
	checkUsage(t, f, want.Usage)
	checkBlocks(t, f, want)
}

func checkUsage(t *testing.T, f *folded, want map[string]any) {
	t.Helper()
	got := map[string]int32{
		"input": f.usage.GetInputTokens(), "output": f.usage.GetOutputTokens(), "cache_read": f.usage.GetCacheReadTokens(),
		"cache_write": f.usage.GetCacheWriteTokens(), "reasoning": f.usage.GetReasoningTokens(),
	}
	sum := int32(0)
	for k, v := range got {
		if w, ok := want[k].(float64); ok && int32(w) != v {
			t.Errorf("usage %s is %d, want %v", k, v, w)
		}
		if k != "reasoning" {
			sum += v
		}
	}
	if f.usage.GetTotalTokens() != sum {
		t.Errorf("total is %d, want %d", f.usage.GetTotalTokens(), sum)
	}
}

func checkBlocks(t *testing.T, f *folded, want *expected) {
	t.Helper()
	unrepresented := map[string]int{}
	i := 0
	for _, b := range f.blocks {
		if !b.ended {
			t.Errorf("open: %s", b.describe())
		}
		if b.kind == "provider_content" {
			if !json.Valid([]byte(b.text)) {
				t.Errorf("provider content is no JSON: %s", b.text)
			}
			if b.name != citationsKind {
				unrepresented[b.name]++
			}
			continue
		}
		if i == len(want.Content) {
			t.Fatalf("an extra block: %s", b.describe())
		}
		w := want.Content[i]
		i++
		text := w.Text + w.Thinking
		switch {
		case b.kind != w.Type || b.signature != w.Signature || b.redacted != w.Redacted || b.id != w.ID || b.name != w.Name:
			t.Errorf("block %d is %s, want %+v", i-1, b.describe(), w)
		case w.Type == "tool_call" && w.ArgumentsText != "" && b.text != w.ArgumentsText:
			t.Errorf("arguments are %s, want %s", b.text, w.ArgumentsText)
		case w.Type == "tool_call" && !sameJSON(t, jsonstream.Repair([]byte(b.text)).JSON, string(w.Arguments)):
			t.Errorf("arguments are %s, want %s", b.text, w.Arguments)
		case w.Type != "tool_call" && jsonwire.Clean(b.text) != text:
			t.Errorf("text is %q, want %q", b.text, text)
		}
	}
	if i < len(want.Content) {
		t.Errorf("%d blocks, want %d", i, len(want.Content))
	}
	if want.Unrepresented != nil && !reflect.DeepEqual(unrepresented, want.Unrepresented) {
		t.Errorf("provider content %v, want %v", unrepresented, want.Unrepresented)
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y)); err != nil {
		t.Errorf("%s, %s: %v", a, b, err)
	}
	return reflect.DeepEqual(x, y)
}

func checkError(t *testing.T, r *recording) {
	header := http.Header{}
	for k, v := range r.meta.Headers {
		header.Set(k, v)
	}
	e := New().DecodeError(r.meta.Status, header, r.body)
	reasons := map[string]string{"invalid_request": adapters.ReasonRejectedRequest, "not_found": adapters.ReasonModelNotFound}
	if want := reasons[r.expected.Error.Kind]; e.Reason != want {
		t.Errorf("reason %s, want %s", e.Reason, want)
	}
	if !strings.Contains(e.Message, r.expected.Says) || e.Status != r.meta.Status {
		t.Errorf("status %d, message %q, want %d, %q", e.Status, e.Message, r.meta.Status, r.expected.Says)
	}
	if id := header.Get("request-id"); id != "" && e.RequestID != id {
		t.Errorf("request id %q, want %q", e.RequestID, id)
	}
}

// TestTruncatedRecordings ends each stream after every frame: before the terminal
// marker there is no stop, and the end says that something is missing.
func TestTruncatedRecordings(t *testing.T) {
	for _, r := range recordings(t) {
		if r.expected.Kind != "stream" || r.expected.Segments != nil {
			continue
		}
		frames := frame.NewReader(frame.SSE, bytes.NewReader(r.body), 0)
		d := New().NewDecoder(&adapters.Call{})
		stopped := false
		for {
			f, err := frames.Next()
			if err != nil {
				break
			}
			var sink adapters.Sink
			if err := d.Decode(f, &sink); err != nil {
				t.Fatalf("%s: %v", r.name, err)
			}
			for _, p := range sink.Parts {
				stopped = stopped || p.Kind == adapters.PartStop || p.Kind == adapters.PartComplete
			}
			marker := f.Event == "message_stop"
			// This Finish changes nothing, so it may be asked at every place.
			if err := d.Finish(&sink); stopped != marker || marker == errors.Is(err, adapters.ErrTruncated) {
				t.Fatalf("%s: ended after frame %d, stopped %v, error %v", r.name, f.Index, stopped, err)
			}
			if marker {
				break
			}
		}
		if !stopped {
			t.Errorf("%s: no marker", r.name)
		}
	}
}

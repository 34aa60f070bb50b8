package adaptertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Option changes what [Recordings] does.
type Option func(*config)

type config struct {
	model func(provider, id string) *profile.Model
}

// WithModels gives the models that recorded answers are read for, by the
// recording's ids of provider and model. Default: a model with every ability and
// the default flags of the API.
func WithModels(model func(provider, id string) *profile.Model) Option {
	return func(c *config) { c.model = model }
}

// Recordings reads every recorded answer of an API, streams and errors, under
// ../shared/fixtures beside the repository, and compares it with what the
// recording says is right. api is the folder's name there. Without that folder the
// test is skipped, or fails where CI=true.
func Recordings(t *testing.T, a adapters.Adapter, api string, options ...Option) {
	t.Helper()
	c := config{model: func(provider, id string) *profile.Model { return defaultModel(a.API(), provider, id) }}
	for _, o := range options {
		o(&c)
	}
	dir := filepath.Join(sharedFolder(t), "fixtures", api)
	paths, err := filepath.Glob(filepath.Join(dir, "*", "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatalf("no recordings of %q", api)
	}
	for _, path := range paths {
		r, err := readRecording(filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(r.Scenario, func(t *testing.T) {
			switch {
			case len(r.Skip) > 0:
				t.Skip("the recording says so")
			case r.Kind == "error":
				checkErrorBody(t, a, r)
			default:
				checkRecording(t, a, c.model(r.Provider, r.Model), r)
			}
		})
	}
}

// sharedFolder finds the folder beside the repository.
func sharedFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("not inside the repository")
		}
		dir = filepath.Dir(dir)
	}
	shared := filepath.Join(filepath.Dir(dir), "shared")
	if _, err := os.Stat(filepath.Join(shared, "fixtures")); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("../shared/fixtures is absent")
		}
		t.Skip("../shared is absent: the recordings live beside the checkout")
	}
	return shared
}

// checkRecording checks a recorded stream.
func checkRecording(t *testing.T, a adapters.Adapter, m *profile.Model, r *recording) {
	t.Helper()
	call := NewCall(m, r.toolNames()...)
	parts, err := Decode(a, call, bytes.NewReader(r.body))
	got, lines := Fold(parts), Lines(parts, err)
	p := r.compare(got, err)
	for _, fault := range got.Faults {
		p.add("bad part: %s", fault)
	}
	for _, size := range []int{1, 7, 64} {
		if again := Lines(Decode(a, call, &pieces{r.body, []int{size}})); again != lines {
			p.add("in reads of %d bytes the parts are\n%s\nnot\n%s", size, again, lines)
			break
		}
	}
	frames, frameErr := readFrames(a.Framing(), r.body)
	if frameErr != nil {
		t.Fatal(frameErr)
	}
	c := cutter{a: a, call: call, body: r.body, frames: frames}
	if marker := c.run(); err == nil {
		c.boundaries(got, marker)
		c.places(got)
	}
	for _, problem := range append(p, c.problems...) {
		t.Error(problem)
	}
}

// checkErrorBody checks a recorded HTTP error.
func checkErrorBody(t *testing.T, a adapters.Adapter, r *recording) {
	t.Helper()
	e := a.DecodeError(r.meta.Status, r.header(), r.body)
	if e == nil {
		t.Fatal("DecodeError gives nil")
	}
	if e.Status != r.meta.Status {
		t.Errorf("status %d, want %d", e.Status, r.meta.Status)
	}
	for _, problem := range r.compareError(e) {
		t.Error(problem)
	}
}

// recording is an expected.json with the files beside it.
type recording struct {
	Scenario      string                     `json:"scenario"`
	Provider      string                     `json:"provider"`
	Model         string                     `json:"model"`
	Kind          string                     `json:"kind"`
	Content       []wantBlock                `json:"content"`
	StopReason    string                     `json:"stop_reason"`
	ProviderStop  *string                    `json:"provider_stop_reason"`
	Usage         map[string]*int32          `json:"usage"`
	ResponseID    *string                    `json:"response_id"`
	ResponseModel *string                    `json:"response_model"`
	Error         *wantError                 `json:"error"`
	ErrorContains string                     `json:"error_message_contains"`
	Accept        map[string]json.RawMessage `json:"accept"`
	Skip          json.RawMessage            `json:"skip"`

	api  string
	body []byte
	meta struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
	}
}

// wantBlock is one expected block.
type wantBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature *string         `json:"signature"`
	SigKind   string          `json:"signature_kind"`
	SigHas    []string        `json:"signature_contains"`
	Redacted  bool            `json:"redacted"`
	Optional  bool            `json:"optional"`
	Split     bool            `json:"split_allowed"`
	ID        *string         `json:"id"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Arguments json.RawMessage `json:"arguments"`
	ArgsText  *string         `json:"arguments_text"`
}

// wantError is an expected error.
type wantError struct {
	Kind      string   `json:"kind"`
	Accept    []string `json:"accept_kinds"`
	Retryable *bool    `json:"retryable"`
	Contains  string   `json:"message_contains"`
}

func readRecording(dir string) (*recording, error) {
	r := &recording{api: filepath.Base(filepath.Dir(dir))}
	var err error
	if r.body, err = os.ReadFile(filepath.Join(dir, "response.raw")); err != nil {
		return nil, err
	}
	return r, errors.Join(
		readJSON(filepath.Join(dir, "expected.json"), r),
		readJSON(filepath.Join(dir, "meta.json"), &r.meta))
}

func readJSON(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

func (r *recording) header() http.Header {
	h := http.Header{}
	for k, v := range r.meta.Headers {
		h.Set(k, v)
	}
	return h
}

// toolNames are the tools that the recorded answer calls.
func (r *recording) toolNames() []string {
	ok := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	seen := map[string]bool{}
	var names []string
	for _, b := range r.Content {
		if b.Type == KindToolCall && !seen[b.Name] && ok.MatchString(b.Name) {
			seen[b.Name] = true
			names = append(names, b.Name)
		}
	}
	return names
}

// accepts says whether the recording tolerates this value for a field, whose name
// may have two parts: "usage.input" stands as such or as input inside usage.
func (r *recording) accepts(field string, value any) bool {
	text, err := json.Marshal(value)
	if err != nil {
		return false
	}
	list := r.Accept[field]
	if outer, inner, nested := strings.Cut(field, "."); nested && list == nil {
		var group map[string]json.RawMessage
		if json.Unmarshal(r.Accept[outer], &group) == nil {
			list = group[inner]
		}
	}
	var values []json.RawMessage
	if json.Unmarshal(list, &values) != nil {
		return false
	}
	return slices.ContainsFunc(values, func(v json.RawMessage) bool {
		return bytes.Equal(v, text) || string(v) == "null" && string(text) == `""`
	})
}

// stop is the stop reason that the service would report (contract 1.19).
func (f *Folded) stop(err error) string {
	switch {
	case err != nil, f.Stop == llmdv1.StopReason_STOP_REASON_UNSPECIFIED:
		return "error"
	case f.Stop == llmdv1.StopReason_STOP_REASON_STOP && f.Calls():
		return "tool_use"
	case f.Stop == llmdv1.StopReason_STOP_REASON_TOOL_USE && !f.Calls():
		return "stop"
	}
	return strings.ToLower(stopText(f.Stop))
}

package cases

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/llmd-dev/llmd/integration/harness"
)

// testCase is one file. Values that may hold a matcher are any.
type testCase struct {
	ID, Topic, Title, Note, Kind string

	// What the provider answers, for kinds stream and error.
	API, Provider, Model string
	Status               int
	Headers              map[string]string
	Body                 string
	BodyEncoding         string `json:"body_encoding"`
	BodyGen              struct {
		Parts []struct {
			Text, Repeat string
			Count        int
		}
	} `json:"body_gen"`
	Chunking  []int
	End       string
	Heartbeat struct {
		Text    string
		EveryMS int `json:"every_ms"`
	}
	AbortAfter *struct {
		Text string
		MS   int
	} `json:"abort_after"`
	RequestsMax int    `json:"upstream_requests_max"`
	Clock       string // the time that the answer's dates are written for
	MaxMS       int    `json:"max_ms"`

	// What is sent, for kind request.
	Target  target
	Context conversation
	Options options

	Expect expectation
}

type target struct {
	API, Provider, Model string
	BaseURL              string `json:"base_url"`
	Reasoning            bool
	Input                []string
	Compat               map[string]json.RawMessage
}

type options struct {
	Temperature     *float64
	MaxTokens       *int32 `json:"max_tokens"`
	ReasoningEffort string `json:"reasoning_effort"`
	Thinking        *struct {
		Enabled      bool
		Mode, Effort string
		BudgetTokens *int32 `json:"budget_tokens"`
	}
	ToolChoice     string `json:"tool_choice"`
	CacheRetention string `json:"cache_retention"`
	IdleTimeoutMS  int    `json:"idle_timeout_ms"`
}

type expectation struct {
	// Of an answer.
	Content        any
	ContentMode    string   `json:"content_mode"`
	StopReason     any      `json:"stop_reason"`
	ErrorCode      nullable `json:"error_code"`
	ErrorCodeAlt   []string `json:"error_code_alt"`
	ErrorKind      string   `json:"error_kind"`
	ErrorMessage   any      `json:"error_message"`
	Usage          map[string]int32
	ToolExecutable *bool `json:"tool_call_executable"`
	AutoRetrySafe  *bool `json:"auto_retry_safe"`
	MaxMS          int   `json:"max_ms"`
	Retryable      *bool

	// Of a request.
	BodyMust []map[string]any `json:"request_body_must"`

	// Of an error.
	Code         string   `json:"grpc_code"`
	CodeAlt      []string `json:"grpc_code_alt"`
	RetryAfterMS any      `json:"retry_after_ms"`
	Kind         string
	KindAlt      []string `json:"kind_alt"`
	Message      struct {
		Matches    string
		NotMatches string `json:"not_matches"`
		MaxLength  int    `json:"max_length"`
	}
}

// nullable tells null, which is an assertion, from absent, which is none.
type nullable struct {
	given bool
	text  string
}

func (n *nullable) UnmarshalJSON(b []byte) error {
	n.given = true
	return json.Unmarshal(b, &n.text) // null leaves the text empty
}

// TestCases plays every case.
func TestCases(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "cases")
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("../shared/cases is required in CI")
		}
		t.Skip("../shared is absent: the cases live beside the checkout")
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".json"), func(t *testing.T) {
			t.Parallel()
			c := load(t, f)
			switch c.Kind {
			case "stream":
				c.testStream(t)
			case "request":
				c.testRequest(t)
			case "error":
				c.testError(t)
			default:
				t.Fatalf("unknown kind %q", c.Kind)
			}
		})
	}
}

// load reads a case; a field that this package does not know is an error, lest an
// assertion be passed over in silence.
func load(t *testing.T, path string) *testCase {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := &testCase{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if c.Expect.MaxMS == 0 {
		c.Expect.MaxMS = c.MaxMS
	}
	return c
}

// body is what the provider sends.
func (c *testCase) body(t testing.TB) []byte {
	t.Helper()
	if c.BodyEncoding == "base64" {
		b, err := base64.StdEncoding.DecodeString(c.Body)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var b bytes.Buffer
	b.WriteString(c.Body)
	for _, p := range c.BodyGen.Parts {
		b.WriteString(p.Text)
		b.WriteString(strings.Repeat(p.Repeat, p.Count))
	}
	return b.Bytes()
}

// header is the answer's, its dates moved from the case's clock to now.
func (c *testCase) header(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{}
	for k, v := range c.Headers {
		out[k] = v
		date, err := http.ParseTime(v)
		if c.Clock == "" || err != nil {
			continue
		}
		clock, err := time.Parse(time.RFC3339, c.Clock)
		if err != nil {
			t.Fatal(err)
		}
		out[k] = date.Add(time.Since(clock)).UTC().Format(http.TimeFormat)
	}
	return out
}

// Some names of the cases are older than llmd's.
func apiOf(name string) string {
	if name == "mistral" {
		return "mistral-conversations"
	}
	return name
}

func providerOf(name string) string {
	switch name {
	case "aws-bedrock":
		return "amazon-bedrock"
	case "vercel-gateway":
		return "vercel-ai-gateway"
	case "llama-cpp":
		return "llamacpp"
	case "moonshot":
		return "moonshotai"
	}
	return name
}

var hump = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// start runs llmd with the case's provider at this address.
func (c *testCase) start(t *testing.T, url string) *harness.LLMD {
	t.Helper()
	h := &harness.Host{ID: providerOf(c.Provider), API: apiOf(c.API), Base: url}
	m := harness.Model{ID: c.Model, Reasoning: true}
	if c.Kind == "request" {
		h.ID, h.API = providerOf(c.Target.Provider), apiOf(c.Target.API)
		m = harness.Model{ID: c.Target.Model, Reasoning: c.Target.Reasoning}
		if len(c.Target.Input) > 0 {
			m.Input = "[" + strings.Join(c.Target.Input, ", ") + "]"
		}
		h.Compat = c.compat()
	}
	switch h.API {
	case "openai-completions", "openai-responses", "mistral-conversations":
		h.Base += "/v1"
	}
	if c.Target.BaseURL != "" {
		h.Base = c.Target.BaseURL
	}
	h.Models = []harness.Model{m}
	return harness.Start(t, "", h)
}

// compat is the target's, whose names are in camel case, as inline YAML.
func (c *testCase) compat() string {
	var l []string
	for k, v := range c.Target.Compat {
		l = append(l, strings.ToLower(hump.ReplaceAllString(k, "${1}_${2}"))+": "+string(v))
	}
	if th := c.Options.Thinking; th != nil && th.Mode == "adaptive" {
		l = append(l, "force_adaptive_thinking: true")
	}
	if len(l) == 0 {
		return ""
	}
	return "{" + strings.Join(l, ", ") + "}"
}

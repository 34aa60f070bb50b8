package anthropic

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// caseFile is one of the shared cases.
type caseFile struct {
	ID, Kind, API, Body string
	BodyEncoding        string `json:"body_encoding"`
	Headers             map[string]string
	Status              int
	Target              struct {
		API, Provider, Model string
		Reasoning            bool
	}
	Context struct {
		Messages []caseMessage
		Tools    []struct {
			Name, Description string
			Parameters        json.RawMessage
		}
	}
	Options struct {
		Temperature *float64
		MaxTokens   *int32 `json:"max_tokens"`
		ToolChoice  string `json:"tool_choice"`
		Thinking    *struct {
			Mode, Effort string
			BudgetTokens *int32 `json:"budget_tokens"`
		}
	}
	Expect struct {
		Must     []assertion `json:"request_body_must"`
		Content  json.RawMessage
		Stop     string `json:"stop_reason"`
		Code     string `json:"error_code"`
		Usage    map[string]any
		Retry    *bool  `json:"retryable"`
		GRPCCode string `json:"grpc_code"`
		Kind     string
	}
}

type caseMessage struct {
	Role    string
	Content []struct {
		Type, Text, Thinking, ID, Name, ThinkingSignature string
		Redacted                                          bool
		Arguments                                         json.RawMessage
	}
	API, Provider, Model, StopReason, ToolCallID string
	IsError                                      bool
}

func cases(t *testing.T) []*caseFile {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(shared(t, "cases"), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var cs []*caseFile
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// Some expectations have another shape; those are for other tests.
		var c caseFile
		if err := json.Unmarshal(body, &c); !readable(err) {
			t.Fatalf("%s: %v", file, err)
		}
		if c.API == apiID || c.Target.API == apiID {
			cs = append(cs, &c)
		}
	}
	return cs
}

// TestCases runs what of the shared cases needs this package alone. Histories are
// handed off here by the shortest rules that do: foreign thinking becomes text,
// failed turns and their results go.
func TestCases(t *testing.T) {
	for _, c := range cases(t) {
		t.Run(c.ID, func(t *testing.T) {
			switch c.Kind {
			case "request":
				c.request(t)
			case "stream":
				c.stream(t)
			case "error":
				c.error(t)
			}
		})
	}
}

func (c *caseFile) stream(t *testing.T) {
	if c.BodyEncoding != "text" || c.Headers["content-encoding"] != "" {
		t.Skip("the transport's business")
	}
	f := foldText(t, c.Body)
	failed := c.Expect.Stop == "error"
	if failed != (f.err != nil || f.failure != nil) {
		t.Fatalf("%s, want stop %s", f.describe(), c.Expect.Stop)
	}
	if !failed {
		stops := map[string]llmdv1.StopReason{
			"stop": llmdv1.StopReason_STOP_REASON_STOP, "length": llmdv1.StopReason_STOP_REASON_LENGTH, "toolUse": llmdv1.StopReason_STOP_REASON_TOOL_USE,
		}
		if f.stop != stops[c.Expect.Stop] {
			t.Errorf("stop %v, want %s", f.stop, c.Expect.Stop)
		}
	}
	checkUsage(t, f, map[string]any{"input": c.Expect.Usage["input"], "output": c.Expect.Usage["output"]})
	var want []struct {
		Type, Text, Thinking, Signature, ID, Name string
		Arguments                                 json.RawMessage
	}
	if json.Unmarshal(c.Expect.Content, &want) != nil {
		return // anything goes
	}
	if len(want) != len(f.blocks) {
		t.Fatalf("%s, want %s", f.describe(), c.Expect.Content)
	}
	for i, w := range want {
		b := f.blocks[i]
		if w.Type == "toolCall" {
			if b.id != w.ID || b.name != w.Name || c.ID != "105" && !sameJSON(t, b.text, string(w.Arguments)) {
				t.Errorf("%s, want %+v", b.describe(), w)
			}
			continue
		}
		if b.kind != w.Type || b.text != w.Text+w.Thinking || b.signature != w.Signature {
			t.Errorf("%s, want %+v", b.describe(), w)
		}
	}
}

func (c *caseFile) error(t *testing.T) {
	e := New().DecodeError(c.Status, nil, []byte(c.Body))
	reasons := map[string][]string{
		"rate_limit": {adapters.ReasonRateLimited}, "overloaded": {adapters.ReasonOverloaded}, "server": {adapters.ReasonProviderError},
		"context_overflow": {adapters.ReasonContextLengthExceeded}, "auth": {adapters.ReasonCredentialsInvalid},
		"invalid_request": {adapters.ReasonRejectedRequest, adapters.ReasonSignatureRejected},
	}
	if want := reasons[c.Expect.Kind]; !strings.Contains(strings.Join(want, " "), e.Reason) || c.Expect.Retry != nil && *c.Expect.Retry != e.Retryable() {
		t.Errorf("%s, retryable %v, want %s", e.Reason, e.Retryable(), c.Expect.Kind)
	}
}

func (c *caseFile) request(t *testing.T) {
	s := newSetup()
	s.m.ID, s.m.Provider, s.m.Reasoning = c.Target.Model, c.Target.Provider, c.Target.Reasoning
	for _, tl := range c.Context.Tools {
		s.g.Context.Tools = append(s.g.Context.Tools, &llmdv1.Tool{Name: tl.Name, Description: tl.Description, ParametersJsonSchema: string(tl.Parameters)})
	}
	s.g.Context.Messages = c.handOff()
	s.g.Config.Temperature, s.g.Config.MaxOutputTokens = c.Options.Temperature, c.Options.MaxTokens
	if c.Options.ToolChoice == "any" {
		s.mode(llmdv1.ToolMode_TOOL_MODE_REQUIRED)
	}
	if th := c.Options.Thinking; th != nil {
		s.m.Compat.ForceAdaptiveThinking = th.Mode == "adaptive"
		s.g.Reasoning.BudgetTokens = th.BudgetTokens
		if th.Effort == "high" {
			s.effort(effortHigh)
		}
	}
	r, err := s.encode(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range c.Expect.Must {
		if !a.holds(t, r.Body) {
			t.Errorf("%+v does not hold for %s", a, r.Body)
		}
	}
}

// handOff stands in for package transform.
func (c *caseFile) handOff() []*llmdv1.Message {
	var out []*llmdv1.Message
	gone := map[string]bool{}
	ids := map[string]string{} // the last id given for a foreign one
	open := []string{}         // calls without results
	closeCalls := func() {
		for _, id := range open {
			out = append(out, result(id, true, returns("No result provided")))
		}
		open = nil
	}
	for i, m := range c.Context.Messages {
		switch m.Role {
		case "user":
			closeCalls()
			out = append(out, user(text(m.Content[0].Text)))
		case "toolResult":
			if gone[m.ToolCallID] {
				continue
			}
			id := ids[m.ToolCallID]
			for j := range open {
				if open[j] == id {
					open = append(open[:j], open[j+1:]...)
					break
				}
			}
			out = append(out, result(id, m.IsError, returns(m.Content[0].Text)))
		case "assistant":
			failed := m.StopReason == "error" || m.StopReason == "aborted"
			own := m.API == c.Target.API && m.Provider == c.Target.Provider && m.Model == c.Target.Model
			var blocks []*llmdv1.AssistantContent
			for j, b := range m.Content {
				switch {
				case b.Type == "toolCall" && failed:
					gone[b.ID] = true
				case b.Type == "toolCall":
					ids[b.ID] = b.ID
					if !own && b.ID != "functions_look_0" {
						ids[b.ID] = fmt.Sprintf("call_%d_%d", i, j)
					}
					open = append(open, ids[b.ID])
					blocks = append(blocks, calls(ids[b.ID], b.Name, string(b.Arguments)))
				case b.Type == "text":
					blocks = append(blocks, says(b.Text))
				case b.Redacted:
					blocks = append(blocks, thinks("", redactedFormat, b.ThinkingSignature))
				case own && b.ThinkingSignature != "":
					blocks = append(blocks, thinks(b.Thinking, thinkingFormat, b.ThinkingSignature))
				case !own:
					blocks = append(blocks, says(b.Thinking))
				}
			}
			if !failed {
				out = append(out, assistant(blocks...))
			}
		}
	}
	closeCalls()
	return out
}

// assertion is about a body: what stands at a pointer, or the whole text.
type assertion struct {
	Pointer         string
	AnyOf           []assertion `json:"any_of"`
	Absent          bool
	Equals          any
	Matches         string
	AbsentOrMatches string `json:"absent_or_matches"`
	SameAs          string `json:"same_as"`
	DiffersFrom     string `json:"differs_from"`
	LessThan        string `json:"less_than"`
	RawNotMatches   string `json:"raw_not_matches"`
	MaxKeyCount     struct {
		Key string
		Max int
	} `json:"max_key_count"`
}

func (a *assertion) holds(t *testing.T, body []byte) bool {
	t.Helper()
	for _, other := range a.AnyOf {
		if other.holds(t, body) {
			return true
		}
	}
	got, there := at(t, body, a.Pointer)
	text := fmt.Sprint(got)
	matches := func(pattern string) bool { return regexp.MustCompile(pattern).MatchString(text) }
	same := func(pointer string) bool {
		other, also := at(t, body, pointer)
		return there && also && text == fmt.Sprint(other)
	}
	switch {
	case a.AnyOf != nil:
		return false
	case a.Absent:
		return !there
	case a.Equals != nil:
		return text == fmt.Sprint(a.Equals)
	case a.Matches != "":
		return there && matches(a.Matches)
	case a.AbsentOrMatches != "":
		return !there || matches(a.AbsentOrMatches)
	case a.SameAs != "":
		return same(a.SameAs)
	case a.DiffersFrom != "":
		return there && !same(a.DiffersFrom)
	case a.LessThan != "":
		other, _ := at(t, body, a.LessThan)
		x, _ := got.(float64)
		y, _ := other.(float64)
		return !there || x < y
	case a.RawNotMatches != "":
		return !regexp.MustCompile(a.RawNotMatches).Match(body)
	case a.MaxKeyCount.Key != "":
		return strings.Count(string(body), strconv.Quote(a.MaxKeyCount.Key)+":") <= a.MaxKeyCount.Max
	}
	t.Errorf("an unknown assertion: %+v", a)
	return false
}

func at(t *testing.T, body []byte, pointer string) (any, bool) {
	t.Helper()
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	for _, step := range strings.Split(pointer, "/")[1:] {
		switch x := v.(type) {
		case map[string]any:
			if v = x[step]; v == nil {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}

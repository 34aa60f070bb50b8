package openaichat

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// publicCase is one of ../shared/cases.
type publicCase struct {
	Kind, API, Provider, Model string
	Status                     int
	Headers                    map[string]string
	Body                       *string
	Gen                        *struct {
		Parts []struct {
			Text, Repeat string
			Count        int
		}
	} `json:"body_gen"`
	End    string
	Target struct {
		API, Provider, Model string
		Reasoning            bool
		Input                []string
		Compat               map[string]any
	}
	Context struct {
		SystemPrompt string `json:"system_prompt"`
		Messages     []caseMessage
		Tools        []struct {
			Name, Description string
			Parameters        json.RawMessage
		}
	}
	Options map[string]any
	Expect  struct {
		Content []struct {
			Type, ID, Name string
			Text, Thinking any
			Arguments      any
		}
		Stop         any            `json:"stop_reason"`
		Usage        map[string]int `json:"usage"`
		GRPC         string         `json:"grpc_code"`
		Code         string         `json:"error_code"`
		ErrorMessage any            `json:"error_message"`
		Retryable    *bool
		Message      struct {
			Matches string
			Not     string `json:"not_matches"`
		}
		Must []check `json:"request_body_must"`
	}
}

type caseMessage struct {
	Role, ToolCallID, ToolName string
	Content                    []struct {
		Type, Text, ID, Name, Data, MimeType string
		Arguments                            json.RawMessage
	}
}

// check is one condition on a request's body.
type check struct {
	Pointer      string
	Equals       any
	Matches      string
	Absent       bool
	NoKey        string `json:"no_key"`
	RawMatches   string `json:"raw_matches"`
	RawUnmatched string `json:"raw_not_matches"`
}

func cases(t *testing.T, kind string, each func(*testing.T, *publicCase)) {
	files, _ := filepath.Glob(filepath.Join(shared(t, "cases"), "*.json"))
	n := 0
	for _, f := range files {
		var kindOf struct{ Kind string }
		readJSON(t, f, &kindOf)
		if kindOf.Kind != kind {
			continue
		}
		c := &publicCase{}
		probe := struct {
			API    string
			Target struct{ API string }
		}{}
		readJSON(t, f, &probe)
		if probe.API != apiID && probe.Target.API != apiID {
			continue
		}
		n++
		t.Run(filepath.Base(f), func(t *testing.T) {
			if kind == "stream" {
				// Some expectations are looser than the type; those are not content.
				var loose struct {
					Expect struct{ Content json.RawMessage }
				}
				readJSON(t, f, &loose)
				if strings.HasPrefix(string(loose.Expect.Content), "{") {
					t.Skip("asserts no content; see TestDecode")
				}
			}
			readJSON(t, f, c)
			each(t, c)
		})
	}
	if n == 0 {
		t.Fatal("no cases")
	}
}

func TestStreamCases(t *testing.T) {
	cases(t, "stream", func(t *testing.T, c *publicCase) {
		body := ""
		if c.Body != nil {
			body = *c.Body
		} else if c.Gen != nil {
			for _, p := range c.Gen.Parts {
				body += p.Text + strings.Repeat(p.Repeat, p.Count)
			}
		}
		for _, oneByte := range []bool{false, true} {
			got := decode(t, model(), []byte(body), oneByte)
			c.checkStream(t, got)
		}
	})
}

func (c *publicCase) checkStream(t *testing.T, got *folded) {
	t.Helper()
	stop := strings.TrimPrefix(got.Stop.String(), "STOP_REASON_")
	stop = map[string]string{"STOP": "stop", "TOOL_USE": "toolUse", "LENGTH": "length", "ERROR": "error"}[stop]
	if !fits(c.Expect.Stop, stop) {
		t.Errorf("stop reason %s (%v), want %v", stop, got.Err, c.Expect.Stop)
	}
	if len(got.Blocks) != len(c.Expect.Content) {
		t.Fatalf("%d blocks, want %d", len(got.Blocks), len(c.Expect.Content))
	}
	for i, w := range c.Expect.Content {
		g := got.Blocks[i]
		switch w.Type {
		case "text":
			if !fits(w.Text, g.Text) {
				t.Errorf("text %.80q, want %v", g.Text, w.Text)
			}
		case "thinking":
			if !fits(w.Thinking, g.Text) {
				t.Errorf("thinking %.80q, want %v", g.Text, w.Thinking)
			}
		case "toolCall":
			var args any
			if err := json.Unmarshal([]byte(g.Arguments), &args); err != nil || !reflect.DeepEqual(args, w.Arguments) {
				t.Errorf("arguments %s, want %v", g.Arguments, w.Arguments)
			}
			if g.ID != w.ID || g.Name != w.Name {
				t.Errorf("call %q %q, want %q %q", g.ID, g.Name, w.ID, w.Name)
			}
		}
	}
	for k, want := range c.Expect.Usage {
		got := map[string]int32{"input": got.Usage.GetInputTokens(), "output": got.Usage.GetOutputTokens(), "cache_read": got.Usage.GetCacheReadTokens()}[k]
		if got != int32(want) {
			t.Errorf("usage.%s is %d, want %d", k, got, want)
		}
	}
	if up, ok := errors.AsType[*adapters.UpstreamError](got.Err); ok {
		if c.Expect.Retryable != nil && up.Retryable() != *c.Expect.Retryable {
			t.Errorf("%s: retryable is %v", up.Reason, up.Retryable())
		}
		if c.Expect.ErrorMessage != nil && !fits(c.Expect.ErrorMessage, up.Message) {
			t.Errorf("message %q, want %v", up.Message, c.Expect.ErrorMessage)
		}
	}
}

// fits compares with a value that may be a matcher of the cases' schema.
func fits(want any, got string) bool {
	m, ok := want.(map[string]any)
	if !ok {
		return fmt.Sprint(want) == got
	}
	if l, ok := m["$any"].([]any); ok {
		return slices.ContainsFunc(l, func(w any) bool { return fits(w, got) })
	}
	if n, ok := m["$length"].(float64); ok {
		return len([]rune(got)) == int(n)
	}
	re, ok := m["$regex"].(string)
	return ok && regexp.MustCompile(re).MatchString(got)
}

func TestErrorCases(t *testing.T) {
	codes := map[string]string{
		adapters.ReasonRateLimited: "RESOURCE_EXHAUSTED", adapters.ReasonProviderError: "UNAVAILABLE", adapters.ReasonOverloaded: "UNAVAILABLE",
		adapters.ReasonPermissionDenied: "PERMISSION_DENIED", adapters.ReasonRejectedRequest: "INVALID_ARGUMENT",
		adapters.ReasonContextLengthExceeded: "INVALID_ARGUMENT", adapters.ReasonPromptBlocked: "INVALID_ARGUMENT",
	}
	cases(t, "error", func(t *testing.T, c *publicCase) {
		if c.Expect.GRPC == "CANCELLED" {
			t.Skip("the caller's doing")
		}
		h := http.Header{}
		for k, v := range c.Headers {
			h.Set(k, v)
		}
		up := New().DecodeError(c.Status, h, []byte(*c.Body))
		if codes[up.Reason] != c.Expect.GRPC {
			t.Errorf("reason %s, want one of %s", up.Reason, c.Expect.GRPC)
		}
		if c.Expect.Retryable != nil && up.Retryable() != *c.Expect.Retryable {
			t.Errorf("%s: retryable is %v", up.Reason, up.Retryable())
		}
		if m := c.Expect.Message; !regexp.MustCompile(m.Matches).MatchString(up.Message) || m.Not != "" && strings.Contains(up.Message, m.Not) {
			t.Errorf("message %q", up.Message)
		}
	})
}

// TestRequestCases runs those that ask nothing of the hand-off.
func TestRequestCases(t *testing.T) {
	cases(t, "request", func(t *testing.T, c *publicCase) {
		if len(c.Target.Input) == 1 || c.Context.Messages[0].Role == "toolResult" {
			t.Skip("the hand-off's part")
		}
		m := model()
		m.Reasoning = c.Target.Reasoning
		for k, v := range c.Target.Compat {
			switch k {
			case "maxTokensField":
				m.Compat.MaxTokensField = fmt.Sprint(v)
			case "supportsDeveloperRole":
				m.Compat.SupportsDeveloperRole = v == true
			case "supportsStrictMode":
				m.Compat.SupportsStrictMode = v == true
			default:
				t.Fatalf("unknown compat key %q", k)
			}
		}
		g := &llmdv1.Generation{Context: c.context(t)}
		if n, ok := c.Options["max_tokens"].(float64); ok {
			limit := int32(n)
			g.Config = &llmdv1.GenerationConfig{MaxOutputTokens: &limit}
		}
		body := encode(t, m, g)
		for _, must := range c.Expect.Must {
			must.run(t, body)
		}
	})
}

func (c *publicCase) context(t *testing.T) *llmdv1.Context {
	t.Helper()
	out := &llmdv1.Context{SystemPrompt: c.Context.SystemPrompt}
	for _, tool := range c.Context.Tools {
		out.Tools = append(out.Tools, &llmdv1.Tool{Name: tool.Name, Description: tool.Description, ParametersJsonSchema: string(tool.Parameters)})
	}
	for _, m := range c.Context.Messages {
		var texts []string
		var images []*llmdv1.ImageContent
		a := &llmdv1.AssistantMessage{}
		for _, b := range m.Content {
			switch b.Type {
			case "text":
				texts = append(texts, b.Text)
				a.Content = append(a.Content, assistantText(b.Text))
			case "image":
				images = append(images, &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: "data:;base64," + b.Data}, MimeType: b.MimeType})
			case "toolCall":
				a.Content = append(a.Content, assistantCall(b.ID, b.Name, string(b.Arguments)))
			}
		}
		switch m.Role {
		case "user":
			out.Messages = append(out.Messages, userMessage(texts, images...))
		case "assistant":
			out.Messages = append(out.Messages, assistantMessage(a.GetContent()...))
		case "toolResult":
			out.Messages = append(out.Messages, resultMessage(m.ToolCallID, m.ToolName, texts, images...))
		}
	}
	return out
}

func (must *check) run(t *testing.T, body string) {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatal(err)
	}
	found := true
	for key := range strings.SplitSeq(strings.TrimPrefix(must.Pointer, "/"), "/") {
		if key == "" {
			continue
		}
		switch x := v.(type) {
		case map[string]any:
			v, found = x[key]
		case []any:
			i, err := strconv.Atoi(key)
			if found = err == nil && i < len(x); found {
				v = x[i]
			}
		default:
			found = false
		}
		if !found {
			break
		}
	}
	raw, _ := json.Marshal(v)
	switch {
	case must.Absent:
		if found {
			t.Errorf("%s is there", must.Pointer)
		}
	case !found:
		t.Errorf("%s is absent", must.Pointer)
	case must.Equals != nil && !reflect.DeepEqual(v, must.Equals):
		t.Errorf("%s is %s, want %v", must.Pointer, raw, must.Equals)
	case must.Matches != "" && !regexp.MustCompile(must.Matches).Match(raw),
		must.RawMatches != "" && !regexp.MustCompile(must.RawMatches).Match(raw):
		t.Errorf("%s is %s, want /%s%s/", must.Pointer, raw, must.Matches, must.RawMatches)
	case must.RawUnmatched != "" && regexp.MustCompile(must.RawUnmatched).Match(raw),
		must.NoKey != "" && strings.Contains(string(raw), `"`+must.NoKey+`":`):
		t.Errorf("%s holds %s%s", must.Pointer, must.RawUnmatched, must.NoKey)
	}
}

// encode writes the request to a model and returns its body.
func encode(t *testing.T, m *profile.Model, g *llmdv1.Generation) string {
	t.Helper()
	r, err := request(t, m, g)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(r.Body) {
		t.Fatalf("not JSON: %s", r.Body)
	}
	return string(r.Body)
}

func request(t *testing.T, m *profile.Model, g *llmdv1.Generation) (*adapters.Request, error) {
	t.Helper()
	o, err := adapters.Negotiate(g, g.GetContext(), m)
	if err != nil {
		return nil, err
	}
	return New().Encode(&adapters.Call{Generation: g, Context: g.GetContext(), Model: m, Options: o})
}

func userMessage(texts []string, images ...*llmdv1.ImageContent) *llmdv1.Message {
	u := &llmdv1.UserMessage{}
	for _, s := range texts {
		u.Content = append(u.Content, &llmdv1.UserContent{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: s}}})
	}
	for _, im := range images {
		u.Content = append(u.Content, &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: im}})
	}
	return &llmdv1.Message{Message: &llmdv1.Message_User{User: u}}
}

func resultMessage(id, name string, texts []string, images ...*llmdv1.ImageContent) *llmdv1.Message {
	r := &llmdv1.ToolResultMessage{ToolCallId: id, ToolName: name}
	for _, s := range texts {
		r.Content = append(r.Content, &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Text{Text: &llmdv1.TextContent{Text: s}}})
	}
	for _, im := range images {
		r.Content = append(r.Content, &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Image{Image: im}})
	}
	return &llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: r}}
}

func assistantMessage(content ...*llmdv1.AssistantContent) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: &llmdv1.AssistantMessage{Content: content}}}
}

func assistantText(s string) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{Text: s}}}
}

func assistantCall(id, name, arguments string) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: &llmdv1.ToolCall{Id: id, Name: name, ArgumentsJson: arguments}}}
}

func assistantThinking(text, format, data string) *llmdv1.AssistantContent {
	c := &llmdv1.ThinkingContent{Thinking: text}
	if format != "" {
		c.Signature = &llmdv1.Signature{Format: format, Data: []byte(data)}
	}
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: c}}
}

package transform_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/transform"
)

// casesDir holds the request cases, beside the checkout.
var casesDir = filepath.Join("..", "..", "shared", "cases")

// requestCase is a case of kind "request", so far as the hand-off is concerned.
type requestCase struct {
	Kind   string
	Target struct {
		API, Provider, Model string
		Input                []string
	}
	Context struct{ Messages []caseMessage }
}

type caseMessage struct {
	Role, API, Provider, Model, StopReason string
	Content                                json.RawMessage // null, a text or blocks
	ToolCallID, ToolName                   string
	IsError                                bool
}

type caseBlock struct {
	Type, Text, Thinking, ThinkingSignature, ThoughtSignature string
	Redacted                                                  bool
	ID, Name                                                  string
	Arguments                                                 json.RawMessage
	Data, MIMEType                                            string
}

// The histories of all request cases come out well formed, and those that are
// about the hand-off as their case says.
func TestRequestCases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(casesDir, "*.json"))
	if err != nil || len(files) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no cases in %s: %v", casesDir, err)
		}
		t.Skip("../shared is absent: the recordings live beside the checkout")
	}
	checks := caseChecks()
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var c requestCase
		if err := json.Unmarshal(raw, &c); err != nil {
			if strings.Contains(string(raw), `"kind": "request"`) {
				t.Errorf("%s: %v", f, err)
			}
			continue
		}
		if c.Kind != "request" {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(f), ".json"), func(t *testing.T) {
			in := c.input(t)
			r := apply(t, in)
			checkForm(t, in, r.Context)
			if check := checks[filepath.Base(f)[:3]]; check != nil {
				check(t, r)
			}
		})
	}
}

func (c *requestCase) input(t *testing.T) transform.Input {
	t.Helper()
	to := issuer{c.Target.API, c.Target.Provider, c.Target.Model, ""}
	limit := adapters.Constraints{Prefill: true}
	for _, i := range []issuer{claude, gpt, chat, gemini} {
		if i.api == to.api {
			limit = limits(i)
		}
	}
	limit.Images = slices.Contains(c.Target.Input, "image")
	if !strings.HasPrefix(to.model, "gemini-3") {
		limit.CallSignature = nil
	}
	in := transform.Input{Context: &llmdv1.Context{}, Model: to.target(), Constraints: limit}
	for _, m := range c.Context.Messages {
		in.Context.Messages = append(in.Context.Messages, m.message(t))
	}
	return in
}

func (m *caseMessage) message(t *testing.T) *llmdv1.Message {
	t.Helper()
	blocks := m.blocks(t)
	switch m.Role {
	case "user":
		out := user()
		for _, b := range blocks {
			if b.Type == "image" {
				out.GetUser().Content = append(out.GetUser().Content, uImage(b.image(t)))
			} else {
				out.GetUser().Content = append(out.GetUser().Content, uText(b.Text))
			}
		}
		return out
	case "toolResult":
		out := result(m.ToolCallID)
		out.GetToolResult().ToolName, out.GetToolResult().IsError = m.ToolName, m.IsError
		for _, b := range blocks {
			if b.Type == "image" {
				out.GetToolResult().Content = append(out.GetToolResult().Content, rImage(b.image(t)))
			} else {
				out.GetToolResult().Content = append(out.GetToolResult().Content, rText(b.Text))
			}
		}
		return out
	case "assistant":
		by := issuer{m.API, m.Provider, m.Model, ""}
		reasons := map[string]llmdv1.StopReason{"error": failed, "aborted": aborted}
		out := ended(by, reasons[m.StopReason])
		for _, b := range blocks {
			out.GetAssistant().Content = append(out.GetAssistant().Content, b.assistant(t, by))
		}
		return out
	}
	t.Fatalf("role %q", m.Role)
	return nil
}

func (m *caseMessage) blocks(t *testing.T) []caseBlock {
	t.Helper()
	var text string
	if json.Unmarshal(m.Content, &text) == nil && text != "" {
		return []caseBlock{{Type: "text", Text: text}}
	}
	var blocks []caseBlock
	if err := json.Unmarshal(m.Content, &blocks); err != nil {
		t.Fatal(err)
	}
	return blocks
}

func (b *caseBlock) image(t *testing.T) *llmdv1.ImageContent {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(b.Data)
	if err != nil {
		t.Fatal(err)
	}
	return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: data}, MimeType: b.MIMEType}
}

func (b *caseBlock) assistant(t *testing.T, by issuer) *llmdv1.AssistantContent {
	t.Helper()
	formats := map[string]string{
		"anthropic-messages": "anthropic.thinking", "openai-responses": "openai.reasoning_item",
		"openai-completions": "chat.reasoning_field", "google-generative-ai": "google.thought",
	}
	sign := func(data string) *llmdv1.Signature {
		if data == "" {
			return nil
		}
		format := formats[by.api]
		if b.Redacted {
			format = "anthropic.redacted_thinking"
		}
		return by.sign(format, data)
	}
	switch b.Type {
	case "text":
		return text(b.Text)
	case "thinking":
		out := thinking(b.Thinking, sign(b.ThinkingSignature))
		out.GetThinking().Redacted = b.Redacted
		return out
	case "toolCall":
		return toolCall(&llmdv1.ToolCall{Id: b.ID, Name: b.Name, ArgumentsJson: string(b.Arguments), Signature: sign(b.ThoughtSignature)})
	}
	t.Fatalf("block %q", b.Type)
	return nil
}

// caseChecks are what the cases expect of the request body, said of the
// conversation before it is encoded.
func caseChecks() map[string]func(*testing.T, *transform.Result) {
	shape := func(want string) func(*testing.T, *transform.Result) {
		return func(t *testing.T, r *transform.Result) {
			t.Helper()
			if got := outline(r.Context); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
	}
	return map[string]func(*testing.T, *transform.Result){
		"001": shape("u:text a:text,call r:text u:text"),
		"003": shape("u:text a:text,text u:text"),
		"005": shape("u:text a:text,text u:text"),
		"007": shape("u:text a:call r:text u:text"),
		"009": shape("u:text a:thinking(EqQBCgIYAhIkZGVtby1zaWduYXR1cmU=),text,call r:text"),
		"011": shape("u:text a:text,text u:text"),
		"013": shape("u:text,text"),
		"015": shape("u:text a:call(skip_thought_signature_validator) r:text"),
		"017": shape("u:text a:thinking(REDACTED-DATA-01==),call r:text"),
		"023": shape("u:text u:text"),
		"029": func(t *testing.T, r *transform.Result) {
			t.Helper()
			ids := callIDs(r.Context)
			if !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).MatchString(ids[0]) || ids[1] != "functions_look_0" || ids[0] == ids[1] {
				t.Errorf("ids %q", ids)
			}
		},
		"031": func(t *testing.T, r *transform.Result) {
			t.Helper()
			if ids := callIDs(r.Context); len(ids[0]) > 64 {
				t.Errorf("ids %q", ids)
			}
		},
		"033": func(t *testing.T, r *transform.Result) {
			t.Helper()
			if ids := callIDs(r.Context); ids[0] == ids[1] {
				t.Errorf("ids %q", ids)
			}
		},
		"035": shape("u:text,text"),
		"037": shape("u:text a:call,call r:text r:text u:text"),
		"039": shape("u:text"),
		"043": shape("u:text a:call,call,call,call r:text r:text r:text r:text"),
		"045": shape("u:text a:call,call r:text,image r:text,image"),
		"047": shape("u:text a:call,call,call r:image r:image r:text"),
		"049": shape("u:text,text a:text u:text"),
		"051": shape("u:text u:text"),
		"053": shape("u:text u:text"),
	}
}

func callIDs(c *llmdv1.Context) []string {
	var ids []string
	for _, m := range c.GetMessages() {
		for _, b := range m.GetAssistant().GetContent() {
			if call := b.GetToolCall(); call != nil {
				ids = append(ids, call.GetId())
			}
		}
	}
	return ids
}

// outline shows the kinds of the blocks of each message, with signatures.
func outline(c *llmdv1.Context) string {
	var words []string
	for _, m := range c.GetMessages() {
		role := "u:"
		var kinds []string
		for _, b := range m.GetUser().GetContent() {
			kinds = append(kinds, kindOf(b.GetImage()))
		}
		if r := m.GetToolResult(); r != nil {
			role = "r:"
			for _, b := range r.GetContent() {
				kinds = append(kinds, kindOf(b.GetImage()))
			}
		}
		if a := m.GetAssistant(); a != nil {
			role = "a:"
			for _, b := range a.GetContent() {
				kinds = append(kinds, assistantKind(b))
			}
		}
		words = append(words, role+strings.Join(kinds, ","))
	}
	return strings.Join(words, " ")
}

func kindOf(i *llmdv1.ImageContent) string {
	if i != nil {
		return "image"
	}
	return "text"
}

func assistantKind(b *llmdv1.AssistantContent) string {
	kind, sig := "text", b.GetText().GetSignature()
	if th := b.GetThinking(); th != nil {
		kind, sig = "thinking", th.GetSignature()
	}
	if c := b.GetToolCall(); c != nil {
		kind, sig = "call", c.GetSignature()
	}
	if sig == nil {
		return kind
	}
	return kind + "(" + string(sig.GetData()) + ")"
}

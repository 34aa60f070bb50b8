package catalogtest

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// recorded is a request that a real client sent to a real host of the Chat
// Completions API: https://platform.openai.com/docs/api-reference/chat/create.
type recorded struct {
	name, provider, path string
	status               int
	keys                 []string // of the body, sorted
	chatBody
}

type chatBody struct {
	Model               string          `json:"model"`
	Messages            []chatMessage   `json:"messages"`
	Tools               []chatTool      `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	MaxTokens           *int32          `json:"max_tokens"`
	MaxCompletionTokens *int32          `json:"max_completion_tokens"`
	Temperature         *float64        `json:"temperature"`
	TopP                *float64        `json:"top_p"`
	Seed                *int64          `json:"seed"`
	User                string          `json:"user"`
	Stop                json.RawMessage `json:"stop"`
	ParallelToolCalls   *bool           `json:"parallel_tool_calls"`
	ReasoningEffort     string          `json:"reasoning_effort"`
	Reasoning           struct {
		Enabled   bool   `json:"enabled"`
		Effort    string `json:"effort"`
		MaxTokens *int32 `json:"max_tokens"`
	} `json:"reasoning"`
	Thinking struct {
		Type string `json:"type"`
	} `json:"thinking"`
	ResponseFormat struct {
		JSONSchema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

type chatMessage struct {
	Role             string          `json:"role"`
	Content          json.RawMessage `json:"content"`
	ReasoningContent string          `json:"reasoning_content"`
	Reasoning        string          `json:"reasoning"`
	ToolCallID       string          `json:"tool_call_id"`
	ToolCalls        []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type chatTool struct {
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// sharedDir is a folder of ../shared, beside the checkout.
func sharedDir(t *testing.T, parts ...string) string {
	t.Helper()
	dir := filepath.Join(append([]string{"..", "..", "..", "shared"}, parts...)...)
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("../shared is required in CI: %v", err)
		}
		t.Skip("../shared is absent: the recordings live beside the checkout")
	}
	return dir
}

// chatRecordings are the recorded requests of the Chat Completions API.
func chatRecordings(t *testing.T) []*recorded {
	t.Helper()
	dir := sharedDir(t, "fixtures", "openai-completions")
	folders, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []*recorded
	for _, folder := range folders {
		r := &recorded{name: folder.Name()}
		var meta struct {
			Provider string `json:"provider"`
			URLPath  string `json:"url_path"`
			Status   int    `json:"status"`
		}
		var keys map[string]json.RawMessage
		read(t, filepath.Join(dir, r.name, "meta.json"), &meta)
		if !read(t, filepath.Join(dir, r.name, "request.json"), &keys) || keys == nil {
			continue // the source had no request
		}
		read(t, filepath.Join(dir, r.name, "request.json"), &r.chatBody)
		r.provider, r.path, r.status = meta.Provider, meta.URLPath, meta.Status
		for k := range keys {
			r.keys = append(r.keys, k)
		}
		slices.Sort(r.keys)
		all = append(all, r)
	}
	return all
}

func read(t *testing.T, path string, into any) bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return false
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return true
}

func (r *recorded) roles() []string {
	var all []string
	for _, m := range r.Messages {
		all = append(all, m.Role)
	}
	return all
}

// thinks says whether the request asks for thinking.
func (r *recorded) thinks() bool {
	return r.ReasoningEffort != "" || r.Reasoning.Effort != "" || r.Reasoning.MaxTokens != nil || r.Reasoning.Enabled || r.Thinking.Type == "enabled"
}

// generation says the same to llmd: the same conversation with the same wishes.
func (r *recorded) generation(t *testing.T, model string) *llmdv1.Generation {
	t.Helper()
	provider, id, _ := strings.Cut(model, "/")
	g := &llmdv1.Generation{
		Model: model, Context: &llmdv1.Context{}, User: r.User,
		Config: &llmdv1.GenerationConfig{
			Temperature: r.Temperature, TopP: r.TopP, Seed: r.Seed, ParallelToolCalls: r.ParallelToolCalls,
			OutputJsonSchema: string(r.ResponseFormat.JSONSchema.Schema), MaxOutputTokens: r.MaxTokens,
		},
	}
	if r.MaxCompletionTokens != nil {
		g.Config.MaxOutputTokens = r.MaxCompletionTokens
	}
	var one string
	if json.Unmarshal(r.Stop, &one) == nil && one != "" {
		g.Config.StopSequences = []string{one}
	} else if r.Stop != nil {
		_ = json.Unmarshal(r.Stop, &g.Config.StopSequences)
	}
	r.reasoning(g)
	r.tools(g)
	for _, m := range r.Messages {
		switch m.Role {
		case "system", "developer":
			g.Context.SystemPrompt = m.text()
		case "user":
			g.Context.Messages = append(g.Context.Messages, m.user(t))
		case "assistant":
			g.Context.Messages = append(g.Context.Messages, m.assistant(provider, id))
		case "tool":
			g.Context.Messages = append(g.Context.Messages, &llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: &llmdv1.ToolResultMessage{
				ToolCallId: m.ToolCallID, Content: []*llmdv1.ToolResultContent{{Block: &llmdv1.ToolResultContent_Text{Text: &llmdv1.TextContent{Text: m.text()}}}},
			}}})
		}
	}
	return g
}

func (r *recorded) reasoning(g *llmdv1.Generation) {
	if !r.thinks() {
		return
	}
	word := r.ReasoningEffort + r.Reasoning.Effort
	if word == "" {
		word = "medium"
	}
	g.Reasoning = &llmdv1.ReasoningConfig{
		Effort: llmdv1.ReasoningEffort(llmdv1.ReasoningEffort_value["REASONING_EFFORT_"+strings.ToUpper(word)]), BudgetTokens: r.Reasoning.MaxTokens,
	}
}

func (r *recorded) tools(g *llmdv1.Generation) {
	for _, tool := range r.Tools {
		g.Context.Tools = append(g.Context.Tools, &llmdv1.Tool{
			Name: tool.Function.Name, Description: tool.Function.Description, ParametersJsonSchema: string(tool.Function.Parameters),
		})
	}
	var named struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	choice := strings.Trim(string(r.ToolChoice), `"`)
	switch {
	case choice == "" || choice == "null":
	case choice[0] == '{':
		if json.Unmarshal(r.ToolChoice, &named) == nil {
			g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_ToolName{ToolName: named.Function.Name}}
		}
	default:
		mode := llmdv1.ToolMode_value["TOOL_MODE_"+strings.ToUpper(choice)]
		g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: llmdv1.ToolMode(mode)}}
	}
}

// parts are the pieces of a content, which may be one text.
func (m *chatMessage) parts() []chatPart {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return []chatPart{{Type: "text", Text: text}}
	}
	var parts []chatPart
	_ = json.Unmarshal(m.Content, &parts) // null has none
	return parts
}

type chatPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

func (m *chatMessage) text() string {
	var all []string
	for _, p := range m.parts() {
		all = append(all, p.Text)
	}
	return strings.Join(all, "\n")
}

func (m *chatMessage) user(t *testing.T) *llmdv1.Message {
	t.Helper()
	u := &llmdv1.UserMessage{}
	for _, p := range m.parts() {
		c := &llmdv1.UserContent{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: p.Text}}}
		if p.Type == "image_url" {
			head, data, _ := strings.Cut(p.ImageURL.URL, ";base64,")
			bytes, err := base64.StdEncoding.DecodeString(data)
			if err != nil || data == "" {
				continue // by reference: llmd would download it
			}
			c = &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: &llmdv1.ImageContent{
				MimeType: strings.TrimPrefix(head, "data:"), Source: &llmdv1.ImageContent_Data{Data: bytes},
			}}}
		}
		u.Content = append(u.Content, c)
	}
	return &llmdv1.Message{Message: &llmdv1.Message_User{User: u}}
}

func (m *chatMessage) assistant(provider, model string) *llmdv1.Message {
	a := &llmdv1.AssistantMessage{
		Provider: provider, Model: model, Api: "openai-completions", StopReason: llmdv1.StopReason_STOP_REASON_STOP,
	}
	if thought := m.ReasoningContent + m.Reasoning; thought != "" {
		field := "reasoning_content"
		if m.ReasoningContent == "" {
			field = "reasoning"
		}
		a.Content = append(a.Content, &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: &llmdv1.ThinkingContent{
			Thinking: thought, Signature: &llmdv1.Signature{Format: "chat.reasoning_field", Data: []byte(field), Api: a.Api, Provider: provider, Model: model},
		}}})
	}
	if text := m.text(); text != "" {
		a.Content = append(a.Content, &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{Text: text}}})
	}
	for _, c := range m.ToolCalls {
		a.StopReason = llmdv1.StopReason_STOP_REASON_TOOL_USE
		a.Content = append(a.Content, &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: &llmdv1.ToolCall{
			Id: c.ID, Name: c.Function.Name, ArgumentsJson: c.Function.Arguments,
		}}})
	}
	return &llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: a}}
}

package bedrock

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// gif is the smallest thing that is taken for one.
const gif = "GIF89a"

func picture() *llmdv1.ImageContent {
	return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: []byte(gif)}, MimeType: "image/png"}
}

func picturePart() *llmdv1.ToolResultContent {
	return &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Image{Image: picture()}}
}

// messages cuts the turns out of a body, which they end.
func messages(t *testing.T, body []byte) string {
	t.Helper()
	_, rest, ok := strings.Cut(string(body), `"messages":`)
	if !ok {
		t.Fatalf("no messages in %s", body)
	}
	return strings.TrimSuffix(rest, "}")
}

func TestHistory(t *testing.T) {
	const hiTurn = `{"role":"user","content":[{"text":"hi"}]}`
	const sentGIF = `{"image":{"format":"gif","source":{"bytes":"R0lGODlh"}}}`
	const calls = `{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}},{"toolUse":{"toolUseId":"b","name":"f","input":{ "x": 1.0 }}}]}`
	two := assistant(call("a", "f", ""), call("b", "f", `{ "x": 1.0 }`))
	for name, c := range map[string]struct {
		model   string // sonnet4 if empty
		history []*llmdv1.Message
		want    string
		change  string // the rule of a reported change
	}{
		"blank texts": {
			history: []*llmdv1.Message{user(text(""), text("hi"), text(" \n"))},
			want:    hiTurn,
			change:  "text.empty",
		},
		"a blank turn": {
			history: []*llmdv1.Message{user(text("hi")), assistant(said("ho")), user(text("\t"))},
			want:    hiTurn + `,{"role":"assistant","content":[{"text":"ho"}]},{"role":"user","content":[{"text":"<empty>"}]}`,
			change:  "text.empty text.placeholder",
		},
		"a blank answer": {
			history: []*llmdv1.Message{user(text("hi")), assistant(said(" ")), user(text("ho"))},
			want:    `{"role":"user","content":[{"text":"hi"},{"text":"ho"}]}`,
		},
		"images": {
			history: []*llmdv1.Message{user(
				&llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: picture()}},
				&llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: "data:image/gif;base64,R0lGODlh"}}}},
			)},
			want: `{"role":"user","content":[` + sentGIF + `,` + sentGIF + `]}`,
		},
		"results and words are one turn, results first": {
			history: []*llmdv1.Message{user(text("hi")), two, result("a", false, returns("1"), returns(""), returns("2")), user(text("and?")), result("b", true)},
			want: hiTurn + `,` + calls + `,{"role":"user","content":[` +
				`{"toolResult":{"toolUseId":"a","content":[{"text":"1"},{"text":"2"}],"status":"success"}},` +
				`{"toolResult":{"toolUseId":"b","content":[{"text":"<empty>"}],"status":"error"}},{"text":"and?"}]}`,
			change: "text.placeholder",
		},
		"a model without status": {
			model:   "zai.glm-5",
			history: []*llmdv1.Message{user(text("hi")), two, result("a", true, picturePart()), result("b", false, returns("1")), user(text("ho"))},
			want: hiTurn + `,` + calls + `,{"role":"user","content":[` +
				`{"toolResult":{"toolUseId":"a","content":[{"text":"(see attached image)"}]}},{"toolResult":{"toolUseId":"b","content":[{"text":"1"}]}},` +
				`{"text":"Attached image(s) from tool result:"},` + sentGIF + `,{"text":"ho"}]}`,
			change: "images.moved text.placeholder",
		},
		"a model with tools alone": {
			model: llama,
			history: []*llmdv1.Message{
				user(text("hi")), assistant(said("so"), call("a", "f", "")), result("a", false, picturePart()), user(text("ho")),
			},
			want: hiTurn + `,{"role":"assistant","content":[{"text":"so"}]},{"role":"user","content":[{"text":"(conversation continues)"}]},` +
				`{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]},` +
				`{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[` + sentGIF + `]}}]},` +
				`{"role":"assistant","content":[{"text":"I have processed the tool results."}]},{"role":"user","content":[{"text":"ho"}]}`,
			change: "turn.user_inserted turn.assistant_inserted",
		},
		"thinking": {
			history: []*llmdv1.Message{user(text("hi")), assistant(
				thought("hm", reasoningFormat, "SIG"), thought("", reasoningFormat, "SIG2"), thought("", redactedFormat, "cmVk"),
				thought("unsigned", "", ""), thought(" ", "", ""), said("ho"),
			), user(text("hi"))},
			want: hiTurn + `,{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hm","signature":"SIG"}}},` +
				`{"reasoningContent":{"reasoningText":{"text":"","signature":"SIG2"}}},{"reasoningContent":{"redactedContent":"cmVk"}},` +
				`{"text":"unsigned"},{"text":"ho"}]},` + hiTurn,
		},
		"thinking of other makers": {
			model:   llama,
			history: []*llmdv1.Message{user(text("hi")), assistant(thought("hm", "", ""), said("ho")), user(text("hi"))},
			want:    hiTurn + `,{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hm"}}},{"text":"ho"}]},` + hiTurn,
		},
		"provider content": {
			history: []*llmdv1.Message{user(text("hi")), assistant(
				opaqueContent("toolUse", `{"toolUse": {"toolUseId":"s","type":"server_tool_use","name":"n","input":{}}}`),
				opaqueContent("toolResult", `{"toolResult":{"toolUseId":"s","content":[]}}`),
				said("ho"), opaqueContent(citationsKind, `{"citationsContent":{"citations":[ {"title":"T"} ]}}`), said("so"),
			), user(text("hi"))},
			want: hiTurn + `,{"role":"assistant","content":[{"toolUse": {"toolUseId":"s","type":"server_tool_use","name":"n","input":{}}},` +
				`{"toolResult":{"toolUseId":"s","content":[]}},` +
				`{"citationsContent":{"content":[{"text":"ho"}],"citations":[ {"title":"T"} ]}},{"text":"so"}]},` + hiTurn,
		},
		"an image of the model": {
			history: []*llmdv1.Message{user(text("hi")), assistant(said("ho"), opaqueContent("image", `{"image":{}}`)), user(text("hi"))},
			want:    hiTurn + `,{"role":"assistant","content":[{"text":"ho"}]},` + hiTurn,
			change:  "provider_content.image",
		},
		"members without a name": {
			history: []*llmdv1.Message{user(text("hi")), assistant(call("a", "f", `{"":1,"b":{"" :{"x":1},"c":1.0,"d":[{"":2},"\""]},"e":"\"\":"}`)), result("a", false, returns("1"))},
			want: hiTurn + `,{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{"b":{"c":1.0,"d":[{},"\""]},"e":"\"\":"}}}]},` +
				`{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"1"}],"status":"success"}}]}`,
			change: "tool_call.unnamed_member",
		},
		"a name that ends in a quote": {
			history: []*llmdv1.Message{user(text("hi")), assistant(call("a", "f", `{ "b\"": "" }`)), result("a", false, returns("1"))},
			want: hiTurn + `,{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{ "b\"": "" }}}]},` +
				`{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"1"}],"status":"success"}}]}`,
		},
		"citations without their text": {
			history: []*llmdv1.Message{user(text("hi")), assistant(opaqueContent(citationsKind, `{"citationsContent":{"citations":[]}}`), said("ho"), opaqueContent(citationsKind, `{}`)), user(text("hi"))},
			want:    hiTurn + `,{"role":"assistant","content":[{"text":"ho"}]},` + hiTurn,
			change:  "provider_content.orphan provider_content.orphan",
		},
		"prefill": {
			history: []*llmdv1.Message{user(text("hi")), assistant(said("So \n"))},
			want:    hiTurn + `,{"role":"assistant","content":[{"text":"So"}]}`,
			change:  "prefill.trimmed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			model := c.model
			if model == "" {
				model = sonnet4
			}
			s := newSetup(model)
			s.g.Context.Messages = c.history
			s.tool("f", "{}")
			r, err := s.encode(t)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("["+c.want+"]", messages(t, r.Body)); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			var rules []string
			for _, change := range r.Changes {
				rules = append(rules, change.GetRule())
			}
			if got := strings.Join(rules, " "); got != c.change {
				t.Errorf("changes %q, want %q", got, c.change)
			}
		})
	}
}

// TestToolBlocksNeedTools: the API answers "The toolConfig field must be defined when
// using toolUse and toolResult content blocks" otherwise.
func TestToolBlocksNeedTools(t *testing.T) {
	history := []*llmdv1.Message{user(text("hi")), assistant(call("a", "f", ""), call("b", "g", ""), call("c", "f", "")), result("a", false, returns("1"))}
	const spec = `{"toolSpec":{"name":"%","inputSchema":{"json":{"type":"object","properties":{}}}}}`
	for name, c := range map[string]struct {
		with func(*setup)
		want string
	}{
		"no tools": {func(*setup) {}, `{"toolConfig":{"tools":[` + strings.Replace(spec, "%", "f", 1) + `,` + strings.Replace(spec, "%", "g", 1) + `]},`},
		"none may be called": {func(s *setup) {
			s.tool("h", "")
			s.mode(llmdv1.ToolMode_TOOL_MODE_NONE)
		}, `{"toolConfig":{"tools":[` + strings.Replace(spec, "%", "h", 1) + `]},`},
	} {
		s := newSetup(sonnet4)
		s.g.Context.Messages = history
		c.with(s)
		r, err := s.encode(t)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(r.Body), c.want) || len(r.Effective.GetAdjustments()) != 1 {
			t.Errorf("%s: %q, %s, want %s", name, r.Effective.GetAdjustments(), r.Body, c.want)
		}
	}
}

// TestBudgetNeedsThinkingHistory: a tool turn that began without thinking cannot go
// on with it.
func TestBudgetNeedsThinkingHistory(t *testing.T) {
	for name, c := range map[string]struct {
		turn *llmdv1.Message
		want string
	}{
		"without": {assistant(said("ho"), call("a", "f", "")), "disabled"},
		"with":    {assistant(thought("hm", reasoningFormat, "S"), call("a", "f", "")), "enabled"},
		"foreign": {assistant(thought("hm", "", ""), call("a", "f", "")), "disabled"},
	} {
		s := newSetup(sonnet4)
		s.effort(low)
		s.limit(9000)
		s.tool("f", "")
		s.g.Context.Messages = []*llmdv1.Message{user(text("hi")), c.turn, result("a", false, returns("1"))}
		r, err := s.encode(t)
		if err != nil || !strings.Contains(string(r.Body), `"thinking":{"type":"`+c.want+`"`) {
			t.Errorf("%s: %v, %s", name, err, r.Body)
		}
	}
}

func TestBadInput(t *testing.T) {
	for field, m := range map[string]*llmdv1.Message{
		"generation.context.messages[0].user.content[0].image.uri": user(&llmdv1.UserContent{Block: &llmdv1.UserContent_Image{
			Image: &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: "https://x/y.png"}},
		}}),
		"generation.context.messages[0].user.content[0].image.data": user(&llmdv1.UserContent{Block: &llmdv1.UserContent_Image{
			Image: &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: []byte("BM")}},
		}}),
		"generation.context.messages[0].tool_result.content[0].image.data": result("a", false, &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Image{
			Image: &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: []byte("text")}},
		}}),
		"generation.context.messages[0].assistant.content[0].provider_content.raw_json": assistant(opaqueContent("new", "[1]")),
	} {
		s := newSetup(sonnet4)
		s.g.Context.Messages = []*llmdv1.Message{m}
		_, err := s.encode(t)
		if fault := (*adapters.FieldError)(nil); !errors.As(err, &fault) || fault.Field != field {
			t.Errorf("%v, want field %s", err, field)
		}
	}
}

// recordedBlock is a content block of a recorded request.
type recordedBlock struct {
	Text    *string `json:"text"`
	ToolUse *struct {
		ID    string          `json:"toolUseId"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	} `json:"toolUse"`
	ToolResult *struct {
		ID      string          `json:"toolUseId"`
		Status  string          `json:"status"`
		Content []recordedBlock `json:"content"`
	} `json:"toolResult"`
	Reasoning *struct {
		Text struct {
			Text      string `json:"text"`
			Signature string `json:"signature"`
		} `json:"reasoningText"`
	} `json:"reasoningContent"`
}

// TestRecordedRequests makes again what real clients sent, and the API took, from the
// conversations in it.
func TestRecordedRequests(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "fixtures", apiID)
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is absent, and CI must not go without it", dir)
		}
		t.Skip("../shared is absent: the recordings live beside the checkout")
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*", "request.json"))
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	for _, path := range paths {
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(path, "error-") {
			continue // these were refused
		}
		var recorded struct {
			Messages []struct {
				Role    string          `json:"role"`
				Content []recordedBlock `json:"content"`
			} `json:"messages"`
		}
		if json.Unmarshal(body, &recorded) != nil || len(recorded.Messages) == 0 {
			continue
		}
		s := newSetup(sonnet4)
		s.g.Context.Messages = nil
		whole := true
		for _, m := range recorded.Messages {
			var said []*llmdv1.AssistantContent
			var asked []*llmdv1.UserContent
			for _, b := range m.Content {
				switch {
				case b.Text != nil && m.Role == "user":
					asked = append(asked, text(*b.Text))
				case b.Text != nil:
					said = append(said, &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{Text: *b.Text}}})
				case b.ToolUse != nil:
					said = append(said, call(b.ToolUse.ID, b.ToolUse.Name, string(b.ToolUse.Input)))
				case b.Reasoning != nil:
					said = append(said, thought(b.Reasoning.Text.Text, reasoningFormat, b.Reasoning.Text.Signature))
				case b.ToolResult != nil && len(b.ToolResult.Content) == 1 && b.ToolResult.Content[0].Text != nil:
					s.g.Context.Messages = append(s.g.Context.Messages, result(b.ToolResult.ID, b.ToolResult.Status == "error", returns(*b.ToolResult.Content[0].Text)))
				default:
					whole = false // documents and the like, which the contract has not
				}
			}
			if said != nil {
				s.g.Context.Messages = append(s.g.Context.Messages, assistant(said...))
			}
			if asked != nil {
				s.g.Context.Messages = append(s.g.Context.Messages, user(asked...))
			}
		}
		if !whole || strings.Contains(path, "guardrail") { // two turns of the user in a row
			continue
		}
		made++
		r, err := s.encode(t)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if diff := cmp.Diff(turnsOf(t, body), turnsOf(t, r.Body)); diff != "" {
			t.Errorf("%s (-recorded +made):\n%s", path, diff)
		}
	}
	if made < 8 {
		t.Errorf("%d requests were made again, want more", made)
	}
}

// turnsOf are the messages of a body, without what only one of two equal requests
// says.
func turnsOf(t *testing.T, body []byte) any {
	t.Helper()
	var v struct {
		Messages []struct {
			Role    string
			Content []map[string]any
		}
	}
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	for _, m := range v.Messages {
		for _, b := range m.Content {
			if r, ok := b["toolResult"].(map[string]any); ok && r["status"] == "success" {
				delete(r, "status")
			}
		}
	}
	return v.Messages
}

package openairesponses

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// heard is what an input item says to the model, without what clients may leave out:
// ids, status and empty lists.
type heard struct {
	Type, Encrypted, Text, CallID, Name, Arguments, Namespace, Output string
}

func hear(t *testing.T, raw json.RawMessage) heard {
	t.Helper()
	var it struct {
		Type, Role, Name, Namespace string
		CallID                      string `json:"call_id"`
		Encrypted                   string `json:"encrypted_content"`
		Arguments                   json.RawMessage
		Output                      looseText
		Content                     json.RawMessage
	}
	if err := json.Unmarshal(raw, &it); err != nil {
		t.Fatal(err)
	}
	h := heard{
		Type: it.Type, Encrypted: it.Encrypted, Name: it.Name,
		Namespace: it.Namespace, Output: string(it.Output),
	}
	if h.Type == "" {
		h.Type = itemMessage
	}
	// A call's arguments are a text, byte for byte; other calls have an object.
	if filled(it.Arguments) && json.Unmarshal(it.Arguments, &h.Arguments) != nil {
		var b bytes.Buffer
		if err := json.Compact(&b, it.Arguments); err != nil {
			t.Fatal(err)
		}
		h.Arguments = b.String()
	}
	var s string
	if json.Unmarshal(it.Content, &s) != nil {
		s, _ = textOf(it.Content)
	}
	// One recorder set plain quotes, another numbered the calls.
	h.Text = strings.NewReplacer("’", "'", "“", `"`, "”", `"`).Replace(s)
	h.CallID = it.CallID[strings.LastIndexByte(it.CallID, ':')+1:]
	return h
}

// recording is one folder of ../shared/fixtures, as far as it is replayed.
type recording struct {
	Scenario, Kind string
	body           []byte
	meta           struct {
		Conversation struct{ ID string }
	}
	request struct{ Input []json.RawMessage }
}

func recordings(t *testing.T) []*recording {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join("..", "..", "..", "shared", "fixtures", apiOpenAI, "*"))
	if err != nil || len(dirs) == 0 {
		t.Skip("../shared is absent: the recordings live beside the checkout") // TestRecordings fails in CI
	}
	var rs []*recording
	for _, dir := range dirs {
		r := &recording{}
		load := func(name string, v any) {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil {
				err = json.Unmarshal(b, v)
			}
			if !adapters.Readable(err) { // a request's input may be a mere string
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

// message is the answer as a turn of a history.
func message(a *adaptertest.Folded, provider, model string) *llmdv1.Message {
	m := &llmdv1.AssistantMessage{Api: apiOpenAI, Provider: provider, Model: model}
	for _, b := range a.Blocks {
		var s *llmdv1.Signature
		if b.Signature != "" {
			s = &llmdv1.Signature{Data: []byte(b.Signature), Format: b.Format, Api: apiOpenAI, Provider: provider, Model: model}
		}
		var c *llmdv1.AssistantContent
		switch b.Kind {
		case adaptertest.KindThinking:
			c = &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: &llmdv1.ThinkingContent{Thinking: b.Text, Signature: s}}}
		case adaptertest.KindToolCall:
			c = &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: &llmdv1.ToolCall{
				Id: b.ID, Name: b.Name, ArgumentsJson: b.Text, ToolNamespace: b.Namespace, Signature: s,
			}}}
		case adaptertest.KindProviderContent:
			c = &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ProviderContent{ProviderContent: &llmdv1.ProviderContent{
				Api: apiOpenAI, Provider: provider, Model: model, Type: b.Name, RawJson: []byte(b.Text),
			}}}
		default:
			c = &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{Text: b.Text, Signature: s}}}
		}
		m.Content = append(m.Content, c)
	}
	return &llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: m}}
}

// TestReplayOfRecordings gives recorded answers back as history, and compares the
// items with those in the recorded next request, which the API accepted.
func TestReplayOfRecordings(t *testing.T) {
	answers := map[string]*recording{}
	turn := func(r *recording, n byte) string { return r.meta.Conversation.ID + "/" + string(n) }
	all := recordings(t)
	for _, r := range all {
		if i := strings.LastIndex(r.Scenario, "-t"); i > 0 && r.meta.Conversation.ID != "" {
			answers[turn(r, r.Scenario[i+2])] = r
		}
	}
	compared := 0
	for _, r := range all {
		i := strings.LastIndex(r.Scenario, "-t")
		if i < 0 || r.Scenario[i+2] == '1' || len(r.request.Input) == 0 {
			continue
		}
		before := answers[turn(r, r.Scenario[i+2]-1)]
		if before == nil || len(before.request.Input) == 0 || before.Kind != "stream" {
			continue
		}
		compared++
		t.Run(r.Scenario, func(t *testing.T) {
			a, err := decode(string(before.body))
			if err != nil {
				t.Fatal(err)
			}
			m := &profile.Model{ID: "m", Provider: "p", API: apiOpenAI, Reasoning: true, Compat: profile.Defaults(apiOpenAI)}
			g := &llmdv1.Generation{Context: &llmdv1.Context{Messages: []*llmdv1.Message{message(a, "p", "m")}}}
			body := encode(t, New(), g, m).Body
			var sent struct{ Input []json.RawMessage }
			if err := json.Unmarshal(body, &sent); err != nil {
				t.Fatal(err)
			}
			var got, want []heard
			for _, raw := range sent.Input {
				got = append(got, hear(t, raw))
			}
			for _, raw := range r.request.Input[len(before.request.Input):] {
				h := hear(t, raw)
				if h.Output != "" || h.Type == "tool_search_output" {
					break
				}
				want = append(want, h)
			}
			if len(want) > 0 && want[len(want)-1].Text != "" && want[len(want)-1].Type == itemMessage && len(want) > len(got) {
				want = want[:len(got)] // the user's next message
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("items:\n%s", d)
			}
		})
	}
	if compared == 0 {
		t.Error("no recorded conversation was compared")
	}
}

// encode writes a request.
func encode(t *testing.T, a *Adapter, g *llmdv1.Generation, m *profile.Model) *adapters.Request {
	t.Helper()
	r, err := tryEncode(t, a, g, m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func tryEncode(t *testing.T, a *Adapter, g *llmdv1.Generation, m *profile.Model) (*adapters.Request, error) {
	t.Helper()
	return adaptertest.Encode(t, a, g, m)
}

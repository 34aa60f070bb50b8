package service

import (
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/upstream"
)

// fuzzModels has one model for each wire API, some of them with odd profiles.
var fuzzModels = []string{
	"anthropic/claude-opus-4-6", "openai/gpt-5", "openrouter/deepseek/deepseek-v3.2", "google/gemini-2.5-pro", "google/gemini-3.1-pro-preview",
	"mistral/mistral-medium-latest", "amazon-bedrock/anthropic.claude-opus-4-6-v1", "groq/openai/gpt-oss-120b", "deepseek/deepseek-v4-pro", "faux/echo",
}

// FuzzPrepare sends any request through validation, the hand-off and the encoder of
// any API: it is refused with a typed error, or becomes JSON, the same each time, and
// the caller's own history is not touched.
func FuzzPrepare(f *testing.F) {
	s := catalogueService(f)
	for i := range fuzzModels {
		for _, g := range fuzzSeeds() {
			text, err := proto.Marshal(g)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text, uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, model uint8) {
		g := &llmdv1.Generation{}
		if proto.Unmarshal(text, g) != nil {
			t.Skip() // gRPC refuses it
		}
		g.Model = fuzzModels[int(model)%len(fuzzModels)]
		before := proto.CloneOf(g)
		first, err := s.Inference.PrepareContext(t.Context(), &llmdv1.PrepareContextRequest{Generation: g})
		if !proto.Equal(g, before) {
			t.Error("the caller's history was changed")
		}
		if err != nil {
			if reason := reasonIn(err); reason == "" || reason == "INTERNAL" || status.Code(err) == codes.Unknown {
				t.Errorf("refused without a reason: %v", err)
			}
			return
		}
		if body := first.GetRequest().GetBodyJson(); !json.Valid([]byte(body)) {
			t.Errorf("no JSON: %.2000s", body)
		}
		if all := first.String(); strings.Contains(all, "value-of-") {
			t.Errorf("a key is shown: %.2000s", all)
		}
		again, err := s.Inference.PrepareContext(t.Context(), &llmdv1.PrepareContextRequest{Generation: g})
		if err != nil || again.GetRequest().GetBodyJson() != first.GetRequest().GetBodyJson() {
			t.Errorf("another time it is something else: %v", err)
		}
	})
}

// catalogueService has every built-in model, with keys that nobody takes.
func catalogueService(t testing.TB) *Service {
	t.Helper()
	models, err := catalog.Load(config.Default(), func(name string) (string, bool) {
		if name == "AWS_REGION" {
			return "eu-west-1", true
		}
		return "value-of-" + name, true
	})
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	for _, name := range fuzzModels {
		if m, _, _ := models.Resolve(name); m != nil {
			known++
		}
	}
	if known < len(fuzzModels) {
		t.Fatalf("%d of the models are in the catalogue", known)
	}
	client := upstream.New(upstream.Options{})
	s := New(func() *catalog.Catalog { return models }, client, Options{Instance: "test", Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	t.Cleanup(func() { s.Close(); client.Close() })
	return s
}

// fuzzSeeds are conversations with a block of each kind.
func fuzzSeeds() []*llmdv1.Generation {
	text := func(s string) *llmdv1.Message { return said(s) }
	signed := &llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: &llmdv1.AssistantMessage{
		Api: "anthropic-messages", Provider: "anthropic", Model: "claude-opus-4-6", StopReason: llmdv1.StopReason_STOP_REASON_TOOL_USE,
		Content: []*llmdv1.AssistantContent{
			{Block: &llmdv1.AssistantContent_Thinking{Thinking: &llmdv1.ThinkingContent{Thinking: "Hm.", Signature: &llmdv1.Signature{Api: "anthropic-messages", Provider: "anthropic", Model: "claude-opus-4-6", Format: "anthropic.thinking", Data: []byte("c2ln")}}}},
			{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{Text: "I look."}}},
			{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: &llmdv1.ToolCall{Id: "call|1", Name: "look", ArgumentsJson: `{"at":[1,2.50]}`}}},
		},
	}}}
	tools := []*llmdv1.Tool{{Name: "look", Description: "Looks.", ParametersJsonSchema: `{"type":"object","properties":{"at":{"type":"array","items":{"type":"number"}}}}`}}
	return []*llmdv1.Generation{
		{Context: &llmdv1.Context{SystemPrompt: "Be brief.", Messages: []*llmdv1.Message{text("Hello.")}}},
		{
			Context:   &llmdv1.Context{Messages: []*llmdv1.Message{text("Look."), signed, returned("call|1", true), text("And?")}, Tools: tools},
			Reasoning: &llmdv1.ReasoningConfig{Effort: llmdv1.ReasoningEffort_REASONING_EFFORT_HIGH},
		},
		{Context: &llmdv1.Context{Messages: []*llmdv1.Message{text("\x00\u2028 \U0001f642"), signed}, Tools: tools}, ProviderOptionsJson: map[string]string{"openai": `{"a":1}`}},
	}
}

package handoff

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/anthropic"
	"github.com/llmd-dev/llmd/adapters/bedrock"
	"github.com/llmd-dev/llmd/adapters/google"
	"github.com/llmd-dev/llmd/adapters/jsonstream"
	"github.com/llmd-dev/llmd/adapters/mistral"
	"github.com/llmd-dev/llmd/adapters/openaichat"
	"github.com/llmd-dev/llmd/adapters/openairesponses"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/providersim"
	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/transform"
)

// Config is the providers of a configuration that reach all APIs of a simulator at an
// address such as "http://127.0.0.1:1234". Two models of one API, the same model at
// two hosts and models without images or thinking are among them: what one issues is
// foreign to the other.
func Config(address string) string {
	const images = "input: [text, image], context_window_tokens: 1000000, max_output_tokens: 32000"
	const words = "input: [text], context_window_tokens: 1000000, max_output_tokens: 32000"
	var b strings.Builder
	b.WriteString("providers:\n")
	add := func(id, api, path, compat string, models ...string) {
		fmt.Fprintf(&b, "  - id: %s\n    api: %s\n    base_url: %q\n    api_key: simulated\n", id, api, address+"/"+api+path)
		if api == providersim.Bedrock {
			b.WriteString("    region: us-east-1\n")
		}
		if compat != "" {
			fmt.Fprintf(&b, "    compat: {%s}\n", compat)
		}
		b.WriteString("    models:\n")
		for _, m := range models {
			fmt.Fprintf(&b, "      - {%s}\n", m)
		}
	}
	model := func(id string, reasoning bool, more string) string {
		return fmt.Sprintf("id: %q, reasoning: %v, %s", id, reasoning, more)
	}
	add("claude", providersim.Anthropic, "", "supports_strict_tools: true",
		model("claude-sonnet-4-5", true, images), model("claude-opus-4-6", true, images+", efforts: {max: max}"))
	add("claude-too", providersim.Anthropic, "", "", model("claude-sonnet-4-5", true, images))
	add("oai-chat", providersim.Chat, "/v1", "supports_developer_role: true, supports_strict_mode: true", model("gpt-4.1", false, images))
	add("router", providersim.Chat, "/v1", "thinking_format: openrouter, cache_control_format: anthropic",
		model("anthropic/claude-sonnet-4.5", true, images), model("google/gemini-3-pro", true, images))
	add("deep", providersim.Chat, "/v1", "supports_store: false, max_tokens_field: max_tokens, thinking_format: deepseek, "+
		"requires_reasoning_content_on_assistant_messages: true", model("deepseek-chat", true, words))
	add("local", providersim.Chat, "/v1", "supports_store: false, max_tokens_field: max_tokens, thinking_format: qwen, "+
		"requires_alternating_turns: true", model("qwen3-vl", true, images))
	add("plain", providersim.Chat, "/v1", "supports_store: false, max_tokens_field: max_tokens, requires_thinking_as_text: true, "+
		"requires_assistant_after_tool_result: true, requires_tool_result_name: true", model("gpt-oss-text-only", false, words))
	add("oai", providersim.Responses, "/v1", "supports_strict_mode: true", model("gpt-5", true, images), model("gpt-5-mini", true, images),
		model("gpt-4.1", false, images))
	add("blue", providersim.Azure, "/openai/v1", "", model("gpt-5", true, images))
	add("gem", providersim.Gemini, "/v1beta", "", model("gemini-2.5-flash", true, images), model("gemini-3-pro-preview", true, images))
	add("vert", providersim.Vertex, "/v1/publishers/google", "", model("gemini-3-flash-preview", true, images), model("gemini-2.5-pro", true, images))
	add("rock", providersim.Bedrock, "", "", model("us.anthropic.claude-sonnet-4-5-20250929-v1:0", true, images),
		model("anthropic.claude-opus-4-6-v1", true, images), model("us.amazon.nova-2-lite-v1:0", true, images), model("openai.gpt-oss-120b-1:0", true, words),
		model("mistral.pixtral-large-2502-v1:0", false, images))
	add("mist", providersim.Mistral, "/v1", "", model("magistral-medium-latest", true, images), model("mistral-small-2506", false, images),
		model("codestral-latest", false, words))
	return b.String()
}

// World is the models of [Config], with what it takes to reach them.
type World struct {
	// Models are in a fixed order.
	Models   []*profile.Model
	adapters map[string]adapters.Adapter
	apply    func(transform.Input) (*transform.Result, error)
}

// NewWorld reads the configuration. apply is the hand-off, [transform.Apply] unless a
// test wants another.
func NewWorld(apply func(transform.Input) (*transform.Result, error)) (*World, error) {
	env := func(string) (string, bool) { return "", false }
	file, err := config.Parse("handoff.yaml", []byte(Config("http://127.0.0.1:1")), env)
	if err != nil {
		return nil, err
	}
	all, err := catalog.Load(file, env)
	if err != nil {
		return nil, err
	}
	w := &World{adapters: map[string]adapters.Adapter{}, apply: apply}
	for i := range file.Providers {
		w.Models = append(w.Models, all.Models(file.Providers[i].ID)...)
	}
	for _, a := range []adapters.Adapter{
		anthropic.New(), openaichat.New(), openairesponses.New(), openairesponses.NewAzure(), google.New(), google.NewVertex(), bedrock.New(), mistral.New(),
	} {
		w.adapters[a.API()] = a
	}
	return w, nil
}

// Model finds a model by its address; nil if there is none.
func (w *World) Model(name string) *profile.Model {
	i := slices.IndexFunc(w.Models, func(m *profile.Model) bool { return m.Name() == name })
	if i < 0 {
		return nil
	}
	return w.Models[i]
}

// Turn is a conversation with the model that is to go on with it.
type Turn struct {
	Model      *profile.Model
	Generation *llmdv1.Generation
}

// Prepared is what becomes of a turn.
type Prepared struct {
	// Context is the history after the hand-off, Own and Adapter the changes by it
	// and by the adapter.
	Context      *llmdv1.Context
	Own, Adapter []*llmdv1.HandoffChange
	Body         []byte

	call *adapters.Call
}

// Broken are the rules that the provider would refuse it for.
func (p *Prepared) Broken() []providersim.Violation {
	return providersim.Check(p.call.Model.API, p.call.Model.ID, p.Body)
}

// Changes are all changes.
func (p *Prepared) Changes() []*llmdv1.HandoffChange { return slices.Concat(p.Own, p.Adapter) }

// Constraints is what the model's API asks of a history.
func (w *World) Constraints(m *profile.Model) adapters.Constraints {
	return w.adapters[m.API].Constraints(m)
}

// Prepare hands the history off and writes the request, as the service does. Its
// errors are the hand-off's and the adapter's.
func (w *World) Prepare(t Turn) (*Prepared, error) {
	r, err := w.apply(transform.Input{
		Context: t.Generation.GetContext(), Model: t.Model, Constraints: w.Constraints(t.Model), Policy: t.Generation.GetHandoff(),
	})
	if err != nil {
		return nil, err
	}
	o, err := adapters.Negotiate(t.Generation, r.Context, t.Model)
	if err != nil {
		return nil, err
	}
	call := &adapters.Call{Generation: t.Generation, Context: r.Context, Origins: r.Origins, Model: t.Model, Options: o}
	q, err := w.adapters[t.Model.API].Encode(call)
	if err != nil {
		return nil, err
	}
	if err := transform.RefuseLosses(t.Generation, q.Changes); err != nil {
		return nil, err
	}
	return &Prepared{Context: r.Context, Own: r.Changes, Adapter: q.Changes, Body: q.Body, call: call}, nil
}

// Answer is what the provider answers, cut after so many bytes (negative = whole), as
// the service makes a message of it.
func (w *World) Answer(p *Prepared, cut int) (*llmdv1.AssistantMessage, error) {
	m := p.call.Model
	body := providersim.Answer(m.API, m.ID, p.Body)
	if cut >= 0 {
		body = body[:min(cut, len(body))]
	}
	parts, err := adaptertest.Decode(w.adapters[m.API], p.call, bytes.NewReader(body))
	f := adaptertest.Fold(parts)
	if len(f.Faults) > 0 {
		return nil, fmt.Errorf("handoff: %s", f.Faults[0])
	}
	a := &llmdv1.AssistantMessage{Api: m.API, Provider: m.Provider, Model: m.ID, StopReason: f.Stop, ProviderResponseId: f.ResponseID}
	switch {
	case err != nil && cut < 0:
		return nil, err
	case err != nil || f.Stop == llmdv1.StopReason_STOP_REASON_UNSPECIFIED:
		a.StopReason = llmdv1.StopReason_STOP_REASON_ABORTED
	case f.Stop == llmdv1.StopReason_STOP_REASON_STOP && f.Calls():
		a.StopReason = llmdv1.StopReason_STOP_REASON_TOOL_USE
	}
	if a.StopReason == llmdv1.StopReason_STOP_REASON_ERROR || a.StopReason == llmdv1.StopReason_STOP_REASON_ABORTED {
		a.Error = &llmdv1.Error{Reason: "SIMULATED"}
	}
	whole := a.Error == nil
	for i := range f.Blocks {
		if c := content(m, a, &f.Blocks[i], i, whole); c != nil {
			a.Content = append(a.Content, c)
		}
	}
	return a, nil
}

// content makes a block of the message. In a whole answer every block has ended, as
// in the service; an empty one leaves no trace.
func content(m *profile.Model, a *llmdv1.AssistantMessage, b *adaptertest.Block, i int, whole bool) *llmdv1.AssistantContent {
	ended := b.Ended || whole
	var s *llmdv1.Signature
	if b.Signature != "" && ended {
		s = &llmdv1.Signature{
			Data: []byte(b.Signature), Format: b.Format, Api: m.API, Provider: m.Provider, Model: m.ID, Endpoint: m.Endpoint,
		}
	}
	if b.Text == "" && s == nil && !b.Redacted && b.Kind != adaptertest.KindToolCall {
		return nil
	}
	switch b.Kind {
	case adaptertest.KindText:
		return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{Text: b.Text, Signature: s, Incomplete: !ended}}}
	case adaptertest.KindThinking:
		return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: &llmdv1.ThinkingContent{
			Thinking: b.Text, Signature: s, Redacted: b.Redacted, Incomplete: !ended,
		}}}
	case adaptertest.KindToolCall:
		read := jsonstream.Repair([]byte(b.Text))
		id := b.ID
		if id == "" {
			id = fmt.Sprintf("call_%s_%d", a.GetProviderResponseId(), i)
		}
		return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: &llmdv1.ToolCall{
			Id: id, Name: b.Name, ToolNamespace: b.Namespace, Signature: s, Incomplete: !ended,
			ArgumentsJson: read.JSON, ArgumentsRepaired: read.Repaired, ArgumentsError: read.Error,
		}}}
	default:
		return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ProviderContent{ProviderContent: &llmdv1.ProviderContent{
			Api: m.API, Provider: m.Provider, Model: m.ID, Type: b.Name, RawJson: []byte(b.Text),
		}}}
	}
}

// Refused says whether an error is one that the law allows: a last turn of the
// assistant that the model cannot continue, or nothing left to send.
func Refused(err error) bool {
	if c, ok := errors.AsType[*adapters.CapabilityError](err); ok {
		return c.Capability == "prefill"
	}
	f, ok := errors.AsType[*adapters.FieldError](err)
	return ok && strings.Contains(f.Detail, "is left to send")
}

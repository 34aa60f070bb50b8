package openaichat

import (
	"fmt"
	"slices"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/schema"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// tools writes the tools and how they are to be used.
// https://platform.openai.com/docs/guides/function-calling
func (e *encoder) tools() error {
	w := &e.w
	if err := e.toolChoice(); err != nil {
		return err
	}
	if len(e.opts.Tools) == 0 {
		// Most hosts reject an empty list, a few want one beside a history of calls.
		if e.compat.RequiresToolsWithToolHistory && hasToolHistory(e.call.Context) {
			w.Key("tools")
			w.Raw("[]")
		}
		return e.call.NeedsTool()
	}
	sent := make([]tool, len(e.opts.Tools))
	rules := e.toolRules()
	for i, t := range adapters.RequiredFirst(e.opts.Tools) {
		text, strict, err := e.call.ToolSchema(t, rules)
		if err != nil {
			return err
		}
		sent[i] = tool{t, text, strict}
	}
	w.Key("tools")
	w.BeginArray()
	for i := range sent {
		e.tool(&sent[i], i == len(sent)-1)
	}
	w.EndArray()
	adapters.WriteOpenAIToolChoice(w, &e.opts, "required", true)
	switch c := e.config; {
	case c == nil || c.ParallelToolCalls == nil:
	case e.compat.SupportsParallelToolCalls:
		w.Key("parallel_tool_calls")
		w.Bool(c.GetParallelToolCalls())
	default:
		e.adjust("parallel_tool_calls is left out: the model calls one tool at a time")
	}
	if e.compat.ZaiToolStream {
		w.Key("tool_stream")
		w.Bool(true)
	}
	return nil
}

// toolChoice puts the caller's rule in words that the host understands.
func (e *encoder) toolChoice() error {
	format, o := e.compat.ToolChoiceFormat, &e.opts
	switch {
	case format == "words":
		// The one tool that must be called is the only one that is sent.
		o.ToolName = ""
	case format == "auto" && o.ToolMode == llmdv1.ToolMode_TOOL_MODE_REQUIRED:
		return adapters.Unsupported("tool_choice", "tool_choice", fmt.Sprintf("provider %q cannot be told that a tool must be called", e.call.Model.Provider))
	case format == "auto" && o.ToolMode == llmdv1.ToolMode_TOOL_MODE_NONE:
		o.Tools, e.effect.ToolNames = nil, nil
	}
	return nil
}

// toolRules is what is taken of the schemas of tools.
func (e *encoder) toolRules() adapters.ToolRules {
	rules := adapters.ToolRules{Typed: true, Listed: true, Strict: e.call.StrictRules(), Note: e.adjust}
	switch e.call.Maker() {
	case "openai":
		rules.Root, rules.Draft, rules.Regular = schema.OpenAIRoot(), schema.OpenAIDraft(), true
	case "deepseek":
		rules.Draft = schema.DeepSeekDraft()
	case "llamacpp":
		rules.Grammar = true
	case "moonshot":
		rules.Root, rules.Draft = schema.OpenAIRoot(), schema.MoonshotDraft()
	case "anthropic":
		rules.Root, rules.Draft = schema.ClaudeRoot(), schema.Latest()
		rules.Room = schema.ClaudeRoom(e.config.GetOutputJsonSchema())
	}
	if !e.compat.SupportsStrictMode {
		rules.NotStrict = fmt.Sprintf("provider %q does not enforce schemas", e.call.Model.Provider)
	}
	return rules
}

// tool is a function with its schema as it is sent.
type tool struct {
	*llmdv1.Tool
	schema string
	strict bool
}

// tool writes one function. A schema that the host takes goes out byte for byte: models
// see the order of its keys, and so do prompt caches.
func (e *encoder) tool(t *tool, last bool) {
	w := &e.w
	w.BeginObject()
	w.Member("type", "function")
	w.Key("function")
	w.BeginObject()
	w.Member("name", t.GetName())
	w.MemberIf("description", t.GetDescription())
	w.Key("parameters")
	w.Raw(t.schema)
	if e.compat.SupportsStrictMode {
		w.Key("strict")
		w.Bool(t.strict)
	}
	w.EndObject()
	if marker := e.cacheMarker(); last && marker != "" {
		w.Key("cache_control")
		w.Raw(marker)
	}
	w.EndObject()
}

// hasToolHistory says whether the conversation holds calls or results.
func hasToolHistory(c *llmdv1.Context) bool {
	return slices.ContainsFunc(c.GetMessages(), func(m *llmdv1.Message) bool {
		return m.GetToolResult() != nil || slices.ContainsFunc(m.GetAssistant().GetContent(), func(b *llmdv1.AssistantContent) bool {
			return b.GetToolCall() != nil
		})
	})
}

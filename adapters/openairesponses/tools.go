package openairesponses

import (
	"fmt"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/schema"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// noParameters is the schema of a tool that has none; it will do for strict mode.
const noParameters = `{"type":"object","properties":{},"required":[],"additionalProperties":false}`

// tools writes the tools and how they are to be used.
// https://platform.openai.com/docs/guides/function-calling
func (e *encoder) tools() error {
	w := &e.w
	if len(e.opts.Tools) == 0 {
		// tool_choice is an error without tools.
		return e.call.NeedsTool()
	}
	w.Key("tools")
	w.BeginArray()
	for _, t := range e.opts.Tools {
		if err := e.tool(t); err != nil {
			return err
		}
	}
	w.EndArray()
	adapters.WriteOpenAIToolChoice(w, e.opts, "required", false)
	if c := e.config; c != nil && c.ParallelToolCalls != nil {
		w.Key("parallel_tool_calls")
		w.Bool(c.GetParallelToolCalls())
	}
	return nil
}

// tool writes one tool. Where strict mode exists it is the default of this API, so
// a tool that is not to be strict says so.
func (e *encoder) tool(t *llmdv1.Tool) error {
	rules := adapters.ToolRules{
		Draft: schema.OpenAIDraft(), Typed: true, Listed: true, Root: schema.OpenAIRoot(), Strict: e.call.StrictRules(),
		Regular: e.call.Maker() == "openai",
		Note:    func(s string) { e.effect.Adjustments = append(e.effect.Adjustments, s) },
	}
	if !e.compat.SupportsStrictMode {
		rules.NotStrict = fmt.Sprintf("provider %q does not hold models to schemas", e.call.Model.Provider)
	}
	text, strict, err := e.call.ToolSchema(t, rules)
	if err != nil {
		return err
	}
	if t.GetParametersJsonSchema() == "" {
		text = noParameters
	}
	w := &e.w
	w.BeginObject()
	w.Member("type", "function")
	w.Member("name", t.GetName())
	w.MemberIf("description", t.GetDescription())
	w.Key("parameters")
	w.Raw(text)
	if e.compat.SupportsStrictMode {
		w.Key("strict")
		w.Bool(strict)
	}
	w.EndObject()
	return nil
}

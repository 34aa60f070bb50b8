package mistral

import (
	"fmt"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// tools writes the tools and how they are to be used.
// https://docs.mistral.ai/capabilities/function_calling/
func (e *encoder) tools() error {
	w := &e.w
	if len(e.opts.Tools) == 0 {
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
	adapters.WriteOpenAIToolChoice(w, e.opts, "any", true)
	if c := e.config; c != nil && c.ParallelToolCalls != nil {
		w.Key("parallel_tool_calls")
		w.Bool(c.GetParallelToolCalls())
	}
	return nil
}

// tool writes one function, its schema byte for byte save that it says its type: models
// see the order of its keys, and so do prompt caches. Models stall over strict tools, so it takes the
// configuration's word that this one does not.
func (e *encoder) tool(t *llmdv1.Tool) error {
	rules := adapters.ToolRules{Typed: true, Note: e.adjust}
	if !e.call.Model.Compat.SupportsStrictMode {
		rules.NotStrict = fmt.Sprintf("model %q is not known to keep to the schemas of tools", e.call.Model.ID)
	}
	schema, strict, err := e.call.ToolSchema(t, rules)
	if err != nil {
		return err
	}
	w := &e.w
	w.BeginObject()
	w.Member("type", "function")
	w.Key("function")
	w.BeginObject()
	w.Member("name", t.GetName())
	w.MemberIf("description", t.GetDescription())
	w.Key("parameters")
	w.Raw(schema)
	w.Key("strict")
	w.Bool(strict)
	w.EndObject()
	w.EndObject()
	return nil
}

package mistral

import (
	"fmt"
	"slices"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonstream"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// noParameters is the schema of a tool without parameters: the field is required.
const noParameters = `{"type":"object","properties":{}}`

// tools writes the tools and how they are to be used.
// https://docs.mistral.ai/capabilities/function_calling/
func (e *encoder) tools() error {
	w := &e.w
	if len(e.opts.Tools) == 0 {
		if e.opts.ToolMode == llmdv1.ToolMode_TOOL_MODE_REQUIRED {
			return &adapters.FieldError{Field: "generation.tool_choice", Detail: "there is no tool to call"}
		}
		return nil
	}
	w.Key("tools")
	w.BeginArray()
	for _, t := range e.opts.Tools {
		if err := e.tool(t); err != nil {
			return err
		}
	}
	w.EndArray()
	e.toolChoice()
	if c := e.config; c != nil && c.ParallelToolCalls != nil {
		w.Key("parallel_tool_calls")
		w.Bool(c.GetParallelToolCalls())
	}
	return nil
}

// tool writes one function, its schema byte for byte: models see the order of its
// keys, and so do prompt caches.
func (e *encoder) tool(t *llmdv1.Tool) error {
	schema := t.GetParametersJsonSchema()
	switch {
	case schema == "":
		schema = noParameters
	case jsonstream.Object([]byte(schema)) != nil:
		return &adapters.FieldError{Field: e.toolField(t) + ".parameters_json_schema", Detail: "not one JSON object"}
	}
	strict, err := e.strict(t)
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

// strict says whether a tool's schema is to be enforced. Models stall over strict
// tools, so it takes the configuration's word that this one does not.
func (e *encoder) strict(t *llmdv1.Tool) (bool, error) {
	want := t.GetStrict()
	supported := e.call.Model.Compat.SupportsStrictMode
	if want == llmdv1.StrictMode_STRICT_MODE_REQUIRE && !supported {
		return false, unsupported("strict_tools", e.toolField(t)+".strict",
			fmt.Sprintf("model %q is not known to keep to the schemas of tools", e.call.Model.ID))
	}
	return supported && (want == llmdv1.StrictMode_STRICT_MODE_PREFER || want == llmdv1.StrictMode_STRICT_MODE_REQUIRE), nil
}

// toolField names a tool in the caller's list, of which only one may be exposed.
func (e *encoder) toolField(t *llmdv1.Tool) string {
	return fmt.Sprintf("generation.context.tools[%d]", slices.Index(e.call.Generation.GetContext().GetTools(), t))
}

// toolChoice writes the caller's rule; without one the API's own default applies.
func (e *encoder) toolChoice() {
	w := &e.w
	switch e.opts.ToolMode {
	case llmdv1.ToolMode_TOOL_MODE_UNSPECIFIED:
	case llmdv1.ToolMode_TOOL_MODE_AUTO:
		w.Member("tool_choice", "auto")
	case llmdv1.ToolMode_TOOL_MODE_NONE:
		w.Member("tool_choice", "none")
	case llmdv1.ToolMode_TOOL_MODE_REQUIRED:
		if e.opts.ToolName == "" {
			w.Member("tool_choice", "any")
			return
		}
		w.Key("tool_choice")
		w.BeginObject()
		w.Member("type", "function")
		w.Key("function")
		w.BeginObject()
		w.Member("name", e.opts.ToolName)
		w.EndObject()
		w.EndObject()
	}
}

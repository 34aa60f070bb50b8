package openairesponses

import (
	"fmt"
	"slices"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonstream"
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

// tool writes one tool. Where strict mode exists it is the default of this API, so
// a tool that is not to be strict says so.
func (e *encoder) tool(t *llmdv1.Tool) error {
	schema := t.GetParametersJsonSchema()
	if schema != "" && jsonstream.Object([]byte(schema)) != nil {
		return &adapters.FieldError{Field: e.toolField(t) + ".parameters_json_schema", Detail: "not one JSON object"}
	}
	if schema == "" {
		schema = noParameters
	}
	strict, err := e.strict(t, schema)
	if err != nil {
		return err
	}
	w := &e.w
	w.BeginObject()
	w.Member("type", "function")
	w.Member("name", t.GetName())
	w.MemberIf("description", t.GetDescription())
	w.Key("parameters")
	w.Raw(schema)
	if e.compat.SupportsStrictMode {
		w.Key("strict")
		w.Bool(strict)
	}
	w.EndObject()
	return nil
}

// strict says whether the model is to be held to a tool's schema.
func (e *encoder) strict(t *llmdv1.Tool, schema string) (bool, error) {
	var why string
	switch t.GetStrict() {
	case llmdv1.StrictMode_STRICT_MODE_PREFER, llmdv1.StrictMode_STRICT_MODE_REQUIRE:
		if !e.compat.SupportsStrictMode {
			why = fmt.Sprintf("provider %q does not hold models to schemas", e.call.Model.Provider)
		} else if obstacle := strictSchema(schema); obstacle != "" {
			why = fmt.Sprintf("the schema of tool %q has %s", t.GetName(), obstacle)
		}
	default:
		return false, nil
	}
	if why != "" && t.GetStrict() == llmdv1.StrictMode_STRICT_MODE_REQUIRE {
		return false, unsupported("strict_tools", e.toolField(t)+".strict", why)
	}
	return why == "", nil
}

// toolField names a tool in the caller's list, of which only one may be exposed.
func (e *encoder) toolField(t *llmdv1.Tool) string {
	return fmt.Sprintf("generation.context.tools[%d]", slices.Index(e.call.Generation.GetContext().GetTools(), t))
}

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
			w.Member("tool_choice", "required")
			return
		}
		w.Key("tool_choice")
		w.BeginObject()
		w.Member("type", "function")
		w.Member("name", e.opts.ToolName)
		w.EndObject()
	}
}

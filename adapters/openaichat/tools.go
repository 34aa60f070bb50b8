package openaichat

import (
	"fmt"
	"slices"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonstream"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Schemas of a tool without parameters, for hosts that want a schema all the same.
const (
	noParameters       = `{"type":"object","properties":{}}`
	noParametersStrict = `{"type":"object","properties":{},"required":[],"additionalProperties":false}`
)

// tools writes the tools and how they are to be used.
// https://platform.openai.com/docs/guides/function-calling
func (e *encoder) tools() error {
	w := &e.w
	if len(e.opts.Tools) == 0 {
		// Most hosts reject an empty list, a few want one beside a history of calls.
		if e.compat.RequiresToolsWithToolHistory && hasToolHistory(e.call.Context) {
			w.Key("tools")
			w.Raw("[]")
		}
		if e.opts.ToolMode == llmdv1.ToolMode_TOOL_MODE_REQUIRED {
			return &adapters.FieldError{Field: "generation.tool_choice", Detail: "there is no tool to call"}
		}
		return nil
	}
	w.Key("tools")
	w.BeginArray()
	for i, t := range e.opts.Tools {
		if err := e.tool(t, i == len(e.opts.Tools)-1); err != nil {
			return err
		}
	}
	w.EndArray()
	e.toolChoice()
	if c := e.config; c != nil && c.ParallelToolCalls != nil {
		w.Key("parallel_tool_calls")
		w.Bool(c.GetParallelToolCalls())
	}
	if e.compat.ZaiToolStream {
		w.Key("tool_stream")
		w.Bool(true)
	}
	return nil
}

// tool writes one function. Its schema goes out byte for byte: models see the order
// of its keys, and so do prompt caches.
func (e *encoder) tool(t *llmdv1.Tool, last bool) error {
	schema := t.GetParametersJsonSchema()
	if schema != "" && jsonstream.Object([]byte(schema)) != nil {
		return &adapters.FieldError{Field: e.toolField(t) + ".parameters_json_schema", Detail: "not one JSON object"}
	}
	strict, err := e.strict(t, schema)
	if err != nil {
		return err
	}
	switch {
	case schema == "" && strict:
		schema = noParametersStrict
	case schema == "":
		schema = noParameters
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
	if e.compat.SupportsStrictMode {
		w.Key("strict")
		w.Bool(strict)
	}
	w.EndObject()
	if marker := e.cacheMarker(); last && marker != "" {
		w.Key("cache_control")
		w.Raw(marker)
	}
	w.EndObject()
	return nil
}

// strict says whether a tool's schema is to be enforced.
func (e *encoder) strict(t *llmdv1.Tool, schema string) (bool, error) {
	want := t.GetStrict()
	if want != llmdv1.StrictMode_STRICT_MODE_PREFER && want != llmdv1.StrictMode_STRICT_MODE_REQUIRE {
		return false, nil
	}
	why := ""
	switch {
	case !e.compat.SupportsStrictMode:
		why = fmt.Sprintf("provider %q does not enforce schemas", e.call.Model.Provider)
	case schema != "":
		if w := strictSchema(schema); w != "" {
			why = fmt.Sprintf("the schema of tool %q has %s", t.GetName(), w)
		}
	}
	if why != "" && want == llmdv1.StrictMode_STRICT_MODE_REQUIRE {
		return false, unsupported("strict_tools", e.toolField(t)+".strict", why)
	}
	return why == "", nil
}

// toolField names a tool in the caller's list, of which only one may be exposed.
func (e *encoder) toolField(t *llmdv1.Tool) string {
	return fmt.Sprintf("generation.context.tools[%d]", slices.Index(e.call.Generation.GetContext().GetTools(), t))
}

// toolChoice writes the caller's rule; without one the API's own default applies.
// With a named tool it is the only one that is exposed, and is named all the same:
// "required" is unknown to some hosts that know names.
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
		w.Key("function")
		w.BeginObject()
		w.Member("name", e.opts.ToolName)
		w.EndObject()
		w.EndObject()
	}
}

// hasToolHistory says whether the conversation holds calls or results.
func hasToolHistory(c *llmdv1.Context) bool {
	return slices.ContainsFunc(c.GetMessages(), func(m *llmdv1.Message) bool {
		return m.GetToolResult() != nil || slices.ContainsFunc(m.GetAssistant().GetContent(), func(b *llmdv1.AssistantContent) bool {
			return b.GetToolCall() != nil
		})
	})
}

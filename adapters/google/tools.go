package google

import (
	"fmt"
	"slices"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/schema"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// tools writes the declarations and the rule for calling them.
func (e *encoder) tools() error {
	tools := e.call.Options.Tools
	if len(tools) == 0 {
		return nil
	}
	e.w.Key("tools")
	e.w.BeginArray()
	e.w.BeginObject()
	e.w.Key("functionDeclarations")
	e.w.BeginArray()
	for _, t := range tools {
		if err := e.declaration(t); err != nil {
			return err
		}
	}
	e.w.EndArray()
	e.w.EndObject()
	e.w.EndArray()
	return e.toolConfig()
}

func (e *encoder) declaration(t *llmdv1.Tool) error {
	if first := t.GetName()[0]; first == '-' || '0' <= first && first <= '9' {
		return e.lacks("tools", e.call.ToolField(t)+".name", "the name of a tool must start with a letter or an underscore")
	}
	e.w.BeginObject()
	e.w.Member("name", t.GetName())
	e.w.MemberIf("description", t.GetDescription())
	if parameters := t.GetParametersJsonSchema(); parameters != "" {
		text := adapters.FitSchema(parameters, schema.GoogleDraft(), fmt.Sprintf("tool %q", t.GetName()), e.adjust)
		text, err := rewriteSchema(schema.Typed(text))
		if err != nil {
			return &adapters.FieldError{Field: e.call.ToolField(t) + ".parameters_json_schema", Detail: "not one JSON object"}
		}
		// "parameters" takes Google's own kind of schema and refuses the keywords it
		// does not know; this field takes JSON Schema and ignores them.
		e.w.Key("parametersJsonSchema")
		e.w.Raw(text)
	}
	e.w.EndObject()
	return nil
}

// toolConfig writes the mode. A tool that must be called by name is the only one
// allowed.
func (e *encoder) toolConfig() error {
	mode, err := e.toolMode()
	if err != nil || mode == "" {
		return err
	}
	e.w.Key("toolConfig")
	e.w.BeginObject()
	e.w.Key("functionCallingConfig")
	e.w.BeginObject()
	e.w.Member("mode", mode)
	if name := e.call.Options.ToolName; name != "" {
		e.w.StringsIf("allowedFunctionNames", []string{name})
	}
	e.w.EndObject()
	e.w.EndObject()
	return nil
}

// toolMode is the word for the caller's rule; empty leaves the choice to the API.
// ANY and VALIDATED hold the model to the schemas; there is no strictness for one
// tool alone.
func (e *encoder) toolMode() (string, error) {
	mode := e.call.Options.ToolMode
	if mode == llmdv1.ToolMode_TOOL_MODE_NONE {
		return "NONE", nil
	}
	if mode == llmdv1.ToolMode_TOOL_MODE_REQUIRED {
		return "ANY", nil
	}
	strict := slices.ContainsFunc(e.call.Options.Tools, func(t *llmdv1.Tool) bool {
		return t.GetStrict() == llmdv1.StrictMode_STRICT_MODE_PREFER || t.GetStrict() == llmdv1.StrictMode_STRICT_MODE_REQUIRE
	})
	if strict && e.model.validates() {
		return "VALIDATED", nil
	}
	for _, t := range e.call.Options.Tools {
		if t.GetStrict() == llmdv1.StrictMode_STRICT_MODE_REQUIRE {
			return "", e.lacks("strict_tools", e.call.ToolField(t)+".strict", "cannot be held to the schema of a tool that it need not call")
		}
	}
	if mode == llmdv1.ToolMode_TOOL_MODE_AUTO {
		return "AUTO", nil
	}
	return "", nil
}

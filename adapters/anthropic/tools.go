package anthropic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// noParameters is the schema of a tool that takes none.
const noParameters = `{"type":"object","properties":{}}`

// tool is one tool as it is sent.
type tool struct {
	name, description string
	schema            string // JSON text
	strict            bool
}

// choice is the rule for tool calls; an empty mode is not sent.
type choice struct {
	mode   string // "auto", "any", "tool" or "none"
	name   string // with "tool"
	single bool   // at most one call in a turn
}

// forced says whether the model must call a tool.
func (c choice) forced() bool { return c.mode == "any" || c.mode == "tool" }

// decideTools chooses which tools are sent and what the model must do with them.
// https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use.
func (r *request) decideTools() error {
	o := r.call.Options
	for _, t := range o.Tools {
		sent, err := r.tool(t)
		if err != nil {
			return err
		}
		r.tools = append(r.tools, sent)
	}
	if len(r.tools) == 0 {
		if o.ToolMode == llmdv1.ToolMode_TOOL_MODE_REQUIRED {
			return &adapters.FieldError{Field: "generation.tool_choice", Detail: "there is no such tool to be called"}
		}
		r.declareHistory()
		return nil
	}
	r.choose()
	if !r.call.Model.Compat.SupportsEagerToolInputStreaming {
		r.betas = append(r.betas, betaToolStreaming)
	}
	return nil
}

// choose translates the rule for tool calls. The API's default, which is "auto",
// is not sent.
func (r *request) choose() {
	o, c := r.call.Options, r.call.Generation.GetConfig()
	r.choice.single = c != nil && c.ParallelToolCalls != nil && !*c.ParallelToolCalls
	switch o.ToolMode {
	case llmdv1.ToolMode_TOOL_MODE_REQUIRED:
		r.choice.mode, r.choice.name = "any", o.ToolName
		if o.ToolName != "" {
			r.choice.mode = "tool"
		}
	case llmdv1.ToolMode_TOOL_MODE_NONE:
		// Without calls there are no parallel ones, and the API has no such field
		// here.
		r.choice = choice{mode: "none"}
	case llmdv1.ToolMode_TOOL_MODE_AUTO:
		r.choice.mode = "auto"
	default:
		if r.choice.single {
			r.choice.mode = "auto"
		}
	}
}

// declareHistory names the tools of the history where the caller gives none: the
// API refuses tool blocks without any tool. They may not be called.
func (r *request) declareHistory() {
	var names []string
	for _, m := range r.call.Context.GetMessages() {
		for _, c := range m.GetAssistant().GetContent() {
			if call := c.GetToolCall(); call != nil && !slices.Contains(names, toolName(call.GetName())) {
				names = append(names, toolName(call.GetName()))
			}
		}
	}
	if len(names) == 0 {
		return
	}
	for _, n := range names {
		r.tools = append(r.tools, tool{name: n, schema: noParameters})
	}
	r.choice.mode = "none"
	r.adjust("the tools of the history are declared, and may not be called: the API takes no tool blocks without tools")
}

// toolName makes a name from another API fit for a tool_use block. Tools that are
// exposed have fitting names already.
func toolName(name string) string {
	fit := func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '_'
	}
	name = strings.Map(fit, name)
	if name == "" {
		return "unknown"
	}
	return name[:min(len(name), maxIDLen)]
}

// tool translates one tool. Strictness that is only preferred is given up quietly.
func (r *request) tool(t *llmdv1.Tool) (tool, error) {
	sent := tool{name: t.GetName(), description: t.GetDescription()}
	schema, ok := objectSchema(t.GetParametersJsonSchema())
	if !ok {
		return tool{}, &adapters.FieldError{Field: r.toolField(t) + ".parameters_json_schema", Detail: "not one JSON object"}
	}
	sent.schema = schema
	mode := t.GetStrict()
	if mode != llmdv1.StrictMode_STRICT_MODE_PREFER && mode != llmdv1.StrictMode_STRICT_MODE_REQUIRE {
		return sent, nil
	}
	fault := "the host has no strict tools"
	if r.call.Model.Compat.SupportsStrictTools {
		fault = strictFault(schema)
	}
	if sent.strict = fault == ""; !sent.strict && mode == llmdv1.StrictMode_STRICT_MODE_REQUIRE {
		return tool{}, &adapters.CapabilityError{
			Capability: "strict_tools", Field: r.toolField(t) + ".strict",
			Detail: fmt.Sprintf("tool %q: %s", t.GetName(), fault),
		}
	}
	return sent, nil
}

// toolField names a tool as the caller wrote it: the list may have been cut.
func (r *request) toolField(t *llmdv1.Tool) string {
	return fmt.Sprintf("generation.context.tools[%d]", slices.Index(r.call.Generation.GetContext().GetTools(), t))
}

// objectSchema is the caller's schema, which must say that it is one of an object.
func objectSchema(schema string) (string, bool) {
	if blank(schema) {
		return noParameters, true
	}
	if !isObject(schema) {
		return "", false
	}
	members, err := jsonwire.Members([]byte(schema))
	if err != nil {
		return "", false
	}
	if slices.ContainsFunc(members, func(m jsonwire.Member) bool { return m.Key == "type" }) {
		return schema, true
	}
	if len(members) == 0 {
		return noParameters, true
	}
	// Spliced in, so that the caller's own bytes stay as they are.
	_, rest, _ := strings.Cut(schema, "{")
	return `{"type":"object",` + rest, true
}

// writeTools writes the tools in the caller's order, which must be stable from
// request to request: they begin the cached prefix.
func (r *request) writeTools(w *jsonwire.Writer) {
	if len(r.tools) == 0 {
		return
	}
	compat := &r.call.Model.Compat
	w.Key("tools")
	w.BeginArray()
	for i, t := range r.tools {
		w.BeginObject()
		w.Member("name", t.name)
		w.MemberIf("description", t.description)
		w.Key("input_schema")
		w.Raw(t.schema)
		if t.strict {
			w.Key("strict")
			w.Bool(true)
		}
		if compat.SupportsEagerToolInputStreaming {
			// https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/fine-grained-tool-streaming
			w.Key("eager_input_streaming")
			w.Bool(true)
		}
		if i == len(r.tools)-1 && compat.SupportsCacheControlOnTools {
			writeMarker(w, r.marker)
		}
		w.EndObject()
	}
	w.EndArray()
	r.choice.write(w)
}

// write writes the rule, if there is one.
func (c choice) write(w *jsonwire.Writer) {
	if c.mode == "" {
		return
	}
	w.Key("tool_choice")
	w.BeginObject()
	w.Member("type", c.mode)
	w.MemberIf("name", c.name)
	if c.single {
		w.Key("disable_parallel_tool_use")
		w.Bool(true)
	}
	w.EndObject()
}

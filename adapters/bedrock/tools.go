package bedrock

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// noParameters is the schema of a tool that takes none, or any.
const noParameters = `{"type":"object","properties":{}}`

// tool is one tool as it is sent.
type tool struct {
	name, description string
	schema            string // JSON text
	strict            bool
}

// choice is the rule for tool calls; an empty mode is not sent. There is no mode
// that forbids calls.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolChoice.html.
type choice struct {
	mode string // "auto", "any" or "tool"
	name string // with "tool"
}

// forced says whether the model must call a tool.
func (c choice) forced() bool { return c.mode == "any" || c.mode == "tool" }

// decideTools chooses which tools are sent and what the model must do with them.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolConfiguration.html.
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
	if o.ToolMode == llmdv1.ToolMode_TOOL_MODE_NONE {
		r.forbid()
		return nil
	}
	// Several calls in one turn cannot be forbidden; where there is no call at all,
	// nothing needs to be.
	if c := r.call.Generation.GetConfig(); c != nil && c.ParallelToolCalls != nil && !*c.ParallelToolCalls {
		return unsupported("parallel_tool_calls", "config.parallel_tool_calls", "Converse cannot limit a turn to one tool call")
	}
	switch o.ToolMode {
	case llmdv1.ToolMode_TOOL_MODE_REQUIRED:
		// Few models can be given a name. As only this tool is sent, "any" does as
		// well.
		r.choice.mode = "any"
		if o.ToolName != "" && r.traits.hasStatus() {
			r.choice = choice{mode: "tool", name: o.ToolName}
		}
	case llmdv1.ToolMode_TOOL_MODE_AUTO:
		r.choice.mode = "auto"
	default: // "auto" is the API's own default
	}
	return nil
}

// forbid leaves the tools out, unless the API needs them.
func (r *request) forbid() {
	if len(r.historyTools()) == 0 {
		r.tools, r.effective.ToolNames = nil, nil
		return
	}
	r.adjust("the tools are sent though none may be called: the API takes no tool blocks without tools, and cannot forbid calls")
}

// declareHistory names the tools of the history where the caller gives none. The API
// answers "The toolConfig field must be defined when using toolUse and toolResult
// content blocks" otherwise.
func (r *request) declareHistory() {
	names := r.historyTools()
	if len(names) == 0 {
		return
	}
	for _, n := range names {
		r.tools = append(r.tools, tool{name: n, schema: noParameters})
	}
	r.effective.ToolNames = names
	r.adjust("the tools of the history are declared: the API takes no tool blocks without tools, and cannot forbid calls")
}

// historyTools are the names of the tools that the history called.
func (r *request) historyTools() []string {
	var names []string
	for _, m := range r.call.Context.GetMessages() {
		for _, c := range m.GetAssistant().GetContent() {
			if call := c.GetToolCall(); call != nil && !slices.Contains(names, toolName(call.GetName())) {
				names = append(names, toolName(call.GetName()))
			}
		}
	}
	return names
}

// toolName makes a name from another API fit for a toolUse block. Tools that are
// exposed have fitting names already.
func toolName(name string) string {
	name = strings.Map(func(c rune) rune {
		if wordChar(c) {
			return c
		}
		return '_'
	}, name)
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
	fault := fmt.Sprintf("model %q has no strict tools", r.call.Model.ID)
	if r.call.Model.Compat.SupportsStrictMode {
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
	switch {
	case err != nil:
		return "", false
	case len(members) == 0:
		return noParameters, true
	case slices.ContainsFunc(members, func(m jsonwire.Member) bool { return m.Key == "type" }):
		return schema, true
	}
	// Spliced in, so that the caller's own bytes stay as they are.
	_, rest, _ := strings.Cut(schema, "{")
	return `{"type":"object",` + rest, true
}

// writeTools writes the tools in the caller's order, which must be stable from
// request to request: they begin the cached prefix. An empty description is refused.
func (r *request) writeTools(w *jsonwire.Writer) {
	if len(r.tools) == 0 {
		return
	}
	w.Key("toolConfig")
	w.BeginObject()
	w.Key("tools")
	w.BeginArray()
	for _, t := range r.tools {
		w.BeginObject()
		w.Key("toolSpec")
		w.BeginObject()
		w.Member("name", t.name)
		if !blank(t.description) {
			w.Member("description", t.description)
		}
		w.Key("inputSchema")
		w.BeginObject()
		w.Key("json")
		w.Raw(t.schema)
		w.EndObject()
		if t.strict {
			w.Key("strict")
			w.Bool(true)
		}
		w.EndObject()
		w.EndObject()
	}
	r.writeMarker(w)
	w.EndArray()
	r.choice.write(w)
	w.EndObject()
}

// write writes the rule, if there is one.
func (c choice) write(w *jsonwire.Writer) {
	if c.mode == "" {
		return
	}
	w.Key("toolChoice")
	w.BeginObject()
	w.Key(c.mode)
	w.BeginObject()
	w.MemberIf("name", c.name)
	w.EndObject()
	w.EndObject()
}

package bedrock

import (
	"fmt"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/schema"
	"github.com/llmd-dev/llmd/adapters/turns"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

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
	r.tools = make([]tool, len(o.Tools))
	room := schema.ClaudeRoom(r.schema)
	for i, t := range adapters.RequiredFirst(o.Tools) {
		var err error
		if r.tools[i], err = r.tool(t, room); err != nil {
			return err
		}
	}
	if len(r.tools) == 0 {
		r.declareHistory()
		return r.call.NeedsTool()
	}
	if o.ToolMode == llmdv1.ToolMode_TOOL_MODE_NONE {
		r.forbid()
		return nil
	}
	// Where there is no call at all, several need not be forbidden.
	if err := r.call.Refuse("Converse", "parallel_tool_calls"); err != nil {
		return err
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
	if len(adapters.HistoryTools(r.call.Context)) == 0 {
		r.tools, r.effective.ToolNames = nil, nil
		return
	}
	r.adjust("the tools are sent though none may be called: the API takes no tool blocks without tools, and cannot forbid calls")
}

// declareHistory names the tools of the history where the caller gives none. The API
// answers "The toolConfig field must be defined when using toolUse and toolResult
// content blocks" otherwise.
func (r *request) declareHistory() {
	names := adapters.HistoryTools(r.call.Context)
	if len(names) == 0 {
		return
	}
	for _, n := range names {
		r.tools = append(r.tools, tool{name: n, schema: schema.NoParameters})
	}
	r.effective.ToolNames = names
	r.adjust("the tools of the history are declared: the API takes no tool blocks without tools, and cannot forbid calls")
}

// tool translates one tool. The API demands that a schema says that it is one of an
// object.
func (r *request) tool(t *llmdv1.Tool, room *schema.Room) (tool, error) {
	rules := adapters.ToolRules{Typed: true, Strict: schema.Claude(), Room: room, Note: r.adjust}
	switch {
	case r.traits.family == claude:
		rules.Root, rules.Draft = schema.ClaudeRoot(), schema.Latest()
	case r.traits.family == nova && !r.traits.atLeast(2, 0):
		rules.RootAlone = schema.NovaRoot()
	}
	if !r.call.Model.Compat.SupportsStrictMode {
		rules.NotStrict = fmt.Sprintf("model %q has no strict tools", r.call.Model.ID)
	}
	text, strict, err := r.call.ToolSchema(t, rules)
	return tool{name: t.GetName(), description: t.GetDescription(), schema: text, strict: strict}, err
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
		if !turns.Blank(t.description) {
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

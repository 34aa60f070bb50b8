package anthropic

import (
	"slices"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/schema"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

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
	r.tools = make([]tool, len(o.Tools))
	room := schema.ClaudeRoom(r.schema)
	for i, t := range adapters.RequiredFirst(o.Tools) {
		var err error
		if r.tools[i], err = r.tool(t, room); err != nil {
			return err
		}
	}
	switch {
	case len(r.tools) > 0:
		r.choose()
	case r.bringsTools():
		r.choose()
		return nil
	default:
		r.declareHistory()
		return r.call.NeedsTool()
	}
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

// bringsTools says whether the caller's provider options hold a list of tools, such
// as the API's own. It takes the place of any that is written here, and its tools may
// be called.
func (r *request) bringsTools() bool {
	options := r.call.Generation.GetProviderOptionsJson()[r.call.Model.Provider]
	members, _ := jsonwire.Members([]byte(options)) // none if it is no object
	return slices.ContainsFunc(members, func(m jsonwire.Member) bool { return m.Key == "tools" && string(m.Value) != "null" })
}

// declareHistory names the tools of the history where the caller gives none: the
// API refuses tool blocks without any tool. They may not be called.
func (r *request) declareHistory() {
	names := adapters.HistoryTools(r.call.Context)
	if len(names) == 0 {
		return
	}
	for _, n := range names {
		r.tools = append(r.tools, tool{name: n, schema: schema.NoParameters})
	}
	r.choice.mode = "none"
	r.adjust("the tools of the history are declared, and may not be called: the API takes no tool blocks without tools")
}

// tool translates one tool. The API demands that a schema says that it is one of an
// object.
func (r *request) tool(t *llmdv1.Tool, room *schema.Room) (tool, error) {
	rules := adapters.ToolRules{Draft: schema.Latest(), Typed: true, Root: schema.ClaudeRoot(), Note: r.adjust, Strict: schema.Claude(), Room: room}
	if !r.call.Model.Compat.SupportsStrictTools {
		rules.NotStrict = "the host has no strict tools"
	}
	text, strict, err := r.call.ToolSchema(t, rules)
	return tool{name: t.GetName(), description: t.GetDescription(), schema: text, strict: strict}, err
}

// writeTools writes the tools in the caller's order, which must be stable from
// request to request: they begin the cached prefix.
func (r *request) writeTools(w *jsonwire.Writer) {
	if len(r.tools) > 0 {
		r.writeToolList(w)
	}
	r.choice.write(w)
}

func (r *request) writeToolList(w *jsonwire.Writer) {
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

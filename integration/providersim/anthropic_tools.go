package providersim

import (
	"slices"
	"strings"
)

func toolUseIDs(r *request, bad report) {
	for _, c := range r.calls {
		if !matches(c.id.str(), 1<<20, "_-") {
			bad(c.path+".id", "String should match pattern '^[a-zA-Z0-9_-]+$'")
		}
	}
	for _, res := range r.results {
		if !matches(res.id.str(), 1<<20, "_-") {
			bad(res.path+".tool_use_id", "String should match pattern '^[a-zA-Z0-9_-]+$'")
		}
	}
}

func toolUseNames(r *request, bad report) {
	for _, c := range r.calls {
		if !matches(c.name.str(), 200, "_-") {
			bad(c.path+".name", "String should match pattern '^[a-zA-Z0-9_-]{1,200}$'")
		}
	}
}

func toolUseInput(r *request, bad report) {
	for _, c := range r.calls {
		if !c.args.is(object) {
			bad(c.path+".input", "Input should be a valid dictionary")
		}
	}
}

func toolUseHasResult(r *request, bad report) {
	turns := r.turnOf()
	for _, c := range r.calls {
		if !slices.ContainsFunc(r.results, func(res result) bool {
			return turns[res.msg] == turns[c.msg]+1 && res.id.str() == c.id.str()
		}) {
			bad(c.path, "`tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", c.id.str())
		}
	}
}

func resultFollowsUse(r *request, bad report) {
	turns := r.turnOf()
	for _, res := range r.results {
		if !slices.ContainsFunc(r.calls, func(c call) bool {
			return turns[c.msg] == turns[res.msg]-1 && res.id.str() == c.id.str()
		}) {
			bad(res.path, "unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", res.id.str())
		}
	}
}

func resultOnce(r *request, bad report) {
	turns := r.turnOf()
	seen := map[[2]string]bool{}
	for _, res := range r.results {
		key := [2]string{at("", turns[res.msg]), res.id.str()}
		if seen[key] {
			bad(res.path, "each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", res.id.str())
		}
		seen[key] = true
	}
}

func resultsFirst(r *request, bad report) {
	turns := r.turnOf()
	other, turn := false, -1
	r.eachPart(func(p part) {
		if turns[p.msg] != turn {
			turn, other = turns[p.msg], false
		}
		if p.kind == "tool_result" && other {
			bad(p.path, "tool_result blocks must come first in the content of the user message")
		}
		other = other || p.kind != "tool_result"
	})
}

// serverToolPaired: a call of the provider's own tool, and its result, are refused without
// each other. The calls of the last turn are made now, and so are those that wait for
// results of the client's tools.
func serverToolPaired(r *request, bad report) {
	last := len(r.messages) - 1
	open, made := map[string]part{}, map[string]bool{}
	r.eachPart(func(p part) {
		switch id := p.value.get("tool_use_id").str(); {
		case p.kind == "server_tool_use" || p.kind == "mcp_tool_use":
			id = p.value.get("id").str()
			open[id], made[id] = p, true
		case p.kind == "tool_result" || !strings.HasSuffix(p.kind, "_tool_result"):
		case !made[id]:
			bad(p.path, "unexpected `tool_use_id` found in `%s` blocks: %s. Each `%s` block must have a corresponding `server_tool_use` block before it.", p.kind, id, p.kind)
		default:
			delete(open, id)
		}
	})
	for id, p := range open {
		waits := slices.ContainsFunc(r.results, func(res result) bool { return res.msg == p.msg+1 })
		if p.msg != last && !waits {
			name := p.value.get("name").str()
			bad(p.path, "`%s` tool use with id %s was found without a corresponding `%s_tool_result` block", name, id, name)
		}
	}
}

func errorTextOnly(r *request, bad report) {
	for _, res := range r.results {
		if !res.value.get("is_error").truth() {
			continue
		}
		for i, b := range res.value.get("content").list() {
			if b.get("type").str() != "text" {
				bad(at(res.path+".content", i), "all content must be type \"text\" if \"is_error\" is true")
			}
		}
	}
}

func anthropicToolsPresent(r *request, bad report) {
	if len(r.calls)+len(r.results) > 0 && len(r.body.get("tools").list()) == 0 {
		bad("tools", "Requests which include `tool_use` or `tool_result` blocks must define tools")
	}
}

func anthropicToolNames(r *request, bad report) {
	toolNames(r.body.get("tools").list(), "tools", func(t *value) *value { return t.get("name") }, bad, "_-", 128)
}

// clientTools are the tools with a schema; those of the provider have none.
func (r *request) clientTools() []*value {
	return slices.DeleteFunc(slices.Clone(r.body.get("tools").list()), func(t *value) bool { return t.get("input_schema") == nil })
}

func anthropicToolSchema(r *request, bad report) {
	for i, t := range r.body.get("tools").list() {
		if kind := t.get("type").str(); kind == "" || kind == "custom" {
			path := at("tools", i) + ".input_schema"
			schemaType(t.get("input_schema"), bad, path)
			rootKeywords(t.get("input_schema"), bad, path, "oneOf", "allOf", "anyOf")
		}
	}
}

func anthropicStrict(r *request, bad report) {
	tools, unions := 0, unionsOf(r.body.get("output_config", "format", "schema"))
	defer func() {
		if tools > 20 {
			bad("tools", "Too many strict tools (%d). The maximum is 20.", tools)
		}
		if unions > 16 {
			bad("tools", "Schemas contains too many parameters with union types (%d parameters with type arrays or anyOf) which exceeds the limit: 16", unions)
		}
	}()
	for i, t := range r.body.get("tools").list() {
		if !t.get("strict").truth() {
			continue
		}
		path := at("tools", i) + ".input_schema"
		tools++
		unions += unionsOf(t.get("input_schema"))
		closedSchema(t.get("input_schema"), bad, path)
	}
}

// unionsOf counts the values that may be of several types.
func unionsOf(v *value) (n int) {
	eachSchema(v, "", func(s *value, _ string) {
		if s.get("anyOf") != nil || s.get("type").is(array) {
			n++
		}
	})
	return n
}

// closedSchema is what Anthropic wants of a schema that it enforces: every object
// is closed, and there are no bounds of numbers and strings.
func closedSchema(v *value, bad report, path string) {
	eachSchema(v, path, func(s *value, path string) {
		if a := s.get("additionalProperties"); s.get("type").str() == "object" && (!a.is(boolean) || a.truth()) {
			bad(path, "For 'object' type, 'additionalProperties' must be explicitly set to false")
		}
		for _, word := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems"} {
			if s.get(word) != nil {
				bad(path, "For '%s' type, property '%s' is not supported", s.get("type").str(), word)
			}
		}
		if looksAround.MatchString(s.get("pattern").str()) {
			bad(path, "Invalid regex in pattern field: Quantifier '?' without preceding element")
		}
	})
}

func anthropicChoice(r *request, bad report) {
	choice := r.body.get("tool_choice")
	if !choice.set() {
		return
	}
	tools := r.body.get("tools").list()
	mode, name := choice.get("type").str(), choice.get("name").str()
	switch {
	case len(tools) == 0:
		bad("tool_choice", "tool_choice may only be specified while providing tools")
	case !slices.Contains([]string{"auto", "any", "tool", "none"}, mode):
		bad("tool_choice", "Input tag '%s' found using 'type' does not match any of the expected tags", mode)
	case mode == "tool" && !slices.ContainsFunc(tools, func(t *value) bool { return t.get("name").str() == name }):
		bad("tool_choice", "Tool '%s' not found in provided tools", name)
	case mode == "none" && choice.get("disable_parallel_tool_use") != nil:
		bad("tool_choice", "Extra inputs are not permitted")
	}
}

func anthropicOutput(r *request, bad report) {
	format := r.body.get("output_config", "format")
	if !format.set() {
		return
	}
	if format.get("type").str() != "json_schema" || !format.get("schema").is(object) {
		bad("output_config.format", "the format must be a JSON schema")
		return
	}
	closedSchema(format.get("schema"), bad, "output_config.format.schema")
}

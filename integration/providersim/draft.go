package providersim

import (
	"regexp"
	"slices"
	"strings"
)

// What APIs want of the draft of JSON Schema that the schema of a tool is written in.
const (
	docDraft       = "https://github.com/openclaw/openclaw/issues/98588"
	docDraftOpenAI = "https://github.com/vercel/ai/issues/2271"
	docDraftGoogle = "https://github.com/anomalyco/opencode/issues/12295"
	docRoot        = "https://github.com/trycua/cua/issues/3303"
)

// latestDraft finds what drafts of JSON Schema before 2020-12 wrote otherwise.
func latestDraft(v *value, bad report, path string) {
	eachSchema(v, path, func(s *value, path string) {
		wrong := s.get("items").is(array) || s.get("required").is(boolean) || s.get("exclusiveMinimum").is(boolean) ||
			s.get("exclusiveMaximum").is(boolean) || s.get("type").str() == "any"
		if wrong {
			bad(path, "JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).")
		}
	})
}

func anthropicDraft(r *request, bad report) {
	for i, t := range r.clientTools() {
		latestDraft(t.get("input_schema"), bad, at("tools", i)+".custom.input_schema")
	}
}

// bedrockDraft: Claude's own rule, which the API hands on.
func bedrockDraft(r *request, bad report) {
	for i, t := range r.bedrockTools() {
		if isClaude(r.model) {
			latestDraft(t.get("toolSpec", "inputSchema", "json"), bad, at("tools", i)+".custom.input_schema")
		}
	}
}

// bedrockRoot: likewise.
func bedrockRoot(r *request, bad report) {
	for i, t := range r.bedrockTools() {
		if s := t.get("toolSpec", "inputSchema", "json"); s != nil && strings.Contains(r.model, "nova") && !strings.Contains(r.model, "nova-2") {
			for _, m := range s.members {
				if !slices.Contains([]string{"type", "properties", "required", "title", "additionalProperties"}, m.name) {
					bad(at("tools", i), "Malformed input request: #/toolConfig/tools/%d/toolSpec/inputSchema/json: extraneous key [%s] is not permitted, please reformat your input and try again.", i, m.name)
				}
			}
		}
		if isClaude(r.model) {
			rootKeywords(t.get("toolSpec", "inputSchema", "json"), bad, at("tools", i)+".custom.input_schema", "oneOf", "allOf", "anyOf")
		}
	}
}

func chatDraft(r *request, bad report) {
	for i, t := range r.body.get("tools").list() {
		if dialectOf(r.model) == openAI {
			openAIDraft(t.get("function", "parameters"), bad, at("tools", i)+".function.parameters")
		}
	}
}

func responsesDraft(r *request, bad report) {
	for i, t := range r.body.get("tools").list() {
		openAIDraft(t.get("parameters"), bad, at("tools", i)+".parameters")
	}
}

// looksAround: a group that matches nothing, none of which is escaped in the tests.
var looksAround = regexp.MustCompile(`\(\?<?[=!]`)

// openAIDraft: OpenAI wants to know the items of every array, too, and reads patterns
// with an engine of its own, https://github.com/tombii/better-ccflare/issues/357 and
// https://github.com/BerriAI/litellm/pull/40485.
func openAIDraft(v *value, bad report, path string) {
	latestDraft(v, bad, path)
	eachSchema(v, path, func(s *value, path string) {
		list := slices.ContainsFunc(s.get("type").list(), func(t *value) bool { return t.str() == "array" })
		if (list || s.get("type").str() == "array") && s.get("items") == nil {
			bad(path, "array schema missing items.")
		}
		switch p := s.get("pattern").str(); {
		case looksAround.MatchString(p):
			bad(path, "Invalid JSON schema: regex lookaround is not supported.")
		case strings.Contains(p, `\p`):
			bad(path, "'%s' is not a 'regex'.", p)
		}
	})
}

// googleDraft: definitions stand in "$defs", and nearly nothing stands beside "$ref".
func googleDraft(r *request, bad report) {
	all, paths := r.declarations()
	for i, d := range all {
		v := d.field("parametersJsonSchema")
		latestDraft(v, bad, paths[i])
		if v.get("definitions") != nil {
			bad(paths[i], "reference to undefined schema")
		}
		eachSchema(v, paths[i], func(s *value, path string) {
			for _, m := range s.members {
				if s.get("$ref") != nil && m.name[:min(1, len(m.name))] != "$" && m.name != "description" && m.name != "default" {
					bad(path, "$ref was set alongside unsupported fields. If a schema node has $ref set, then only description and default can be set alongside it")
				}
			}
		})
	}
}

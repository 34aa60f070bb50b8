package providersim

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
)

// Checks that several APIs share, each with the words of its own.

// isObject is the first rule of every API: without it there is nothing to look at.
func isObject(r *request, bad report) {
	if !r.body.is(object) {
		bad("", "the body is not a JSON object")
	}
	for i, m := range r.body.members {
		if slices.ContainsFunc(r.body.members[:i], func(o member) bool { return o.name == m.name }) {
			bad(m.name, "duplicate member")
		}
	}
}

// knownFields finds members that an API does not have, and those that it wants.
func knownFields(required, optional string) func(*request, report) {
	need, may := strings.Fields(required), strings.Fields(optional)
	return func(r *request, bad report) {
		for _, name := range need {
			if !r.body.get(name).set() {
				bad(name, "Field required")
			}
		}
		for _, m := range r.body.members {
			if !slices.Contains(need, m.name) && !slices.Contains(may, m.name) {
				bad(m.name, "Extra inputs are not permitted")
			}
		}
	}
}

// matches says whether a text is made of the allowed letters, 1 to most of them.
func matches(s string, most int, extra string) bool {
	return s != "" && len(s) <= most && strings.IndexFunc(s, func(c rune) bool {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		return !letter && !strings.ContainsRune(extra, c)
	}) < 0
}

// uniqueCallIDs finds two calls with one id.
func uniqueCallIDs(r *request, bad report) {
	seen := map[string]bool{}
	for _, c := range r.calls {
		id := c.id.str()
		if c.id.is(text) && seen[id] {
			bad(c.path, "the id %q was used before", id)
		}
		seen[id] = true
	}
}

// callsInMessage are the calls of one message.
func (r *request) callsInMessage(msg int) []call {
	return slices.DeleteFunc(slices.Clone(r.calls), func(c call) bool { return c.msg != msg })
}

// lastRole is the role of the last message; empty if there is none.
func (r *request) lastRole() string {
	if len(r.messages) == 0 {
		return ""
	}
	return r.messages[len(r.messages)-1].role
}

// parts runs over all parts of all messages.
func (r *request) eachPart(f func(part)) {
	for _, m := range r.messages {
		for _, p := range m.parts {
			f(p)
		}
	}
}

// takesImages: the names of the models that read nothing but text.
func takesImages(model string) bool {
	for _, word := range []string{"deepseek", "gpt-oss", "nova-micro", "codestral", "gpt-3.5", "text-only", "llama3-2-1b"} {
		if strings.Contains(model, word) {
			return false
		}
	}
	return true
}

// imageBytes decodes base64 and tells the type that the bytes are of.
func imageBytes(encoded string) (mediaType string, ok bool) {
	plain := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(encoded, "="))
	data, err := base64.RawStdEncoding.DecodeString(plain)
	if err != nil || len(data) == 0 {
		return "", false
	}
	return http.DetectContentType(data), true
}

// dataURL takes a data URL apart.
func dataURL(uri string) (mediaType, payload string, ok bool) {
	rest, ok := strings.CutPrefix(uri, "data:")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ";base64,")
}

// schemaType looks at what every API wants of the schema of a tool's arguments.
func schemaType(v *value, bad report, path string) {
	switch {
	case !v.is(object):
		bad(path, "the schema is not an object")
	case v.get("type").str() != "object":
		bad(path, "the schema's type must be \"object\", not %q", v.get("type").str())
	}
}

// rootKeywords looks for keywords that an API refuses at the top of a tool's schema.
func rootKeywords(v *value, bad report, path string, refused ...string) {
	for _, name := range refused {
		if v.get(name) != nil {
			bad(path, "the schema must not have %q at the top level", name)
		}
	}
}

// openAISchema is what OpenAI wants of a schema beside what all want.
func openAISchema(v *value, bad report, path string) {
	rootKeywords(v, bad, path, "oneOf", "anyOf", "allOf", "enum", "not")
	if v.get("properties") == nil {
		bad(path, "In context=(), object schema missing properties.")
	}
}

// eachSchema runs over a schema and all schemas in it.
func eachSchema(v *value, path string, f func(v *value, path string)) {
	if !v.is(object) {
		return
	}
	f(v, path)
	for _, m := range v.members {
		inner := path + "." + m.name
		switch m.name {
		case "properties", "$defs", "definitions", "patternProperties":
			for _, p := range m.value.members {
				eachSchema(p.value, inner+"."+p.name, f)
			}
		case "items", "additionalProperties", "not":
			eachSchema(m.value, inner, f)
		case "anyOf", "oneOf", "allOf", "prefixItems":
			for i, item := range m.value.items {
				eachSchema(item, at(inner, i), f)
			}
		}
	}
}

// strictSchema looks for what strict mode refuses, in OpenAI's rules, which the
// others took over: every object is closed and requires all it has.
func strictSchema(v *value, bad report, path string) {
	eachSchema(v, path, func(s *value, path string) {
		for _, word := range []string{"allOf", "not", "patternProperties", "if", "then", "else", "dependentRequired", "uniqueItems", "default"} {
			if s.get(word) != nil {
				bad(path, "'%s' is not permitted", word)
			}
		}
		if ref := s.get("$ref"); ref != nil && ref.str() != "#" && !definesIn(v, ref.str()) {
			bad(path, "reference can only point to definitions defined at the top level of the schema.")
		}
		properties := s.get("properties")
		if s.get("type").str() != "object" && properties == nil {
			return
		}
		if a := s.get("additionalProperties"); !a.is(boolean) || a.truth() {
			bad(path, "'additionalProperties' is required to be supplied and to be false")
		}
		required := s.get("required").list()
		for _, m := range propertiesOf(properties) {
			if !slices.ContainsFunc(required, func(n *value) bool { return n.str() == m.name }) {
				bad(path, "'required' is required to include every key in properties. Missing '%s'", m.name)
			}
		}
	})
}

// definesIn says whether a reference names a definition of the root.
func definesIn(root *value, ref string) bool {
	for _, key := range []string{"$defs", "definitions"} {
		if name, ok := strings.CutPrefix(ref, "#/"+key+"/"); ok && root.get(key, name) != nil {
			return true
		}
	}
	return false
}

func propertiesOf(v *value) []member {
	if v == nil {
		return nil
	}
	return v.members
}

// names finds tools with one name, or with one that is not allowed.
func toolNames(tools []*value, path string, name func(*value) *value, bad report, extra string, most int) {
	seen := map[string]bool{}
	for i, t := range tools {
		n := name(t)
		if n == nil {
			continue
		}
		s := n.str()
		switch {
		case !matches(s, most, extra):
			bad(at(path, i), "the name %q is not allowed", s)
		case seen[s]:
			bad(at(path, i), "Tool names must be unique.")
		}
		seen[s] = true
	}
}

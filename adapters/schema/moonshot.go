package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// MoonshotDraft is Moonshot's own kind of JSON Schema: "tools.function.parameters is not a
// valid moonshot flavored json schema".
//
//   - https://github.com/MoonshotAI/walle/blob/main/docs/mfjs-spec.md
//   - https://github.com/MoonshotAI/walle/blob/main/docs/walle.md
//   - https://github.com/MoonshotAI/kimi-cli/issues/1595
func MoonshotDraft() Draft { return Draft{Latest: true, Defs: true, Moonshot: true} }

// anything is the schema of any value, in which each has a type.
const anything = `[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"},{"type":"array"},{"type":"null"}]`

// flavored puts a schema in Moonshot's words: every one has a type, which stands in the
// alternatives of "anyOf" and not beside it; nothing stands beside a reference or beside
// several types but words for people; "required" names properties, and the values of "enum"
// are of the type. What else there is is not looked at.
func (f *fitter) flavored(members []jsonwire.Member) []jsonwire.Member {
	members = f.wholes(members)
	if get(members, "$ref") != nil {
		return f.besideReference(members)
	}
	members = f.unionsAlone(members)
	members = f.values(members)
	members = f.besideUnion(members)
	members = f.requires(members)
	members = f.oneType(members)
	members = f.parts(members)
	return f.typed(members)
}

// wholes: a schema is an object.
func (f *fitter) wholes(members []jsonwire.Member) []jsonwire.Member {
	whole := func(s []byte) []byte {
		if s[0] == '{' {
			return s
		}
		return []byte(`{"anyOf":` + anything + `}`)
	}
	for i := range members {
		m := &members[i]
		if m.Key != "properties" && m.Key != "items" && m.Key != "anyOf" {
			continue
		}
		if fit := within(m.Key, m.Value, whole); string(fit) != string(m.Value) {
			f.note(m.Key)
			f.looser++ // where it was false
			m.Value = fit
		}
	}
	return members
}

// isWord: a keyword that restricts nothing.
func isWord(key string) bool {
	switch key {
	case "description", "title", "default", "examples", "deprecated", "readOnly", "writeOnly":
		return true
	}
	return strings.HasPrefix(key, "$") && key != "$ref"
}

// besideReference lets a reference stand alone, as an only alternative: "conflicting keywords
// found after $ref expansion: description", https://github.com/MoonshotAI/kimi-cli/issues/2061.
func (f *fitter) besideReference(members []jsonwire.Member) []jsonwire.Member {
	if !slices.ContainsFunc(members, func(m jsonwire.Member) bool { return m.Key != "$ref" && !strings.HasPrefix(m.Key, "$") }) {
		return members
	}
	f.note("$ref")
	ref := get(members, "$ref")
	ref.Key, ref.Value = "anyOf", listed([]jsonwire.Member{{Value: written([]jsonwire.Member{{Key: "$ref", Value: ref.Value}})}})
	return members
}

// unionsAlone: of the words for unions there is "anyOf".
func (f *fitter) unionsAlone(members []jsonwire.Member) []jsonwire.Member {
	if m := get(members, "oneOf"); m != nil {
		f.note(m.Key)
		f.looser++
		if get(members, "anyOf") == nil {
			m.Key = "anyOf"
		} else {
			members = without(members, "oneOf")
		}
	}
	return members
}

// parts of "allOf" are laid over each other and over what is beside them, and must not have
// keywords in common: "Conflict in schema definitions for key 'if'",
// https://github.com/earendil-works/pi/issues/5822. A part alone is an alternative alone.
func (f *fitter) parts(members []jsonwire.Member) []jsonwire.Member {
	m := get(members, "allOf")
	if m == nil {
		return members
	}
	all, err := jsonwire.Elements(m.Value)
	rest := without(slices.Clone(members), "allOf")
	if len(all) == 1 && !slices.ContainsFunc(rest, func(o jsonwire.Member) bool { return !isWord(o.Key) }) && !disagree(rest, all) {
		f.note(m.Key)
		m.Key = "anyOf"
		return members
	}
	if err == nil && !overlap(append(all, jsonwire.Member{Value: written(rest)})) {
		return members
	}
	f.note("allOf")
	f.looser++
	return rest
}

// overlap: two of the schemas have a keyword in common.
func overlap(all []jsonwire.Member) bool {
	seen := map[string]bool{}
	for _, s := range all {
		members, _ := jsonwire.Members(s.Value) // none if it is no object
		for _, m := range members {
			if seen[m.Key] {
				return true
			}
			seen[m.Key] = !isWord(m.Key)
		}
	}
	return false
}

// typesOf are the types that a schema names.
func typesOf(members []jsonwire.Member) []string {
	m := get(members, "type")
	if m == nil {
		return nil
	}
	var one string
	if json.Unmarshal(m.Value, &one) == nil {
		return []string{one}
	}
	list, _ := names(m.Value)
	return list
}

// typeOf is the type of a value.
func typeOf(value []byte) string {
	switch value[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	}
	if strings.ContainsAny(string(value), ".eE") {
		return "number"
	}
	return "integer"
}

// fits: a value is of a type.
func fits(value []byte, types []string) bool {
	t := typeOf(value)
	return slices.Contains(types, t) || t == "integer" && slices.Contains(types, "number")
}

// values: those of an "enum" are of the schema's type, which is theirs where none is said.
func (f *fitter) values(members []jsonwire.Member) []jsonwire.Member {
	m := get(members, "enum")
	if m == nil {
		return members
	}
	list, err := jsonwire.Elements(m.Value)
	types := typesOf(members)
	kept := slices.DeleteFunc(slices.Clone(list), func(v jsonwire.Member) bool { return types != nil && !fits(v.Value, types) })
	var kinds []string
	for _, v := range kept {
		if t := typeOf(v.Value); !fits(v.Value, kinds) {
			kinds = append(kinds, t)
		}
	}
	if slices.Contains(kinds, "number") {
		kinds = slices.DeleteFunc(kinds, func(t string) bool { return t == "integer" })
	}
	switch {
	case err != nil, len(kinds) == 0, slices.Contains(kinds, "object"), slices.Contains(kinds, "array"):
		f.note(m.Key)
		f.looser++
		return without(members, m.Key)
	case len(kept) < len(list):
		f.note(m.Key)
		m.Value = listed(kept)
	}
	if types != nil {
		return members
	}
	f.note("type")
	kind, _ := json.Marshal(kinds) // texts
	if len(kinds) == 1 {
		kind = jsonwire.AppendString(nil, kinds[0])
	}
	return append([]jsonwire.Member{{Key: "type", Value: kind}}, members...)
}

// requires: what is required is a property: "required property is not defined in properties".
func (f *fitter) requires(members []jsonwire.Member) []jsonwire.Member {
	m := get(members, "required")
	if m == nil {
		return members
	}
	properties, _ := jsonwire.Members(valueOf(members, "properties"))
	known := make(map[string]bool, len(properties))
	for _, p := range properties {
		known[p.Key] = true
	}
	list, err := names(m.Value)
	kept := slices.DeleteFunc(slices.Clone(list), func(name string) bool { return !known[name] })
	if err == nil && len(kept) == len(list) {
		return members
	}
	f.note(m.Key)
	f.looser++
	if len(kept) == 0 {
		return without(members, m.Key)
	}
	m.Value, _ = json.Marshal(kept) // texts
	return members
}

// oneType gives each of several types its own alternative where more is said than the types:
// "keyword is not allowed in combination with multiple types".
func (f *fitter) oneType(members []jsonwire.Member) []jsonwire.Member {
	types := typesOf(members)
	both := len(types) == 2 && slices.Contains(types, "null") && get(members, "enum") != nil
	says := func(m jsonwire.Member) bool { return m.Key != "type" && (m.Key == "default" || !isWord(m.Key)) }
	if len(types) < 2 || both || !slices.ContainsFunc(members, says) {
		return members
	}
	return f.split(members, types)
}

// split gives each type an alternative with what is said about it, and with its own of the
// values of an "enum".
func (f *fitter) split(members []jsonwire.Member, types []string) []jsonwire.Member {
	f.note("type")
	var alternatives, rest []jsonwire.Member
	enum, _ := jsonwire.Elements(valueOf(members, "enum")) // none, or a list of scalars by now
	for _, t := range types {
		one := []jsonwire.Member{{Key: "type", Value: jsonwire.AppendString(nil, t)}}
		for _, m := range members {
			if k := kindOf(m.Key); k == t || k == "number" && t == "integer" || m.Key == "const" && fits(m.Value, []string{t}) {
				one = append(one, m)
			}
		}
		if enum != nil {
			own := slices.DeleteFunc(slices.Clone(enum), func(v jsonwire.Member) bool { return !fits(v.Value, []string{t}) })
			if len(own) == 0 {
				continue // none is of this type
			}
			if t != "null" {
				one = append(one, jsonwire.Member{Key: "enum", Value: listed(own)})
			}
		}
		alternatives = append(alternatives, jsonwire.Member{Value: written(one)})
	}
	for _, m := range members {
		if isWord(m.Key) {
			rest = append(rest, m)
		} else if kindOf(m.Key) == "" && m.Key != "type" && m.Key != "enum" {
			f.looser++
		}
	}
	return append([]jsonwire.Member{{Key: "anyOf", Value: listed(alternatives)}}, rest...)
}

// kindOf is the type that a keyword is about; empty = about any.
func kindOf(key string) string {
	switch key {
	case "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties",
		"dependentRequired", "dependentSchemas", "unevaluatedProperties":
		return "object"
	case "items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems", "minContains", "maxContains", "unevaluatedItems":
		return "array"
	case "minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType":
		return "string"
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return "number"
	}
	return ""
}

// besideUnion lets a type stand in the alternatives, which is the same: "when using anyOf, type
// should be defined in anyOf items instead of the parent schema". Where there is more beside
// them, that stays and they go: they say no more than which of it is required, as a rule.
func (f *fitter) besideUnion(members []jsonwire.Member) []jsonwire.Member {
	m := get(members, "anyOf")
	if m == nil {
		return members
	}
	restricts := func(o jsonwire.Member) bool { return o.Key != "anyOf" && o.Key != "type" && !isWord(o.Key) }
	kind := get(members, "type")
	list, err := jsonwire.Elements(m.Value)
	if err != nil || len(list) == 0 || kind != nil && slices.ContainsFunc(members, restricts) || disagree(members, list) {
		f.note(m.Key)
		f.looser++
		return without(members, m.Key)
	}
	if kind == nil {
		return members
	}
	f.note("type")
	if kind.Value[0] == '[' {
		f.looser++
		return without(members, "type")
	}
	for i := range list {
		alternative, err := jsonwire.Members(list[i].Value)
		says := func(m jsonwire.Member) bool {
			return slices.Contains([]string{"type", "anyOf", "$ref", "allOf"}, m.Key)
		}
		if err == nil && !slices.ContainsFunc(alternative, says) {
			list[i].Value = written(append([]jsonwire.Member{*kind}, alternative...))
		}
	}
	m.Value = listed(list)
	return without(members, "type")
}

// disagree: an alternative has a keyword that stands beside them, too: "conflicting keywords
// found in anyOf with parent".
func disagree(members, alternatives []jsonwire.Member) bool {
	return slices.ContainsFunc(alternatives, func(a jsonwire.Member) bool {
		inner, _ := jsonwire.Members(a.Value) // none if it is no object
		return slices.ContainsFunc(inner, func(m jsonwire.Member) bool {
			switch m.Key {
			case "anyOf", "type", "description", "title":
				return false
			}
			return get(members, m.Key) != nil
		})
	})
}

// typed says which type a schema is of, where only one of them is spoken about, and that it
// may be any where none is: "type is not defined".
func (f *fitter) typed(members []jsonwire.Member) []jsonwire.Member {
	var kinds []string
	for _, m := range members {
		switch m.Key {
		case "type", "anyOf", "$ref", "allOf":
			return members
		case "const":
			kinds = append(kinds, typeOf(m.Value))
		default:
			if k := kindOf(m.Key); k != "" {
				kinds = append(kinds, k)
			}
		}
	}
	slices.Sort(kinds)
	switch kinds = slices.Compact(kinds); len(kinds) {
	case 0:
		f.note("type")
		return append(members, jsonwire.Member{Key: "anyOf", Value: json.RawMessage(anything)})
	case 1:
		f.note("type")
		return append([]jsonwire.Member{{Key: "type", Value: jsonwire.AppendString(nil, kinds[0])}}, members...)
	}
	return f.split(members, kinds)
}

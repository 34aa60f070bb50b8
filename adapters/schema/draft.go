package schema

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// Draft is what an API takes of the drafts of JSON Schema. A schema in a draft that it
// does not take is refused with the whole request, so it is put in other words. The zero
// value mends only what drafts before 6 wrote otherwise, which nobody takes any more.
//
//   - https://json-schema.org/draft-06/json-schema-release-notes
//   - https://json-schema.org/draft/2020-12/release-notes
type Draft struct {
	// Latest: the schema must be one of draft 2020-12, which has "prefixItems" for a list
	// in "items", and "items" for "additionalItems".
	Latest bool
	// Items: an array must say what its items are.
	Items bool
	// Defs: definitions are found in "$defs" alone, beside "$ref" stand only a description
	// and a default, and the root is no reference.
	Defs bool
	// Regular: a regular expression that not every engine reads is left out.
	Regular bool
	// Bare: nothing in a regular expression may stand unescaped that opens something in an
	// engine of Rust.
	Bare bool
	// Grammar: see [GrammarDraft].
	Grammar bool
	// Moonshot: see [MoonshotDraft].
	Moonshot bool
}

// Latest is draft 2020-12: "JSON schema is invalid. It must match JSON Schema draft
// 2020-12", https://github.com/anthropics/claude-code/issues/63673. What that means is
// measured in https://github.com/openclaw/openclaw/issues/98588, which names tuples, and
// in https://github.com/Dokploy/mcp/issues/74, which names a boolean exclusiveMinimum.
func Latest() Draft { return Draft{Latest: true} }

// OpenAIDraft is that of OpenAI: "[{'type': 'number'}] is not of type 'object', 'boolean'" and "array schema
// missing items", https://github.com/vercel/ai/issues/2271 and
// https://github.com/AnswerDotAI/fastcore/issues/798.
func OpenAIDraft() Draft { return Draft{Latest: true, Items: true} }

// GoogleDraft is that of Google: $defs and prefixItems are among the few keywords that are supported, and "If
// a schema node has $ref set, then only description and default can be set alongside it",
// https://ai.google.dev/api/generate-content#generationconfig and
// https://github.com/anomalyco/opencode/issues/12295.
func GoogleDraft() Draft { return Draft{Latest: true, Defs: true} }

// latest and seventh are the names of drafts, which a schema may bear.
const (
	latest  = "https://json-schema.org/draft/2020-12/schema"
	seventh = "http://json-schema.org/draft-07/schema#"
)

// Fit is a schema in the words of a draft, and the keywords that were put otherwise, each
// once. A schema that needs nothing keeps every byte.
func Fit(text string, draft Draft) (fit string, had []string) {
	if draft.plain(text) {
		return text, nil
	}
	return draft.fit(text)
}

func (d Draft) fit(text string) (fit string, had []string) {
	f := &fitter{draft: d}
	root := []byte(text)
	if d.Defs {
		if up := hoisted(text); up != text {
			f.note("$ref")
			root = []byte(up)
		}
		root = f.defs(root)
	}
	out := f.schema(root)
	if len(f.had) > 0 {
		out = f.named(out)
	}
	slices.Sort(f.had)
	return string(out), slices.Compact(f.had)
}

// fitter puts one schema in other words.
type fitter struct {
	draft Draft
	had   []string
	// looser counts the keywords that were left out, so that more is allowed.
	looser int
}

// note remembers a keyword that was put otherwise.
func (f *fitter) note(keyword string) { f.had = append(f.had, keyword) }

// schema fits one schema and all within it. What is no object is none, or says all or
// nothing; both are the same in every draft.
func (f *fitter) schema(text []byte) []byte {
	members, err := jsonwire.Members(text)
	if err != nil {
		return text
	}
	before := len(f.had)
	var turned []string
	for i := range members {
		looser := f.looser
		members[i].Value = f.inside(members[i].Key, members[i].Value)
		if f.looser > looser {
			turned = append(turned, turnedBy(members[i].Key)...)
		}
	}
	for _, key := range turned {
		if get(members, key) != nil {
			f.note(key)
			members = without(members, key)
		}
	}
	members = f.bounds(members)
	members = f.types(members)
	members = f.items(members)
	if f.draft.Latest {
		members = f.names(members)
	}
	if f.draft.Defs {
		members = f.alone(members)
	}
	if f.draft.Regular {
		members = f.patterns(members)
	}
	if f.draft.Bare {
		members = f.escapes(members)
	}
	if f.draft.Grammar {
		members = f.grammar(members)
	}
	if f.draft.Moonshot {
		members = f.flavored(members)
	}
	if len(f.had) == before {
		return text
	}
	return written(members)
}

// turnedBy are the keywords that mean something else once the schema in one of them allows
// more: {"not": {}} allows nothing.
func turnedBy(key string) []string {
	switch key {
	case "not":
		return []string{"not"}
	case "if":
		return []string{"if", "then", "else"}
	}
	return nil
}

// inside fits the schemas that a keyword holds.
func (f *fitter) inside(key string, value json.RawMessage) json.RawMessage {
	switch holds(key) {
	case namedSchemas:
		members, err := jsonwire.Members(value)
		return f.each(value, members, err, written)
	case schemas:
		if value[0] != '[' {
			return f.schema(value)
		}
		elements, err := jsonwire.Elements(value)
		return f.each(value, elements, err, listed)
	default:
		return value
	}
}

// each fits each schema of a list or an object, which is written anew if one changed.
func (f *fitter) each(value json.RawMessage, schemas []jsonwire.Member, err error, write func([]jsonwire.Member) []byte) json.RawMessage {
	if err != nil {
		return value
	}
	before := len(f.had)
	for i := range schemas {
		schemas[i].Value = f.schema(schemas[i].Value)
	}
	if len(f.had) == before {
		return value
	}
	return write(schemas)
}

// bounds: an exclusive bound was a word about the bound beside it before draft 6.
func (f *fitter) bounds(members []jsonwire.Member) []jsonwire.Member {
	for _, b := range [...][2]string{{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}} {
		exclusive := get(members, b[0])
		if exclusive == nil || !boolean(exclusive.Value) {
			continue
		}
		f.note(b[0])
		bound := get(members, b[1])
		if exclusive.Value[0] == 't' && bound != nil {
			exclusive.Value = bound.Value
			members = without(members, b[1])
		} else {
			members = without(members, b[0])
		}
	}
	return members
}

// types: "any" was a type, and "required" stood in the property itself, before draft 4.
func (f *fitter) types(members []jsonwire.Member) []jsonwire.Member {
	if m := get(members, "required"); m != nil && boolean(m.Value) {
		f.note(m.Key)
		members = without(members, m.Key)
	}
	m := get(members, "type")
	if m == nil {
		return members
	}
	list, _ := jsonwire.Elements(m.Value) // none if it is no list
	if string(m.Value) == `"any"` || slices.ContainsFunc(list, func(t jsonwire.Member) bool { return string(t.Value) == `"any"` }) {
		f.note(m.Key)
		members = without(members, m.Key)
	}
	return members
}

// items: schemas by place stand in "prefixItems" since draft 2020-12, and the others in
// "items". An empty list of them was never allowed.
func (f *fitter) items(members []jsonwire.Member) []jsonwire.Member {
	if m := get(members, "items"); m != nil && m.Value[0] == '[' {
		list, _ := jsonwire.Elements(m.Value)
		if len(list) == 0 || f.draft.Latest {
			f.note("items")
			members = tuple(members, len(list) == 0)
		}
	}
	if f.draft.Items && ofArray(members) && get(members, "items") == nil {
		f.note("items")
		members = append(members, jsonwire.Member{Key: "items", Value: json.RawMessage("{}")})
	}
	return members
}

// tuple renames the list and what stands for the rest of the items.
func tuple(members []jsonwire.Member, empty bool) []jsonwire.Member {
	if empty || get(members, "prefixItems") != nil {
		members = without(members, "items")
	} else {
		get(members, "items").Key = "prefixItems"
	}
	if rest := get(members, "additionalItems"); rest != nil {
		rest.Key = "items"
	}
	return members
}

// ofArray says whether a schema is one of an array.
func ofArray(members []jsonwire.Member) bool {
	m := get(members, "type")
	if m == nil {
		return false
	}
	list, _ := jsonwire.Elements(m.Value)
	return string(m.Value) == `"array"` || slices.ContainsFunc(list, func(t jsonwire.Member) bool { return string(t.Value) == `"array"` })
}

// anchor is a fragment of "$id" that can be a name of its own.
var anchor = regexp.MustCompile(`^"#[A-Za-z_][-A-Za-z0-9._]*"$`)

// names: a name within the schema was a fragment in "$id" until draft 7, and that a schema
// may be extended was said by "$recursiveAnchor" in draft 2019-09.
func (f *fitter) names(members []jsonwire.Member) []jsonwire.Member {
	if m := get(members, "$id"); m != nil && strings.Contains(strings.TrimSuffix(string(m.Value), `#"`), "#") {
		f.note(m.Key)
		if anchor.Match(m.Value) && get(members, "$anchor") == nil {
			m.Key, m.Value = "$anchor", json.RawMessage(`"`+string(m.Value[2:]))
		} else {
			members = without(members, m.Key)
		}
	}
	if m := get(members, "$recursiveAnchor"); m != nil && boolean(m.Value) {
		f.note(m.Key)
		members = without(members, m.Key)
	}
	if m := get(members, "$recursiveRef"); m != nil && get(members, "$ref") == nil {
		f.note(m.Key)
		m.Key = "$ref"
	}
	return members
}

// alone leaves nothing beside a reference but what may stand there. Until draft 7 all else
// was ignored.
func (f *fitter) alone(members []jsonwire.Member) []jsonwire.Member {
	ref := get(members, "$ref")
	if ref == nil {
		return members
	}
	if place, ok := strings.CutPrefix(string(ref.Value), `"#/definitions/`); ok {
		f.note("definitions")
		ref.Value = json.RawMessage(`"#/$defs/` + place)
	}
	return slices.DeleteFunc(members, func(m jsonwire.Member) bool {
		stays := m.Key[:min(1, len(m.Key))] == "$" || m.Key == "description" || m.Key == "default"
		if !stays {
			f.note("$ref")
		}
		return !stays
	})
}

// defs renames the definitions of the root, and puts the one in its place that it refers
// to. References to them are renamed where they stand.
func (f *fitter) defs(text []byte) []byte {
	members, err := jsonwire.Members(text)
	if err != nil {
		return text
	}
	before := len(f.had)
	if m := get(members, "definitions"); m != nil {
		f.note(m.Key)
		if defs := get(members, "$defs"); defs != nil {
			m.Value = merged(defs.Value, m.Value)
			members = without(members, "$defs")
			m = get(members, "definitions")
		}
		m.Key = "$defs"
	}
	if target := f.target(members); target != nil {
		f.note("$ref")
		members = without(members, "$ref")
		for _, m := range target {
			if get(members, m.Key) == nil {
				members = append(members, m)
			}
		}
	}
	if len(f.had) == before {
		return text
	}
	return written(members)
}

// target is the definition that a root refers to.
func (f *fitter) target(members []jsonwire.Member) []jsonwire.Member {
	ref, defs := get(members, "$ref"), get(members, "$defs")
	var place string
	if ref == nil || defs == nil || json.Unmarshal(ref.Value, &place) != nil {
		return nil
	}
	name, ok := strings.CutPrefix(strings.Replace(place, "#/definitions/", "#/$defs/", 1), "#/$defs/")
	all, err := jsonwire.Members(defs.Value)
	if !ok || err != nil {
		return nil
	}
	definition := get(all, strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
	if definition == nil {
		return nil
	}
	target, _ := jsonwire.Members(definition.Value) // none if it is no object
	if get(target, "$ref") != nil {
		return nil // and so on; such a schema is left as it is
	}
	return target
}

// merged is an object with the members of another that it has not.
func merged(a, b []byte) []byte {
	into, err := jsonwire.Members(a)
	more, failed := jsonwire.Members(b)
	if err != nil || failed != nil {
		return a
	}
	for _, m := range more {
		if get(into, m.Key) == nil {
			into = append(into, m)
		}
	}
	return written(into)
}

// named gives a schema that names its draft the name of the one that it is in now: what
// was mended may be no schema of the draft that it was in.
func (f *fitter) named(text []byte) []byte {
	members, err := jsonwire.Members(text)
	m := get(members, "$schema")
	if err != nil || m == nil {
		return text
	}
	name := `"` + latest + `"`
	if old := string(m.Value); !f.draft.Latest && (strings.Contains(old, "/draft-03/") || strings.Contains(old, "/draft-04/")) {
		name = `"` + seventh + `"`
	} else if !f.draft.Latest {
		return text
	}
	if string(m.Value) == name {
		return text
	}
	m.Value = json.RawMessage(name)
	return written(members)
}

// get is a member, of those with one key the last; nil = there is none.
func get(members []jsonwire.Member, key string) *jsonwire.Member {
	for i := range slices.Backward(members) {
		if members[i].Key == key {
			return &members[i]
		}
	}
	return nil
}

func without(members []jsonwire.Member, key string) []jsonwire.Member {
	return slices.DeleteFunc(members, func(m jsonwire.Member) bool { return m.Key == key })
}

func boolean(value json.RawMessage) bool { return value[0] == 't' || value[0] == 'f' }

func written(members []jsonwire.Member) []byte {
	var w jsonwire.Writer
	w.BeginObject()
	for _, m := range members {
		w.Key(m.Key)
		w.RawBytes(m.Value)
	}
	w.EndObject()
	return w.Bytes()
}

func listed(elements []jsonwire.Member) []byte {
	var w jsonwire.Writer
	w.BeginArray()
	for _, e := range elements {
		w.RawBytes(e.Value)
	}
	w.EndArray()
	return w.Bytes()
}

package schema

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// What is looked for and copied at most: schemas of people refer to a few places, and a copy
// for each of many would be larger than any provider takes. To look for one costs as much as
// the schema is long.
const (
	maxHoisted      = 64
	maxHoistedBytes = 1 << 18
)

// hoisted is a schema whose references name definitions of the root. Others may name any
// place, as those do that the converter of Zod writes for a schema that is used twice: the
// schema there becomes a definition, too. A schema whose references all do keeps every byte,
// and so does one with too many that do not.
func hoisted(text string) string {
	if !strings.Contains(text, `"#/`) || len(text) > maxHoistedBytes {
		return text // as most do
	}
	h := &hoist{names: map[string]string{}, used: map[string]bool{}, twice: map[string]bool{}}
	root := []byte(text)
	members, err := jsonwire.Members(root)
	if err != nil {
		return text
	}
	defs, _ := jsonwire.Members(valueOf(members, "$defs")) // none if it is no object
	for _, d := range defs {
		h.used[d.Key] = true
	}
	older, _ := jsonwire.Members(valueOf(members, "definitions")) // likewise
	for _, d := range older {
		if h.used[d.Key] {
			h.twice["#/definitions/"+escape(d.Key)] = true
		}
		h.used[d.Key] = true
	}
	renamed := h.schema(root, root)
	if len(h.places) == 0 || h.full {
		return text
	}
	for _, place := range h.places {
		copied := at(renamed, place)
		if h.size += len(copied); copied == nil || h.size > maxHoistedBytes {
			return text
		}
		defs = append(defs, jsonwire.Member{Key: h.names[place], Value: copied})
	}
	members, _ = jsonwire.Members(renamed) // it was an object before
	if m := get(members, "$defs"); m != nil {
		own, _ := jsonwire.Members(m.Value) // with the new names
		m.Value = written(append(own, defs[len(defs)-len(h.places):]...))
	} else {
		members = append(members, jsonwire.Member{Key: "$defs", Value: written(defs)})
	}
	return string(written(members))
}

// hoist finds the places that are referred to.
type hoist struct {
	places []string          // in the order in which they were met
	names  map[string]string // of their definitions; empty = there is no such place
	used   map[string]bool   // names of definitions
	twice  map[string]bool   // places of those that "$defs" has another one of that name for
	size   int
	full   bool
}

// schema is one schema with references that name definitions.
func (h *hoist) schema(root, text []byte) []byte {
	members, err := jsonwire.Members(text)
	if err != nil {
		return text
	}
	changed := false
	for i := range members {
		m := &members[i]
		var value []byte
		if m.Key == "$ref" {
			value = h.reference(root, m.Value)
		} else {
			value = within(m.Key, m.Value, func(s []byte) []byte { return h.schema(root, s) })
		}
		changed = changed || string(value) != string(m.Value)
		m.Value = value
	}
	if !changed {
		return text
	}
	return written(members)
}

// reference names a definition where it names a place that is none.
func (h *hoist) reference(root, ref []byte) []byte {
	var place string
	if json.Unmarshal(ref, &place) != nil || !strings.HasPrefix(place, "#/") || isDefinition(place) && !h.twice[place] {
		return ref
	}
	name, known := h.names[place]
	if !known {
		if h.full = h.full || len(h.names) == maxHoisted; h.full {
			return ref
		}
		if at(root, place) != nil {
			name = h.name(place)
			h.places = append(h.places, place)
		}
		h.names[place] = name
	}
	if name == "" {
		return ref
	}
	return jsonwire.AppendString(nil, "#/$defs/"+name)
}

// name is one for the definition of a place, that no other has.
func (h *hoist) name(place string) string {
	stem := strings.Trim(strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, place), "_")
	stem = stem[max(0, len(stem)-40):]
	name := stem
	for n := 2; name == "" || h.used[name]; n++ {
		name = stem + "_" + strconv.Itoa(n)
	}
	h.used[name] = true
	return name
}

// isDefinition: a reference names one in the root.
func isDefinition(place string) bool {
	for _, key := range []string{"#/$defs/", "#/definitions/"} {
		if name, ok := strings.CutPrefix(place, key); ok && name != "" && !strings.Contains(name, "/") {
			return true
		}
	}
	return false
}

// at is the schema at a place, which is a JSON pointer in a URI; nil = there is none.
func at(root []byte, place string) []byte {
	pointer, err := url.PathUnescape(strings.TrimPrefix(place, "#/"))
	if err != nil {
		return nil
	}
	value := root
	for step := range strings.SplitSeq(pointer, "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		if value[0] == '[' {
			list, err := jsonwire.Elements(value)
			i, bad := strconv.Atoi(step)
			if err != nil || bad != nil || i < 0 || i >= len(list) {
				return nil
			}
			value = list[i].Value
			continue
		}
		members, err := jsonwire.Members(value)
		m := get(members, step)
		if err != nil || m == nil {
			return nil
		}
		value = m.Value
	}
	if value[0] != '{' {
		return nil
	}
	return value
}

func valueOf(members []jsonwire.Member, key string) []byte {
	if m := get(members, key); m != nil {
		return m.Value
	}
	return nil
}

// within is the value of a keyword, each schema that it holds replaced by what change makes
// of it. A value of which none changes keeps its bytes.
func within(key string, value []byte, change func([]byte) []byte) []byte {
	var list []jsonwire.Member
	var err error
	write := listed
	switch holds(key) {
	case namedSchemas:
		write = written
		list, err = jsonwire.Members(value)
	case schemas:
		if value[0] != '[' {
			return change(value)
		}
		list, err = jsonwire.Elements(value)
	default:
		return value
	}
	changed := false
	for i := range list {
		old := list[i].Value
		list[i].Value = change(old)
		changed = changed || string(old) != string(list[i].Value)
	}
	if err != nil || !changed {
		return value
	}
	return write(list)
}

// holding is what the value of a keyword holds.
type holding uint8

const (
	data         holding = iota
	schemas              // one, or a list of them
	namedSchemas         // an object of them
)

func holds(key string) holding {
	switch key {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
		return namedSchemas
	case "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains", "additionalProperties", "unevaluatedProperties",
		"propertyNames", "anyOf", "oneOf", "allOf", "not", "if", "then", "else":
		return schemas
	}
	return data
}

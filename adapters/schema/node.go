package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// node is one schema within a schema.
type node struct {
	path    string // JSON pointer
	at      int    // where it begins in the whole
	end     int    // where its closing brace stands
	members []jsonwire.Member
	types   []string
	object  bool
}

func parse(text []byte, at int, path string) (*node, error) {
	n := &node{path: path, at: at, end: at + bytes.LastIndexByte(text, '}')}
	var err error
	if n.members, err = jsonwire.Members(text); err != nil {
		return nil, n.fault("", "a schema is no object")
	}
	if m := n.get("type"); m != nil {
		var one string
		if json.Unmarshal(m.Value, &one) == nil {
			n.types = []string{one}
		} else if n.types, err = names(m.Value); err != nil {
			return nil, n.fault(m.Key, "names no types")
		}
	}
	n.object = slices.Contains(n.types, "object")
	return n, nil
}

// get is a member, of those with one key the last; nil = there is none.
func (n *node) get(key string) *jsonwire.Member {
	for i := range slices.Backward(n.members) {
		if n.members[i].Key == key {
			return &n.members[i]
		}
	}
	return nil
}

// fault is an error, and nothing else: the interface keeps a nil from being one.
func (n *node) fault(keyword, detail string) error {
	return &Error{Keyword: keyword, Path: n.path, Detail: detail}
}

// check looks for what has no strict form, the children aside.
func (n *node) check(rules *Rules, inUnion bool) error {
	for _, m := range n.members {
		isReference := slices.Contains(references(), m.Key)
		if slices.Contains(refused(), m.Key) || slices.Contains(rules.Refused, m.Key) || isReference && !rules.References {
			return n.fault(m.Key, "is not supported")
		}
	}
	if m := n.get("$ref"); m != nil {
		return n.reference(m)
	}
	root := n.path == ""
	switch {
	case root && !slices.Equal(n.types, []string{"object"}):
		return n.fault("type", "is not object")
	case root && n.get("anyOf") != nil:
		return n.fault("anyOf", "is not supported there")
	case n.get("type") == nil && n.get("anyOf") == nil && n.get("enum") == nil:
		return n.fault("type", "is missing, and so are anyOf and enum")
	case inUnion && !rules.Unions && (n.object || slices.Contains(n.types, "array")):
		return n.fault("type", "is an object or array in anyOf")
	case rules.Items && slices.Contains(n.types, "array") && n.get("items") == nil:
		return n.fault("items", "is missing")
	case n.get("properties") != nil && !n.object:
		return n.fault("properties", "stands beside a type that is not object")
	}
	return n.values(rules)
}

// reference checks a "$ref", which must stand alone.
func (n *node) reference(m *jsonwire.Member) error {
	var target string
	switch {
	case json.Unmarshal(m.Value, &target) != nil || !strings.HasPrefix(target, "#"):
		return n.fault(m.Key, "does not name a place in this schema")
	case len(n.members) > 1:
		return n.fault(m.Key, "stands beside other keywords")
	case n.path == "":
		return n.fault(m.Key, "is not supported there")
	}
	return nil
}

// values checks the keywords of which only some values are taken.
func (n *node) values(rules *Rules) error {
	if m := n.get("additionalProperties"); m != nil && string(m.Value) != "false" {
		return n.fault(m.Key, "is not false")
	}
	if m := n.get("items"); m != nil && m.Value[0] == '[' {
		return n.fault(m.Key, "is a list")
	}
	if m := n.get("minItems"); m != nil && rules.ShortMinItems && string(m.Value) != "0" && string(m.Value) != "1" {
		return n.fault(m.Key, "is neither 0 nor 1")
	}
	if m := n.get("format"); m != nil && len(rules.Formats) > 0 {
		var format string
		if json.Unmarshal(m.Value, &format) != nil || !slices.Contains(rules.Formats, format) {
			return n.fault(m.Key, "has a value that is not supported")
		}
	}
	return n.words(rules)
}

// words checks the keywords that restrict texts.
func (n *node) words(rules *Rules) error {
	refused := lookaround | dialect
	if rules.SimplePatterns {
		refused |= backreference | boundary
	}
	if m := n.get("pattern"); m != nil && irregular(m.Value, refused) {
		return n.fault(m.Key, "has an expression that is not supported")
	}
	if m := n.get("enum"); m != nil && rules.Scalars {
		values, _ := jsonwire.Elements(m.Value) // none if it is no list
		if slices.ContainsFunc(values, func(v jsonwire.Member) bool { return v.Value[0] == '{' || v.Value[0] == '[' }) {
			return n.fault(m.Key, "has a value that is not supported")
		}
	}
	return nil
}

// properties are those of an object, with offsets in the whole schema, and the names
// of those that are required.
func (n *node) properties() (properties []jsonwire.Member, required []string, err error) {
	if m := n.get("properties"); m != nil {
		if properties, err = jsonwire.Members(m.Value); err != nil {
			return nil, nil, n.fault(m.Key, "holds no schemas")
		}
		for i := range properties {
			properties[i].At += n.at + m.At
		}
	} else if n.path != "" && n.get("additionalProperties") == nil {
		// Any object will do, and in strict mode only an empty one would.
		return nil, nil, n.fault("properties", "is missing")
	}
	if m := n.get("required"); m != nil {
		if required, err = names(m.Value); err != nil {
			return nil, nil, n.fault(m.Key, "is not a list of names")
		}
	}
	for _, name := range required {
		if !slices.ContainsFunc(properties, func(p jsonwire.Member) bool { return p.Key == name }) {
			return nil, nil, n.fault("required", "names a property that is not there")
		}
	}
	return properties, required, nil
}

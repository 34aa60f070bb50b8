package profile

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// maxJSONDepth bounds the nesting of values that are kept as JSON text.
const maxJSONDepth = 64

// UnmarshalYAML keeps a mapping as JSON text, its keys in the order they were
// written.
func (r *RawJSON) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return &KeyError{Line: node.Line, Problem: "must be a mapping"}
	}
	text, err := appendJSON(nil, node, maxJSONDepth)
	if err != nil {
		return err
	}
	*r = RawJSON(text)
	return nil
}

// UnmarshalYAML reads {name: constant} and {name: {$var: thinking.enabled,
// omit_when_off: true}}, in the order written.
func (a *TemplateArgs) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return &KeyError{Line: node.Line, Problem: "must be a mapping of argument names to values"}
	}
	args := TemplateArgs{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		arg, err := templateArg(node.Content[i], node.Content[i+1])
		if err != nil {
			return err
		}
		args = append(args, arg)
	}
	*a = args
	return nil
}

// templateArg reads one entry: a mapping with "$var" is a variable, all else a
// constant.
func templateArg(key, value *yaml.Node) (TemplateArg, error) {
	arg := TemplateArg{Name: key.Value}
	if !hasKey(value, "$var") {
		text, err := appendJSON(nil, value, maxJSONDepth)
		arg.Constant = RawJSON(text)
		return arg, err
	}
	for i := 0; i+1 < len(value.Content); i += 2 {
		name, v := value.Content[i], value.Content[i+1]
		bad := &KeyError{Line: v.Line, Key: "." + key.Value + "." + name.Value}
		switch name.Value {
		case "$var":
			if !slices.Contains([]string{"thinking.enabled", "thinking.effort", "thinking.budget"}, v.Value) {
				bad.Problem = "must be one of: thinking.enabled, thinking.effort, thinking.budget"
				return arg, bad
			}
			arg.Var = v.Value
		case "omit_when_off", "omitWhenOff":
			if v.Decode(&arg.OmitWhenOff) != nil {
				bad.Problem = "must be true or false"
				return arg, bad
			}
		default:
			bad.Problem = "unknown key; a variable has $var and omit_when_off"
			return arg, bad
		}
	}
	return arg, nil
}

func hasKey(node *yaml.Node, name string) bool {
	if node.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return true
		}
	}
	return false
}

// appendJSON appends a YAML value as JSON text. Key order and the spelling of
// numbers stay as they were written.
func appendJSON(b []byte, node *yaml.Node, depth int) ([]byte, error) {
	if depth == 0 {
		return b, &KeyError{Line: node.Line, Problem: "is nested too deeply"}
	}
	if node.Kind == yaml.ScalarNode {
		return appendJSONScalar(b, node)
	}
	// A mapping is keys and values in turn, a list is values only.
	mapping := node.Kind == yaml.MappingNode
	if !mapping && node.Kind != yaml.SequenceNode {
		return b, &KeyError{Line: node.Line, Problem: "cannot be written as JSON"}
	}
	open, end := byte('['), byte(']')
	if mapping {
		open, end = '{', '}'
	}
	b = append(b, open)
	for i, item := range node.Content {
		isKey := mapping && i%2 == 0
		if i > 0 && (isKey || !mapping) {
			b = append(b, ',')
		}
		if isKey {
			if item.Kind != yaml.ScalarNode || item.Tag == "!!merge" {
				return b, &KeyError{Line: item.Line, Problem: "keys must be plain texts"}
			}
			b = append(appendJSONString(b, item.Value), ':')
			continue
		}
		var err error
		if b, err = appendJSON(b, item, depth-1); err != nil {
			return b, err
		}
	}
	return append(b, end), nil
}

func appendJSONScalar(b []byte, node *yaml.Node) ([]byte, error) {
	bad := &KeyError{Line: node.Line, Problem: "cannot be written as JSON"}
	switch node.Tag {
	case "!!null":
		return append(b, "null"...), nil
	case "!!bool":
		var v bool
		if node.Decode(&v) != nil {
			return b, bad
		}
		return strconv.AppendBool(b, v), nil
	case "!!int", "!!float":
		if json.Valid([]byte(node.Value)) {
			return append(b, node.Value...), nil
		}
		// Hexadecimal, 1_000, .5 and the like: YAML knows their value.
		var n int64
		if node.Tag == "!!int" && node.Decode(&n) == nil {
			return strconv.AppendInt(b, n, 10), nil
		}
		var f float64
		if node.Decode(&f) != nil {
			return b, bad
		}
		text, err := json.Marshal(f)
		if err != nil { // .inf and .nan
			return b, bad
		}
		return append(b, text...), nil
	case "!!str", "!!timestamp":
		return appendJSONString(b, node.Value), nil
	}
	return b, bad
}

func appendJSONString(b []byte, s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always can be
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

package config

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Show is the section "server" as it is in force, defaults and environment included,
// in YAML. Secrets, and digests of tokens, are hidden.
func (s Server) Show() ([]byte, error) {
	node, err := shown(reflect.ValueOf(s))
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(map[string]*yaml.Node{"server": node})
}

// shown is a value of the configuration as YAML. Fields and keys are spelt alike.
func shown(v reflect.Value) (*yaml.Node, error) {
	switch x := v.Interface().(type) {
	case fmt.Stringer: // durations, addresses, and secrets, which hide themselves
		if x, ok := x.(Address); ok && x == (Address{}) {
			return scalar(""), nil
		}
		return scalar(x.String()), nil
	case [32]byte:
		return scalar(redacted), nil
	}
	switch v.Kind() {
	case reflect.Struct:
		return shownStruct(v)
	case reflect.Slice:
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Len() {
			item, err := shown(v.Index(i))
			if err != nil {
				return nil, err
			}
			list.Content = append(list.Content, item)
		}
		return list, nil
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint32, reflect.Float64:
		node := &yaml.Node{}
		err := node.Encode(v.Interface())
		return node, err
	default:
		// Never by %v: what a new type holds is not known to be no secret.
		return nil, fmt.Errorf("config: a %s cannot be shown", v.Type())
	}
}

func shownStruct(v reflect.Value) (*yaml.Node, error) {
	m := &yaml.Node{Kind: yaml.MappingNode}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		node, err := shown(v.Field(i))
		if err != nil {
			return nil, err
		}
		if field.Anonymous { // its keys stand beside the others
			m.Content = append(m.Content, node.Content...)
			continue
		}
		m.Content = append(m.Content, scalar(keyName(field.Name)), node)
	}
	return m, nil
}

func scalar(s string) *yaml.Node {
	node := &yaml.Node{}
	node.SetString(s)
	return node
}

// keyName is the key of a field, words that are written in capitals included.
func keyName(name string) string {
	if name == "URISAN" {
		return "uri_san"
	}
	var b strings.Builder
	all := []rune(name)
	for i, r := range all {
		begins := i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(all[i-1]) || i+1 < len(all) && unicode.IsLower(all[i+1]))
		if begins {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

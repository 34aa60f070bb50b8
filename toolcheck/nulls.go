package toolcheck

import (
	"bytes"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// maxInPlace is how many schemas that apply to the same value are followed, one to
// the next: a schema may refer to itself.
const maxInPlace = 32

// withoutNulls takes members away from a JSON text that are null, optional by the
// schema, and not nullable by it. Objects that lose none keep their bytes.
func withoutNulls(s *jsonschema.Schema, text []byte, steps int) []byte {
	if s == nil || steps == 0 || !bytes.Contains(text, []byte("null")) {
		return text
	}
	for _, also := range append([]*jsonschema.Schema{s.Ref}, s.AllOf...) {
		text = withoutNulls(also, text, steps-1)
	}
	for _, alternatives := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		text = byAlternative(alternatives, text, steps-1)
	}
	switch trimmed := bytes.TrimLeft(text, " \t\r\n"); {
	case bytes.HasPrefix(trimmed, []byte("{")):
		return objectWithoutNulls(s, text)
	case bytes.HasPrefix(trimmed, []byte("[")):
		return arrayWithoutNulls(s, text)
	}
	return text
}

// byAlternative does it by the first alternative that then fits.
func byAlternative(alternatives []*jsonschema.Schema, text []byte, steps int) []byte {
	for _, a := range alternatives {
		shorter := withoutNulls(a, text, steps)
		if v, err := decode(string(shorter)); err == nil && a.Validate(v) == nil {
			return shorter
		}
	}
	return text
}

func objectWithoutNulls(s *jsonschema.Schema, text []byte) []byte {
	members, err := jsonwire.Members(text)
	if err != nil || len(s.Properties) == 0 {
		return text
	}
	changed := false
	out := []byte{'{'}
	for _, m := range members {
		property := s.Properties[m.Key]
		if string(m.Value) == "null" && property != nil && !slices.Contains(s.Required, m.Key) && property.Validate(nil) != nil {
			changed = true
			continue
		}
		value := withoutNulls(property, m.Value, maxInPlace)
		changed = changed || len(value) != len(m.Value)
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(jsonwire.AppendString(out, m.Key), ':'), value...)
	}
	if !changed {
		return text
	}
	return append(out, '}')
}

func arrayWithoutNulls(s *jsonschema.Schema, text []byte) []byte {
	rest := s.Items2020
	if of, ok := s.Items.(*jsonschema.Schema); ok { // as before draft 2020-12
		rest = of
	}
	elements, err := jsonwire.Elements(text)
	if err != nil || rest == nil && len(s.PrefixItems) == 0 {
		return text
	}
	changed := false
	out := []byte{'['}
	for i, e := range elements {
		of := rest
		if i < len(s.PrefixItems) {
			of = s.PrefixItems[i]
		}
		value := withoutNulls(of, e.Value, maxInPlace)
		changed = changed || len(value) != len(e.Value)
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, value...)
	}
	if !changed {
		return text
	}
	return append(out, ']')
}

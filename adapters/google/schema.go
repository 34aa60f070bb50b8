package google

import (
	"encoding/json"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonstream"
)

// rewriteSchema makes a JSON Schema fit for Google: "const" with a string or a
// number becomes an "enum" of that one value, which is the only way that Google
// knows. Everything else keeps its bytes; keywords that Google does not know are
// ignored there.
//
// https://ai.google.dev/gemini-api/docs/structured-output#json-schema-support
func rewriteSchema(schema string) (string, error) {
	if err := jsonstream.Object([]byte(schema)); err != nil {
		return "", err
	}
	w := &schemaWalk{text: schema, d: json.NewDecoder(strings.NewReader(schema))}
	w.d.UseNumber()
	if err := w.value(isSchema); err != nil {
		return "", err
	}
	return w.rewritten(), nil
}

// place says what a value in a schema is.
type place uint8

const (
	isData       place = iota // plain data, such as a default
	isSchema                  // a schema, or a list of them
	isSchemasMap              // an object whose values are schemas
)

// inside says what the value of a keyword is.
func (p place) inside(key string) place {
	if p == isSchemasMap {
		return isSchema
	}
	if p == isData {
		return isData
	}
	switch key {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return isSchemasMap
	case "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains",
		"additionalProperties", "unevaluatedProperties", "propertyNames",
		"anyOf", "oneOf", "allOf", "not", "if", "then", "else":
		return isSchema
	}
	return isData
}

// schemaWalk walks over a schema once and notes what to write differently.
type schemaWalk struct {
	text   string
	d      *json.Decoder
	consts []span // in order
}

// span is a "const" member: its key and its value.
type span struct{ key, value, end int }

func (w *schemaWalk) value(p place) error {
	t, err := w.d.Token()
	if err != nil {
		return err
	}
	switch t {
	case json.Delim('{'):
		return w.object(p)
	case json.Delim('['):
		for w.d.More() {
			if err := w.value(p); err != nil {
				return err
			}
		}
		_, err = w.d.Token()
	}
	return err
}

func (w *schemaWalk) object(p place) error {
	enum, at := false, -1
	for w.d.More() {
		t, err := w.d.Token()
		if err != nil {
			return err
		}
		key, _ := t.(string)
		if p == isSchema && key == "const" {
			if w.constant() {
				at = len(w.consts) - 1
			}
		}
		enum = enum || p == isSchema && key == "enum"
		if err := w.value(p.inside(key)); err != nil {
			return err
		}
	}
	if enum && at >= 0 {
		// An enum stands beside it already; there may not be two.
		w.consts[at] = span{}
	}
	_, err := w.d.Token()
	return err
}

// constant notes a "const" whose key was just read, if its value is a string or a
// number. Where that value ends is known from its first bytes.
func (w *schemaWalk) constant() bool {
	end := int(w.d.InputOffset())
	if !strings.HasSuffix(w.text[:end], `"const"`) {
		return false // spelled with escapes
	}
	start := end + len(w.text[end:]) - len(strings.TrimLeft(w.text[end:], " \t\r\n:"))
	n := scalarLen(w.text[start:])
	if n > 0 {
		w.consts = append(w.consts, span{key: end - len(`"const"`), value: start, end: start + n})
	}
	return n > 0
}

// scalarLen is the length of the string or number at the beginning of valid JSON;
// 0 if there is something else.
func scalarLen(s string) int {
	if s[0] != '"' {
		n := strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune("+-.eE0123456789", r) })
		return max(n, 0)
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

func (w *schemaWalk) rewritten() string {
	var b strings.Builder
	done := 0
	for _, c := range w.consts {
		if c == (span{}) {
			continue
		}
		b.WriteString(w.text[done:c.key])
		b.WriteString(`"enum"`)
		b.WriteString(w.text[c.key+len(`"const"`) : c.value])
		b.WriteByte('[')
		b.WriteString(w.text[c.value:c.end])
		b.WriteByte(']')
		done = c.end
	}
	b.WriteString(w.text[done:])
	return b.String()
}

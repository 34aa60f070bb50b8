package providersim

import (
	"strconv"
	"strings"
)

// arguments writes an object that fits a schema, in the spelling of a model: spaces
// or none, numbers and escapes as they come.
func (a *reply) arguments(schema *value) string {
	var b strings.Builder
	colon, comma := ":", ","
	if a.one(2) {
		colon, comma = ": ", ", "
	}
	if a.one(6) {
		comma = ",\n  "
	}
	properties := schema.get("properties")
	var members []member
	if properties != nil {
		members = properties.members
	}
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteString(comma)
		}
		b.WriteString(strconv.Quote(m.name) + colon + a.argument(m.value))
	}
	b.WriteByte('}')
	return b.String()
}

// argument is a value of a schema's type. Strings hold a word of their own.
func (a *reply) argument(schema *value) string {
	if enum := schema.get("enum").list(); len(enum) > 0 {
		return string(enum[a.IntN(len(enum))].raw)
	}
	switch schema.get("type").str() {
	case "integer":
		return a.pick("0", "7", "-12", "9007199254740993", "12345678901234567890")
	case "number":
		return a.pick("1.0", "1e2", "-0.5", "3.1415926535897932384626", "0")
	case "boolean":
		return a.pick("true", "false")
	case "array":
		return a.pick("[]", "[ ]", `["a", "b"]`)
	case "object":
		return a.arguments(schema)
	}
	text := a.word() + a.pick("", ` \"x\"`, ` \u00e9\n`, ` a\/b`, " 日本", ` \ud83d\ude00`, ` \\d+`, ` <\u0001>`)
	if a.one(50) {
		text += strings.Repeat(` line\n`, 4000)
	}
	return `"` + text + `"`
}

func (a *reply) pick(of ...string) string { return of[a.IntN(len(of))] }

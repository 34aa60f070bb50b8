package adapters

import (
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// A custom tool of OpenAI's takes a text, where others take an object: its call becomes
// one with that text as its only argument.
// https://platform.openai.com/docs/guides/function-calling#custom-tools
const (
	inputMember = "input"
	inputBegins = `{"` + inputMember + `":"`
	inputEnds   = `"}`
)

// CustomInput collects the text of a call of a custom tool as the arguments of a call.
type CustomInput struct{ begun, ended bool }

// Add is the fragment of arguments that a piece of the text comes to.
func (c *CustomInput) Add(text string) string {
	fragment := escape(text)
	if !c.begun {
		c.begun = true
		fragment = inputBegins + fragment
	}
	return fragment
}

// Whole is the arguments that the whole text comes to, where it is said anew.
func (c *CustomInput) Whole(text string) string {
	c.begun, c.ended = true, true
	return inputBegins + escape(text) + inputEnds
}

// End is the fragment behind all pieces; it is empty once the whole text was said.
func (c *CustomInput) End() string {
	if c.ended {
		return ""
	}
	fragment := c.Add("") + inputEnds
	c.ended = true
	return fragment
}

// escape writes what stands between the quotes of a string. Halves of surrogate pairs
// stay: the other half may be in the next piece.
func escape(text string) string {
	const hex = "0123456789abcdef"
	var b strings.Builder
	b.Grow(len(text))
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < ' ':
			b.WriteString(`\u00`)
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&0xf])
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// CustomInputOf is the text that the arguments of a call of a custom tool hold; false =
// they are not such arguments.
func CustomInputOf(arguments string) (string, bool) {
	members, err := jsonwire.Members([]byte(arguments))
	if err != nil || len(members) != 1 || members[0].Key != inputMember || members[0].Value[0] != '"' {
		return "", false
	}
	var text jsonwire.Text
	if text.UnmarshalJSON(members[0].Value) != nil {
		return "", false
	}
	return jsonwire.Clean(string(text)), true
}

package schema

import (
	"encoding/json"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// Regular puts nothing otherwise and leaves out the regular expressions that not every
// engine reads; what they allow is then not restricted. OpenAI refuses a request for one
// tool with such a "pattern", whether the tool is strict or not: "regex lookaround is not
// supported", and "is not a 'regex'" for what Python's engine does not know.
//
//   - https://github.com/vercel/ai/pull/21037
//   - https://github.com/BerriAI/litellm/pull/40485
func Regular() Draft { return Draft{Regular: true} }

// feature is what a regular expression may have and some engines have not.
type feature uint8

const (
	lookaround    feature = 1 << iota
	dialect               // spelled as in JavaScript alone, such as \p{L}
	backreference         // \1
	boundary              // \b
)

// featuresOf reads an expression. It does not say whether the expression is one at all.
func featuresOf(expression string) (f feature) {
	class := false // within brackets
	for rest := expression; rest != ""; {
		c := rest[0]
		rest = rest[1:]
		switch {
		case c == '\\':
			f |= escaped(rest, class)
			rest = rest[min(1, len(rest)):]
		case class:
			class = c != ']'
		case c == '[':
			class = true
			if rest = strings.TrimPrefix(rest, "^"); strings.HasPrefix(rest, "]") {
				f |= dialect // an empty class, which others read as one that begins so
			}
		case c == '(':
			f |= group(rest)
		}
	}
	return f
}

// escaped is what an escape needs. Letters are those that Python knows, too.
func escaped(text string, class bool) feature {
	if text == "" { // it ends with a backslash
		return dialect
	}
	switch c := text[0]; {
	case !class && '1' <= c && c <= '9':
		return backreference
	case c == 'k':
		return backreference | dialect
	case !class && (c == 'b' || c == 'B'):
		return boundary
	case c == 'u' && !hex(text[1:], 4), c == 'x' && !hex(text[1:], 2):
		return dialect
	case 'a' <= c && c <= 'z' && !strings.ContainsRune("abdfnrstuvwx", rune(c)),
		'A' <= c && c <= 'Z' && !strings.ContainsRune("DSW", rune(c)) && (class || c != 'A' && c != 'Z'):
		return dialect
	}
	return 0
}

// group is what a group needs, of which the text is what follows its parenthesis.
func group(text string) feature {
	for _, start := range []string{"?=", "?!", "?<=", "?<!"} {
		if strings.HasPrefix(text, start) {
			return lookaround
		}
	}
	if strings.HasPrefix(text, "?<") { // a name, before which Python wants a P
		return dialect
	}
	return 0
}

// hex says whether a text begins with so many hexadecimal digits.
func hex(text string, n int) bool {
	return len(text) >= n && strings.Trim(text[:n], "0123456789abcdefABCDEF") == ""
}

// irregular says whether a "pattern" has one of these features.
func irregular(value json.RawMessage, features feature) bool {
	var expression string
	return json.Unmarshal(value, &expression) == nil && featuresOf(expression)&features != 0
}

// patterns leaves out the expressions that are not read everywhere. Without one for names
// of properties, nothing is known of the properties that no other keyword names.
func (f *fitter) patterns(members []jsonwire.Member) []jsonwire.Member {
	if m := get(members, "pattern"); m != nil && irregular(m.Value, lookaround|dialect) {
		f.note(m.Key)
		members = without(members, m.Key)
	}
	m := get(members, "patternProperties")
	if m == nil {
		return members
	}
	all, err := jsonwire.Members(m.Value)
	var kept []jsonwire.Member
	for _, p := range all {
		if featuresOf(p.Key)&(lookaround|dialect) == 0 {
			kept = append(kept, p)
		}
	}
	if err != nil || len(kept) == len(all) {
		return members
	}
	f.note(m.Key)
	m.Value = written(kept)
	return without(members, "additionalProperties")
}

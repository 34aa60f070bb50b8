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
	bare                  // [ within a class, and \0
)

// featuresOf reads an expression. It does not say whether the expression is one at all.
func featuresOf(expression string) (f feature) {
	for rest := expression; rest != ""; {
		c := rest[0]
		rest = rest[1:]
		switch c {
		case '\\':
			f |= escaped(rest, false)
			rest = rest[min(1, len(rest)):]
		case '[':
			var has feature
			has, rest = class(rest)
			f |= has
		case '(':
			f |= group(rest)
		}
	}
	return f
}

// class is what a class needs, of which the text is what follows its bracket, and what
// follows the class.
func class(text string) (f feature, rest string) {
	rest = strings.TrimPrefix(text, "^")
	if strings.HasPrefix(rest, "]") {
		f = dialect // an empty class, which others read as one that begins so
	}
	for rest != "" && rest[0] != ']' {
		low, set := member(rest)
		f |= low
		rest = rest[length(rest):]
		if len(rest) < 2 || rest[0] != '-' || rest[1] == ']' {
			continue
		}
		// A range, which no set begins or ends, such as \w; for JavaScript its minus is one.
		high, sets := member(rest[1:])
		if f |= high; set || sets {
			f |= dialect
		}
		rest = rest[1+length(rest[1:]):]
	}
	return f, rest[min(1, len(rest)):]
}

// member is what the first member of a class needs, and whether it is a set itself.
func member(text string) (f feature, set bool) {
	if text[0] == '[' {
		return bare, false
	}
	if text[0] != '\\' {
		return 0, false
	}
	return escaped(text[1:], true), len(text) > 1 && strings.IndexByte("dDsSwW", text[1]) >= 0
}

// length is that of the first member of a class, as far as it matters for finding ranges.
func length(text string) int {
	switch {
	case text[0] != '\\':
		return 1
	case len(text) > 1 && text[1] == 'x' && hex(text[2:], 2):
		return 4
	case len(text) > 1 && text[1] == 'u' && hex(text[2:], 4):
		return 6
	}
	return min(2, len(text))
}

// escaped is what an escape needs. Letters are those that Python knows, too.
func escaped(text string, class bool) feature {
	if text == "" { // it ends with a backslash
		return dialect
	}
	switch c := text[0]; {
	case c == '0':
		return bare
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
		f.looser++
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
	f.looser++
	m.Value = written(kept)
	for _, others := range []string{"additionalProperties", "unevaluatedProperties"} {
		if get(members, others) != nil {
			f.note(others)
			members = without(members, others)
		}
	}
	return members
}

// DeepSeekDraft is what DeepSeek takes, which checks a schema and its expressions in Rust:
// "[{...}] is not of type \"object\", \"boolean\"", and "^[^[]$ is not a \"regex\"", whose
// bracket opens a class within the class there.
//
//   - https://github.com/Dokploy/mcp/issues/43
//   - https://github.com/NangoHQ/nango/issues/7547
//   - https://github.com/zed-industries/zed/issues/64386
func DeepSeekDraft() Draft { return Draft{Latest: true, Bare: true} }

// escapes escapes in expressions what is bare, which means the same to every engine.
func (f *fitter) escapes(members []jsonwire.Member) []jsonwire.Member {
	var expression string
	if m := get(members, "pattern"); m != nil && json.Unmarshal(m.Value, &expression) == nil && featuresOf(expression)&bare != 0 {
		f.note(m.Key)
		m.Value = jsonwire.AppendString(nil, escapedBare(expression))
	}
	if m := get(members, "patternProperties"); m != nil {
		all, _ := jsonwire.Members(m.Value) // none if it is no object
		before := len(f.had)
		for i := range all {
			if featuresOf(all[i].Key)&bare != 0 {
				f.note(m.Key)
				all[i].Key = escapedBare(all[i].Key)
			}
		}
		if len(f.had) > before {
			m.Value = written(all)
		}
	}
	return members
}

// escapedBare is an expression with nothing bare in it.
func escapedBare(expression string) string {
	var b strings.Builder
	in := false // a class
	for i := 0; i < len(expression); i++ {
		switch c := expression[i]; {
		case c == '\\' && i+1 < len(expression):
			i++
			if expression[i] == '0' {
				b.WriteString(`\x00`)
				continue
			}
			b.WriteByte(c)
		case c == '[' && in:
			b.WriteByte('\\')
		case c == '[':
			in = true
		case c == ']':
			in = false
		}
		b.WriteByte(expression[i])
	}
	return b.String()
}

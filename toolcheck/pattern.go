package toolcheck

import (
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// pattern is a regular expression that is compiled when it is used: most never are,
// and compiled ones can be a thousand times as large as their text.
type pattern struct {
	text string
	// known: Go has this expression. JSON Schema means those of ECMA-262, which has
	// more.
	known bool
}

// lazyPattern is a jsonschema.RegexpEngine.
func lazyPattern(text string) (jsonschema.Regexp, error) {
	_, err := syntax.Parse(text, syntax.Perl)
	return &pattern{text: text, known: err == nil}, nil
}

// String implements jsonschema.Regexp.
func (p *pattern) String() string { return p.text }

// MatchString implements jsonschema.Regexp. What cannot be judged fits.
func (p *pattern) MatchString(s string) bool {
	if !p.known {
		return true
	}
	re, err := regexp.Compile(p.text)
	return err != nil || re.MatchString(s)
}

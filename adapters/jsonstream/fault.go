package jsonstream

import (
	"bytes"
	"fmt"
)

// What can be wrong with a text. The words never quote it: arguments may hold secrets.
const (
	faultNotObject = "not a JSON object"
	faultMark      = "begins with a byte order mark"
	faultKey       = "expected a key in double quotes"
	faultColon     = "expected a colon after the key"
	faultValue     = "expected a value"
	faultComma     = "expected a comma or a closing bracket"
	faultLiteral   = "malformed literal"
	faultNumber    = "malformed number"
	faultAfter     = "text after the end of the object"
	faultDepth     = "nested deeper than 128 levels"
	faultSize      = "larger than 1 MiB"
	faultCut       = "cut off before the end of the object"
	faultCutString = "cut off inside a string"
	faultEmpty     = "empty text"
	faultControl   = "unescaped control character in a string"
	faultEscape    = "invalid escape in a string"
	faultUTF8      = "invalid UTF-8 in a string"
)

// SyntaxError says why a text is not one JSON object within the limits. It does not hold or
// quote the text.
type SyntaxError struct {
	Reason string // a short phrase
	Offset int    // of the byte that was wrong, or the length of a text that ended too early
}

// Error implements the error interface.
func (e *SyntaxError) Error() string { return "jsonstream: " + e.phrase() }

func (e *SyntaxError) phrase() string {
	return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset)
}

// refine names the one fault that takes more than a byte to tell from others.
func (e *SyntaxError) refine(text []byte) {
	if e.Reason == faultNotObject && e.Offset == 0 && bytes.HasPrefix(text, []byte("\ufeff")) {
		e.Reason = faultMark
	}
}

// cutFault is the fault of a text that ends in the state of g.
func cutFault(g *grammar) string {
	if g.inString() {
		return faultCutString
	}
	return faultCut
}

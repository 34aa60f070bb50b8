package schema

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// GrammarDraft is what llama.cpp makes a grammar of, to which it holds every answer, also
// where no tool is called. Older releases refuse the whole request for one expression or
// length that they cannot translate, newer ones take any text there: "Pattern must start
// with '^' and end with '$'", "failed to parse grammar" for \d, and "number of repetitions
// exceeds sane defaults".
//
//   - https://github.com/ggml-org/llama.cpp/issues/26930
//   - https://github.com/ggml-org/llama.cpp/issues/27580
//   - https://github.com/ggml-org/llama.cpp/issues/21228
func GrammarDraft() Draft { return Draft{Grammar: true} }

// maxRepetitions is what a length must stay below.
const maxRepetitions = 2000

// grammar leaves out what llama.cpp cannot translate.
func (f *fitter) grammar(members []jsonwire.Member) []jsonwire.Member {
	leave := func(key string) {
		f.note(key)
		f.looser++
		members = without(members, key)
	}
	var expression string
	if m := get(members, "pattern"); m != nil && json.Unmarshal(m.Value, &expression) == nil && !grammatical(expression) {
		leave(m.Key)
	}
	for _, key := range []string{"minLength", "maxLength", "minItems", "maxItems"} {
		if m := get(members, key); m != nil && tooMany(string(m.Value)) {
			leave(key)
		}
	}
	return members
}

func tooMany(number string) bool {
	n, err := strconv.ParseFloat(number, 64)
	return err == nil && n >= maxRepetitions
}

// grammatical says whether llama.cpp translates an expression: one of the whole text, with
// nothing but groups, classes, alternatives and repetitions, and no escapes but those of
// its operators and of grammars.
func grammatical(expression string) bool {
	inner, begins := strings.CutPrefix(expression, "^")
	inner, ends := strings.CutSuffix(inner, "$")
	if !begins || !ends || strings.Contains(inner, "(?") {
		return false
	}
	in := false // a class
	for i := 0; i < len(inner); i++ {
		switch c := inner[i]; {
		case c == '\\':
			n := grammarEscape(inner[i+1:], in)
			if n == 0 {
				return false
			}
			i += n
		case c == '[' && !in:
			in = true
		case c == ']':
			in = false
		case c == '{' && !in:
			bounds, _, _ := strings.Cut(inner[i+1:], "}")
			low, high, _ := strings.Cut(bounds, ",")
			if tooMany(low) || tooMany(high) {
				return false
			}
		}
	}
	return true
}

// grammarEscape is how much of a text an escape takes; 0 = it is none.
func grammarEscape(text string, class bool) int {
	switch {
	case text == "":
		return 0
	case strings.IndexByte(`trn\[]`, text[0]) >= 0, !class && strings.IndexByte("^$.()|{}*+?", text[0]) >= 0:
		return 1
	case text[0] == 'x' && hex(text[1:], 2):
		return 3
	case text[0] == 'u' && hex(text[1:], 4):
		return 5
	}
	return 0
}

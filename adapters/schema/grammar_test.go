package schema

import (
	"strings"
	"testing"
)

// What llama.cpp translates, by its json-schema-to-grammar.cpp and the reports in
// [GrammarDraft].
func TestGrammatical(t *testing.T) {
	for expression, want := range map[string]bool{
		`^[a-z]+$`:               true,
		`^(foo|bar)[0-9]{2,4}$`:  true,
		`^a\.b\(c\)\\d\n$`:       true,
		`^[^"\\\]]*$`:            true,
		`^\u00e9\x41$`:           true,
		`$^`:                     false,
		``:                       false,
		`^`:                      false,
		`https?://`:              false,
		`\S`:                     false,
		`^\d+$`:                  false,
		`^[\w-]+$`:               false,
		`^[a\-z]$`:               false,
		`^[a.]\-$`:               false,
		`^hello there indeed\!$`: false,
		`^(?=a)b$`:               false,
		`^(?:ab)+$`:              false,
		`^a{1,1999}$`:            true,
		`^a{1,2000}$`:            false,
		`^a{65536}$`:             false,
		`^a\`:                    false,
		`^\u12$`:                 false,
	} {
		if got := grammatical(expression); got != want {
			t.Errorf("%s: %v, want %v", expression, got, want)
		}
	}
}

func TestGrammarDraft(t *testing.T) {
	const text = `{"type":"object","properties":{"a":{"type":"string","pattern":"\\S","maxLength":65536,"minLength":1},"b":{"pattern":"^x$","maxItems":1999}}}`
	const want = `{"type":"object","properties":{"a":{"type":"string","minLength":1},"b":{"pattern":"^x$","maxItems":1999}}}`
	got, had := Fit(text, GrammarDraft())
	if got != want || strings.Join(had, " ") != "maxLength pattern" {
		t.Errorf("%s, %v", got, had)
	}
	if got, had = Fit(want, GrammarDraft()); got != want || had != nil {
		t.Errorf("%s, %v", got, had)
	}
	// Allowing more within "not" would allow less.
	if got, _ = Fit(`{"not":{"pattern":"\\d"}}`, GrammarDraft()); strings.Contains(got, "not") {
		t.Error(got)
	}
}

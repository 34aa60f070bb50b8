package adapters

import (
	"strings"
	"testing"
)

// Each phrase of the table must find its own words, and no vaguer one before it
// may lose its numbers.
func TestOverflowPhrasesAreReached(t *testing.T) {
	for _, p := range overflowPhrases() {
		if p.who == "" || p.text != strings.ToLower(p.text) || literal(p.text) == 0 {
			t.Errorf("%q is not written as the table asks", p.text)
			continue
		}
		text := strings.NewReplacer("{limit}", "1000", "{used}", "2000", "{n}", "1", "...", " and so on ").Replace(p.text)
		var wantLimit int64
		if strings.Contains(p.text, "{limit}") {
			wantLimit = 1000
		}
		wantUsed := 2000 * int64(strings.Count(p.text, "{used}"))
		limit, used, ok := overflow("request 7: " + text + ". end")
		if !ok || limit != wantLimit || used != wantUsed {
			t.Errorf("%q: limit %d used %d found %v, want %d and %d", text, limit, used, ok, wantLimit, wantUsed)
		}
	}
}

func TestOverflowTakesLinearTime(t *testing.T) {
	// Many beginnings of a phrase without its end.
	for _, word := range []string{"exceed ", "input token count ", "prompt contains 1 tokens ", "tokens "} {
		if _, _, ok := overflow(strings.Repeat(word, maxRead/len(word))); ok {
			t.Errorf("%q repeated is no overflow", word)
		}
	}
	if allocs := testing.AllocsPerRun(10, func() { overflow(strings.Repeat("x", 100)) }); allocs > 10 {
		t.Errorf("%v allocations", allocs)
	}
}

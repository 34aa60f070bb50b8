package near

import (
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	names := []string{"anthropic", "openai", "openrouter", "thinking_format", "reasoning_format", "xai"}
	for asked, want := range map[string][]string{
		"antropic":                  {"anthropic"},
		"ANTHROPIC":                 {"anthropic"},
		"thinking_fromat":           {"thinking_format"},
		"open":                      {"openai", "openrouter"}, // both say more
		"xia":                       {"xai"},
		"lab":                       nil,
		"":                          nil,
		strings.Repeat("a", 10_000): nil,
	} {
		if got := Names(asked, names); !slices.Equal(got, want) {
			t.Errorf("%.20q: %v, want %v", asked, got, want)
		}
	}
	many := []string{"model1", "model2", "model3", "model4", "model5", "model6"}
	if got := Names("model", many); !slices.Equal(got, many[:Most]) {
		t.Errorf("%v", got)
	}
}

func TestQuestion(t *testing.T) {
	if got := Question(nil); got != "" {
		t.Errorf("%q", got)
	}
	if got := Question([]string{"a", "b"}); got != "; did you mean a, b?" {
		t.Errorf("%q", got)
	}
}

// The distance of Damerau and Levenshtein, by hand.
func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 1},
	} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%q, %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

package principal

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestMayUse(t *testing.T) {
	for _, c := range []struct {
		models, providers, provider, model string
		want                               bool
	}{
		{"", "", "openai", "gpt", true},
		{"openai/gpt", "", "openai", "gpt", true},
		{"openai/gpt", "", "openai", "gpt-2", false},
		{"openai/*", "", "openai", "a/b", true},
		{"*/gpt*", "", "lab", "gpt-2", true},
		{"*/gpt*", "", "lab", "a-gpt", false},
		{"*", "", "lab", "m", true},
		{"", "lab", "lab", "m", true},
		{"", "lab", "lab2", "m", false},
		{"lab/m other/*", "lab", "other", "m", false}, // both lists must agree
		{"lab/m other/*", "lab other", "other", "m", true},
		{"a*b*b", "", "ab", "xb", true}, // a, "", "b/x" b
		{"a*bc", "", "a", "bbc", true},
		{"a*ba", "", "a", "b", false},
		{"ab*ba", "", "ab", "a", false}, // head and tail do not overlap
		{"LAB/m", "", "lab", "m", false},
		{"lab/m?", "", "lab", "m1", false},
	} {
		p := &Principal{Models: strings.Fields(c.models), Providers: strings.Fields(c.providers)}
		if got := p.MayUse(c.provider, c.model); got != c.want {
			t.Errorf("models %q, providers %q: %s/%s %v", c.models, c.providers, c.provider, c.model, got)
		}
	}
}

// A pattern of the operator and a name of the caller cannot keep llmd busy.
func TestMatchesIsFast(t *testing.T) {
	began := time.Now()
	if matches(strings.Repeat("a*", 1000)+"b", strings.Repeat("a", 1<<20)) {
		t.Error("it matches")
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestNobody(t *testing.T) {
	ctx := context.Background()
	if p := From(ctx); p != nil || Name(ctx) != "" || p.Restricted() || !p.MayUse("a", "b") || !p.MayReach("a") {
		t.Error("a caller that need not authenticate is held to something")
	}
	ctx = With(ctx, &Principal{Name: "me", Models: []string{"a"}})
	if Name(ctx) != "me" || !From(ctx).Restricted() {
		t.Error("the caller is lost")
	}
}

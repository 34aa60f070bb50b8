package handoff

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/transform"
)

// The APIs that docs/handoff.md names for a rule are those whose adapters ask for it, and
// the long run saw it at no other.
func TestPageNamesTheAPIs(t *testing.T) {
	text, err := os.ReadFile("../../docs/handoff.md")
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWorld(transform.Apply)
	if err != nil {
		t.Fatal(err)
	}
	var apis []string
	for _, m := range w.Models {
		if !slices.Contains(apis, m.API) {
			apis = append(apis, m.API)
		}
	}
	named := func(rule string) []string { return namedAPIs(t, string(text), rule, apis) }
	for rule, asks := range map[string]func(adapters.Constraints) bool{
		"turn.merged":                  func(c adapters.Constraints) bool { return c.MergeTurns },
		"turn.user_inserted":           func(c adapters.Constraints) bool { return c.UserFirst },
		"signature.spoilt":             func(c adapters.Constraints) bool { return c.Carries != nil },
		"thinking.unsigned":            func(c adapters.Constraints) bool { return !c.UnsignedThinking },
		"thinking.last":                func(c adapters.Constraints) bool { return c.AnswerAfterThinking || c.AnswerBesideThinking },
		"provider_content.unsupported": func(c adapters.Constraints) bool { return !c.ProviderContent },
		"provider_content.unpaired":    func(c adapters.Constraints) bool { return c.Pairs != nil },
		"tool_call.signature_inserted": func(c adapters.Constraints) bool { return c.CallSignature != nil },
		"tool_call.arguments_mended":   func(c adapters.Constraints) bool { return c.WholeSurrogates },
		"tool_call.id_normalized":      func(c adapters.Constraints) bool { return c.ToolCallIDs != adapters.IDRule{} },
		"tool_result.error_text":       func(c adapters.Constraints) bool { return !c.ToolErrorFlag },
		"images.error_result":          func(c adapters.Constraints) bool { return !c.ErrorResultImages },
	} {
		var want []string
		for _, m := range w.Models {
			if asks(w.Constraints(m)) && !slices.Contains(want, m.API) {
				want = append(want, m.API)
			}
		}
		if got := named(rule); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: the page says %v, the adapters %v", rule, got, want)
		}
	}
	_, table, _ := strings.Cut(string(text), "Changes by rule:\n")
	lines := strings.Split(strings.TrimSpace(table), "\n")
	columns := strings.Split(lines[0], " | ")
	for _, line := range lines[2:] {
		cells := strings.Split(line, " | ")
		if len(cells) != len(columns) {
			break // the table has ended
		}
		rule := strings.Trim(cells[0], "| `")
		if strings.Contains(apisOf(t, string(text), rule), "**: all") {
			continue
		}
		for i, n := range cells[1:] {
			if api := strings.Trim(columns[i+1], "` |"); strings.Trim(n, " |") != "0" && !slices.Contains(named(rule), api) {
				t.Errorf("%s was seen %s times at %s, which the page does not name", rule, strings.Trim(n, " |"), api)
			}
		}
	}
}

// apisOf is the line of a rule about APIs.
func apisOf(t *testing.T, page, rule string) string {
	t.Helper()
	_, section, ok := strings.Cut(page, "\n### `"+rule+"`\n")
	line := regexp.MustCompile(`(?m)^- \*\*APIs\*\*: .*$`).FindString(section)
	if !ok || line == "" {
		t.Fatalf("the page does not say which APIs %s is about", rule)
	}
	return line
}

// namedAPIs are the APIs in that line, in the order of apis.
func namedAPIs(t *testing.T, page, rule string, apis []string) (named []string) {
	t.Helper()
	line := apisOf(t, page, rule)
	for _, api := range apis {
		if strings.Contains(line, "`"+api+"`") || strings.HasPrefix(api, "google-") && strings.Contains(line, "`google-*`") {
			named = append(named, api)
		}
	}
	return named
}

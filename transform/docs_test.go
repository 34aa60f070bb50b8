package transform_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/transform"
)

// The page has a section for each rule, in the order of the code, with the actions
// that the examples show, and one for each rule of an adapter.
func TestPageAndCodeAgree(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "handoff.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string][]string{}
	for _, e := range examples() {
		for _, c := range e.changes {
			action := strings.TrimPrefix(c.GetAction().String(), "HANDOFF_ACTION_")
			if !slices.Contains(shown[c.GetRule()], action) {
				shown[c.GetRule()] = append(shown[c.GetRule()], action)
			}
		}
	}
	var rules []string
	for section := range strings.SplitSeq(string(page), "\n##") {
		heading, body, _ := strings.Cut(section, "\n")
		id, ok := strings.CutPrefix(heading, "# `")
		if !ok {
			continue
		}
		id = strings.TrimSuffix(id, "`")
		rules = append(rules, id)
		var labels []string
		for _, m := range regexp.MustCompile(`(?m)^- \*\*(\w+)\*\*: \S`).FindAllStringSubmatch(body, -1) {
			labels = append(labels, m[1])
		}
		if !slices.Equal(labels, []string{"Action", "When", "APIs", "Why", "Policy"}) {
			t.Errorf("%s has %v", id, labels)
		}
		_, line, _ := strings.Cut(body, "**Action**")
		line, _, _ = strings.Cut(line, "\n")
		var said []string
		for _, name := range llmdv1.HandoffAction_name {
			if word := strings.TrimPrefix(name, "HANDOFF_ACTION_"); strings.Contains(line, word) {
				said = append(said, word)
			}
		}
		slices.Sort(said)
		slices.Sort(shown[id])
		if slices.Contains(transform.Rules(), id) && !slices.Equal(said, shown[id]) {
			t.Errorf("%s: the page says %v, the examples show %v", id, said, shown[id])
		}
	}
	n := min(len(rules), len(transform.Rules()))
	if !slices.Equal(rules[:n], transform.Rules()) {
		t.Errorf("page %v\ncode %v", rules[:n], transform.Rules())
	}
	theirs := adapterRules(t)
	slices.Sort(rules[n:])
	if !slices.Equal(rules[n:], theirs) {
		t.Errorf("of the adapters: page %v\ncode %v", rules[n:], theirs)
	}
}

// adapterRules finds the rules of the adapters in their code.
func adapterRules(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "adapters", "*", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no adapters: %v", err)
	}
	var all []string
	id := regexp.MustCompile(`(?:rule[A-Z]\w*\s+=|Rule:)\s+"([a-z_]+\.[a-z_]+)"`)
	for _, f := range files {
		code, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range id.FindAllStringSubmatch(string(code), -1) {
			if !strings.HasSuffix(f, "_test.go") && !slices.Contains(transform.Rules(), m[1]) {
				all = append(all, m[1])
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

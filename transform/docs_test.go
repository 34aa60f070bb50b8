package transform_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
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

// adapterRules are the rules that adapters have, once their code has been looked at:
// each change names its rule by a constant of the list, and each constant is in use.
func adapterRules(t *testing.T) []string {
	t.Helper()
	list, err := os.ReadFile(filepath.Join("..", "adapters", "rules.go"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join("..", "adapters", "*", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no adapters: %v", err)
	}
	used := map[string]bool{}
	change := regexp.MustCompile(`\bcall\.Change(?:Block)?\((?:[^,()]|\([^()]*\))*,(?: \w+,)? (?:adapters\.\w+|action), ([\w.]+),`)
	for _, f := range files {
		code, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		if strings.Contains(string(code), "llmdv1.HandoffChange{") {
			t.Errorf("%s makes a change by hand", f)
		}
		if n, calls := len(change.FindAll(code, -1)), len(regexp.MustCompile(`\bcall\.Change(?:Block)?\(`).FindAll(code, -1)); n != calls {
			t.Errorf("%s: %d of %d changes can be read", f, n, calls)
		}
		for _, m := range change.FindAllSubmatch(code, -1) {
			if rule := string(m[1]); rule != "rule" && !strings.HasPrefix(rule, "adapters.Rule") {
				t.Errorf("%s: the rule %s has no constant", f, rule)
			}
		}
		for _, m := range regexp.MustCompile(`\badapters\.(Rule\w+)`).FindAllSubmatch(code, -1) {
			used[string(m[1])] = true
		}
	}
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^\t(Rule\w+)\s+Rule = "([a-z_.]+)"`).FindAllStringSubmatch(string(list), -1) {
		if !used[m[1]] {
			t.Errorf("no adapter uses %s", m[1])
		}
		if own := !slices.Contains(transform.Rules(), m[2]); own {
			all = append(all, m[2])
		}
	}
	var listed []string
	for _, r := range adapters.Rules() {
		listed = append(listed, string(r))
	}
	slices.Sort(all)
	slices.Sort(listed)
	if !slices.Equal(all, listed) {
		t.Errorf("constants %v\nlisted %v", all, listed)
	}
	return all
}

package crosscheck

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// difference is one place where the bodies differ.
type difference struct {
	target, conversation, path string
	ours, theirs               string // as JSON; empty = absent
}

func (d *difference) String() string {
	return fmt.Sprintf("%s | %s | %s | ours %s | theirs %s", d.target, d.conversation, d.path, shown(d.ours), shown(d.theirs))
}

func shown(s string) string {
	if s == "" {
		return "-"
	}
	if len(s) > 300 {
		return s[:300] + "..."
	}
	return s
}

// compare lists the differences of two values. Members are compared by name. Items of
// lists that are equal are found first; what stands between them is compared by place,
// and what is left over listed as a whole. Places are llmd's.
func compare(at string, ours, theirs any, found func(path string, ours, theirs any)) {
	if a, ok := ours.(map[string]any); ok {
		if b, ok := theirs.(map[string]any); ok {
			names := slices.Sorted(maps.Keys(a))
			for name := range b {
				if _, both := a[name]; !both {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			for _, name := range names {
				compare(strings.TrimPrefix(at+"."+name, "."), member(a, name), member(b, name), found)
			}
			return
		}
	}
	if a, ok := ours.([]any); ok {
		if b, ok := theirs.([]any); ok {
			compareLists(at, a, b, found)
			return
		}
	}
	if asJSON(ours) != asJSON(theirs) {
		found(at, ours, theirs)
	}
}

// compareLists walks along the longest list that is a part of both.
func compareLists(at string, a, b []any, found func(path string, ours, theirs any)) {
	same := func(i, j int) bool { return asJSON(a[i]) == asJSON(b[j]) }
	common := make([][]int, len(a)+1) // how long it is for the rests
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := range slices.Backward(a) {
		for j := range slices.Backward(b) {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); same(i, j) {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		next, other := i, j // the next items that are equal
		for next < len(a) && other < len(b) && !same(next, other) {
			if common[next+1][other] >= common[next][other+1] {
				next++
			} else {
				other++
			}
		}
		if next == len(a) || other == len(b) {
			next, other = len(a), len(b)
		}
		for k := range max(next-i, other-j) {
			compare(fmt.Sprintf("%s[%d]", at, i+k), item(a[:next], i+k), item(b[:other], j+k), found)
		}
		i, j = next+1, other+1
	}
}

// absent stands for a member or an item that is not there; null is.
type absent struct{}

func member(m map[string]any, name string) any {
	if v, ok := m[name]; ok {
		return v
	}
	return absent{}
}

func item(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absent{}
}

func asJSON(v any) string {
	if v == (absent{}) {
		return ""
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// known is a line of differences.txt: what differs where, and why.
type known struct {
	line                       int
	target, conversation, path string // with * for anything
	reason                     string
	used                       map[string]bool // the alternatives that were needed
}

// takes says whether a difference is of a line's kind, and notes what that needed.
func (k *known) takes(d *difference) bool {
	target, conversation, path := glob(k.target, d.target), glob(k.conversation, d.conversation), glob(k.path, d.path)
	if target == "" || conversation == "" || path == "" {
		return false
	}
	k.used["target "+target], k.used["conversation "+conversation], k.used["path "+path] = true, true, true
	return true
}

// unused are the alternatives of a line that no difference needs.
func (k *known) unused() []string {
	var out []string
	for kind, pattern := range map[string]string{"target ": k.target, "conversation ": k.conversation, "path ": k.path} {
		for p := range strings.SplitSeq(pattern, "|") {
			if !k.used[kind+p] {
				out = append(out, kind+p)
			}
		}
	}
	return out
}

// glob gives the first of a pattern's alternatives, which have "|" between, that matches;
// empty if none does. "[*]" is any place in a list, any other "*" any text.
func glob(pattern, s string) string {
	spell := strings.NewReplacer(`\[\*\]`, `\[\d+\]`, `\*`, `.*`)
	for p := range strings.SplitSeq(pattern, "|") {
		if regexp.MustCompile("^" + spell.Replace(regexp.QuoteMeta(p)) + "$").MatchString(s) {
			return p
		}
	}
	return ""
}

// readKnown reads differences.txt: four columns with tabs between, and comments.
func readKnown(t *testing.T) []*known {
	t.Helper()
	file, err := os.Open("differences.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var all []*known
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.FieldsFunc(line, func(r rune) bool { return r == '\t' })
		if len(columns) != 4 || strings.TrimSpace(columns[3]) == "" {
			t.Fatalf("differences.txt:%d: %d columns, want target, conversation, path, reason", n, len(columns))
		}
		all = append(all, &known{line: n, target: columns[0], conversation: columns[1], path: columns[2], reason: columns[3], used: map[string]bool{}})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// The comparison sees what differs, at llmd's place, and the table's patterns match
// what they should.
func TestCompare(t *testing.T) {
	ours := `{"a":1,"n":null,"list":["x","new","y",{"k":"v"}],"same":{"z":[1.0]}}`
	theirs := `{"b":1,"list":["x","y",{"k":"w"},"more"],"same":{"z":[1.0]}}`
	var got []string
	compare("", decoded(t, []byte(ours)), decoded(t, []byte(theirs)), func(path string, a, b any) {
		got = append(got, path+" "+asJSON(a)+" "+asJSON(b))
	})
	want := []string{`a 1 `, `b  1`, `list[1] "new" `, `list[3].k "v" "w"`, `list[4]  "more"`, `n null `}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, c := range []struct {
		pattern, s, want string
	}{
		{"messages[*].content", "messages[12].content", "messages[*].content"},
		{"messages[*]", "messages[1].content[0]", ""},
		{"*", "messages[1].content[0]", "*"},
		{"*id|*Id", "messages[1].toolUseId", "*Id"},
		{"a|b", "c", ""},
	} {
		if got := glob(c.pattern, c.s); got != c.want {
			t.Errorf("%q matches %q with %q, want %q", c.pattern, c.s, got, c.want)
		}
	}
}

// The table can be read, and each target and conversation that it names is one.
func TestTable(t *testing.T) {
	names := map[string]bool{}
	for _, target := range targets() {
		names["target "+target.label] = true
	}
	for _, c := range conversations() {
		names["conversation "+c.name] = true
	}
	for _, k := range readKnown(t) {
		for kind, pattern := range map[string]string{"target ": k.target, "conversation ": k.conversation} {
			for name := range strings.SplitSeq(pattern, "|") {
				if name != "*" && !names[kind+name] {
					t.Errorf("differences.txt:%d: there is no %s%s", k.line, kind, name)
				}
			}
		}
	}
}

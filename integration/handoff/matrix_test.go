package handoff

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/providersim"
	"github.com/llmd-dev/llmd/transform"
)

var writeMatrix = flag.Bool("matrix", false, "write the figures of the long run into docs/handoff.md")

// pair is who gave an answer and who it goes to.
type pair struct{ from, to string }

// matrix counts what was handed off from where to where.
type matrix struct {
	mu sync.Mutex
	// turns is how many turns of an API were sent with answers of another in the
	// history; conversations, in how many conversations that was.
	turns, conversations map[pair]int
	// rules counts the changes that were made for a target.
	rules map[string]map[string]int
	sent  int
}

func newMatrix() *matrix {
	return &matrix{turns: map[pair]int{}, conversations: map[pair]int{}, rules: map[string]map[string]int{}}
}

// turn counts a turn.
func (m *matrix) turn(t Turn, p *Prepared) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent++
	for from := range issuers(t.Generation.GetContext()) {
		m.turns[pair{from, t.Model.API}]++
	}
	for _, c := range p.Changes() {
		if m.rules[c.GetRule()] == nil {
			m.rules[c.GetRule()] = map[string]int{}
		}
		m.rules[c.GetRule()][t.Model.API]++
	}
}

// conversation counts a whole conversation: who answered after whom.
func (m *matrix) conversation(c *llmdv1.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := map[pair]bool{}
	var before []string
	for _, msg := range c.GetMessages() {
		to := msg.GetAssistant().GetApi()
		if to == "" {
			continue
		}
		for _, from := range before {
			seen[pair{from, to}] = true
		}
		before = append(before, to)
	}
	for p := range seen {
		m.conversations[p]++
	}
}

func issuers(c *llmdv1.Context) map[string]bool {
	out := map[string]bool{}
	for _, m := range c.GetMessages() {
		if api := m.GetAssistant().GetApi(); slices.Contains(providersim.APIs(), api) {
			out[api] = true
		}
	}
	return out
}

// check sees to it that the run was worth something: every API was handed to every
// other, and every rule was needed.
func (m *matrix) check(t *testing.T) {
	t.Helper()
	for _, from := range providersim.APIs() {
		for _, to := range providersim.APIs() {
			if m.turns[pair{from, to}] == 0 {
				t.Errorf("nothing went from %s to %s", from, to)
			}
		}
	}
	for _, rule := range transform.Rules() {
		if m.rules[rule] == nil && rule != "block.unknown" && rule != "provider_content.unsupported" && (rule != "signature.spoilt" || long()) {
			t.Errorf("the rule %s was not needed", rule)
		}
	}
	for _, rule := range []adapters.Rule{
		adapters.RuleAssistantInserted, adapters.RuleTextPlaceholder, adapters.RuleThinkingAsText, adapters.RuleResultsReordered,
		adapters.RuleImagesMoved,
	} {
		if m.rules[string(rule)] == nil {
			t.Errorf("the rule %s was not needed", rule)
		}
	}
}

// text is the matrix as Markdown.
func (m *matrix) text(walks uint64) string {
	var b strings.Builder
	apis := providersim.APIs()
	// The first rejection would have ended the run.
	fmt.Fprintf(&b, "%d conversations, %d turns sent, 0 rejected.\n\n", walks, m.sent)
	b.WriteString("Turns that were sent to the API of the column with answers of the API of the row in their history, and in how many conversations:\n\n")
	row := func(first string, cell func(api string) string) {
		b.WriteString("| " + first)
		for _, api := range apis {
			b.WriteString(" | " + cell(api))
		}
		b.WriteString(" |\n")
	}
	head := func(first string) {
		row(first, func(api string) string { return "`" + api + "`" })
		row("---", func(string) string { return "---:" })
	}
	head("from \\ to")
	for _, from := range apis {
		row("`"+from+"`", func(to string) string {
			return fmt.Sprintf("%d (%d)", m.turns[pair{from, to}], m.conversations[pair{from, to}])
		})
	}
	b.WriteString("\nChanges by rule:\n\n")
	head("rule")
	rules := slices.SortedFunc(maps.Keys(m.rules), func(x, y string) int {
		at := func(r string) int {
			if i := slices.Index(transform.Rules(), r); i >= 0 {
				return i
			}
			return len(transform.Rules())
		}
		return cmp.Or(at(x)-at(y), strings.Compare(x, y))
	})
	for _, rule := range rules {
		row("`"+rule+"`", func(to string) string { return strconv.Itoa(m.rules[rule][to]) })
	}
	return b.String()
}

// write replaces the marked section of the page.
func (m *matrix) write(t *testing.T, walks uint64) {
	t.Helper()
	const begin, end = "<!-- matrix: begin -->\n", "<!-- matrix: end -->"
	path := filepath.Join("..", "..", "docs", "handoff.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, found := strings.Cut(rest, end)
	if !ok || !found {
		t.Fatalf("%s has no marked section", path)
	}
	if err := os.WriteFile(path, []byte(before+begin+m.text(walks)+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

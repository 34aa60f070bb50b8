package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/service"
)

var update = flag.Bool("update", false, "rewrite the generated part of docs/configuration.md")

// root is the module's, seen from this folder.
const root = "../.."

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestConfigurationPage keeps the table of keys what the reader of the
// configuration says it is. -update writes it.
func TestConfigurationPage(t *testing.T) {
	const name, begin, end = "docs/configuration.md", "-update -->\n", "<!-- end -->"
	page := readPage(t, name)
	head, rest, ok := strings.Cut(page, begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has lost its markers", name)
	}
	want := head + begin + keyTables(t) + end + tail
	if *update {
		if err := os.WriteFile(filepath.Join(root, name), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if page != want {
		t.Errorf("%s is not what the code reads: run go test ./cmd/llmd -run TestConfigurationPage -update", name)
	}
}

// keyTables is one table for each mapping of the configuration.
func keyTables(t *testing.T) string {
	t.Helper()
	const compat = "providers[].compat."
	var order []string
	groups := map[string][]config.Key{}
	for _, k := range config.Keys() {
		if strings.HasPrefix(k.Path, compat) {
			continue
		}
		group := ""
		if i := strings.LastIndexByte(k.Path, '.'); i >= 0 {
			group = k.Path[:i]
		}
		if groups[group] == nil {
			order = append(order, group)
		}
		groups[group] = append(groups[group], k)
	}
	var b strings.Builder
	for _, group := range order {
		fmt.Fprintf(&b, "\n### %s\n\n", heading(group))
		b.WriteString("| key | value | default | meaning |\n|---|---|---|---|\n")
		for _, k := range groups[group] {
			key := k.Path[strings.LastIndexByte(k.Path, '.')+1:]
			kind := strings.TrimSuffix(k.Type+", "+k.Range.String(), ", ")
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", key, kind, cmp.Or(k.Default, "-"), strings.ReplaceAll(k.Doc, "<", "&lt;"))
		}
	}
	b.WriteString("\n### `compat` of a provider or a model\n")
	docs := flagDocs(t)
	last := ""
	for _, k := range config.Keys() {
		name, ok := strings.CutPrefix(k.Path, compat)
		if !ok {
			continue
		}
		doc := docs[name]
		if doc.section != last {
			last = doc.section
			fmt.Fprintf(&b, "\n#### Flags: %s\n\n| flag | value | meaning |\n|---|---|---|\n", last)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, k.Type, doc.text)
	}
	b.WriteByte('\n')
	return b.String()
}

// heading names the mapping that a table is about.
func heading(group string) string {
	if group == "" {
		return "The file"
	}
	return "`" + group + "`"
}

// flagDoc is what the source says about a flag: under which heading, and what.
type flagDoc struct{ section, text string }

// flagDocs reads the comments of profile.Compat, by the names in its yaml tags.
func flagDocs(t *testing.T) map[string]flagDoc {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), root+"/adapters/profile/compat.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	docs := map[string]flagDoc{}
	var fields []*ast.Field
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name == "Compat" {
			if s, ok := spec.Type.(*ast.StructType); ok {
				fields = s.Fields.List
			}
		}
		return true
	})
	var shared string // a comment that speaks of two fields stands before the first
	for _, f := range fields {
		section := ""
		for _, group := range file.Comments {
			if heading := strings.Trim(group.Text(), "- \n"); strings.HasPrefix(group.Text(), "--- ") && group.Pos() < f.Pos() {
				section = heading
			}
		}
		text := strings.Join(strings.Fields(f.Doc.Text()), " ")
		text, named := strings.CutPrefix(text, f.Names[0].Name)
		switch {
		case text == "" && strings.Contains(shared, f.Names[0].Name):
			text = shared
		case strings.HasPrefix(text, " and "):
			text = "this" + text
			shared = text
		case named:
			text = strings.TrimLeft(text, ": ")
		}
		text = strings.TrimPrefix(strings.TrimPrefix(text, "is "), "are ")
		for _, other := range fields {
			text = strings.ReplaceAll(text, other.Names[0].Name, "`"+yamlName(t, other)+"`")
		}
		if text != "" {
			text = strings.ToUpper(text[:1]) + text[1:]
		}
		docs[yamlName(t, f)] = flagDoc{section, cmp.Or(text, "-")}
	}
	return docs
}

// yamlName is a field's name in the configuration.
func yamlName(t *testing.T, f *ast.Field) string {
	t.Helper()
	tag, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(tag, `yaml:"`), `"`)
}

// TestPagesShowTheExamples: the code in the pages is the code that is tested.
func TestPagesShowTheExamples(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for page, example := range map[string]string{"README.md": "ask", "docs/events.md": "arguments", "docs/shared-responses.md": "attach"} {
		_, code, _ := strings.Cut(string(source), "// begin "+example+"\n")
		code, _, ok := strings.Cut(code, "// end "+example+"\n")
		if !ok || !strings.Contains(readPage(t, page), "```go\n"+strings.TrimSpace(code)+"\n```\n") {
			t.Errorf("%s does not show the example %q as it is in example_test.go", page, example)
		}
	}
}

// TestLinks: what the pages point at in this repository is there.
func TestLinks(t *testing.T) {
	for _, page := range []string{"README.md", "docs/configuration.md", "docs/errors.md", "docs/events.md", "docs/handoff.md", "docs/options.md", "docs/providers.md", "docs/clients.md", "docs/security.md", "docs/shared-responses.md", "docs/grpcurl.md", "SECURITY.md", "CONTRIBUTING.md"} {
		for _, link := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(readPage(t, page), -1) {
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(page), link[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

// TestErrorsPage: the page has every reason of the code, and no other.
func TestErrorsPage(t *testing.T) {
	page := readPage(t, "docs/errors.md")
	listed := map[string]string{} // reason to code
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\| ([A-Z_]+) \\|").FindAllStringSubmatch(page, -1) {
		listed[m[1]] = m[2]
	}
	known := reasonsIn(t, "service/errors.go", "adapters/errors.go", "interceptors/refusal.go", "internal/web/refusal.go")
	for reason := range listed {
		if !slices.Contains(known, reason) {
			t.Errorf("docs/errors.md has %s, which the code has not", reason)
		}
	}
	for _, reason := range known {
		if listed[reason] == "" {
			t.Errorf("docs/errors.md lacks %s", reason)
		}
	}
	// The provider's failures are the part that can be made here; their codes.
	for reason, code := range listed {
		e := service.ErrorOf(&adapters.UpstreamError{Reason: reason})
		if e.GetReason() == reason && reason != "INTERNAL" && codeName(e) != code {
			t.Errorf("docs/errors.md says %s for %s, the code %s", code, reason, codeName(e))
		}
	}
}

// codeName is a code as the contract spells it.
func codeName(e *llmdv1.Error) string {
	if c := codes.Code(e.GetCode()); c != codes.Canceled {
		return strings.ToUpper(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(c.String(), "${1}_$2"))
	}
	return "CANCELLED"
}

// reasonsIn finds the texts in source files that look like reasons.
func reasonsIn(t *testing.T, files ...string) []string {
	t.Helper()
	var all []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err == nil && regexp.MustCompile(`^[A-Z]+(_[A-Z]+)+$|^(CANCELLED|INTERNAL|DISABLED|UNAUTHENTICATED)$`).MatchString(text) {
				all = append(all, text)
			}
			return true
		})
	}
	slices.Sort(all)
	return slices.Compact(all)
}

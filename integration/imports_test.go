package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "github.com/llmd-dev/llmd"

	genPkg   = "gen/llmd/v1"
	protobuf = "google.golang.org/protobuf"
	grpcPkg  = "google.golang.org/grpc"
	anything = "*"
)

// importRule says what one folder may import besides the standard library.
// Tests are held to it only where the rule says so: a test may reach further.
type importRule struct {
	// pattern is a folder below the module root; "/*" at its end stands for
	// every folder below. The first rule that matches decides.
	pattern string
	// own are this module's folders it may import, in the same form.
	own []string
	// others are the prefixes of modules it may import.
	others []string
	// pure forbids I/O, randomness, the clock and goroutines.
	pure bool
}

// importTable is the table of the architecture. A folder that does not exist
// is no error; a folder that is not listed is one.
var importTable = []importRule{
	{pattern: genPkg, others: []string{protobuf, grpcPkg}},

	// The seam and its leaves.
	{
		pattern: "adapters",
		own:     []string{genPkg, "adapters/frame", "adapters/jsonstream", "adapters/jsonwire", "adapters/media", "adapters/profile", "adapters/schema"},
		others:  []string{protobuf},
		pure:    true,
	},
	{pattern: "adapters/frame", others: []string{"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"}, pure: true},
	{pattern: "adapters/jsonstream", pure: true},
	{pattern: "adapters/jsonwire", others: []string{"github.com/go-json-experiment/json"}, pure: true},
	{pattern: "adapters/media", own: []string{genPkg}, others: []string{protobuf}, pure: true},
	{pattern: "adapters/schema", own: []string{"adapters/jsonwire"}, pure: true},
	{pattern: "adapters/profile", own: []string{genPkg}, others: []string{protobuf, "go.yaml.in/yaml/v3"}, pure: true},
	{
		pattern: "adapters/adaptertest",
		own:     []string{genPkg, "adapters", "adapters/frame", "adapters/jsonstream", "adapters/jsonwire", "adapters/profile"},
		others:  []string{anything},
	},

	// What Claude's two wire APIs have in common.
	{
		pattern: "adapters/turns",
		own:     []string{genPkg, "adapters", "adapters/jsonstream", "adapters/media"},
		others:  []string{protobuf},
		pure:    true,
	},

	// The built-in provider's other half: it plays the host, so it may have
	// goroutines and a clock.
	{
		pattern: "adapters/faux/fauxserver",
		own:     []string{genPkg, "adapters", "adapters/faux", "adapters/jsonstream", "adapters/jsonwire", "adapters/profile"},
	},

	// One wire API each, and never each other: nothing below adapters/ but
	// the leaves is in this list.
	{
		pattern: "adapters/*",
		own: []string{
			genPkg, "adapters", "adapters/frame", "adapters/jsonstream", "adapters/jsonwire", "adapters/media", "adapters/profile",
			"adapters/schema", "adapters/turns",
		},
		others: []string{protobuf},
		pure:   true,
	},
	{
		pattern: "transform",
		own:     []string{genPkg, "adapters", "adapters/jsonstream", "adapters/jsonwire", "adapters/media", "adapters/profile"},
		others:  []string{protobuf},
		pure:    true,
	},

	// The stream loop knows the seam, not the wire APIs behind it.
	{
		pattern: "service/generation",
		own: []string{
			genPkg, "adapters", "adapters/frame", "adapters/jsonstream", "adapters/jsonwire", "adapters/profile",
			"transform", "service/responses", "internal/stack", "internal/upstream",
		},
		others: []string{anything},
	},
	{pattern: "service/responses", own: []string{genPkg, "adapters/profile"}, others: []string{anything}},
	{pattern: "service/responses/redisstore", own: []string{genPkg, "service/responses", "accumulate"}, others: []string{anything}},
	{pattern: "service/responses/storetest", own: []string{genPkg, "service/responses"}, others: []string{anything}},
	{
		pattern: "service",
		own:     []string{genPkg, "adapters", "adapters/*", "transform", "service/*", "internal/*", "toolcheck"},
		others:  []string{anything},
	},

	{pattern: "interceptors", own: []string{genPkg, "internal/*"}, others: []string{anything}},

	{pattern: "internal/catalog", own: []string{genPkg, "adapters/profile", "internal/config", "internal/near"}, others: []string{anything}},
	{pattern: "internal/config", own: []string{genPkg, "adapters/profile", "internal/near"}, others: []string{anything}},
	{pattern: "internal/upstream", own: []string{"adapters", "adapters/jsonwire", "adapters/profile"}, others: []string{anything}},
	{pattern: "internal/fetch", own: []string{"adapters/profile"}, others: []string{anything}},
	{pattern: "internal/calllog", own: nil},
	{pattern: "internal/gcpace"},
	{pattern: "internal/near", own: nil},
	{pattern: "internal/principal", own: nil},
	{pattern: "internal/procs"},
	{pattern: "internal/stack"},
	{pattern: "internal/telemetry", own: []string{genPkg, "adapters/profile"}, others: []string{anything}},

	{pattern: "internal/web", own: nil, others: []string{anything}},

	// Puts everything together, for the command and for the tests.
	{pattern: "internal/server", own: []string{genPkg, "service", "service/responses", "service/responses/redisstore", "interceptors", "internal/*"}, others: []string{anything}},

	{
		pattern: "cmd/*",
		own:     []string{genPkg, "accumulate", "adapters/profile", "adapters/faux/fauxserver", "service", "service/*", "interceptors", "internal/*"},
		others:  []string{anything},
	},
	{pattern: "integration", own: []string{anything}, others: []string{anything}},
	{pattern: "integration/*", own: []string{anything}, others: []string{anything}},
	// What Go programs need besides the stubs, and so may import: folding events, and
	// checking the arguments of tool calls. What is not for them is internal.
	{pattern: "accumulate", own: []string{genPkg}, others: []string{protobuf}, pure: true},
	{
		pattern: "toolcheck",
		own:     []string{genPkg, "adapters/jsonwire"},
		others:  []string{"github.com/santhosh-tekuri/jsonschema/v6"},
		pure:    true,
	},
	{pattern: "examples/*", own: []string{genPkg, "accumulate", "toolcheck"}, others: []string{anything}},
}

// bannedModules are imported by no package that is shipped: provider SDKs hide
// the bytes that this project exists to get right, xds adds 25 MB, and C ends
// the static binary.
var bannedModules = []string{
	"C",
	grpcPkg + "/xds",
	"github.com/openai/openai-go",
	"github.com/anthropics/anthropic-sdk-go",
	"google.golang.org/genai",
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime",
}

// impurePackages may not be imported where importRule.pure is set. The time
// and net/http packages may, for durations and header types; impureCalls says
// which of their functions may not be used.
var impurePackages = []string{
	"os", "os/exec", "os/signal", "net", "log", "log/slog", "math/rand", "math/rand/v2", "crypto/rand", "syscall",
}

var impureCalls = map[string][]string{
	"time": {"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "NewTimer", "NewTicker", "Tick"},
	"net/http": {
		"Client", "DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm",
		"NewRequest", "NewRequestWithContext", "Transport", "ListenAndServe",
	},
}

// goPackage is the part of `go list -json` that this test reads.
type goPackage struct {
	ImportPath   string
	Dir          string
	GoFiles      []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// folder is the package's place below the module root, "" for the root itself.
func (p goPackage) folder() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

func TestImportsFollowTheArchitecture(t *testing.T) {
	for _, pkg := range listPackages(t) {
		rule, ok := ruleFor(pkg.folder())
		if !ok {
			t.Errorf("%s: no row for this folder in the import table; put the code where it belongs, or add a row here and in the architecture", pkg.folder())
			continue
		}
		for _, imported := range pkg.Imports {
			if problem := checkImport(rule, imported); problem != "" {
				t.Errorf("%s imports %s: %s", pkg.folder(), imported, problem)
			}
		}
		if rule.pattern != "adapters/*" {
			continue
		}
		// Not even an adapter's tests may lean on another wire API.
		for _, imported := range slices.Concat(pkg.TestImports, pkg.XTestImports) {
			other, own := strings.CutPrefix(imported, module+"/")
			if !own || other == pkg.folder() {
				continue
			}
			if r, _ := ruleFor(other); r.pattern == "adapters/*" {
				t.Errorf("%s: its tests import %s: adapters never import each other", pkg.folder(), other)
			}
		}
	}
}

// TestPurePackages looks at the source for what an import list cannot show: a
// clock, a client or a goroutine in packages that are functions of their input.
func TestPurePackages(t *testing.T) {
	for _, pkg := range listPackages(t) {
		rule, ok := ruleFor(pkg.folder())
		if !ok || !rule.pure {
			continue
		}
		for _, name := range pkg.GoFiles {
			problems, err := impurities(filepath.Join(pkg.Dir, name))
			if err != nil {
				t.Errorf("%s: %v", pkg.folder(), err)
			}
			for _, problem := range problems {
				t.Errorf("%s: adapters and transform are pure: %s", path.Join(pkg.folder(), name), problem)
			}
		}
	}
}

// listPackages asks the go command for every package of the module. Packages
// that do not compile are listed too: their imports can be read all the same.
func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e",
		"-json=ImportPath,Dir,GoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			t.Logf("%s", exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	var packages []goPackage
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var pkg goPackage
		if err := dec.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages = append(packages, pkg)
	}
	if len(packages) < 2 {
		t.Fatalf("go list found %d packages: is this the module's root?", len(packages))
	}
	return packages
}

func ruleFor(folder string) (importRule, bool) {
	for _, rule := range importTable {
		if matchesFolder(rule.pattern, folder) {
			return rule, true
		}
	}
	return importRule{}, false
}

// matchesFolder reports whether folder is the one that pattern names, or one
// below it for a pattern that ends in "/*". The pattern "*" is every folder.
func matchesFolder(pattern, folder string) bool {
	if pattern == anything {
		return true
	}
	if parent, below := strings.CutSuffix(pattern, "/*"); below {
		return strings.HasPrefix(folder, parent+"/")
	}
	return pattern == folder
}

// checkImport says what is wrong with one import under a rule, "" if nothing.
func checkImport(rule importRule, imported string) string {
	if imported == module || strings.HasPrefix(imported, module+"/") {
		folder := strings.TrimPrefix(strings.TrimPrefix(imported, module), "/")
		if slices.ContainsFunc(rule.own, func(p string) bool { return matchesFolder(p, folder) }) {
			return ""
		}
		return fmt.Sprintf("%s may import of this module only [%s]", rule.pattern, strings.Join(rule.own, " "))
	}
	under := func(prefix string) bool {
		return prefix == anything || imported == prefix || strings.HasPrefix(imported, prefix+"/")
	}
	if slices.ContainsFunc(bannedModules, under) {
		return "no package may"
	}
	if rule.pure && slices.Contains(impurePackages, imported) {
		return fmt.Sprintf("%s is pure: no I/O, no randomness, no logs", rule.pattern)
	}
	// Only paths outside the standard library have a dot in their first part.
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
		return ""
	}
	if slices.ContainsFunc(rule.others, under) {
		return ""
	}
	return fmt.Sprintf("%s may import of other modules only [%s]", rule.pattern, strings.Join(rule.others, " "))
}

// impurities lists the goroutines and the uses of impureCalls in one file.
func impurities(file string) ([]string, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	// The name under which this file knows each watched package.
	watched := map[string]string{}
	for _, spec := range tree.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if _, ok := impureCalls[imported]; !ok {
			continue
		}
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		watched[name] = imported
	}
	var found []string
	report := func(at token.Pos, what string) {
		found = append(found, fmt.Sprintf("line %d: %s", set.Position(at).Line, what))
	}
	ast.Inspect(tree, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GoStmt:
			report(node.Pos(), "starts a goroutine")
		case *ast.SelectorExpr:
			ident, ok := node.X.(*ast.Ident)
			if !ok {
				break
			}
			if imported, ok := watched[ident.Name]; ok && slices.Contains(impureCalls[imported], node.Sel.Name) {
				report(node.Pos(), "uses "+imported+"."+node.Sel.Name)
			}
		}
		return true
	})
	return found, nil
}

// TestImportTable keeps the checker itself honest.
func TestImportTable(t *testing.T) {
	tests := []struct {
		folder, imported string
		allowed          bool
	}{
		{"adapters/anthropic", module + "/adapters", true},
		{"adapters/anthropic", module + "/adapters/jsonwire", true},
		{"adapters/anthropic", module + "/adapters/bedrock", false},
		{"adapters/anthropic", module + "/adapters/turns", true},
		{"adapters/schema", module + "/adapters", false},
		{"adapters/anthropic", module + "/adapters/adaptertest", false},
		{"adapters/anthropic", module + "/internal/catalog", false},
		{"adapters/anthropic", "encoding/json", true},
		{"adapters/anthropic", "os", false},
		{"adapters/anthropic", "crypto/rand", false},
		{"adapters/anthropic", grpcPkg + "/status", false},
		{"adapters/anthropic", protobuf + "/proto", true},
		{"adapters/jsonstream", module + "/adapters", false},
		{"adapters/profile", "go.yaml.in/yaml/v3", true},
		{"adapters/profile", module + "/gen/llmd/v1", true},
		{"adapters/profile", module + "/adapters", false},
		{"transform", module + "/adapters", true},
		{"transform", module + "/adapters/google", false},
		{"service", module + "/adapters/google", true},
		{"service/generation", module + "/adapters/google", false},
		{"service/generation", module + "/internal/upstream", true},
		{"interceptors", module + "/service", false},
		{"interceptors", grpcPkg, true},
		{"internal/upstream", module + "/adapters", true},
		{"internal/upstream", module + "/service", false},
		{"cmd/llmd", module + "/service/generation", true},
		{"cmd/llmd", module + "/adapters/google", false},
		{"cmd/llmd", grpcPkg + "/xds/bootstrap", false},
		{"integration/bench", module + "/adapters/google", true},
	}
	for _, tt := range tests {
		rule, ok := ruleFor(tt.folder)
		if !ok {
			t.Errorf("no rule for %s", tt.folder)
			continue
		}
		problem := checkImport(rule, tt.imported)
		if allowed := problem == ""; allowed != tt.allowed {
			t.Errorf("%s imports %s: allowed = %t (%s), want %t", tt.folder, tt.imported, allowed, problem, tt.allowed)
		}
	}
	if rule, ok := ruleFor("internal/helpers"); ok {
		t.Errorf("an unlisted folder got the rule %q", rule.pattern)
	}
}

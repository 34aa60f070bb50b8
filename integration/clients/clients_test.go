package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llmd-dev/llmd/integration/clients/build"
)

const root = "../.."

// TestClients runs every scenario with every client.
func TestClients(t *testing.T) {
	onlyWhenAsked(t)
	s := serve(t)
	m := &matrix{scenarios: []string{"stubs generated"}, cells: map[string]string{}}
	t.Run("languages", func(t *testing.T) {
		for _, l := range build.Languages() {
			m.languages = append(m.languages, l.Name)
			t.Run(l.Name, func(t *testing.T) {
				t.Parallel()
				runLanguage(t, s, m, &l)
			})
		}
	})
	for _, sc := range scenarios() {
		m.scenarios = append(m.scenarios, sc.name)
	}
	m.report(t)
}

// onlyWhenAsked skips what installs and builds things for minutes.
func onlyWhenAsked(t *testing.T) {
	t.Helper()
	if os.Getenv("LLMD_CLIENTS") == "" {
		t.Skip("builds clients in many languages: run make clients")
	}
}

func runLanguage(t *testing.T, s *server, m *matrix, l *build.Language) {
	if missing := l.Missing(); missing != "" {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is required in CI", missing)
		}
		t.Skipf("%s is not here", missing)
	}
	begun := time.Now()
	b, err := l.Build(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	t.Logf("built in %.1f s, all there already: %v", time.Since(begun).Seconds(), b.Fresh)
	m.set("stubs generated", l.Name, t.Run("stubs", func(t *testing.T) {
		if l.Dir != "go" { // in gen/, which check-generate looks at
			stubs(t, l, b)
		}
	}))
	if len(b.Run) == 0 {
		return
	}
	for _, sc := range scenarios() {
		passed := t.Run(sc.name, func(t *testing.T) { sc.run(t, &client{server: s, built: b}) })
		m.set(sc.name, l.Name, passed)
	}
	t.Logf("all in %.1f s", time.Since(begun).Seconds())
}

// stubs looks for the generated files, and at one: the names must be those of the
// language.
func stubs(t *testing.T, l *build.Language, b *build.Built) {
	out := t.TempDir()
	if err := l.WriteStubs(b, out); err != nil {
		t.Fatal(err)
	}
	has := map[string]struct{ file, text string }{
		"python": {"llmd/v1/inference_service_pb2_grpc.py", "class InferenceServiceStub"},
		"node":   {"llmd/v1/inference_service_pb.ts", `case: "toolCallDelta";`},
		"java":   {"dev/llmd/v1/InferenceServiceGrpc.java", "package dev.llmd.v1;"},
		"rust":   {"llmd.v1.rs", "pub mod inference_service_client"},
		"csharp": {"InferenceServiceGrpc.g.cs", "class InferenceServiceClient : grpc::ClientBase<InferenceServiceClient>"},
	}[l.Dir]
	text, err := os.ReadFile(filepath.Join(out, l.Dir, filepath.FromSlash(has.file)))
	if err != nil || !strings.Contains(string(text), has.text) {
		t.Errorf("%s has no %q: %v", has.file, has.text, err)
	}
}

// matrix is what passed, language by scenario.
type matrix struct {
	mu                   sync.Mutex
	languages, scenarios []string
	cells                map[string]string
}

func (m *matrix) set(scenario, language string, passed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cells[scenario+"/"+language] = map[bool]string{true: "yes", false: "NO"}[passed]
}

func (m *matrix) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| scenario | %s |\n|---|%s\n", strings.Join(m.languages, " | "), strings.Repeat("---|", len(m.languages)))
	for _, scenario := range m.scenarios {
		fmt.Fprintf(&b, "| %s |", scenario)
		for _, language := range m.languages {
			fmt.Fprintf(&b, " %s |", m.cells[scenario+"/"+language])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// report prints the matrix and compares it with the one in docs/clients.md, which
// claims that everything passes.
func (m *matrix) report(t *testing.T) {
	t.Logf("what the clients did:\n\n%s", m)
	text, err := os.ReadFile(filepath.Join(root, "docs", "clients.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, scenario := range m.scenarios {
		for _, language := range m.languages {
			if language != "C#" || scenario == "stubs generated" { // C# is generated only
				m.cells[scenario+"/"+language] = "yes"
			}
		}
	}
	if !strings.Contains(string(text), "\n"+m.String()) {
		t.Errorf("docs/clients.md should have this table:\n\n%s", m)
	}
}

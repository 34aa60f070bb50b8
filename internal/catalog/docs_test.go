package catalog_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/config"
)

var update = flag.Bool("update", false, "rewrite the generated part of docs/providers.md")

// The page's table of providers is what the catalogue does. -update writes it.
func TestProviderTable(t *testing.T) {
	const name, begin, end = "../../docs/providers.md", "-update -->\n", "<!-- end -->"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(text), begin)
	_, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has lost its markers", name)
	}
	want := head + begin + providerTable(t) + end + tail
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("%s is not what the catalogue does: run go test ./internal/catalog -run TestProviderTable -update", name)
	}
}

func providerTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n| id | provider | API | variables | models | notes |\n|---|---|---|---|---|---|\n")
	all := load(t, "").Providers()
	for _, p := range all {
		c, asked := loadAlone(t, p.ID, all)
		var variables []string
		for _, v := range asked {
			if v != "HOME" { // where the clouds' tools keep their files
				variables = append(variables, "`"+v+"`")
			}
		}
		models := fmt.Sprint(len(c.Models(p.ID)))
		if p.AllowUnlisted {
			models += ", any id"
		}
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s | %s | %s |\n", p.ID, p.DisplayName, p.API, strings.Join(variables, " "), models, note(p))
	}
	b.WriteByte('\n')
	return b.String()
}

// loadAlone gives a catalogue with one provider, and the variables that it asks for
// where none is set.
func loadAlone(t *testing.T, id string, all []*catalog.Provider) (*catalog.Catalog, []string) {
	t.Helper()
	file := config.Default()
	for _, p := range all {
		if p.ID != id {
			file.Providers = append(file.Providers, config.Provider{ID: p.ID, Disabled: true})
		}
	}
	var asked []string
	c, err := catalog.Load(file, func(name string) (string, bool) {
		if !slices.Contains(asked, name) {
			asked = append(asked, name)
		}
		return "", false
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, asked
}

// note says what is particular.
func note(p *catalog.Provider) string {
	switch {
	case p.ID == "faux":
		return "answers by itself, without keys and network"
	case p.Auth == catalog.AuthAWS:
		return "or the AWS default chain: profile, role, web identity"
	case p.Auth == catalog.AuthGoogle:
		return "or Google application default credentials"
	case p.Configured:
		return "no key, at " + p.BaseURL
	case p.Auth == catalog.AuthCloudflareAIG:
		return "the key goes into a header of the gateway's own"
	}
	return ""
}

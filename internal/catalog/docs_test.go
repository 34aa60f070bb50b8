package catalog_test

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters/profile"
	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/config"
)

var update = flag.Bool("update", false, "rewrite the generated parts of docs/providers.md")

const providersPage = "../../docs/providers.md"

// The page's tables are what the catalogue does. -update writes them.
func TestProviderTable(t *testing.T) {
	text, err := os.ReadFile(providersPage)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for name, table := range map[string]string{"providers": providerTable(t), "hosts": hostTable(t)} {
		begin, end := "<!-- "+name+": written by go test ./internal/catalog -run TestProviderTable -update -->\n", "<!-- end of "+name+" -->"
		head, rest, found := strings.Cut(want, begin)
		_, tail, ended := strings.Cut(rest, end)
		if !found || !ended {
			t.Fatalf("%s has lost the markers of its table of %s", providersPage, name)
		}
		want = head + begin + table + end + tail
	}
	if *update {
		if err := os.WriteFile(providersPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("%s is not what the catalogue does: run go test ./internal/catalog -run TestProviderTable -update", providersPage)
	}
}

// written is what builtin.yaml says of a provider, as it is written there.
type written struct{ documentation, baseURL string }

// asWritten reads the page of documentation that each entry names in a comment, and its
// base URL with the variables in it.
func asWritten(t *testing.T) map[string]written {
	t.Helper()
	text, err := os.ReadFile("builtin.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]written{}
	for entry := range strings.SplitSeq(string(text), "\n  - id: ") {
		id, rest, _ := strings.Cut(entry, " # ")
		link, rest, _ := strings.Cut(rest, "\n")
		w := written{documentation: link}
		if m := regexp.MustCompile(`(?m)^ {4}base_url: (\S+)$`).FindStringSubmatch(rest); m != nil {
			w.baseURL = m[1]
		}
		all[id] = w
	}
	return all
}

func providerTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n| id | provider | API | base URL | variables | models | what is special |\n|---|---|---|---|---|---|---|\n")
	all, texts := load(t, "").Providers(), asWritten(t)
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
		name, place := p.DisplayName, place(p, texts[p.ID].baseURL)
		if link := texts[p.ID].documentation; strings.HasPrefix(link, "https://") {
			name = "[" + name + "](" + link + ")"
		} else if p.ID != "faux" {
			t.Errorf("builtin.yaml names no documentation for %s: %q", p.ID, link)
		}
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s | %s | %s | %s |\n", p.ID, name, p.API, place, strings.Join(variables, " "), models, note(p))
	}
	b.WriteByte('\n')
	return b.String()
}

// place is where requests go if nothing else is said.
func place(p *catalog.Provider, baseURL string) string {
	switch p.ID {
	case "faux":
		return "-"
	case "azure":
		return "the resource's: `https://NAME.openai.azure.com/openai/v1`"
	case "amazon-bedrock":
		return "the region's: `https://bedrock-runtime.REGION.amazonaws.com`"
	case "google-vertex", "google-vertex-anthropic":
		return "the location's: `https://LOCATION-aiplatform.googleapis.com/v1/projects/PROJECT/...`"
	}
	return "`" + baseURL + "`"
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
	case p.ID == "azure":
		return "or the Azure default credentials: service principal, workload or managed identity, `az login`; models go by the names of their deployments"
	case p.ID == "anthropic":
		return "`ANTHROPIC_AUTH_TOKEN` goes as a bearer token, the key as `x-api-key`"
	case p.Auth == catalog.AuthAWS:
		return "or the AWS default chain: profile, role, web identity"
	case p.Auth == catalog.AuthGoogle:
		return "or Google application default credentials"
	case p.Configured:
		return "no key; whether it runs only a call can tell"
	case p.Auth == catalog.AuthCloudflareAIG:
		return "the key goes into a header of the gateway's own"
	case p.ID == "nvidia":
		return "asked to wait for a worker instead of answering 202"
	}
	return ""
}

// hostTable lists the flags in which a provider is not an unknown host of its API, for
// a model that nobody described.
func hostTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n| id | flags |\n|---|---|\n")
	for _, p := range load(t, "").Providers() {
		c := load(t, "providers:\n  - {id: "+p.ID+", allow_unlisted_models: true}\n")
		m, _ := resolve(t, c, p.ID+"/some-model")
		if flags := flagsBeside(profile.Defaults(p.API), m.Compat); len(flags) > 0 {
			fmt.Fprintf(&b, "| `%s` | %s |\n", p.ID, strings.Join(flags, ", "))
		}
	}
	b.WriteByte('\n')
	return b.String()
}

// flagsBeside are the flags that differ, as they are written in a configuration.
func flagsBeside(usual, own profile.Compat) []string {
	var all []string
	a, b := reflect.ValueOf(usual), reflect.ValueOf(own)
	for i := range a.NumField() {
		if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			all = append(all, fmt.Sprintf("`%s: %v`", a.Type().Field(i).Tag.Get("yaml"), b.Field(i).Interface()))
		}
	}
	return all
}

package catalog

import (
	_ "embed"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llmd-dev/llmd/adapters/profile"
)

//go:embed hosts.yaml
var hostsYAML []byte

// hostRule says what some hosts, or some models wherever they are served, do
// otherwise than the owner of their API. An empty list matches everything;
// Providers and Domains are two ways to name a host, and one of them suffices.
type hostRule struct {
	// Name is for people and tests.
	Name string `yaml:"name"`
	// Providers are provider ids.
	Providers []string `yaml:"providers"`
	// Domains are compared with the base URL's host by whole labels.
	Domains []string `yaml:"domains"`
	// APIs are wire APIs.
	APIs []string `yaml:"apis"`
	// Models are words of model ids, see hasWord.
	Models []string `yaml:"models"`
	// Compat is what such hosts and models do otherwise.
	Compat yaml.Node `yaml:"compat"`

	compat profile.Overlay
}

// readHosts reads the built-in rules, which are laid over each other in their
// order.
func readHosts() ([]hostRule, error) {
	dec := yaml.NewDecoder(strings.NewReader(string(hostsYAML)))
	dec.KnownFields(true)
	var rules []hostRule
	if err := dec.Decode(&rules); err != nil {
		return nil, fmt.Errorf("catalog: hosts.yaml: %w", err)
	}
	for i := range rules {
		overlay, err := profile.ParseOverlay(&rules[i].Compat)
		if err != nil {
			return nil, fmt.Errorf("catalog: hosts.yaml: %w", err)
		}
		rules[i].compat = overlay
	}
	return rules, nil
}

// matches says whether the rule is for a model, which is given by its [spelling].
func (r *hostRule) matches(provider, host, api, model string) bool {
	if len(r.APIs) > 0 && !slices.Contains(r.APIs, api) {
		return false
	}
	if len(r.Models) > 0 && !slices.ContainsFunc(r.Models, func(word string) bool { return hasWord(model, word) }) {
		return false
	}
	if len(r.Providers) == 0 && len(r.Domains) == 0 || slices.Contains(r.Providers, provider) {
		return true
	}
	return host != "" && underDomain(host, r.Domains...)
}

// hostOf is the host of a URL; empty = it has none.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// hasWord: the id holds the word, not as a part of a longer one. "gpt-5" is in
// "openai/gpt-5-mini:free" and in "gpt-5.4", but not in "gpt-50" or "gpt-5o".
// The id is given by its [spelling].
func hasWord(id, word string) bool {
	isEdge := func(i int) bool { return i < 0 || i >= len(id) || strings.IndexByte("/:-@", id[i]) >= 0 }
	for at := 0; ; {
		i := strings.Index(id[at:], word)
		if i < 0 {
			return false
		}
		begin := at + i
		if isEdge(begin-1) && isEdge(begin+len(word)) {
			return true
		}
		at = begin + 1
	}
}

// spelling is an id as words are written: in small letters and with dashes. Hosts
// spell one model with dots and dashes (claude-opus-4.6, claude-opus-4-6).
func spelling(id string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '_' {
			return '-'
		}
		return r
	}, strings.ToLower(id))
}

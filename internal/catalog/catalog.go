package catalog

import (
	"cmp"
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/llmd-dev/llmd/adapters/profile"
	"github.com/llmd-dev/llmd/internal/config"
)

// The built-in providers.
//
//go:embed builtin.yaml
var builtinYAML []byte

// Catalog is what this llmd can reach. It never changes and is safe for
// concurrent use.
type Catalog struct {
	providers []*Provider // by id
	byID      map[string]*Provider
	// aliases are those that only one provider has.
	aliases func() map[string]*profile.Model
}

// Load lays a configuration over what is built in. env finds keys and places; it
// is asked during Load only. Mistakes that only show against the built-in
// providers are *[config.ParseError], all of them joined.
func Load(file *config.File, env config.Env) (*Catalog, error) {
	hosts, err := readHosts()
	if err != nil {
		return nil, err
	}
	entries, err := builtinEntries()
	if err != nil {
		return nil, err
	}
	for i := range file.Providers {
		p := &file.Providers[i]
		if entries[p.ID] == nil {
			entries[p.ID] = &entry{}
		}
		entries[p.ID].user, entries[p.ID].index = p, i
	}
	var mistakes []*config.ParseError
	c := &Catalog{byID: map[string]*Provider{}}
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		e := entries[id]
		if e.user != nil && e.user.Disabled {
			continue
		}
		p, err := e.resolve(file.Path, hosts, env)
		if mistakes = append(mistakes, e.mistakes...); err != nil {
			continue
		}
		c.providers = append(c.providers, p)
		c.byID[p.ID] = p
	}
	if len(mistakes) > 0 {
		return nil, config.JoinErrors(mistakes)
	}
	c.aliases = sync.OnceValue(c.uniqueAliases)
	return c, nil
}

// builtinEntries reads the built-in providers.
func builtinEntries() (map[string]*entry, error) {
	builtin, err := config.ParseTemplate("builtin.yaml", builtinYAML)
	if err != nil {
		return nil, err
	}
	entries := map[string]*entry{}
	for i := range builtin.Providers {
		p := &builtin.Providers[i]
		entries[p.ID] = &entry{builtin: p}
	}
	return entries, nil
}

// uniqueAliases makes aliases work without their provider where only one provider
// has them.
func (c *Catalog) uniqueAliases() map[string]*profile.Model {
	unique := map[string]*profile.Model{}
	for _, m := range c.Models("") {
		for _, alias := range m.Aliases {
			if _, taken := unique[alias]; taken {
				unique[alias] = nil
				continue
			}
			unique[alias] = m
		}
	}
	return unique
}

// Providers are all providers, sorted by id.
func (c *Catalog) Providers() []*Provider { return slices.Clone(c.providers) }

// Provider finds one provider.
func (c *Catalog) Provider(id string) (*Provider, bool) {
	p, ok := c.byID[id]
	return p, ok
}

// Models are the known models of one provider, or of all if provider is empty,
// sorted by name. Providers that accept any model id list the ones they describe.
func (c *Catalog) Models(provider string) []*profile.Model {
	var all []*profile.Model
	for _, p := range c.providers {
		if provider == "" || p.ID == provider {
			all = append(all, p.list().models...)
		}
	}
	slices.SortFunc(all, func(a, b *profile.Model) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// Resolve finds a model by "provider/model-id", "provider/alias", the resource
// name "providers/P/models/M", or an alias that only one provider has. It fails
// with *[UnknownProviderError] or *[UnknownModelError], which suggest what may
// have been meant. A provider without credentials is found all the same.
func (c *Catalog) Resolve(name string) (*profile.Model, *Provider, error) {
	id, model, ok := splitName(name)
	if !ok {
		if m := c.aliases()[name]; m != nil {
			return m, c.byID[m.Provider], nil
		}
		return nil, nil, c.unknownModel(name, "", name)
	}
	p := c.byID[id]
	if p == nil {
		return nil, nil, c.unknownProvider(name, id)
	}
	if m := p.list().byName[model]; m != nil {
		return m, p, nil
	}
	if p.AllowUnlisted && model != "" {
		return p.list().unlisted(model), p, nil
	}
	return nil, nil, c.unknownModel(name, id, model)
}

// splitName takes an address apart.
func splitName(name string) (provider, model string, ok bool) {
	if rest, found := strings.CutPrefix(name, "providers/"); found {
		if provider, model, ok = strings.Cut(rest, "/models/"); ok {
			return provider, model, true
		}
	}
	return strings.Cut(name, "/")
}

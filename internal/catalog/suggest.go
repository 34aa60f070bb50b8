package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/internal/near"
)

// UnknownProviderError means that no provider has this id.
type UnknownProviderError struct {
	// Name is what was asked for, Provider the part before the slash.
	Name, Provider string
	// Suggestions are names that can be asked for, best first.
	Suggestions []string
}

func (e *UnknownProviderError) Error() string {
	return fmt.Sprintf("catalog: there is no provider %q%s", clip(e.Provider), elsewhere(e.Suggestions, "ListProviders and llmd check show all"))
}

// UnknownModelError means that the provider has no such model, or that no
// provider was named.
type UnknownModelError struct {
	// Name is what was asked for.
	Name string
	// Provider is empty if the name had none.
	Provider string
	// Suggestions are names that can be asked for, best first.
	Suggestions []string
}

func (e *UnknownModelError) Error() string {
	if e.Provider == "" {
		return fmt.Sprintf("catalog: %q is no model; models are named provider/model-id%s", clip(e.Name), elsewhere(e.Suggestions, allModels))
	}
	return fmt.Sprintf("catalog: provider %q has no model %q%s", clip(e.Provider), clip(e.Name), elsewhere(e.Suggestions, allModels))
}

const allModels = "ListModels and llmd models show all names"

// elsewhere asks whether one of the nearest names was meant, and says where all of them
// are. It is short: a status message is cut.
func elsewhere(names []string, all string) string {
	const most = 3
	if len(names) == 0 {
		return "; " + all
	}
	return near.Question(names[:min(len(names), most)]) + " " + all
}

// clip keeps a name from the outside short in a message.
func clip(s string) string {
	const most = 128
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// KnowsProvider is nil if there is a provider with this id, else an
// *[UnknownProviderError] with the ids that may have been meant.
func (c *Catalog) KnowsProvider(id string) error {
	if c.byID[id] != nil {
		return nil
	}
	ids := make([]string, len(c.providers))
	for i, p := range c.providers {
		ids[i] = p.ID
	}
	return &UnknownProviderError{Name: id, Provider: id, Suggestions: near.Names(id, ids)}
}

func (c *Catalog) unknownProvider(name, provider string) error {
	e := &UnknownProviderError{Name: name, Provider: provider}
	// An aggregator's id without the aggregator: mistralai/x is a model of
	// openrouter.
	e.Suggestions = c.namesOf(name)
	_, model, _ := splitName(name)
	var like near.Ranking
	for _, p := range c.providers {
		if p.list().byName[model] != nil {
			like.AddAs(p.ID+"/"+model, p.ID, provider)
			continue
		}
		like.Add(p.ID, provider)
	}
	e.Suggestions = append(e.Suggestions, like.Best()...)
	if len(e.Suggestions) == 0 {
		e.Suggestions = c.namesOf(model) // the same model elsewhere
	}
	e.Suggestions = e.Suggestions[:min(len(e.Suggestions), near.Most)]
	return e
}

func (c *Catalog) unknownModel(name, provider, model string) error {
	e := &UnknownModelError{Name: name, Provider: provider}
	if provider == "" {
		if e.Suggestions = c.namesOf(name); len(e.Suggestions) > 0 {
			return e
		}
		if c.byID[name] != nil { // a provider alone: its own models, no other host's of its name
			own := c.Models(name)
			for _, m := range own[:min(len(own), near.Most)] {
				e.Suggestions = append(e.Suggestions, m.Name())
			}
			return e
		}
	}
	var like near.Ranking
	for _, m := range c.Models(provider) {
		like.AddAs(m.Name(), m.ID, model)
		for _, alias := range m.Aliases {
			like.AddAs(m.Provider+"/"+alias, alias, model)
		}
	}
	e.Suggestions = like.Best()
	return e
}

// namesOf are the full names of the models with exactly this id or alias; the
// configured providers come first.
func (c *Catalog) namesOf(model string) []string {
	var configured, others []string
	for _, p := range c.providers {
		m := p.list().byName[model]
		switch {
		case m == nil:
		case p.Configured:
			configured = append(configured, p.ID+"/"+model)
		default:
			others = append(others, p.ID+"/"+model)
		}
	}
	all := slices.Concat(configured, others)
	return all[:min(len(all), near.Most)]
}

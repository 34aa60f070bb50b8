package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxSuggestions is how many near misses an error names.
const maxSuggestions = 5

// UnknownProviderError means that no provider has this id.
type UnknownProviderError struct {
	// Name is what was asked for, Provider the part before the slash.
	Name, Provider string
	// Suggestions are names that can be asked for, best first.
	Suggestions []string
}

func (e *UnknownProviderError) Error() string {
	return fmt.Sprintf("catalog: there is no provider %q%s", clip(e.Provider), didYouMean(e.Suggestions))
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
		return fmt.Sprintf("catalog: %q is no model; models are named provider/model-id%s", clip(e.Name), didYouMean(e.Suggestions))
	}
	return fmt.Sprintf("catalog: provider %q has no model %q%s", clip(e.Provider), clip(e.Name), didYouMean(e.Suggestions))
}

func didYouMean(suggestions []string) string {
	if len(suggestions) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(suggestions, ", ") + "?"
}

// clip keeps a name from the outside short in a message.
func clip(s string) string {
	const most = 128
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

func (c *Catalog) unknownProvider(name, provider string) error {
	e := &UnknownProviderError{Name: name, Provider: provider}
	// An aggregator's id without the aggregator: mistralai/x is a model of
	// openrouter.
	e.Suggestions = c.namesOf(name)
	_, model, _ := splitName(name)
	var near ranking
	for _, p := range c.providers {
		if p.list().byName[model] != nil {
			near.addAs(p.ID+"/"+model, p.ID, provider)
			continue
		}
		near.add(p.ID, provider)
	}
	e.Suggestions = append(e.Suggestions, near.best()...)
	e.Suggestions = e.Suggestions[:min(len(e.Suggestions), maxSuggestions)]
	return e
}

func (c *Catalog) unknownModel(name, provider, model string) error {
	e := &UnknownModelError{Name: name, Provider: provider}
	if provider == "" {
		if e.Suggestions = c.namesOf(name); len(e.Suggestions) > 0 {
			return e
		}
	}
	var near ranking
	for _, m := range c.Models(provider) {
		near.addAs(m.Name(), m.ID, model)
		for _, alias := range m.Aliases {
			near.addAs(m.Provider+"/"+alias, alias, model)
		}
	}
	e.Suggestions = near.best()
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
	return all[:min(len(all), maxSuggestions)]
}

// ranking collects candidates by their likeness to what was asked for.
type ranking []candidate

type candidate struct {
	name     string
	distance int
}

// add ranks a candidate that is compared as it is.
func (r *ranking) add(name, asked string) { r.addAs(name, name, asked) }

// addAs ranks a candidate by another text than its name. A third of its letters
// may differ; a candidate that only says more than was asked for counts as near.
func (r *ranking) addAs(name, text, asked string) {
	text, asked = strings.ToLower(text), strings.ToLower(clip(asked))
	if asked == "" {
		return
	}
	most := max(1, min(len(text), len(asked))/3)
	if len(asked) >= 3 && strings.Contains(text, asked) {
		*r = append(*r, candidate{name, min(2, len(text)-len(asked))})
		return
	}
	// Texts of very different lengths are not alike; measuring costs the product
	// of the lengths.
	if len(text)-len(asked) > most || len(asked)-len(text) > most {
		return
	}
	if d := distance(text, asked); d <= most {
		*r = append(*r, candidate{name, d})
	}
}

func (r ranking) best() []string {
	slices.SortStableFunc(r, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, c := range r {
		if len(names) < maxSuggestions && !slices.Contains(names, c.name) {
			names = append(names, c.name)
		}
	}
	return names
}

// distance is the number of bytes to insert, delete, replace or swap with the next
// one to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	above, twoAbove := row, row
	for i := range len(a) {
		row = make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := above[j]
			if a[i] != b[j] {
				cost = 1 + min(above[j], row[j], above[j+1])
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cost = min(cost, 1+twoAbove[j-1])
			}
			row[j+1] = cost
		}
		above, twoAbove = row, above
	}
	return above[len(b)]
}

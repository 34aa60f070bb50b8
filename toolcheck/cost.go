package toolcheck

import "github.com/santhosh-tekuri/jsonschema/v6"

// maxCost is how many comparisons of a value with a keyword judging may take; some
// 100 ns each.
const maxCost = 5 << 20

// patternCost is what a regular expression costs with 64 bytes of text, in
// comparisons.
const (
	patternCost  = 100
	patternBytes = 64
)

// affordable says whether arguments can be judged by a schema in reasonable time.
// A schema that refers twice to the same place, which refers twice to the next one,
// and so on, doubles the work with each step. nulls: values are judged once more on
// each level above them, to find the nulls that mean nothing.
func affordable(s *jsonschema.Schema, arguments shape, nulls bool) bool {
	// As if all strings were matched with every pattern.
	e := estimator{known: map[step]int{}, pattern: patternCost * (1 + arguments.text/patternBytes/max(arguments.values, 1))}
	times := arguments.values
	if nulls {
		times *= 1 + arguments.depth
	}
	return e.cost(s, arguments.depth)*times <= maxCost
}

// step is a schema that is applied to a value with so many levels below it.
type step struct {
	schema *jsonschema.Schema
	depth  int
}

// estimator bounds the work for any one value: the number of ways in which schemas
// lead to it, weighted. known is 0 for steps that are being counted; pattern is what
// a regular expression costs.
type estimator struct {
	known   map[step]int
	pattern int
}

func (e *estimator) cost(s *jsonschema.Schema, depth int) int {
	if s == nil || s.Bool != nil {
		return 1
	}
	at := step{s, depth}
	if n, ok := e.known[at]; ok {
		return n // 0: a schema that refers to itself without going down ends at once
	}
	if len(e.known) > maxCost/16 {
		return maxCost + 1
	}
	e.known[at] = 0
	n := 1 + len(s.Required) + e.pattern*len(s.PatternProperties)
	if s.Enum != nil {
		n += len(s.Enum.Values)
	}
	if s.Pattern != nil {
		n += e.pattern
	}
	for _, c := range inPlace(s) {
		n = min(n+e.cost(c, depth), maxCost+1)
	}
	if depth > 0 {
		n = min(n+e.below(s, depth-1), maxCost+1)
	}
	e.known[at] = n
	return n
}

// inPlace lists the schemas that are applied to the same value.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}
	if s.DynamicRef != nil {
		all = append(all, s.DynamicRef.Ref)
	}
	all = append(all, s.AllOf...)
	all = append(all, s.AnyOf...)
	all = append(all, s.OneOf...)
	for _, d := range s.DependentSchemas {
		all = append(all, d)
	}
	for _, d := range s.Dependencies {
		if d, ok := d.(*jsonschema.Schema); ok {
			all = append(all, d)
		}
	}
	kept := all[:0]
	for _, c := range all {
		if c != nil {
			kept = append(kept, c)
		}
	}
	return kept
}

// below bounds the work for one value inside. Keywords that apply to it side by side
// add up; of those that share the values out, the dearest counts.
func (e *estimator) below(s *jsonschema.Schema, depth int) int {
	shared, n := 0, 0
	for _, c := range s.Properties {
		shared = max(shared, e.cost(c, depth))
	}
	for _, c := range s.PrefixItems {
		shared = max(shared, e.cost(c, depth))
	}
	side := []any{s.AdditionalProperties, s.AdditionalItems, s.Items}
	for _, c := range []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems} {
		side = append(side, c)
	}
	for _, c := range s.PatternProperties {
		side = append(side, c)
	}
	for _, c := range side {
		switch c := c.(type) {
		case *jsonschema.Schema:
			if c != nil {
				n = min(n+e.cost(c, depth), maxCost+1)
			}
		case []*jsonschema.Schema:
			for _, c := range c {
				shared = max(shared, e.cost(c, depth))
			}
		}
	}
	return n + shared
}

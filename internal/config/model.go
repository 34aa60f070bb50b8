package config

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

func modelKeys(m *Model) []key {
	return []key{
		{
			name: "id", kind: "text", doc: "The model's id at the provider; it may hold slashes. Required.",
			read: func(v value) { v.text(&m.ID) },
		},
		{
			name: "api", kind: "one of: " + strings.Join(APIs(), ", "), def: "the provider's", doc: "The wire API of this model, where a host speaks several.",
			read: func(v value) { v.word(&m.API, APIs()...) },
		},
		{name: "display_name", kind: "text", doc: "A name for people.", read: func(v value) { v.text(&m.DisplayName) }},
		{
			name: "aliases", kind: "list of texts", doc: "Other names: provider/alias, and the alias alone where it is unique.",
			read: func(v value) { v.texts(&m.Aliases) },
		},
		{
			name: "reasoning", kind: "true or false", def: "false", doc: "The model can think.",
			read: func(v value) {
				m.Reasoning = new(bool)
				v.boolean(m.Reasoning)
			},
		},
		{
			name: "efforts", kind: "mapping of efforts to texts", def: "none to high as they are; no xhigh, no max",
			doc:  "The model's own word for each reasoning effort (none, minimal, low, medium, high, xhigh, max); null: it does not have it.",
			read: func(v value) { v.efforts(&m.Efforts) },
		},
		{
			name: "input", kind: "list of: text, image", def: "text", doc: "What the model takes.",
			read: func(v value) { v.input(&m.Input) },
		},
		{
			name: "context_window_tokens", kind: "whole number", def: "128000", doc: "The context window.",
			read: func(v value) { v.tokens(&m.ContextWindow) },
		},
		{
			name: "max_output_tokens", kind: "whole number", def: "32768", doc: "The most tokens of one answer, thinking included.",
			read: func(v value) { v.tokens(&m.MaxOutput) },
		},
		{
			name: "pricing", kind: "mapping", def: "unknown, so that no cost is reported", doc: "US dollars per million tokens.",
			read: func(v value) { v.pricing(&m.Pricing) }, below: func() []key { return pricingKeys(&llmdv1.Pricing{}) },
		},
		{
			name: "compat", kind: "mapping of flags", def: "the provider's", doc: "What this model does otherwise.",
			read: func(v value) { v.compat(&m.Compat) },
		},
	}
}

// models reads the list and refuses a name given twice.
func (v value) models(target *[]Model) {
	lines := map[string]int{}
	v.list(func(item value) {
		m := Model{Line: item.node.Line}
		item.object(modelKeys(&m))
		if m.ID == "" {
			if item.node.Kind == yaml.MappingNode && !hasKey(item.node, "id") {
				item.bad("id is missing")
			}
			return
		}
		for _, name := range append([]string{m.ID}, m.Aliases...) {
			if line, ok := lines[name]; ok {
				item.bad("the name %q is given twice; first in line %d", name, line)
			}
			lines[name] = m.Line
		}
		*target = append(*target, m)
	})
}

func (v value) input(target *[]llmdv1.Modality) {
	*target = nil
	v.list(func(item value) {
		var word string
		item.word(&word, "text", "image")
		if word == "" {
			return // it is no such word, and that is reported
		}
		kind := llmdv1.Modality_MODALITY_TEXT
		if word == "image" {
			kind = llmdv1.Modality_MODALITY_IMAGE
		}
		if slices.Contains(*target, kind) {
			item.bad("%q is listed twice", word)
		}
		*target = append(*target, kind)
	})
	if len(*target) == 0 && v.node.Kind == yaml.SequenceNode {
		v.bad("must name at least one of: text, image")
	}
}

func (v value) efforts(target *profile.Efforts) {
	names := map[string]llmdv1.ReasoningEffort{}
	for n := range llmdv1.ReasoningEffort_name {
		if e := llmdv1.ReasoningEffort(n); e != llmdv1.ReasoningEffort_REASONING_EFFORT_UNSPECIFIED {
			names[profile.EffortName(e)] = e
		}
	}
	*target = profile.Efforts{}
	v.mapping(func(name *yaml.Node, below value) {
		effort, ok := names[name.Value]
		if !ok {
			below.fail(name.Line, below.path, "is not one of: none, minimal, low, medium, high, xhigh, max")
			return
		}
		if below.node.Tag == "!!null" {
			(*target)[effort] = profile.EffortWord{Unsupported: true}
			return
		}
		var word string
		if below.text(&word) {
			(*target)[effort] = profile.EffortWord{Word: word}
		}
	})
}

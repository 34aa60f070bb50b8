package service

import (
	"slices"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/anthropic"
	"github.com/llmd-dev/llmd/adapters/bedrock"
	"github.com/llmd-dev/llmd/adapters/faux"
	"github.com/llmd-dev/llmd/adapters/google"
	"github.com/llmd-dev/llmd/adapters/mistral"
	"github.com/llmd-dev/llmd/adapters/openaichat"
	"github.com/llmd-dev/llmd/adapters/openairesponses"
)

// wireAPIs is every wire API that llmd speaks: a new one is a folder below
// adapters and a line here.
func wireAPIs() []adapters.Adapter {
	return []adapters.Adapter{
		anthropic.New(),
		bedrock.New(),
		faux.New(),
		google.New(),
		google.NewVertex(),
		mistral.New(),
		openaichat.New(),
		openairesponses.New(),
		openairesponses.NewAzure(),
	}
}

// APIs are the names of the wire APIs, in the order of the alphabet.
func APIs() []string {
	var names []string
	for _, a := range wireAPIs() {
		names = append(names, a.API())
	}
	slices.Sort(names)
	return names
}

// byAPI finds an adapter by its wire API.
func byAPI(all []adapters.Adapter) func(api string) (adapters.Adapter, bool) {
	table := make(map[string]adapters.Adapter, len(all))
	for _, a := range all {
		table[a.API()] = a
	}
	return func(api string) (adapters.Adapter, bool) {
		a, ok := table[api]
		return a, ok
	}
}

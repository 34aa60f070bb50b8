package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/llmd-dev/llmd/adapters/profile"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/near"
)

// What a model is taken to be able to do where nobody says.
const (
	defaultContextWindow = 128_000
	defaultMaxOutput     = 32_768
)

// Where a model's description comes from (Model.source of the contract).
const (
	sourceBuiltin       = "builtin"
	sourceConfiguration = "configuration"
	sourceDefault       = "default"
)

const whereIsIt = "is missing: say where this provider is"

// entry is one provider before its parts are put together. Either part may be
// nil, not both.
type entry struct {
	builtin, user *config.Provider
	// index is the user's place in the file's list.
	index int
	// mistakes are what is wrong with the user's part.
	mistakes []*config.ParseError
}

// part is the provider's part, never nil.
func part(p *config.Provider) *config.Provider {
	if p == nil {
		return &config.Provider{}
	}
	return p
}

func (e *entry) resolve(file string, hosts []hostRule, env config.Env) (*Provider, error) {
	builtin, user := part(e.builtin), part(e.user)
	p := &Provider{
		ID:          cmp.Or(user.ID, builtin.ID),
		API:         cmp.Or(user.API, builtin.API),
		DisplayName: cmp.Or(user.DisplayName, builtin.DisplayName, user.ID),
		Headers:     append(slices.Clone(builtin.Headers), user.Headers...),
		APIVersion:  cmp.Or(user.APIVersion, builtin.APIVersion, "v1"),
		Builtin:     e.builtin != nil,

		headerTimeout: user.Timeouts.Header,
		deployments:   slices.Clone(user.Deployments),
	}
	if err := e.complete(file, p); err != nil {
		return nil, err
	}
	for _, allow := range []*bool{builtin.AllowUnlisted, user.AllowUnlisted} {
		if allow != nil {
			p.AllowUnlisted = *allow
		}
	}
	places := e.places(p, env)
	if p.BaseURL == "" && len(places) == 0 {
		return nil, e.mistake(file, "base_url", whereIsIt)
	}
	if err := e.network(file, p); err != nil {
		return nil, err
	}
	if err := e.credentials(file, p, env); err != nil {
		return nil, err
	}
	if len(places) > 0 {
		p.Configured = false
		if p.Missing != "" {
			places = append([]string{p.Missing}, places...)
		}
		p.Missing = strings.Join(places, "; ")
	}
	p.list = e.models(p, hosts)
	return p, nil
}

// mistake notes one of a user's entry: a key that it lacks, or whose file is bad.
func (e *entry) mistake(file, key, problem string) error {
	m := &config.ParseError{
		File: file, Line: e.user.Line, Key: fmt.Sprintf("providers[%d].%s", e.index, key), Problem: problem,
	}
	e.mistakes = append(e.mistakes, m)
	return m
}

// complete wants what only a built-in provider brings along. Whoever leaves it out
// may have misspelt the id of one.
func (e *entry) complete(file string, p *Provider) error {
	if p.API != "" {
		return nil
	}
	problem := fmt.Sprintf("is missing: say which API provider %q speaks, such as openai-completions", p.ID)
	if builtin, err := builtinEntries(); err == nil {
		problem += near.Question(near.Names(p.ID, slices.Sorted(maps.Keys(builtin))))
	}
	err := e.mistake(file, "api", problem)
	if e.user.BaseURL == "" {
		err = e.mistake(file, "base_url", whereIsIt)
	}
	return err
}

// models says how the provider's models are put together, once they are asked
// for: the built-in lists are long, and most providers are never asked.
func (e *entry) models(p *Provider, hosts []hostRule) func() *modelList {
	return sync.OnceValue(func() *modelList {
		l := &modelList{entry: e, provider: p, hosts: hosts, byName: map[string]*profile.Model{}}
		if e.builtin != nil {
			l.builtin, l.flags = builtinModels(e.builtin)
		}
		l.describe()
		return l
	})
}

package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/llmd-dev/llmd/adapters/profile"
	"github.com/llmd-dev/llmd/internal/config"
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

// entry is one provider before its parts are put together. Either part may be
// nil, not both.
type entry struct {
	builtin, user *config.Provider
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
		deployments: user.Deployments,
	}
	if p.API == "" {
		return nil, e.missing(file, "api", "is missing: say which API this provider speaks, such as openai-completions")
	}
	for _, allow := range []*bool{builtin.AllowUnlisted, user.AllowUnlisted} {
		if allow != nil {
			p.AllowUnlisted = *allow
		}
	}
	places := e.places(p, env)
	if p.BaseURL == "" && len(places) == 0 {
		return nil, e.missing(file, "base_url", "is missing: say where this provider is")
	}
	if err := e.credentials(file, p, env); err != nil {
		return nil, err
	}
	if p.Configured && len(places) > 0 {
		p.Configured = false
		p.Missing = strings.Join(places, "; ")
	}
	p.list = e.models(p, hosts)
	return p, nil
}

// missing is the mistake of a user's entry that lacks a key.
func (e *entry) missing(file, key, problem string) error {
	return &config.ParseError{
		File: file, Line: e.user.Line, Key: fmt.Sprintf("providers[%s].%s", e.user.ID, key), Problem: problem,
	}
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

package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
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
	// listed are the host's flags as the model list has them.
	listed profile.Overlay
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
		endpoint:    user.Endpoint,
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
	e.models(p, hosts)
	return p, nil
}

// missing is the mistake of a user's entry that lacks a key.
func (e *entry) missing(file, key, problem string) error {
	return &config.ParseError{
		File: file, Line: e.user.Line, Key: fmt.Sprintf("providers[%s].%s", e.user.ID, key), Problem: problem,
	}
}

// models puts the provider's models together.
func (e *entry) models(p *Provider, hosts []hostRule) {
	builtin, user := part(e.builtin), part(e.user)
	p.compatFor = func(api, id string, model, change *config.Model) profile.Compat {
		c := profile.Defaults(api)
		for _, rule := range hosts {
			if rule.matches(p.ID, p.BaseURL, api, id) {
				rule.compat.Apply(&c)
			}
		}
		for _, overlay := range []profile.Overlay{e.listed, builtin.Compat, model.Compat, user.Compat, change.Compat} {
			overlay.Apply(&c)
		}
		return c
	}
	changes := map[string]*config.Model{}
	for i := range user.Models {
		changes[user.Models[i].ID] = &user.Models[i]
	}
	p.byName = map[string]*profile.Model{}
	for i := range builtin.Models {
		m := &builtin.Models[i]
		change, source := changes[m.ID], sourceConfiguration
		if change == nil {
			change, source = &config.Model{}, sourceBuiltin
		}
		delete(changes, m.ID)
		p.add(p.model(m, change, user.API, source))
	}
	for i := range user.Models {
		if m := &user.Models[i]; changes[m.ID] != nil {
			p.add(p.model(named(builtin.Models, m.ID), m, user.API, sourceConfiguration))
		}
	}
	slices.SortFunc(p.models, func(a, b *profile.Model) int { return cmp.Compare(a.ID, b.ID) })
	for _, m := range p.models {
		for _, alias := range m.Aliases {
			if p.byName[alias] == nil {
				p.byName[alias] = m
			}
		}
	}
}

// named is the built-in description of the model with this alias, under the alias
// as its id; an empty one if there is none.
func named(models []config.Model, alias string) *config.Model {
	for _, m := range models {
		if slices.Contains(m.Aliases, alias) {
			m.ID, m.Aliases = alias, nil
			return &m
		}
	}
	return &config.Model{ID: alias}
}

func (p *Provider) add(m *profile.Model) {
	p.models = append(p.models, m)
	p.byName[m.ID] = m
}

// model lays a change over a built-in description. An API that the user set for
// the whole provider wins over the built-in one of a single model.
func (p *Provider) model(m, change *config.Model, userAPI, source string) *profile.Model {
	api := cmp.Or(change.API, userAPI, m.API, p.API)
	out := &profile.Model{
		ID:            m.ID,
		Provider:      p.ID,
		API:           api,
		DisplayName:   cmp.Or(change.DisplayName, m.DisplayName),
		Aliases:       m.Aliases,
		BaseURL:       p.BaseURL,
		Endpoint:      p.endpoint,
		Efforts:       m.Efforts,
		Input:         m.Input,
		ContextWindow: cmp.Or(change.ContextWindow, m.ContextWindow, defaultContextWindow),
		MaxOutput:     cmp.Or(change.MaxOutput, m.MaxOutput, defaultMaxOutput),
		Pricing:       m.Pricing,
		Compat:        p.compatFor(api, m.ID, m, change),
		Source:        source,
	}
	for _, reasoning := range []*bool{m.Reasoning, change.Reasoning} {
		if reasoning != nil {
			out.Reasoning = *reasoning
		}
	}
	if change.Aliases != nil {
		out.Aliases = change.Aliases
	}
	if change.Efforts != nil {
		out.Efforts = change.Efforts
	}
	if change.Input != nil {
		out.Input = change.Input
	}
	if len(out.Input) == 0 {
		out.Input = []llmdv1.Modality{llmdv1.Modality_MODALITY_TEXT}
	}
	if change.Pricing != nil {
		out.Pricing = change.Pricing
	}
	return out
}

// unlisted describes a model that nobody described.
func (p *Provider) unlisted(id string) *profile.Model {
	return p.model(&config.Model{ID: id}, &config.Model{}, "", sourceDefault)
}

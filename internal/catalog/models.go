package catalog

import (
	"cmp"
	"embed"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/config"
)

// The models of the built-in providers, a file for each, in the schema of the
// configuration file. tools/catalogue writes them.
//
//go:embed models/*.yaml
var modelFiles embed.FS

// modelList is what a provider serves.
type modelList struct {
	*entry
	provider *Provider
	hosts    []hostRule
	// builtin are the built-in descriptions, flags the host's flags as they are
	// listed with them.
	builtin []config.Model
	flags   profile.Overlay

	models []*profile.Model // by id
	byName map[string]*profile.Model
}

// builtinModels are the models that are written with the provider and those of
// its own file, if it has one. The files are part of the program and the tests
// read them all, so that a mistake in one is no error of the user's.
func builtinModels(p *config.Provider) ([]config.Model, profile.Overlay) {
	if p.ID == openAIChat {
		return chatModels(), profile.Overlay{}
	}
	text, err := modelFiles.ReadFile("models/" + p.ID + ".yaml")
	if err != nil {
		return p.Models, profile.Overlay{}
	}
	file, err := config.ParseTemplate(p.ID+".yaml", text)
	if err != nil || len(file.Providers) != 1 {
		return p.Models, profile.Overlay{}
	}
	return slices.Concat(p.Models, file.Providers[0].Models), file.Providers[0].Compat
}

// openAIChat is OpenAI by its older API.
const openAIChat = "openai-chat"

// chatModels are OpenAI's models by Chat Completions: all but those that only the
// Responses API has (https://platform.openai.com/docs/models). Their aliases stay the
// other provider's, and its flags are about the other API.
func chatModels() []config.Model {
	all, _ := builtinModels(&config.Provider{ID: "openai"})
	all = slices.DeleteFunc(slices.Clone(all), func(m config.Model) bool {
		return strings.HasSuffix(m.ID, "-pro") || strings.Contains(m.ID, "-codex") || strings.Contains(m.ID, "-deep-research")
	})
	for i := range all {
		all[i].Aliases, all[i].Compat = nil, profile.Overlay{}
	}
	return all
}

// describe puts the built-in models and the user's together.
func (l *modelList) describe() {
	user := part(l.user)
	changes := map[string]*config.Model{}
	for i := range user.Models {
		changes[user.Models[i].ID] = &user.Models[i]
	}
	for i := range l.builtin {
		m := &l.builtin[i]
		change, source := changes[m.ID], sourceConfiguration
		if change == nil {
			change, source = &config.Model{}, sourceBuiltin
		}
		delete(changes, m.ID)
		l.add(l.model(m, change, source))
	}
	for i := range user.Models {
		if m := &user.Models[i]; changes[m.ID] != nil {
			l.add(l.model(l.named(m.ID), m, sourceConfiguration))
		}
	}
	slices.SortFunc(l.models, func(a, b *profile.Model) int { return cmp.Compare(a.ID, b.ID) })
	for _, m := range l.models {
		for _, alias := range m.Aliases {
			if l.byName[alias] == nil {
				l.byName[alias] = m
			}
		}
	}
}

func (l *modelList) add(m *profile.Model) {
	l.models = append(l.models, m)
	l.byName[m.ID] = m
}

// named is the built-in description of the model with this alias, under the alias
// as its id; an empty one if there is none.
func (l *modelList) named(alias string) *config.Model {
	for _, m := range l.builtin {
		if slices.Contains(m.Aliases, alias) {
			m.ID, m.Aliases = alias, nil
			return &m
		}
	}
	return &config.Model{ID: alias}
}

// unlisted describes a model that nobody described.
func (l *modelList) unlisted(id string) *profile.Model {
	return l.model(&config.Model{ID: id}, &config.Model{}, sourceDefault)
}

// model lays a change over a built-in description. An API that the user set for
// the whole provider wins over the built-in one of a single model.
func (l *modelList) model(m, change *config.Model, source string) *profile.Model {
	p := l.provider
	api := cmp.Or(change.API, part(l.user).API, m.API, p.API)
	out := &profile.Model{
		ID:            m.ID,
		WireModel:     p.wireModel(m.ID),
		Provider:      p.ID,
		API:           api,
		DisplayName:   cmp.Or(change.DisplayName, m.DisplayName),
		Aliases:       m.Aliases,
		BaseURL:       p.BaseURL,
		Host:          p,
		HeaderTimeout: p.headerTimeout,
		Endpoint:      part(l.user).Endpoint,
		Efforts:       m.Efforts,
		Input:         m.Input,
		ContextWindow: cmp.Or(change.ContextWindow, m.ContextWindow, defaultContextWindow),
		WindowGuessed: change.ContextWindow == 0 && m.ContextWindow == 0,
		MaxOutput:     cmp.Or(change.MaxOutput, m.MaxOutput, defaultMaxOutput),
		OutputGuessed: change.MaxOutput == 0 && m.MaxOutput == 0,
		Pricing:       m.Pricing,
		Compat:        l.compat(api, m, change),
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

// compat resolves a model's flags, layer by layer.
func (l *modelList) compat(api string, m, change *config.Model) profile.Compat {
	c := profile.Defaults(api)
	host, model := hostOf(l.provider.BaseURL), spelling(m.ID)
	for i := range l.hosts {
		if rule := &l.hosts[i]; rule.matches(l.provider.ID, host, api, model) {
			rule.compat.Apply(&c)
		}
	}
	builtin, user := part(l.entry.builtin), part(l.user)
	for _, overlay := range []profile.Overlay{l.flags, builtin.Compat, m.Compat, user.Compat, change.Compat} {
		overlay.Apply(&c)
	}
	return c
}

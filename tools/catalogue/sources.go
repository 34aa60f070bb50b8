package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// source is one provider of the list.
type source struct {
	// provider is its id, which both sides share.
	provider string
	// api is the API that builtin.yaml gives the provider.
	api string
	// others are APIs under which the list has models that llmd reaches by api
	// all the same. Their flags are about the other API and are left out.
	others []string
	// perModel are APIs that llmd uses too, for the models that the list has
	// there.
	perModel []string
	// levels is the provider whose models these are, of which the list knows better how
	// they can be told to reason; empty = it knows it of these.
	levels string
	// wrong are flags, by the list's names, that the provider's documentation contradicts.
	wrong []string
}

// converse is Bedrock's API.
const converse = "bedrock-converse-stream"

func sources() []source {
	const (
		messages    = "anthropic-messages"
		completions = "openai-completions"
		responses   = "openai-responses"
	)
	return []source{
		{provider: "amazon-bedrock", api: converse},
		{provider: "anthropic", api: messages},
		// https://learn.microsoft.com/azure/foundry/openai/how-to/reasoning
		{provider: "azure", api: "azure-openai-responses", levels: "openai"},
		{provider: "cerebras", api: completions},
		{provider: "cloudflare-ai-gateway", api: completions},
		{provider: "cloudflare-workers-ai", api: completions},
		// Only the host's address /beta holds to schemas:
		// https://api-docs.deepseek.com/guides/function_calling#strict-mode-beta
		{provider: "deepseek", api: completions, wrong: []string{"supportsStrictMode"}},
		{provider: "fireworks", api: completions, others: []string{messages}},
		{provider: "github-copilot", api: completions, perModel: []string{responses, messages}},
		{provider: "google", api: "google-generative-ai"},
		{provider: "google-vertex", api: "google-vertex"},
		{provider: "groq", api: completions},
		{provider: "huggingface", api: completions},
		{provider: "minimax", api: messages},
		{provider: "mistral", api: "mistral-conversations"},
		{provider: "moonshotai", api: completions},
		{provider: "nvidia", api: completions},
		{provider: "openai", api: responses},
		{provider: "openrouter", api: completions, others: []string{messages}},
		{provider: "together", api: completions},
		{provider: "vercel-ai-gateway", api: completions, others: []string{messages}},
		{provider: "xai", api: responses},
		{provider: "zai", api: completions},
	}
}

// choose takes what llmd can use of a provider's models, sorted by id.
func choose(s source, apis map[string]map[string]entry) []model {
	var models []model
	have := map[string]bool{}
	for _, api := range slices.Concat([]string{s.api}, s.perModel, s.others) {
		for key, e := range apis[api] {
			if kind, _, _ := strings.Cut(key, ":"); kind != "chat" || have[e.ID] {
				continue
			}
			have[e.ID] = true
			m := model{entry: e}
			for _, flag := range s.wrong {
				delete(m.Compat, flag)
			}
			if s.api == converse {
				m.Levels = converseLevels(e)
			}
			if thinksAlways().MatchString(e.ID) {
				m.Levels = withoutOff(m.Levels)
			}
			if slices.Contains(s.others, api) {
				m.Compat = nil
			} else if api != s.api {
				m.api = api
			}
			models = append(models, m)
		}
	}
	slices.SortFunc(models, func(a, b model) int { return cmp.Compare(a.ID, b.ID) })
	return foldDates(models)
}

// takeLevels gives models the levels that others of the same id have.
func takeLevels(apis, others map[string]map[string]entry) {
	for _, from := range others {
		for _, to := range apis {
			for key, e := range to {
				if other := from[key]; other.Levels != nil {
					e.Levels = other.Levels
					to[key] = e
				}
			}
		}
	}
}

// converseLevels are the levels of a model on Bedrock. Converse has no field for them,
// only words of the makers' own, which are known for Claude, Nova 2 and GPT. A model
// that cannot be told has no level at all, not even "off"; gpt-oss cannot be turned off.
func converseLevels(e entry) map[string]*string {
	levels := maps.Clone(e.Levels)
	switch {
	case strings.Contains(e.ID, "gpt-oss"):
		levels = withoutOff(levels)
	case strings.Contains(e.ID, "claude"), strings.Contains(e.ID, "nova-2"), strings.Contains(e.ID, "gpt"):
	default:
		levels = map[string]*string{}
		for _, level := range []string{"off", "minimal", "low", "medium", "high"} {
			levels[level] = nil
		}
	}
	return levels
}

func withoutOff(levels map[string]*string) map[string]*string {
	levels = maps.Clone(levels)
	if levels == nil {
		levels = map[string]*string{}
	}
	levels["off"] = nil
	return levels
}

// thinksAlways are models that refuse to be told not to think, of which the list does not
// say so everywhere.
// https://docs.aws.amazon.com/bedrock/latest/userguide/model-card-anthropic-claude-opus-5-5.html
// https://platform.claude.com/docs/en/models/sonnet-5-5/migration-guide
func thinksAlways() *regexp.Regexp {
	return regexp.MustCompile(`claude-(opus|sonnet)-5[.-]5`)
}

// foldDates makes an alias of an id that is there once more with a date and
// means the same: both are then one model, and its signatures fit whichever name
// was used.
func foldDates(models []model) []model {
	dated := regexp.MustCompile(`-20\d{6}$`)
	byID := map[string]*model{}
	for i := range models {
		byID[models[i].ID] = &models[i]
	}
	folded := map[string]bool{}
	for i := range models {
		m := &models[i]
		short := dated.ReplaceAllString(m.ID, "")
		if alias := byID[short]; short != m.ID && alias != nil && sameFacts(m.entry, alias.entry) {
			m.aliases = append(m.aliases, short)
			folded[short] = true
		}
	}
	return slices.DeleteFunc(models, func(m model) bool { return folded[m.ID] })
}

func sameFacts(a, b entry) bool {
	a.ID, a.Name = b.ID, b.Name
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

package main

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/config"
)

type modelsCmd struct {
	Text     string `arg:"" optional:"" help:"Only models that have this text in their name or an alias."`
	Provider string `help:"Only the models of this provider." type:"name" placeholder:"ID"`
	All      bool   `help:"Also models of providers without credentials."`
	JSON     bool   `help:"Print each model as a line of JSON." name:"json"`
	Config   string `help:"Configuration file (YAML); default $LLMD_CONFIG, or none." type:"path" placeholder:"FILE"`
}

// Run lists the models of one provider, of the configured ones, or of all.
func (c *modelsCmd) Run(s *session) error {
	models, err := s.catalog(c.Config)
	if err != nil {
		return err
	}
	if err := models.KnowsProvider(c.Provider); c.Provider != "" && err != nil {
		return &usageError{"--provider: " + strings.TrimPrefix(err.Error(), "catalog: ")}
	}
	var listed []*profile.Model
	hidden := 0
	for _, m := range models.Models(c.Provider) {
		if !hasText(m, c.Text) {
			continue
		}
		p, _ := models.Provider(m.Provider)
		if c.Provider == "" && !c.All && !p.Configured {
			hidden++
			continue
		}
		listed = append(listed, m)
	}
	if c.JSON {
		return printModelsJSON(s.stdout, listed)
	}
	if len(listed) == 0 && hidden == 0 {
		put(s.stderr, "no model has %q in its name\n", c.Text)
		return nil
	}
	if err := printModels(s.stdout, listed); err != nil {
		return err
	}
	if hidden > 0 {
		put(s.stderr, "%d models of providers without credentials are not shown: see llmd check, or --all\n", hidden)
	}
	return nil
}

// hasText says whether a name of the model has a text in it, whatever its case.
func hasText(m *profile.Model, text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(append([]string{m.Name()}, m.Aliases...), func(name string) bool {
		return strings.Contains(strings.ToLower(name), text)
	})
}

// catalog is what a configuration can reach.
func (s *session) catalog(configPath string) (*catalog.Catalog, error) {
	file, err := config.Load(configPath, s.env)
	if err != nil {
		return nil, err
	}
	return catalog.Load(file, s.env)
}

func printModelsJSON(out io.Writer, models []*profile.Model) error {
	for _, m := range models {
		line, err := jsonLine(catalog.ModelMessage(m))
		if err != nil {
			return err
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return nil
}

func printModels(out io.Writer, models []*profile.Model) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	put(t, "MODEL\tAPI\tCONTEXT\tOUTPUT\tINPUT\tUSD/MTOK IN, OUT\tEFFORTS\tALIASES\n")
	for _, m := range models {
		put(t, "%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\n",
			m.Name(), m.API, m.ContextWindow, m.MaxOutput, inputs(m), prices(m.Pricing), efforts(m), cmp.Or(strings.Join(m.Aliases, ","), "-"))
	}
	return t.Flush()
}

func inputs(m *profile.Model) string {
	var words []string
	for _, kind := range m.Input {
		words = append(words, strings.ToLower(enumWord(kind)))
	}
	return strings.Join(words, ",")
}

// prices are in US dollars for a million tokens, as providers publish them.
func prices(p *llmdv1.Pricing) string {
	if p == nil {
		return "unknown"
	}
	const millionTokens = 1_000_000
	return dollars(p.GetInputPicoUsdPerToken()*millionTokens) + ", " + dollars(p.GetOutputPicoUsdPerToken()*millionTokens)
}

func efforts(m *profile.Model) string {
	if !m.Reasoning {
		return "-"
	}
	var words []string
	for _, e := range m.SupportedEfforts() {
		words = append(words, profile.EffortName(e))
	}
	return strings.Join(words, ",")
}

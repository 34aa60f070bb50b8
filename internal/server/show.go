package server

import (
	"net/url"

	"go.yaml.in/yaml/v3"

	"github.com/llmd-dev/llmd/internal/catalog"
)

// shownProvider is a provider as the admin pages show it: where it is and what it may
// do, and of credentials only where they come from.
type shownProvider struct {
	ID           string   `yaml:"id"`
	API          string   `yaml:"api"`
	BaseURL      string   `yaml:"base_url,omitempty"`
	Configured   bool     `yaml:"configured"`
	Missing      string   `yaml:"missing,omitempty"`
	Credentials  string   `yaml:"credentials"`
	Headers      []string `yaml:"headers,omitempty"`
	Proxy        string   `yaml:"proxy,omitempty"`
	ExtraCAs     bool     `yaml:"ca_file,omitempty"`
	TraceContext bool     `yaml:"trace_context,omitempty"`
	Unlisted     bool     `yaml:"allow_unlisted_models,omitempty"`
	Region       string   `yaml:"region,omitempty"`
	Project      string   `yaml:"project,omitempty"`
	Location     string   `yaml:"location,omitempty"`
}

// show is the configuration in force, in YAML.
func (a *App) show() ([]byte, error) {
	a.reloading.Lock()
	server := a.File.Server
	server.Auth, server.LogLevel = a.inForce.Auth, a.inForce.LogLevel
	a.reloading.Unlock()
	text, err := server.Show()
	if err != nil {
		return nil, err
	}
	var providers []shownProvider
	for _, p := range a.Catalog().Providers() {
		providers = append(providers, shownOf(p))
	}
	more, err := yaml.Marshal(struct {
		Providers []shownProvider `yaml:"providers"`
	}{providers})
	if err != nil {
		return nil, err
	}
	return append(text, more...), nil
}

func shownOf(p *catalog.Provider) shownProvider {
	s := shownProvider{
		ID: p.ID, API: p.API, BaseURL: shownURL(p.BaseURL), Configured: p.Configured, Missing: p.Missing,
		Credentials: p.CredentialsSource, Proxy: p.Network.Proxy.String(), ExtraCAs: p.Network.ExtraCAs != "",
		TraceContext: p.TraceContext, Unlisted: p.AllowUnlisted, Region: p.Region, Project: p.Project, Location: p.Location,
	}
	for _, h := range p.Headers {
		s.Headers = append(s.Headers, h.Name+": "+h.Value.String())
	}
	return s
}

// shownURL is a base URL without what may be a secret.
func shownURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "(not a URL)"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

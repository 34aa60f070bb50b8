package catalog_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/config"
)

// Whatever stands in a file, there is a catalogue, or mistakes with their lines.
func FuzzLoad(f *testing.F) {
	for _, text := range []string{
		"",
		"providers:\n  - {id: lab, api: openai-completions, base_url: 'http://h/v1', models: [{id: m, aliases: [a], efforts: {none: null}}]}\n",
		"providers:\n  - {id: azure, base_url: 'https://r.openai.azure.com/openai/', deployments: {gpt-5: mine}, api_version: preview}\n",
		"providers:\n  - {id: amazon-bedrock, region: cn-north-1, api_key: k}\n  - {id: google-vertex, project: p, location: eu}\n",
		"providers:\n  - {id: openai, api: anthropic-messages, auth: bearer, bearer_env: [A], headers: {authorization: x}}\n",
		"providers:\n  - {id: x}\n  - {id: y, api: faux}\n",
		"providers:\n  - {id: lab, api: mistral-conversations, base_url: http://h, proxy: 'socks5://u:p@h:1', timeouts: {connect: 1s, header: 1h}}\n",
		"providers:\n  - {id: groq, ca_file: /nowhere/ca, api_key_file: /nowhere/key, disabled: true}\n",
		"providers:\n  - {id: anthropic, models: [{id: claude-haiku-4-5, input: [image], pricing: {tiers: [{above: 1}]}, compat: {open_router_routing: {a: [1]}}}]}\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "_file") && strings.Contains(text, "/") && !strings.Contains(text, "/nowhere") {
			t.Skip("no files of this machine")
		}
		lookup := env("A", "key", "AWS_REGION", "r")
		file, err := config.Parse("f", []byte(text), lookup)
		if err == nil {
			var c *catalog.Catalog
			if c, err = catalog.Load(file, lookup); err == nil {
				useAll(t, file, c)
				return
			}
		}
		for _, mistake := range mistakes(err) {
			if e, ok := errors.AsType[*config.ParseError](mistake); !ok || e.Line < 1 || e.Problem == "" {
				t.Errorf("a mistake without a line: %v", mistake)
			}
		}
	})
}

func mistakes(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// useAll asks for everything that the file describes.
func useAll(t *testing.T, file *config.File, c *catalog.Catalog) {
	t.Helper()
	for i := range file.Providers {
		user := &file.Providers[i]
		p, ok := c.Provider(user.ID)
		if ok == user.Disabled {
			t.Errorf("%s: there %v, disabled %v", user.ID, ok, user.Disabled)
		}
		if !ok {
			continue
		}
		if p.Configured == (p.Missing != "") {
			t.Errorf("%s: configured %v, missing %q", p.ID, p.Configured, p.Missing)
		}
		for _, m := range c.Models(p.ID) {
			found, owner, err := c.Resolve(m.Name())
			if err != nil || found != m || owner != p {
				t.Errorf("%s: %v, %v", m.Name(), found, err)
			}
			catalog.ModelMessage(m)
		}
		for _, m := range user.Models {
			if _, _, err := c.Resolve(p.ID + "/" + m.ID); err != nil {
				t.Error(err)
			}
		}
		_, _, _ = c.Resolve(p.ID + "/what-ever")
	}
}

package config

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llmd-dev/llmd/adapters/profile"
	"github.com/llmd-dev/llmd/internal/near"
)

// APIs are the ids of the wire APIs that a provider can speak.
func APIs() []string {
	return []string{
		"anthropic-messages", "openai-completions", "openai-responses", "azure-openai-responses",
		"google-generative-ai", "google-vertex", "bedrock-converse-stream", "mistral-conversations", "faux",
	}
}

// Auths are the ways in which a provider's credentials are sent: by the header of
// that name, as "Authorization: Bearer", signed by AWS, with a token of Google or
// Azure, or not at all. "cf-aig-authorization" is Cloudflare's header and also a Bearer.
func Auths() []string {
	return []string{"bearer", "x-api-key", "api-key", "x-goog-api-key", "cf-aig-authorization", "aws", "google", "azure", "none"}
}

func providerKeys(p *Provider) []key {
	return slices.Concat(providerAccessKeys(p), providerNetworkKeys(p), providerPlaceKeys(p))
}

// providerAccessKeys are about reaching a host and what it serves.
func providerAccessKeys(p *Provider) []key {
	return []key{
		{
			name: "id", kind: "text", doc: "The part of a model's address before the slash. Required.",
			read: func(v value) { v.providerID(&p.ID) },
		},
		{
			name: "api", kind: "one of: " + strings.Join(APIs(), ", "), def: "the built-in provider's",
			doc:  "The wire API that the host speaks. Required for a provider that is not built in.",
			read: func(v value) { v.word(&p.API, APIs()...) },
		},
		{
			name: "base_url", kind: "URL", def: "the built-in provider's",
			doc:  "Where requests go. Required for a provider that is not built in.",
			read: func(v value) { v.url(&p.BaseURL) },
		},
		{
			name: "api_key", kind: "text", def: "the built-in provider's environment variable",
			doc:  "The key, best written as ${NAME}. none: the host wants no key.",
			read: func(v value) { v.secret(&p.APIKey) },
		},
		{
			name: "api_key_file", kind: "path", doc: "A file that holds the key, such as a mounted secret. It is read with the configuration.",
			read: func(v value) { v.text(&p.APIKeyFile) },
		},
		{
			name: "api_key_env", kind: "list of names", def: "the built-in provider's",
			doc:  "Environment variables that may hold the key; the first that is set wins, and none need be.",
			read: func(v value) { v.texts(&p.APIKeyEnv) },
		},
		{
			name: "bearer_env", kind: "list of names", def: "the built-in provider's",
			doc:  "Like api_key_env, asked first, for tokens that go as Authorization: Bearer whatever auth says.",
			read: func(v value) { v.texts(&p.BearerEnv) },
		},
		{
			name: "auth", kind: "one of: " + strings.Join(Auths(), ", "), def: "as the API's owner wants it",
			doc:  "How the key is sent; aws, google and azure take the cloud's default credentials where no key is given.",
			read: func(v value) { v.word(&p.Auth, Auths()...) },
		},
		{
			name: "headers", kind: "mapping of texts", doc: "Headers added to every request. They win over llmd's own.",
			read: func(v value) { v.headers(&p.Headers) },
		},
		{
			name: "compat", kind: "mapping of flags", def: "by API and host", doc: "What the host does otherwise than the API's owner.",
			read: func(v value) { v.compat(&p.Compat) },
		},
		{
			name: "models", kind: "list of mappings", doc: "Models of this provider: new ones, or changes to built-in ones.",
			read: func(v value) { v.models(&p.Models) }, below: func() []key { return modelKeys(&Model{}) },
		},
		{
			name: "allow_unlisted_models", kind: "true or false", def: "the built-in provider's, else false",
			doc: "Accept any model id, with default capabilities.",
			read: func(v value) {
				p.AllowUnlisted = new(bool)
				v.boolean(p.AllowUnlisted)
			},
		},
		{
			name: "display_name", kind: "text", doc: "A name for people.",
			read: func(v value) { v.text(&p.DisplayName) },
		},
		{
			name: "disabled", kind: "true or false", def: "false", doc: "Take the provider out.",
			read: func(v value) { v.boolean(&p.Disabled) },
		},
	}
}

// providerPlaceKeys are about clouds that serve a model in many places.
func providerPlaceKeys(p *Provider) []key {
	return []key{
		{
			name: "region", kind: "text", def: "AWS_REGION or AWS_DEFAULT_REGION", doc: "The AWS region of bedrock-converse-stream.",
			read: func(v value) { v.text(&p.Region) },
		},
		{
			name: "project", kind: "text", def: "GOOGLE_CLOUD_PROJECT", doc: "The Google Cloud project of google-vertex.",
			read: func(v value) { v.text(&p.Project) },
		},
		{
			name: "location", kind: "text", def: "GOOGLE_CLOUD_LOCATION or GOOGLE_CLOUD_REGION, else global",
			doc:  "The Google Cloud location of google-vertex.",
			read: func(v value) { v.text(&p.Location) },
		},
		{
			name: "deployments", kind: "mapping of texts", def: "the model's id",
			doc:  "Model ids and the names that the host is asked for instead, such as those of Azure deployments.",
			read: func(v value) { v.deployments(&p.Deployments) },
		},
		{
			name: "api_version", kind: "text", def: "AZURE_OPENAI_API_VERSION, else v1", doc: "Azure's api-version. It is sent where it is not v1.",
			read: func(v value) { v.text(&p.APIVersion) },
		},
		{
			name: "endpoint", kind: "text", doc: "Scopes signatures where endpoints do not accept each other's.",
			read: func(v value) { v.text(&p.Endpoint) },
		},
	}
}

// providers reads the list and refuses an id given twice.
func (v value) providers(target *[]Provider) {
	lines := map[string]int{}
	v.list(func(item value) {
		p := Provider{Line: item.node.Line}
		item.object(providerKeys(&p))
		if p.ID == "" {
			if item.node.Kind == yaml.MappingNode && !hasKey(item.node, "id") {
				item.bad("id is missing")
			}
			return
		}
		if line, ok := lines[p.ID]; ok {
			item.bad("provider %q is given twice; first in line %d", p.ID, line)
		}
		lines[p.ID] = p.Line
		if !p.APIKey.IsZero() && p.APIKeyFile != "" {
			item.bad("api_key and api_key_file exclude each other")
		}
		*target = append(*target, p)
	})
}

func hasKey(node *yaml.Node, name string) bool {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return true
		}
	}
	return false
}

// providerID reads an id that can stand in an address and in a metadata key.
func (v value) providerID(target *string) {
	var id string
	if !v.text(&id) {
		return
	}
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`).MatchString(id) {
		v.bad("must be at most 63 of a-z, 0-9, '.', '_' and '-', beginning with a letter or digit")
		return
	}
	*target = id
}

func (v value) secret(target *Secret) {
	var s string
	if v.text(&s) {
		*target = NewSecret(strings.TrimSpace(s))
	}
}

func (v value) compat(target *profile.Overlay) {
	for i := 0; v.node.Kind == yaml.MappingNode && i+1 < len(v.node.Content); i += 2 {
		name := v.node.Content[i]
		if flags := profile.CompatKeys(); !slices.Contains(flags, name.Value) {
			v.fail(name.Line, joinPath(v.path, name.Value), "unknown flag%s", near.Question(like(name.Value, flags)))
			return
		}
	}
	overlay, err := profile.ParseOverlay(v.node)
	v.profile(err)
	*target = overlay
}

// headers reads a mapping of header names to values, in the order written.
func (v value) headers(target *[]Header) {
	*target = nil
	v.mapping(func(name *yaml.Node, below value) {
		var s string
		if !regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$").MatchString(name.Value) {
			below.fail(name.Line, below.path, "is not the name of a header")
			return
		}
		canonical := http.CanonicalHeaderKey(name.Value)
		if slices.Contains([]string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Content-Encoding", "Accept-Encoding"}, canonical) {
			below.fail(name.Line, below.path, "this header is llmd's own business")
			return
		}
		if below.text(&s) {
			*target = append(*target, Header{Name: canonical, Value: NewSecret(s)})
		}
	})
}

func (v value) deployments(target *[]Deployment) {
	*target = nil
	v.mapping(func(model *yaml.Node, below value) {
		d := Deployment{Model: model.Value}
		if below.text(&d.Name) {
			*target = append(*target, d)
		}
	})
}

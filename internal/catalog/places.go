package catalog

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/llmd-dev/llmd/adapters/profile"
	"github.com/llmd-dev/llmd/internal/config"
)

// The APIs that are more than a base URL.
const (
	apiAnthropic = "anthropic-messages"
	apiMistral   = "mistral-conversations"
	apiAzure     = "azure-openai-responses"
	apiBedrock   = "bedrock-converse-stream"
	apiVertex    = "google-vertex"
	apiGemini    = "google-generative-ai"
	apiFaux      = "faux"
)

// places fills in where requests go. It returns what is missing for that, in
// words that say what to set.
func (e *entry) places(p *Provider, env config.Env) (missing []string) {
	builtin, user := part(e.builtin), part(e.user)
	p.BaseURL = user.BaseURL
	if p.BaseURL == "" {
		var unset []string
		p.BaseURL, unset = config.Expand(builtin.BaseURL, env)
		for _, name := range unset {
			missing = append(missing, "set "+name+" in the environment, or base_url in the configuration")
		}
		if len(unset) > 0 {
			p.BaseURL = ""
		}
	}
	switch p.API {
	case apiAnthropic:
		if e.onVertex() {
			p.Project = cmp.Or(user.Project, first(env, "ANTHROPIC_VERTEX_PROJECT_ID"), project(env))
			p.Location = cmp.Or(user.Location, first(env, "CLOUD_ML_REGION"), location(env))
			return append(missing, p.vertex("anthropic")...)
		}
		// The API's path begins with /v1; people paste the URL with it.
		p.BaseURL = strings.TrimSuffix(p.BaseURL, "/v1")
	case apiMistral:
		// Here the path begins after /v1; people leave it out.
		if p.BaseURL != "" && !strings.HasSuffix(p.BaseURL, "/v1") {
			p.BaseURL += "/v1"
		}
	case apiAzure:
		return append(missing, p.azure(env)...)
	case apiBedrock:
		p.Region = cmp.Or(user.Region, first(env, "AWS_REGION"), first(env, "AWS_DEFAULT_REGION"))
		return append(missing, p.bedrock()...)
	case apiVertex:
		p.Project, p.Location = cmp.Or(user.Project, project(env)), cmp.Or(user.Location, location(env))
		return append(missing, p.vertex("google")...)
	}
	return missing
}

// onVertex: the provider is Claude at Google Vertex AI.
func (e *entry) onVertex() bool {
	var c profile.Compat
	part(e.builtin).Compat.Apply(&c)
	part(e.user).Compat.Apply(&c)
	return c.MessagesDialect == "vertex"
}

// project and location are the variables of Google's own tools.
func project(env config.Env) string {
	return cmp.Or(first(env, "GOOGLE_CLOUD_PROJECT"), first(env, "GCLOUD_PROJECT"))
}

func location(env config.Env) string {
	return cmp.Or(first(env, "GOOGLE_CLOUD_LOCATION"), first(env, "GOOGLE_CLOUD_REGION"), "global")
}

// first is the value of a variable, empty if it is not set.
func first(env config.Env, name string) string {
	value, _ := env(name)
	return strings.TrimSpace(value)
}

// bedrock makes the regional URL.
// https://docs.aws.amazon.com/general/latest/gr/bedrock.html
func (p *Provider) bedrock() (missing []string) {
	if p.Region == "" {
		// A base URL of one's own needs no region to be reached, but the
		// signature does.
		return []string{"set AWS_REGION in the environment, or region in the configuration"}
	}
	if p.BaseURL == "" {
		domain := ".amazonaws.com"
		if strings.HasPrefix(p.Region, "cn-") {
			domain += ".cn"
		}
		p.BaseURL = "https://bedrock-runtime." + p.Region + domain
	}
	return nil
}

// vertex makes the URL below which a publisher's models are in a project. The adapter
// appends /models/ID:method, as it does for Gemini.
// https://cloud.google.com/vertex-ai/generative-ai/docs/learn/locations
func (p *Provider) vertex(publisher string) (missing []string) {
	if strings.Contains(p.BaseURL, "/publishers/") {
		return nil // complete as it is
	}
	if p.Project == "" {
		p.BaseURL = ""
		return []string{"set GOOGLE_CLOUD_PROJECT in the environment, or project in the configuration"}
	}
	host := p.BaseURL
	if host == "" {
		host = "https://" + vertexHost(p.Location)
	}
	if u, err := url.Parse(host); err == nil && !strings.Contains(u.Path, "/v1") {
		host += "/v1"
	}
	p.BaseURL = host + "/projects/" + url.PathEscape(p.Project) + "/locations/" + url.PathEscape(p.Location) + "/publishers/" + publisher
	return nil
}

func vertexHost(location string) string {
	switch location {
	case "global":
		return "aiplatform.googleapis.com"
	case "us", "eu": // multi-regions
		return "aiplatform." + location + ".rep.googleapis.com"
	}
	return location + "-aiplatform.googleapis.com"
}

// azure finds the resource and brings the URL into the form that the v1 API has.
// https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
func (p *Provider) azure(env config.Env) (missing []string) {
	p.BaseURL = cmp.Or(p.BaseURL, first(env, "AZURE_OPENAI_BASE_URL"), first(env, "AZURE_OPENAI_ENDPOINT"))
	if resource := first(env, "AZURE_OPENAI_RESOURCE_NAME"); p.BaseURL == "" && resource != "" {
		p.BaseURL = "https://" + resource + ".openai.azure.com"
	}
	if p.APIVersion == "" || p.APIVersion == "v1" {
		p.APIVersion = cmp.Or(first(env, "AZURE_OPENAI_API_VERSION"), "v1")
	}
	for pair := range strings.SplitSeq(first(env, "AZURE_OPENAI_DEPLOYMENT_NAME_MAP"), ",") {
		model, name, _ := strings.Cut(pair, "=")
		if model, name = strings.TrimSpace(model), strings.TrimSpace(name); model != "" && name != "" {
			p.deployments = append(p.deployments, config.Deployment{Model: model, Name: name})
		}
	}
	u, err := url.Parse(p.BaseURL)
	if p.BaseURL == "" || err != nil || u.Host == "" {
		p.BaseURL = ""
		return []string{"set AZURE_OPENAI_BASE_URL or AZURE_OPENAI_RESOURCE_NAME in the environment, or base_url in the configuration"}
	}
	u.RawQuery, u.Fragment = "", ""
	u.Path = strings.TrimRight(u.Path, "/")
	switch u.Path {
	case "", "/openai", "/openai/v1/responses":
		if underDomain(u.Hostname(), "openai.azure.com", "cognitiveservices.azure.com", "ai.azure.com") {
			u.Path = "/openai/v1"
		}
	}
	p.BaseURL = u.String()
	return nil
}

// underDomain: the host is one of the domains, or a name below one.
func underDomain(host string, domains ...string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, d := range domains {
		if host == d || strings.HasSuffix(host, "."+d) {
			return true
		}
	}
	return false
}

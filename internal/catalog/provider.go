package catalog

import (
	"time"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/config"
)

// Auth is how a provider's credentials are sent.
type Auth string

// The ways there are. The header names carry the key as it is.
const (
	AuthBearer        Auth = "bearer"               // Authorization: Bearer KEY
	AuthXAPIKey       Auth = "x-api-key"            // Anthropic
	AuthAPIKey        Auth = "api-key"              // Azure
	AuthGoogleAPIKey  Auth = "x-goog-api-key"       // Gemini
	AuthCloudflareAIG Auth = "cf-aig-authorization" // Cloudflare's gateway: Bearer KEY in a header of its own
	AuthAWS           Auth = "aws"                  // signature version 4 by the AWS default chain
	AuthGoogle        Auth = "google"               // a token of the Google application default credentials
	AuthAzure         Auth = "azure"                // a token of the Azure default credentials
	AuthNone          Auth = "none"
)

// NotNeeded is the source of the credentials of a provider that wants none.
const NotNeeded = "not needed"

// Provider is a host that serves models, ready to be asked. It never changes.
type Provider struct {
	// ID is the part of a model's address before the slash.
	ID string
	// API is the wire API spoken by default; a model may have another.
	API string
	// DisplayName is for people.
	DisplayName string
	// BaseURL is where requests go, without a trailing slash. It is empty where
	// what it is made of is missing.
	BaseURL string
	// Headers are added to every request, in this order, over llmd's own; of two
	// with one name the later holds.
	Headers []config.Header
	// Auth is how Key is sent.
	Auth Auth
	// Key is the API key or bearer token; zero for AuthAWS, AuthGoogle, AuthAzure
	// and AuthNone.
	Key config.Secret
	// Region is for bedrock-converse-stream; Project and Location are for
	// google-vertex.
	Region, Project, Location string
	// APIVersion is Azure's api-version. It is sent where it is not "v1".
	APIVersion string
	// Network is how the host is reached.
	Network Network
	// TraceContext: the trace context of a request goes along.
	TraceContext bool
	// AllowUnlisted: any model id is accepted.
	AllowUnlisted bool
	// Configured: requests can be sent.
	Configured bool
	// CredentialsSource says where the credentials come from, for people, such as
	// "environment OPENAI_API_KEY"; "none" if there are none, [NotNeeded] if there
	// need not be any.
	CredentialsSource string
	// Missing says what to do when Configured is false.
	Missing string
	// Builtin: the provider is known without a configuration.
	Builtin bool

	headerTimeout time.Duration
	deployments   []config.Deployment
	list          func() *modelList
}

// Network is how a host is reached. Zero values are the usual way.
type Network struct {
	// Proxy is a proxy's URL or [config.NoProxy].
	Proxy config.Secret
	// ExtraCAs are PEM certificates that are trusted besides the system's.
	ExtraCAs string
	// ConnectTimeout bounds each step of making a connection.
	ConnectTimeout time.Duration
}

// HostID implements [profile.Host].
func (p *Provider) HostID() string { return p.ID }

// Deployment is the name by which the host knows a model: the configured one, or
// the model's id.
func (p *Provider) Deployment(model string) string {
	for _, d := range p.deployments {
		if d.Model == model {
			return d.Name
		}
	}
	return model
}

// wireModel is the configured name of a model at the host; empty = its id.
func (p *Provider) wireModel(model string) string {
	if name := p.Deployment(model); name != model {
		return name
	}
	return ""
}

// Message describes the provider to callers. Credentials are not in it.
func (p *Provider) Message() *llmdv1.Provider {
	return &llmdv1.Provider{
		Id:                  p.ID,
		Api:                 p.API,
		DisplayName:         p.DisplayName,
		BaseUrl:             p.BaseURL,
		Configured:          p.Configured,
		CredentialsSource:   p.CredentialsSource,
		Missing:             p.Missing,
		AllowUnlistedModels: p.AllowUnlisted,
	}
}

// ModelMessage describes a model to callers.
func ModelMessage(m *profile.Model) *llmdv1.Model {
	capabilities := &llmdv1.Capabilities{
		Tools:         true,
		ParallelTools: true,
		// On Bedrock the models that hold to the schemas of tools hold to one of the
		// answer, too. https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html
		JsonSchema: m.Compat.SupportsJSONSchema && (m.API != "bedrock-converse-stream" || m.Compat.SupportsStrictMode),
		Images:     m.TakesImages(),
		Signatures: m.Reasoning && m.API != "openai-completions",
	}
	if m.Reasoning {
		capabilities.ReasoningEfforts = m.SupportedEfforts()
	}
	return &llmdv1.Model{
		Name:                "providers/" + m.Provider + "/models/" + m.ID,
		Id:                  m.ID,
		Provider:            m.Provider,
		Api:                 m.API,
		DisplayName:         m.DisplayName,
		InputModalities:     m.Input,
		OutputModalities:    []llmdv1.Modality{llmdv1.Modality_MODALITY_TEXT},
		ContextWindowTokens: m.ContextWindow,
		MaxOutputTokens:     m.MaxOutput,
		Pricing:             m.Pricing,
		Capabilities:        capabilities,
		Aliases:             m.Aliases,
		Source:              m.Source,
	}
}

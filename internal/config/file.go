package config

import (
	"crypto/sha256"
	"slices"
	"time"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// File is a whole configuration.
type File struct {
	// Path is where it was read; empty if there was no file.
	Path string
	// Digest is the SHA-256 of what [Load] read there, to tell a changed file.
	Digest [sha256.Size]byte
	// Server is how llmd itself listens and behaves.
	Server Server
	// ListenByEnv: the addresses are those of $LLMD_LISTEN.
	ListenByEnv bool
	// Providers are in the order written. A built-in provider is named here only
	// to change it.
	Providers []Provider
}

// Server is how llmd listens and behaves.
type Server struct {
	// Listen has at least one address.
	Listen []Address
	// MaxReceiveBytes is the largest request.
	MaxReceiveBytes int
	// MaxConcurrentStreams is per connection.
	MaxConcurrentStreams uint32
	// MaxConnectionAge is when a connection is told to go away; 0 = half an hour where
	// other machines can reach llmd, else never; negative = never.
	MaxConnectionAge time.Duration
	// DrainTimeout is how long llmd may take to end after SIGTERM.
	DrainTimeout time.Duration
	// Reflection is "auto", "on" or "off"; see [Server.ReflectionOn].
	Reflection string
	// PartialStore: finished responses are kept for GetResponse and replay.
	PartialStore bool
	// Responses says where running and recent responses are known.
	Responses Responses
	// Instance names this process in events and logs.
	Instance string
	// TLS protects TCP addresses.
	TLS TLS
	// Auth says who may call.
	Auth Auth
	// Web is about browsers and HTTP without gRPC.
	Web Web
	// AllowInsecure: other machines are let in without TLS and authentication.
	AllowInsecure bool
	// Limits bound what is taken on.
	Limits Limits
	// CallerKeys says whether callers may bring their own provider keys.
	CallerKeys CallerKeys
	// Images is about images that come by URL.
	Images Images
	// Admin is the listener for operators.
	Admin Admin
	// Telemetry is what metrics, traces and events are made of.
	Telemetry Telemetry
	// LogFormat is "text" or "json".
	LogFormat string
	// LogLevel is "debug", "info", "warn" or "error".
	LogLevel string
}

// CallerKeys is about provider keys that come with a request, in the metadata
// llmd-provider-key-<provider id>.
type CallerKeys struct {
	// Allow accepts them.
	Allow bool
}

// Addresses are all that llmd listens on.
func (s Server) Addresses() []Address { return slices.Concat(s.Listen, s.Web.Listen) }

// ReflectionOn says whether gRPC server reflection is offered: "auto" offers it
// where only this machine can ask.
func (s Server) ReflectionOn() bool {
	if s.Reflection != "auto" {
		return s.Reflection == "on"
	}
	for _, a := range s.Addresses() {
		if !a.Local() {
			return false
		}
	}
	return true
}

// Provider is one entry of "providers". Zero values are keys that were not
// written.
type Provider struct {
	// Line is where the entry begins.
	Line int
	// ID is the part of a model's address before the slash.
	ID string
	// API is the wire API's id.
	API string
	// DisplayName is for people.
	DisplayName string
	// BaseURL has no trailing slash.
	BaseURL string
	// APIKey is the key itself; APIKeyFile names a file that holds it.
	APIKey     Secret
	APIKeyFile string
	// APIKeyEnv and BearerEnv are environment variables that may hold the key,
	// the first that is set wins. Those of BearerEnv are asked first, and are
	// sent as "Authorization: Bearer".
	APIKeyEnv, BearerEnv []string
	// Auth is how the key is sent; empty = as the API's owner wants it.
	Auth string
	// Headers are added to every request, in the order written.
	Headers []Header
	// Proxy is the URL of the proxy to the host, which may hold a password, or
	// [NoProxy].
	Proxy Secret
	// CAFile names a file of PEM certificates that are trusted besides the system's.
	CAFile string
	// TraceContext sends the trace context of a request along.
	TraceContext bool
	// Timeouts bound what comes before the first byte.
	Timeouts Timeouts
	// Compat is what the host does otherwise.
	Compat profile.Overlay
	// Models are new models, or changes to built-in ones.
	Models []Model
	// AllowUnlisted: any model id is accepted. Nil = not written.
	AllowUnlisted *bool
	// Region is Bedrock's; Project and Location are Vertex AI's.
	Region, Project, Location string
	// Deployments maps model ids to the names by which the host knows them.
	Deployments []Deployment
	// APIVersion is Azure's "api-version".
	APIVersion string
	// Endpoint scopes signatures where one provider id has several endpoints
	// that do not accept each other's.
	Endpoint string
	// Disabled takes the provider out.
	Disabled bool
}

// Header is one HTTP header of a provider. Its value may be a credential.
type Header struct {
	Name  string
	Value Secret
}

// Deployment is the name of a model's deployment at Azure.
type Deployment struct{ Model, Name string }

// Model is one entry of "models". Zero values are keys that were not written.
type Model struct {
	// Line is where the entry begins.
	Line int
	// ID is the model's id at the provider; it may hold slashes.
	ID string
	// API is the wire API, where it is not the provider's.
	API string
	// DisplayName is for people.
	DisplayName string
	// Aliases are other names.
	Aliases []string
	// Reasoning: the model can think. Nil = not written.
	Reasoning *bool
	// Efforts says which efforts the model has, and its words for them.
	Efforts profile.Efforts
	// Input are the kinds of content it takes.
	Input []llmdv1.Modality
	// ContextWindow and MaxOutput are in tokens.
	ContextWindow, MaxOutput int32
	// Pricing is exact: pico US dollars a token.
	Pricing *llmdv1.Pricing
	// Compat is what this model does otherwise.
	Compat profile.Overlay
}

// Default is the configuration without a file.
func Default() *File {
	return &File{Server: Server{
		Listen:               []Address{{Network: "tcp", Address: "127.0.0.1:50051"}},
		MaxReceiveBytes:      64 << 20,
		MaxConcurrentStreams: 1000,
		DrainTimeout:         30 * time.Second,
		Reflection:           "auto",
		PartialStore:         true,
		Responses:            defaultResponses(),
		Auth:                 Auth{UnixSocket: "open"},
		Limits:               Limits{RequestBytes: 1 << 30},
		Telemetry:            Telemetry{GenAI: "v0.1"},
		LogFormat:            "text",
		LogLevel:             "info",
	}}
}

package config_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/config"
)

func env(pairs ...string) config.Env {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func parse(t *testing.T, text string, pairs ...string) *config.File {
	t.Helper()
	f, err := config.Parse("llmd.yaml", []byte(text), env(pairs...))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The form that the conformance tool writes: texts as JSON strings, models in
// flow style, ids that llmd does not know.
func TestParseConformance(t *testing.T) {
	f := parse(t, `server:
  listen: ["tcp://127.0.0.1:40123"]
providers:
  - id: "openai-compatible"
    api: "openai-completions"
    base_url: "http://127.0.0.1:40124/p/openai-compatible/v1"
    api_key: "conformance-key-openai-compatible"
    allow_unlisted_models: true
    compat: {max_tokens_field: "max_completion_tokens", supports_strict_mode: false}
    models:
      - {id: "demo-model", reasoning: true, input: [text, image], context_window_tokens: 200000, max_output_tokens: 32000}
  - id: "amazon-bedrock"
    api: "bedrock-converse-stream"
    base_url: "http://127.0.0.1:40124/p/aws-bedrock"
    allow_unlisted_models: true
`)
	if got := f.Server.Listen; len(got) != 1 || got[0].Network != "tcp" || got[0].Address != "127.0.0.1:40123" {
		t.Errorf("listen = %v", got)
	}
	if len(f.Providers) != 2 {
		t.Fatalf("%d providers", len(f.Providers))
	}
	p := f.Providers[0]
	if p.ID != "openai-compatible" || p.API != "openai-completions" || p.BaseURL != "http://127.0.0.1:40124/p/openai-compatible/v1" ||
		p.APIKey.Reveal() != "conformance-key-openai-compatible" || p.AllowUnlisted == nil || !*p.AllowUnlisted || p.Line != 4 {
		t.Errorf("provider = %+v", p)
	}
	c := profile.Compat{SupportsStrictMode: true, SupportsStore: true}
	p.Compat.Apply(&c)
	if c.SupportsStrictMode || c.MaxTokensField != "max_completion_tokens" || !c.SupportsStore {
		t.Errorf("compat = %+v", c)
	}
	yes := true
	want := []config.Model{{
		Line: 11, ID: "demo-model", Reasoning: &yes,
		Input:         []llmdv1.Modality{llmdv1.Modality_MODALITY_TEXT, llmdv1.Modality_MODALITY_IMAGE},
		ContextWindow: 200000, MaxOutput: 32000,
	}}
	if diff := cmp.Diff(want, p.Models, cmpopts.IgnoreFields(config.Model{}, "Compat")); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
}

// everyKey names every key there is; TestKeysAreDocumented holds it to that.
const everyKey = `
server:
  listen: [tcp://127.0.0.1:50051, unix:///run/llmd/llmd.sock]
  max_receive_bytes: 16 MiB
  max_concurrent_streams: 10
  max_connection_age: 5m
  drain_timeout: 5s
  reflection: off
  partial_store: off
  instance: llmd-1
  caller_keys: {allow: true}
  images: {allow_hosts: [files.lab, 10.1.0.0/16], disabled: true}
  admin: {listen: 'tcp://127.0.0.1:50052', allow_insecure: true, allowed_hosts: [llmd.lab], pprof: true, channelz: true}
  telemetry: {gen_ai: both, callers: true}
  log_format: json
  log_level: debug
  tls: {cert_file: /c/tls.crt, key_file: /c/tls.key, client_ca_file: /c/ca.crt, require_client_cert: true}
  auth:
    tokens: [{name: app, sha256: 2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b, models: [lab/*], providers: [lab], limits: {burst: 3}}]
    mtls: [{name: batch, uri_san: "spiffe://example.test/batch", limits: {requests_per_second: 0.5}}, {name: ops, common_name: ops}]
    unix_users: [{name: local, uid: 1000, models: [lab/*]}]
    unix_socket: required
  web: {listen: [tcp://127.0.0.1:50080], allowed_origins: ["https://app.example.com", "http://localhost:5173"], allowed_hosts: [llmd.example.com]}
  allow_insecure: true
  responses:
    store: memory
    max_detached: 1m
    max_response_bytes: 2 MiB
    max_bytes: 1 GiB
    encryption_keys: [{id: new, key: "${LAB_32}"}, {id: old, key_file: /k/old}]
    redis:
      addresses: [r1.lab:26379, "[::1]:26379", unix:///run/redis.sock]
      cluster: false
      sentinel_master: lab
      username: llmd
      password: p-${LAB}
      sentinel_username: s
      sentinel_password: q-${LAB}
      database: 3
      prefix: lab
      tls: {enabled: false, ca_file: /r/ca, cert_file: /r/c, key_file: /r/k, server_name: redis.lab}
      timeout: 1s
      lease: 5s
      flush_interval: 20ms
      # password_file: excludes password
  limits: {concurrent_calls: 100, request_bytes: 2 GiB, per_caller: {concurrent_calls: 10, requests_per_second: 5, burst: 20}}
providers:
  - id: lab
    api: openai-completions
    base_url: https://llm.example.test/v1/
    api_key: key-${LAB}
    api_key_env: [LAB_KEY, LAB_KEY_2]
    bearer_env: [LAB_TOKEN]
    auth: bearer
    headers: {x-b: two, X-A: "${LAB}"}
    compat: {thinking_format: qwen}
    proxy: http://me:${LAB}@proxy.example.test:3128
    ca_file: /etc/llmd/ca.pem
    timeouts: {connect: 3s, header: 10m}
    trace_context: true
    allow_unlisted_models: false
    display_name: The lab
    disabled: true
    region: eu-west-1
    project: p
    location: global
    deployments: {gpt-5: my-gpt, gpt-4.1: other}
    api_version: v1
    endpoint: east
    models:
      - id: org/m1
        api: openai-responses
        display_name: M1
        aliases: [m1, one]
        reasoning: true
        efforts: {none: null, low: small, max: max}
        input: [text]
        context_window_tokens: 1000
        max_output_tokens: 100
        pricing:
          input: 3
          cache_read: 0.3
          cache_write: 3.75
          output: "15"
          tiers:
            - {above: 200000, input: 6, cache_read: 0.000001, cache_write: 7.5, output: 22.5}
        compat: {supports_store: false}
  - id: filed
    api_key_file: /run/secrets/key
`

func TestParseEveryKey(t *testing.T) {
	f := parse(t, everyKey, "LAB", "secret-1", "LAB_32", strings.Repeat("ab", 32))
	server := config.Server{
		Listen:          []config.Address{{Network: "tcp", Address: "127.0.0.1:50051"}, {Network: "unix", Address: "/run/llmd/llmd.sock"}},
		MaxReceiveBytes: 16 << 20, MaxConcurrentStreams: 10, MaxConnectionAge: 5 * time.Minute, DrainTimeout: 5 * time.Second, Reflection: "off",
		Instance: "llmd-1", CallerKeys: config.CallerKeys{Allow: true}, LogLevel: "debug",
		Images: config.Images{AllowHosts: []string{"files.lab", "10.1.0.0/16"}, Disabled: true},
		Responses: config.Responses{
			Store: "memory", MaxDetached: time.Minute, MaxResponseBytes: 2 << 20, MaxBytes: 1 << 30,
			EncryptionKeys: []config.EncryptionKey{{ID: "new", Key: config.NewSecret(strings.Repeat("ab", 32))}, {ID: "old", KeyFile: "/k/old"}},
			Redis: config.Redis{
				Addresses: []string{"r1.lab:26379", "[::1]:26379", "unix:///run/redis.sock"}, SentinelMaster: "lab",
				Username: "llmd", Password: config.NewSecret("p-secret-1"), SentinelUsername: "s", SentinelPassword: config.NewSecret("q-secret-1"),
				Database: 3, Prefix: "lab", Timeout: time.Second, Lease: 5 * time.Second, FlushInterval: 20 * time.Millisecond,
				TLS: config.RedisTLS{CAFile: "/r/ca", CertFile: "/r/c", KeyFile: "/r/k", ServerName: "redis.lab"},
			},
		},
		Admin: config.Admin{
			Listen: config.Address{Network: "tcp", Address: "127.0.0.1:50052"}, AllowInsecure: true, AllowedHosts: []string{"llmd.lab"}, Pprof: true, Channelz: true,
		},
		Telemetry: config.Telemetry{GenAI: "both", Callers: true}, LogFormat: "json",
		Web: config.Web{
			Listen:         []config.Address{{Network: "tcp", Address: "127.0.0.1:50080"}},
			AllowedOrigins: []string{"https://app.example.com", "http://localhost:5173"}, AllowedHosts: []string{"llmd.example.com"},
		},
	}
	// The rest of it is TestSecurity's.
	if diff := cmp.Diff(server, f.Server, cmpopts.IgnoreFields(config.Server{}, "TLS", "Auth", "AllowInsecure", "Limits")); diff != "" {
		t.Errorf("server (-want +got):\n%s", diff)
	}
	p := f.Providers[0]
	if p.BaseURL != "https://llm.example.test/v1" || p.APIKey.Reveal() != "key-secret-1" || p.DisplayName != "The lab" || !p.Disabled || !p.TraceContext ||
		p.Region != "eu-west-1" || p.Project != "p" || p.Location != "global" || p.APIVersion != "v1" || p.Endpoint != "east" || p.Auth != "bearer" {
		t.Errorf("provider = %+v", p)
	}
	if p.Proxy.Reveal() != "http://me:secret-1@proxy.example.test:3128" || p.CAFile != "/etc/llmd/ca.pem" ||
		p.Timeouts != (config.Timeouts{Connect: 3 * time.Second, Header: 10 * time.Minute}) {
		t.Errorf("provider's network = %+v", p)
	}
	if len(p.Headers) != 2 || p.Headers[0].Name != "X-B" || p.Headers[1].Name != "X-A" || p.Headers[1].Value.Reveal() != "secret-1" {
		t.Errorf("headers lost their order or value: %+v", p.Headers)
	}
	if diff := cmp.Diff([]config.Deployment{{Model: "gpt-5", Name: "my-gpt"}, {Model: "gpt-4.1", Name: "other"}}, p.Deployments); diff != "" {
		t.Errorf("deployments (-want +got):\n%s", diff)
	}
	m := p.Models[0]
	if diff := cmp.Diff(profile.Efforts{
		llmdv1.ReasoningEffort_REASONING_EFFORT_NONE: {Unsupported: true},
		llmdv1.ReasoningEffort_REASONING_EFFORT_LOW:  {Word: "small"},
		llmdv1.ReasoningEffort_REASONING_EFFORT_MAX:  {Word: "max"},
	}, m.Efforts); diff != "" {
		t.Errorf("efforts (-want +got):\n%s", diff)
	}
	pricing := &llmdv1.Pricing{
		InputPicoUsdPerToken: 3_000_000, CacheReadPicoUsdPerToken: 300_000, CacheWritePicoUsdPerToken: 3_750_000, OutputPicoUsdPerToken: 15_000_000,
		Tiers: []*llmdv1.PricingTier{{
			ThresholdTokens: 200000, InputPicoUsdPerToken: 6_000_000, CacheReadPicoUsdPerToken: 1,
			CacheWritePicoUsdPerToken: 7_500_000, OutputPicoUsdPerToken: 22_500_000,
		}},
	}
	if diff := cmp.Diff(pricing, m.Pricing, protocmp.Transform()); diff != "" {
		t.Errorf("pricing (-want +got):\n%s", diff)
	}
}

func TestKeysAreDocumented(t *testing.T) {
	for _, k := range config.Keys() {
		if k.Type == "" {
			t.Errorf("%s has no type", k.Path)
		}
		if strings.Contains(k.Path, ".compat.") {
			continue
		}
		if k.Doc == "" {
			t.Errorf("%s has no documentation", k.Path)
		}
		last := k.Path[strings.LastIndex(k.Path, ".")+1:]
		if !strings.Contains(everyKey, last+":") {
			t.Errorf("the test file does not use %s", k.Path)
		}
	}
}

// What the documentation calls a default is what holds.
func TestDefaults(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "server: {}\n", "providers: []\n"} {
		f := parse(t, text)
		want := config.Default()
		want.Path = "llmd.yaml"
		if diff := cmp.Diff(want, f, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	s := config.Default().Server
	if s.Listen[0].String() != "tcp://127.0.0.1:50051" || s.MaxReceiveBytes != 64<<20 || s.MaxConcurrentStreams != 1000 ||
		s.DrainTimeout != 30*time.Second || s.Reflection != "auto" || !s.PartialStore || s.CallerKeys.Allow || s.LogLevel != "info" {
		t.Errorf("defaults = %+v", s)
	}
}

func TestReflection(t *testing.T) {
	for _, tt := range []struct {
		listen, reflection string
		want               bool
	}{
		{"tcp://127.0.0.1:1", "auto", true},
		{"tcp://[::1]:1", "auto", true},
		{"unix:///s", "auto", true},
		{"tcp://0.0.0.0:1", "auto", false},
		{"tcp://localhost:1", "auto", true},
		{"tcp://example.test:1", "auto", false},
		{"tcp://0.0.0.0:1", "on", true},
		{"tcp://127.0.0.1:1", "off", false},
	} {
		f := parse(t, "server: {listen: ['"+tt.listen+"'], reflection: "+tt.reflection+"}\n")
		if got := f.Server.ReflectionOn(); got != tt.want {
			t.Errorf("%s with %s: %t", tt.listen, tt.reflection, got)
		}
	}
}

// All mistakes are reported at once, in the order of their lines.
func TestAllMistakesAreReported(t *testing.T) {
	_, err := config.Parse("f", []byte("server:\n  log_level: loud\n  colour: red\nproviders:\n  - id: A\n"), env())
	var first *config.ParseError
	if !errors.As(err, &first) || first.Line != 2 || first.Key != "server.log_level" {
		t.Errorf("first = %+v", first)
	}
	if got := strings.Count(err.Error(), "\n"); got != 2 {
		t.Errorf("want three lines:\n%v", err)
	}
}

// The range of a key, which the documentation shows, is what its reader takes: the ends
// are taken, and what lies beyond is not.
func TestRanges(t *testing.T) {
	for path, want := range map[string]string{
		"server.max_receive_bytes":                     "from 64 KiB to 2147483647",
		"server.max_connection_age":                    "from 1m to 24h",
		"server.drain_timeout":                         "from 0s to 1h",
		"server.limits.concurrent_calls":               "at least 1",
		"server.responses.redis.timeout":               "from 10ms to 30s",
		"server.auth.tokens[].limits.burst":            "at least 1",
		"server.limits.per_caller.requests_per_second": "from 0.001 to 1000000",
		"providers[].models[].pricing.input":           "from 0 to 1000000",
		"server.listen":                                "",
	} {
		keys := config.Keys()
		i := slices.IndexFunc(keys, func(k config.Key) bool { return k.Path == path })
		if i < 0 || keys[i].Range.String() != want {
			t.Errorf("%s: %v, want %q", path, i, want)
		}
	}
	for text, ok := range map[string]bool{
		"server: {drain_timeout: 0s}": true, "server: {drain_timeout: 1h}": true, "server: {drain_timeout: 3601s}": false,
		"server: {max_receive_bytes: 64 KiB}": true, "server: {max_receive_bytes: 2147483647}": true, "server: {max_receive_bytes: 65535}": false, "server: {max_receive_bytes: 2 GiB}": false,
		"server: {limits: {request_bytes: -17179869183 GiB}}": false,
		"server: {responses: {redis: {database: 65536}}}":     true, "server: {responses: {redis: {database: 65537}}}": false,
	} {
		if _, err := config.Parse("f", []byte(text), func(string) (string, bool) { return "", false }); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

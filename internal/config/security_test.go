package config_test

import (
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmd-dev/llmd/internal/config"
)

func TestSecurity(t *testing.T) {
	s := parse(t, everyKey, "LAB", "l", "LAB_32", strings.Repeat("ab", 32)).Server
	if diff := cmp.Diff(config.TLS{CertFile: "/c/tls.crt", KeyFile: "/c/tls.key", ClientCAFile: "/c/ca.crt", RequireClientCert: true}, s.TLS); diff != "" {
		t.Error(diff)
	}
	want := config.Auth{
		Tokens: []config.Token{{
			// As sha256sum says of it.
			SHA256: sha256.Sum256([]byte("secret")),
			Grants: config.Grants{Name: "app", Models: []string{"lab/*"}, Providers: []string{"lab"}, Limits: config.CallerLimits{Burst: 3}},
		}},
		MTLS: []config.Identity{
			{Grants: config.Grants{Name: "batch", Limits: config.CallerLimits{RequestsPerSecond: 0.5}}, URISAN: "spiffe://example.test/batch"},
			{Grants: config.Grants{Name: "ops"}, CommonName: "ops"},
		},
		UnixUsers:  []config.UnixUser{{Grants: config.Grants{Name: "local", Models: []string{"lab/*"}}, UID: 1000}},
		UnixSocket: "required",
	}
	if diff := cmp.Diff(want, s.Auth); diff != "" {
		t.Error(diff)
	}
	limits := config.Limits{ConcurrentCalls: 100, RequestBytes: 2 << 30, PerCaller: config.CallerLimits{ConcurrentCalls: 10, RequestsPerSecond: 5, Burst: 20}}
	if diff := cmp.Diff(limits, s.Limits); diff != "" {
		t.Error(diff)
	}
}

// Other machines are let in by TLS and authentication together, or in plain words.
func TestExposed(t *testing.T) {
	const (
		public = "  listen: [tcp://127.0.0.1:1, tcp://0.0.0.0:50051]\n"
		cert   = "  tls: {cert_file: /c, key_file: /k}\n"
		token  = "  auth: {tokens: [{name: app, sha256: 2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b}]}\n"
	)
	for _, c := range []struct{ text, says string }{
		{public, "set server.tls and server.auth, or server.allow_insecure: true"},
		{public + cert, "set server.auth, or"},
		{public + token, "set server.tls, or"},
		{public + cert + token, ""},
		{public + "  allow_insecure: true\n", ""},
		{"  listen: ['tcp://[::]:1']\n", "tcp://[::]:1"},
		{"  listen: ['tcp://llm.example.test:1']\n", "tcp://llm.example.test:1"},
		{"  web: {listen: [tcp://127.0.0.1:1, tcp://0.0.0.0:2]}\n", "tcp://0.0.0.0:2"},
		{"  web: {listen: [tcp://0.0.0.0:2]}\n" + cert + token, ""},
		{"  listen: [tcp://localhost:1, 'tcp://[::1]:1', unix:///s]\n", ""},
	} {
		err := parse(t, "server:\n"+c.text).Exposed()
		var p *config.ParseError
		if c.says == "" && err != nil || c.says != "" && (!errors.As(err, &p) || p.Key != "server.listen" && p.Key != "server.web.listen" || !strings.Contains(p.Problem, c.says)) {
			t.Errorf("%s: %v", c.text, err)
		}
	}
	file, err := config.Load("", env("LLMD_LISTEN", "tcp://0.0.0.0:1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Exposed(); err == nil || !strings.HasPrefix(err.Error(), "environment: LLMD_LISTEN: other machines") {
		t.Errorf("by the environment: %v", err)
	}
}

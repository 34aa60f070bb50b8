package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmd-dev/llmd/internal/config"
)

func TestExpand(t *testing.T) {
	e := env("A", "1", "LONG_NAME_2", "two", "EMPTY", "")
	for _, tt := range []struct {
		text, want string
		unset      []string
	}{
		{"plain", "plain", nil},
		{"$A and $", "$A and $", nil},
		{"${A}", "1", nil},
		{"x${A}y${LONG_NAME_2}z", "x1ytwoz", nil},
		{"$${A}", "${A}", nil},
		{"$${A}${A}", "${A}1", nil},
		{"${B}${A}${C}", "${B}1${C}", []string{"B", "C"}},
		{"${EMPTY}", "${EMPTY}", []string{"EMPTY"}},
		{"${", "${", []string{""}},
		{"${}", "${}", []string{""}},
		{"${2A}", "${2A}", []string{""}},
		{"${A-B}${A}", "${A-B}1", []string{""}},
	} {
		got, unset := config.Expand(tt.text, e)
		if got != tt.want || !cmp.Equal(unset, tt.unset) {
			t.Errorf("%q: %q %q, want %q %q", tt.text, got, unset, tt.want, tt.unset)
		}
	}
}

// What a variable holds is text, never more YAML.
func TestExpandedTextIsNotYAML(t *testing.T) {
	f := parse(t, "providers:\n  - id: a\n    api_key: ${K}\n", "K", "]} a: b # 'c")
	if got := f.Providers[0].APIKey.Reveal(); got != "]} a: b # 'c" {
		t.Errorf("key = %q", got)
	}
}

func TestSecret(t *testing.T) {
	s := config.NewSecret("hush")
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", s, "header", config.Header{Name: "A", Value: s})
	text, err := json.Marshal(struct{ Key config.Secret }{s})
	if err != nil {
		t.Fatal(err)
	}
	shown := fmt.Sprintf("%v %+v %#v %s %q ", s, s, s, s, s) + fmt.Sprintf("%v %+v", config.Provider{APIKey: s}, &config.Provider{APIKey: s}) + log.String() + string(text)
	if strings.Contains(shown, "hush") || !strings.Contains(shown, "REDACTED") {
		t.Error(shown)
	}
	if s.Reveal() != "hush" || s.IsZero() || !(config.Secret{}).IsZero() || (config.Secret{}).String() != "" {
		t.Error("a secret does not keep its text")
	}
}

func TestPriceIsExact(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int64
	}{
		{"3", 3_000_000},
		{"0.25", 250_000},
		{"0.003625", 3_625},
		{"0.000001", 1},
		{"1.10", 1_100_000},
		{"1000000", 1_000_000_000_000},
		{"\"2.5\"", 2_500_000},
	} {
		f := parse(t, "providers:\n  - {id: a, models: [{id: m, pricing: {input: "+tt.text+"}}]}\n")
		if got := f.Providers[0].Models[0].Pricing.GetInputPicoUsdPerToken(); got != tt.want {
			t.Errorf("%s = %d, want %d", tt.text, got, tt.want)
		}
	}
	for _, text := range []string{"1e3", ".5", "0x1", "1_0", "1000000.1", "-0", "+1", "a", ".inf", "null", "[1]", "9999999999999999999"} {
		if _, err := config.Parse("f", []byte("providers:\n  - {id: a, models: [{id: m, pricing: {input: "+text+"}}]}\n"), env()); err == nil {
			t.Errorf("%s was taken for a price", text)
		}
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "llmd.yaml")
	if err := os.WriteFile(path, []byte("server: {listen: ['tcp://127.0.0.1:1'], log_level: warn, instance: here}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := config.Load("", env("LLMD_CONFIG", path))
	if err != nil || f.Server.LogLevel != "warn" || f.Server.Instance != "here" || f.Path != path {
		t.Fatalf("%+v, %v", f, err)
	}
	f, err = config.Load(path, env("LLMD_CONFIG", "/nowhere", "LLMD_LISTEN", "127.0.0.1:2, unix:/s", "LLMD_LOG_LEVEL", "DEBUG"))
	if err != nil || len(f.Server.Listen) != 2 || f.Server.Listen[0].String() != "tcp://127.0.0.1:2" || f.Server.Listen[1].String() != "unix:///s" || f.Server.LogLevel != "debug" {
		t.Fatalf("%+v, %v", f, err)
	}
	a, errA := config.Load("", env())
	b, errB := config.Load("", env())
	if errA != nil || errB != nil || a.Server.Instance == "" || a.Server.Instance == b.Server.Instance {
		t.Errorf("instances %q, %q", a.Server.Instance, b.Server.Instance)
	}
}

func TestLoadMistakes(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		path string
		env  []string
		want string
	}{
		{dir + "/none.yaml", nil, dir + "/none.yaml: no such file or directory"},
		{dir, nil, dir + ": is a directory"},
		{"", []string{"LLMD_LISTEN", "127.0.0.1"}, `environment: LLMD_LISTEN: "127.0.0.1" must be tcp://host:port or unix:///path`},
		{"", []string{"LLMD_LOG_LEVEL", "loud"}, "environment: LLMD_LOG_LEVEL: must be one of: debug, info, warn, error"},
	} {
		_, err := config.Load(tt.path, env(tt.env...))
		var e *config.ParseError
		if !errors.As(err, &e) || err.Error() != tt.want {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}

// What the keys of shared responses say together.
func TestResponses(t *testing.T) {
	key := strings.Repeat("0f", 32)
	for _, c := range []struct{ text, problem string }{
		{"store: redis", "server.responses.redis.addresses"},
		{"{store: redis, redis: {addresses: '127.0.0.1:6379'}}", "server.responses.encryption_keys"},
		{"{encryption_keys: [{id: a, key: " + key + "}, {id: a, key: " + key + "}]}", "given twice"},
		{"{encryption_keys: [{id: a, key: secret-of-mine}]}", "32 bytes"},
		{"{encryption_keys: [{id: a}]}", "either key or key_file"},
		{"{redis: {addresses: ['redis://me:secret-of-mine@h:1']}}", "host:port or unix:///path"},
		{"{redis: {addresses: ['h:1', 'i:2']}}", "must be one"},
		{"{redis: {addresses: ['h:1'], cluster: true, sentinel_master: m}}", "exclude"},
		{"{redis: {addresses: ['h:1'], cluster: true, database: 1}}", "must be 0"},
		{"{redis: {password: secret-of-mine, password_file: /p}}", "exclude"},
		{"{redis: {tls: {cert_file: /c}}}", "go together"},
		{"{max_detached: 25h}", "from 0s to 24h"},
		{"{store: disk}", "memory, redis"},
		{"{store: redis, encryption_keys: [{id: a, key: " + key + "}], redis: {addresses: ['[::1]:6379']}}", ""},
		{"{store: redis, encryption_keys: [{id: a, key_file: /k}], redis: {addresses: 'unix:///run/redis.sock', tls: {}}}", ""},
	} {
		text := c.text
		if !strings.HasPrefix(text, "{") {
			text = "{" + text + "}"
		}
		_, err := config.Parse("f", []byte("server: {responses: "+text+"}\n"), func(string) (string, bool) { return "", false })
		if (err == nil) != (c.problem == "") || err != nil && (!strings.Contains(err.Error(), c.problem) || strings.Contains(err.Error(), "secret-of-mine")) {
			t.Errorf("%s: %v, want %q", c.text, err, c.problem)
		}
	}
	if _, err := config.Parse("f", []byte("server: {partial_store: off, responses: {store: redis}}\n"), func(string) (string, bool) { return "", false }); err == nil || !strings.Contains(err.Error(), "partial_store") {
		t.Errorf("without a partial store: %v", err)
	}
}

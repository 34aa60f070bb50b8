package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/internal/config"
)

// Each mistake names its line and its key, and says what is wrong.
func TestMistakes(t *testing.T) {
	const digits = "00000000000000000000000000000000000000000000000000000000000000ff"
	const web = "server:\n  web:\n    listen: [tcp://127.0.0.1:1]\n"
	const lab = "providers:\n  - id: lab\n    api: openai-completions\n"
	tests := []struct {
		name, text string
		line       int
		key, says  string
	}{
		{"unknown key", "serve: {}\n", 1, "serve", "unknown key; did you mean server?"},
		{"unknown server key", "server:\n  listen: [tcp://127.0.0.1:1]\n  port: 1\n", 3, "server.port", "unknown key"},
		{"other spelling", "server:\n  maxReceiveBytes: 1\n", 2, "server.maxReceiveBytes", "did you mean max_receive_bytes?"},
		{"TLS without a key", "server:\n  tls: {cert_file: /c}\n", 2, "server.tls.key_file", "is missing"},
		{"TLS without a certificate", "server: {tls: {key_file: /k}}\n", 1, "server.tls.cert_file", "is missing"},
		{"client certificates of nobody", "server: {tls: {cert_file: /c, key_file: /k, require_client_cert: true}}\n", 1, "server.tls.client_ca_file", "is missing: require_client_cert needs it"},
		{"identities without authority", "server:\n  auth: {mtls: [{name: a, common_name: a}]}\n", 2, "server.tls.client_ca_file", "is missing: auth.mtls needs it"},
		{"identity without a mark", "server:\n  auth:\n    mtls:\n      - {name: a}\n", 4, "server.auth.mtls[0]", "either uri_san or common_name"},
		{"identity with two marks", "server: {auth: {mtls: [{name: a, uri_san: u, common_name: a}]}}\n", 1, "server.auth.mtls[0]", "either uri_san or common_name"},
		{"token without a name", "server: {auth: {tokens: [{sha256: " + digits + "}]}}\n", 1, "server.auth.tokens[0].name", "is missing"},
		{"token without a digest", "server: {auth: {tokens: [{name: a}]}}\n", 1, "server.auth.tokens[0].sha256", "is missing"},
		{"token in plain words", "server: {auth: {tokens: [{name: a, sha256: s3cret}]}}\n", 1, "server.auth.tokens[0].sha256", "must be 64 hexadecimal digits"},
		{"token twice", "server: {auth: {tokens: [{name: a, sha256: " + digits + "}, {name: b, sha256: " + digits + "}]}}\n", 1, "server.auth.tokens[1].sha256", "given twice"},
		{"caller twice", "server: {auth: {tokens: [{name: a, sha256: " + digits + "}, {name: a, sha256: 1" + digits[1:] + "}]}}\n", 1, "server.auth", "the name \"a\" is given twice"},
		{"a page by pattern", web + "    allowed_origins: ['https://*.example.com']\n", 4, "server.web.allowed_origins", "each origin must be written out"},
		{"every page", web + "    allowed_origins: ['*']\n", 4, "server.web.allowed_origins", "each origin must be written out"},
		{"a page of nowhere", web + "    allowed_origins: ['null']\n", 4, "server.web.allowed_origins", "must be scheme://host"},
		{"a page with a slash", web + "    allowed_origins: ['https://a.example/']\n", 4, "server.web.allowed_origins", "without a slash at the end"},
		{"a page in capitals", web + "    allowed_origins: ['https://A.example']\n", 4, "server.web.allowed_origins", "in small letters"},
		{"a page with its scheme's port", web + "    allowed_origins:\n    - https://b.example\n    - https://a.example:443\n", 6, "server.web.allowed_origins", "without the port"},
		{"a host with a port", web + "    allowed_hosts: ['a.example:1']\n", 4, "server.web.allowed_hosts", "without port"},
		{"pages without a listener", "server:\n  web: {allowed_origins: ['https://a.example']}\n", 2, "server.web.listen", "is missing"},
		{"one address for both", "server: {listen: [tcp://127.0.0.1:1], web: {listen: [tcp://127.0.0.1:1]}}\n", 1, "server.web.listen", "is one of server.listen"},
		{"no calls at all", "server: {limits: {concurrent_calls: 0}}\n", 1, "server.limits.concurrent_calls", "must be a whole number from 1"},
		{"no number", "server: {limits: {per_caller: {requests_per_second: NaN}}}\n", 1, "server.limits.per_caller.requests_per_second", "must be a number"},
		{"unknown provider key", lab + "    url: x\n", 4, "providers[0].url", "unknown key"},
		{"unknown model key", lab + "    models:\n      - {id: m, size: 3}\n", 5, "providers[0].models[0].size", "unknown key"},
		{"unknown flag", lab + "    compat:\n      a_flag: true\n", 5, "providers[0].compat.a_flag", "unknown flag"},
		{"flag in camel case", lab + "    compat: {supportsStore: true}\n", 4, "providers[0].compat.supportsStore", "did you mean supports_store?"},
		{"flag of the wrong kind", lab + "    compat: {supports_store: 1}\n", 4, "providers[0].compat.supports_store", "must be true or false"},
		{"flag with an unknown word", lab + "    compat: {thinking_format: loud}\n", 4, "providers[0].compat.thinking_format", "must be one of: openai,"},
		{"flag without a value", lab + "    compat: {supports_store: }\n", 4, "providers[0].compat.supports_store", "must be true or false"},
		{"unknown template variable", lab + "    compat:\n      chat_template_kwargs:\n        think: {$var: mood}\n", 6, "providers[0].compat.chat_template_kwargs.think.$var", "thinking.enabled"},
		{"near flag", lab + "    compat: {thinking_fromat: qwen}\n", 4, "providers[0].compat.thinking_fromat", "unknown flag; did you mean thinking_format?"},
		{"near key", lab + "    base_ulr: http://h\n", 4, "providers[0].base_ulr", "unknown key; did you mean base_url?"},
		{"flags are no list", lab + "    compat: [a]\n", 4, "providers[0].compat", "mapping of flags"},
		{"section of the wrong kind", "server: 3\n", 1, "server", "must be a mapping"},
		{"providers are a list", "providers: {lab: {}}\n", 1, "providers", "must be a list"},
		{"provider without id", "providers:\n  - api: faux\n", 2, "providers[0]", "id is missing"},
		{"empty id", "providers:\n  - id: ''\n", 2, "providers[0].id", "must not be empty"},
		{"id with a slash", "providers:\n  - id: a/b\n", 2, "providers[0].id", "must be at most 63"},
		{"provider twice", "providers:\n  - id: a\n  - id: a\n", 3, "providers[1]", `"a" is given twice; first in line 2`},
		{"unknown API", "providers:\n  - id: a\n    api: openai\n", 3, "providers[0].api", "must be one of: anthropic-messages"},
		{"URL without scheme", lab + "    base_url: example.test/v1\n", 4, "providers[0].base_url", "must begin with http:// or https://"},
		{"URL without host", lab + "    base_url: http:///v1\n", 4, "providers[0].base_url", "has no host"},
		{"URL with a password", lab + "    base_url: https://me:pw@example.test\n", 4, "providers[0].base_url", "user name or password"},
		{"URL with a query", lab + "    base_url: https://example.test/?a=1\n", 4, "providers[0].base_url", "query"},
		{"address without scheme", lab + "    base_url: 127.0.0.1:9000/v1\n", 4, "providers[0].base_url", "must begin with http:// or https://"},
		{"name without scheme", lab + "    base_url: localhost:9000/v1\n", 4, "providers[0].base_url", "must begin with http:// or https://"},
		{"URL that cannot be read", lab + "    base_url: 'http://[::1/v1'\n", 4, "providers[0].base_url", "is not a URL"},
		{"URL with a bad port", lab + "    base_url: http://127.0.0.1:99999\n", 4, "providers[0].base_url", "port"},
		{"proxy without scheme", lab + "    proxy: proxy.example.test:3128\n", 4, "providers[0].proxy", "must begin with"},
		{"proxy of another kind", lab + "    proxy: ftp://h\n", 4, "providers[0].proxy", "must begin with"},
		{"proxy without host", lab + "    proxy: 'http://:3128'\n", 4, "providers[0].proxy", "has no host"},
		{"proxy with a path", lab + "    proxy: http://h/x\n", 4, "providers[0].proxy", "must not have a path"},
		{"proxy with a bad port", lab + "    proxy: http://h:0\n", 4, "providers[0].proxy", "port"},
		{"no time at all", lab + "    timeouts:\n      connect: 0s\n", 5, "providers[0].timeouts.connect", "must be a duration from 1ms"},
		{"time without unit", lab + "    timeouts: {header: 30}\n", 4, "providers[0].timeouts.header", "must be a duration"},
		{"unknown timeout", lab + "    timeouts: {idle: 30s}\n", 4, "providers[0].timeouts.idle", "unknown key; there are: connect, header"},
		{"two keys", lab + "    api_key: a\n    api_key_file: b\n", 2, "providers[0]", "exclude each other"},
		{"key is no text", lab + "    api_key: [a]\n", 4, "providers[0].api_key", "must be a text"},
		{"unset variable", lab + "    api_key: ${LAB_KEY}\n", 4, "providers[0].api_key", "environment variable LAB_KEY is not set"},
		{"empty variable", lab + "    api_key: ${EMPTY}\n", 4, "providers[0].api_key", "EMPTY is not set"},
		{"open variable", lab + "    api_key: ${LAB\n", 4, "providers[0].api_key", "must be followed by NAME}"},
		{"header's name", lab + "    headers: {'a b': c}\n", 4, "providers[0].headers.a b", "not the name of a header"},
		{"header of llmd's own", lab + "    headers: {content-length: c}\n", 4, "providers[0].headers.content-length", "own business"},
		{"header with a line break", lab + "    headers: {a: \"b\\nc\"}\n", 4, "providers[0].headers.a", "control characters"},
		{"model without id", lab + "    models:\n      - {reasoning: true}\n", 5, "providers[0].models[0]", "id is missing"},
		{"model twice", lab + "    models:\n      - {id: m}\n      - {id: n, aliases: [m]}\n", 6, "providers[0].models[1]", `"m" is given twice; first in line 5`},
		{"unknown input", lab + "    models:\n      - {id: m, input: [text, smell]}\n", 5, "providers[0].models[0].input[1]", "must be one of: text, image"},
		{"no input", lab + "    models:\n      - {id: m, input: []}\n", 5, "providers[0].models[0].input", "at least one"},
		{"unknown effort", lab + "    models:\n      - {id: m, efforts: {much: a}}\n", 5, "providers[0].models[0].efforts.much", "is not one of"},
		{"no window", lab + "    models:\n      - {id: m, context_window_tokens: 0}\n", 5, "providers[0].models[0].context_window_tokens", "whole number from 1"},
		{"window in words", lab + "    models:\n      - {id: m, context_window_tokens: 128k}\n", 5, "providers[0].models[0].context_window_tokens", "whole number"},
		{"price below zero", lab + "    models:\n      - {id: m, pricing: {input: -1}}\n", 5, "providers[0].models[0].pricing.input", "US dollars"},
		{"price too fine", lab + "    models:\n      - {id: m, pricing: {input: 0.0000001}}\n", 5, "providers[0].models[0].pricing.input", "at most 6 decimals"},
		{"tier without threshold", lab + "    models:\n      - {id: m, pricing: {tiers: [{input: 1}]}}\n", 5, "providers[0].models[0].pricing.tiers[0]", "above is missing"},
		{"all interfaces by accident", "server:\n  listen: [tcp://:50051]\n", 2, "server.listen[0]", `"tcp://:50051" must name the host`},
		{"address without scheme", "server:\n  listen: [127.0.0.1:50051]\n", 2, "server.listen[0]", `"127.0.0.1:50051" must be tcp://host:port or unix:///path`},
		{"port in words", "server:\n  listen: [tcp://127.0.0.1:grpc]\n", 2, "server.listen[0]", `"tcp://127.0.0.1:grpc" must have a port`},
		{"relative socket", "server:\n  listen: [unix://llmd.sock]\n", 2, "server.listen[0]", "absolute"},
		{"the second address", "server:\n  listen:\n    - tcp://127.0.0.1:1\n    - http://h\n", 4, "server.listen[1]", `"http://h" must be tcp://`},
		{"address twice", "server:\n  listen: [tcp://127.0.0.1:1, tcp://127.0.0.1:1]\n", 2, "server.listen[1]", "listed twice"},
		{"one address alone", "server:\n  listen: h\n", 2, "server.listen", `"h" must be tcp://`},
		{"address of the wrong kind", "server:\n  listen: {a: b}\n", 2, "server.listen", "must be a list"},
		{"no address", "server:\n  listen: []\n", 2, "server.listen", "at least one"},
		{"bytes in words", "server:\n  max_receive_bytes: much\n", 2, "server.max_receive_bytes", "number of bytes"},
		{"too many bytes", "server:\n  max_receive_bytes: 5 GiB\n", 2, "server.max_receive_bytes", "number of bytes"},
		{"duration without unit", "server:\n  drain_timeout: 30\n", 2, "server.drain_timeout", "duration"},
		{"switch", "server:\n  partial_store: maybe\n", 2, "server.partial_store", "on or off"},
		{"key twice", "server:\n  log_level: info\n  log_level: warn\n", 3, "server.log_level", "given twice; first in line 2"},
		{"a tab", "server:\n\tlog_level: info\n", 2, "", "indent by spaces, not tabs"},
		{"indented too far", "server:\n  log_level: info\n   log_format: text\n", 3, "", "is the line indented too far"},
		{"a colon without quotes", "server:\n  instance: a: b\n", 2, "", `does a text with ": " in it lack quotes?`},
		{"a quote that is not closed", "server:\n  instance: \"a\n", 2, "", "is a quote closed?"},
		{"anchor", "server: &s {}\n", 1, "server", "anchors and aliases"},
		{"alias", "server: {}\nproviders:\n  - *s\n", 3, "", "unknown anchor"},
		{"not YAML", "server:\n  listen: [\n", 2, "", ""},
		{"second document", "server: {}\n---\nserver: {}\n", 2, "", "second document"},
		{"not text", "server: {}\n\xff\n", 2, "", "not UTF-8"},
		{"control character", "server: {}\n#\x00\n", 2, "", "not UTF-8"},
		{"a list", "- a\n", 1, "", "must be a mapping"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := config.Parse("dir/llmd.yaml", []byte(tt.text), env("EMPTY", ""))
			var e *config.ParseError
			if !errors.As(err, &e) {
				t.Fatalf("error = %v", err)
			}
			if e.File != "dir/llmd.yaml" || e.Line != tt.line || e.Key != tt.key || !strings.Contains(e.Problem, tt.says) {
				t.Errorf("got %v\nwant line %d, key %q, saying %q", err, tt.line, tt.key, tt.says)
			}
		})
	}
}

// One mistake is one message: what it leads to is not reported, too.
func TestMistakesOnce(t *testing.T) {
	for _, text := range []string{
		"providers:\n  - {id: a, models: [{id: m, input: [text, img]}]}\n",
		"providers:\n  - {id: a, models: [{id: m, input: [img, text, img]}]}\n",
		"server: {listen: ['']}\n",
		"server: {images: {allow_hosts: [a, 'http://b', c]}}\n",
	} {
		_, err := config.Parse("f", []byte(text), env())
		wrapped, ok := err.(interface{ Unwrap() []error })
		if want := max(1, strings.Count(text, "img")); !ok || len(wrapped.Unwrap()) != want {
			t.Errorf("%q: want %d of:\n%v", text, want, err)
		}
	}
}

// A message never repeats what may be a secret.
func TestMistakesKeepSecrets(t *testing.T) {
	for _, text := range []string{
		"providers:\n  - id: a\n    base_url: https://me:s3cret@example.test\n",
		"providers:\n  - id: a\n    api_key: \"s3cret\\n\"\n    base_url: s3cret\n",
		"providers:\n  - id: a\n    headers: {a: \"s3cret\\nb\"}\n",
		"providers:\n  - id: a\n    api_key: ${s3cret-}\n",
		"providers:\n  - id: a\n    api_key: *s3cret\n",
		"providers:\n  - id: a\n    proxy: ftp://me:s3cret@h\n",
		"server: {images: {allow_hosts: ['http://me:s3cret@h']}}\n",
		"providers:\n  - id: a\n    proxy: 'http://me:s3cret@h:x'\n",
	} {
		_, err := config.Parse("f", []byte(text), env())
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestParseErrorText(t *testing.T) {
	for _, tt := range []struct {
		err  config.ParseError
		want string
	}{
		{config.ParseError{File: "f.yaml", Line: 3, Key: "server.listen", Problem: "is bad"}, "f.yaml:3: server.listen: is bad"},
		{config.ParseError{File: "f.yaml", Line: 3, Problem: "is bad"}, "f.yaml:3: is bad"},
		{config.ParseError{File: "environment", Key: "LLMD_LISTEN", Problem: "is bad"}, "environment: LLMD_LISTEN: is bad"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{everyKey, "", "a: [", "? a\n", "<<: {a: b}\n", "server: !!int x\n", "providers:\n- id: 1e3\n  headers: {}\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := config.Parse("f", text, env("LAB", "x"))
		if err == nil {
			if len(file.Server.Listen) == 0 {
				t.Error("accepted without an address")
			}
			return
		}
		var e *config.ParseError
		if !errors.As(err, &e) || e.Line < 1 || e.Problem == "" {
			t.Errorf("a mistake without a line: %v", err)
		}
	})
}

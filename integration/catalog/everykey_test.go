package catalogtest

import (
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/server"
)

// keyNode is a documented key with the keys below it.
type keyNode struct {
	config.Key
	name  string
	below []*keyNode
}

// keyTree puts the documented keys under each other by their paths.
func keyTree() *keyNode {
	root := &keyNode{}
	for _, k := range config.Keys() {
		n := root
		for name := range strings.SplitSeq(k.Path, ".") {
			name = strings.TrimSuffix(name, "[]")
			i := slices.IndexFunc(n.below, func(b *keyNode) bool { return b.name == name })
			if i < 0 {
				n.below = append(n.below, &keyNode{name: name})
				i = len(n.below) - 1
			}
			n = n.below[i]
		}
		n.Key = k
	}
	return root
}

// everyKey is a configuration with every documented key. values are by path where
// the kind of value does not say enough; an empty one leaves the key out.
func everyKey(t *testing.T, values map[string]string) string {
	t.Helper()
	var b strings.Builder
	var write func(n *keyNode, indent string)
	write = func(n *keyNode, indent string) {
		for _, k := range n.below {
			value, given := values[k.Path]
			switch {
			case given && value == "":
			case given:
				fmt.Fprintf(&b, "%s%s: %s\n", indent, k.name, value)
			case len(k.below) == 0:
				fmt.Fprintf(&b, "%s%s: %s\n", indent, k.name, anyValue(t, k.Key))
			case strings.HasPrefix(k.Type, "list of"):
				fmt.Fprintf(&b, "%s%s:\n%s  -\n", indent, k.name, indent)
				write(k, indent+"    ")
			default:
				fmt.Fprintf(&b, "%s%s:\n", indent, k.name)
				write(k, indent+"  ")
			}
		}
	}
	write(keyTree(), "")
	return b.String()
}

// anyValue is a value of a documented kind.
func anyValue(t *testing.T, k config.Key) string {
	t.Helper()
	if words, ok := strings.CutPrefix(k.Type, "one of: "); ok {
		word, _, _ := strings.Cut(words, ",")
		return word
	}
	if words, ok := strings.CutPrefix(k.Type, "list of: "); ok {
		return "[" + words + "]"
	}
	value, ok := map[string]string{
		"text":                        "some text",
		"URL":                         "http://127.0.0.1:1/v1",
		"URL or none":                 "none",
		"path":                        "/nowhere",
		"bytes":                       "1 MiB",
		"duration":                    "30s",
		"duration or none":            "30m",
		"decimal":                     "0.25",
		"whole number":                "1000",
		"a whole number":              "7",
		"true or false":               "true",
		"on or off":                   "on",
		"list of names":               "[NAME_ONE, NAME_TWO]",
		"list of texts":               "[one, two]",
		"a list of texts":             "[one, two]",
		"address":                     "tcp://127.0.0.1:0",
		"list of origins":             "[https://app.example.com]",
		"list of addresses":           "[tcp://127.0.0.1:0]",
		"list of hosts and networks":  "[images.example.test, 10.1.0.0/16]",
		"mapping of texts":            "{X-One: two}",
		"mapping of efforts to texts": "{none: null, minimal: low, max: max}",
		"mapping of flags":            "{supports_store: false}",
		"a mapping":                   "{thinking: true}",
	}[k.Type]
	if !ok {
		t.Fatalf("%s is of the kind %q: say here what such a value looks like", k.Path, k.Type)
	}
	return value
}

// sharedResponses are values of the keys of shared responses: some exclude each other.
func sharedResponses(values map[string]string) map[string]string {
	values["server.responses.encryption_keys"] = "[{id: k, key: " + strings.Repeat("0f", 32) + "}]"
	values["server.responses.redis"] = "{addresses: 127.0.0.1:6379, cluster: false, sentinel_master: m, username: u, password: p, " +
		"sentinel_username: u, sentinel_password: p, database: 1, prefix: p, timeout: 1s, lease: 3s, flush_interval: 10ms, " +
		"tls: {enabled: true, ca_file: /nowhere, cert_file: /nowhere, key_file: /nowhere, server_name: n}} # password_file: excludes password"
	return values
}

// A server starts with a file that has every documented key, and works.
func TestEveryKey(t *testing.T) {
	h := newHost(t)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		write(t, path, text)
		return path
	}
	secure := httptest.NewTLSServer(h)
	secure.Close()
	ca := file("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})))
	text := everyKey(t, sharedResponses(map[string]string{
		"server.listen":            "[tcp://127.0.0.1:0, unix://" + filepath.Join(dir, "s") + "]",
		"server.drain_timeout":     "1s",
		"server.web":               "", // has tests of its own, in integration/web
		"server.tls":               "", // these have tests of their own, in integration/security
		"server.auth":              "",
		"providers[].id":           "every",
		"providers[].api":          "openai-completions",
		"providers[].base_url":     h.URL + "/v1",
		"providers[].api_key":      secret + "every",
		"providers[].api_key_file": "", // either this or api_key
		"providers[].ca_file":      ca,
		"providers[].headers":      "{X-One: two}",
		"providers[].disabled":     "false",
		"providers[].models[].id":  "m",
		"providers[].models[].api": "openai-completions",
	})) + "  - {id: filed, api: openai-completions, base_url: " + h.URL + "/v1, api_key_file: " + file("key", secret+"filed") + "}\n"
	for _, k := range config.Keys() {
		name := k.Path[strings.LastIndexByte(k.Path, '.')+1:]
		tested := strings.HasPrefix(k.Path, "server.tls") || strings.HasPrefix(k.Path, "server.web") || strings.HasPrefix(k.Path, "server.auth")
		if !tested && !strings.Contains(text, name+":") {
			t.Errorf("the file does not have %s", k.Path)
		}
	}

	parsed, err := config.Parse("every.yaml", []byte(text), env())
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	for _, a := range parsed.Server.Listen {
		socket, err := server.Listen(limited(t), a)
		if err != nil {
			t.Errorf("%s: %v", a, err)
			continue
		}
		_ = socket.Close()
	}

	l := start(t, text)
	if answer, err := l.ask(t, "every/m"); err != nil || answer != "ok" {
		t.Errorf("%q, %v in\n%s", answer, err, text)
	}
	if r, _ := h.asked(); r == nil || r.Header.Get("X-One") != "two" || r.Header.Get("Authorization") != "Bearer "+secret+"every" {
		t.Errorf("the host was asked %+v", r)
	}
	r, err := l.models.GetModel(limited(t), &llmdv1.GetModelRequest{Name: "every/one"}) // an alias
	if err != nil || r.GetModel().GetId() != "m" || r.GetModel().GetContextWindowTokens() != 1000 {
		t.Errorf("%v, %v", r, err)
	}
	if _, err := l.ask(t, "filed/m"); harness.ReasonOf(err) != "MODEL_NOT_FOUND" {
		t.Errorf("a model that nobody named: %v", err)
	}
}

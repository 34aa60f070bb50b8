package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// output is a buffer that a command may write to while a test reads.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// waitFor waits until the output holds a text.
func (o *output) waitFor(t testing.TB, text string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(o.String(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %q in:\n%s", text, o)
		}
	}
}

// command is one run of llmd with its outputs.
type command struct {
	session
	out, err output
}

// newCommand makes a command whose environment is these pairs and nothing else.
func newCommand(ctx context.Context, stdin string, env ...string) *command {
	c := &command{}
	c.session = session{ctx: ctx, stdin: strings.NewReader(stdin), stdout: &c.out, stderr: &c.err, env: func(name string) (string, bool) {
		for i := 0; i < len(env); i += 2 {
			if env[i] == name {
				return env[i+1], true
			}
		}
		return "", false
	}}
	return c
}

func (c *command) run(args ...string) int { return run(&c.session, args) }

// llmd runs a command to its end.
func llmd(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	c := newCommand(t.Context(), "")
	code = c.run(args...)
	return code, c.out.String(), c.err.String()
}

// writeFile puts a file into a folder of the test's own.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// inOrder says which of the texts is not there after the one before.
func inOrder(t *testing.T, text string, wanted ...string) {
	t.Helper()
	rest := text
	for _, w := range wanted {
		_, after, ok := strings.Cut(rest, w)
		if !ok {
			t.Fatalf("%q is missing, or out of order, in:\n%s", w, text)
		}
		rest = after
	}
}

func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		args   string
		code   int
		output string // on either stream
	}{
		{"--help", 0, "Every large language model through one gRPC contract."},
		{"call --help", 0, "--max-tokens=N"},
		{"version", 0, "llmd "},
		{"--version", 0, "llmd "},
		{"help", 0, "Usage: llmd <command>"},
		{"help call", 0, "--max-tokens=N"},
		{"help nosuch", 2, "llmd: unexpected argument nosuch"},
		{"", 2, "Usage: llmd <command>"},
		{"serv", 2, "llmd: "},
		{"serve --port 1", 2, "llmd: "},
		{"call", 2, "llmd: "},
		{"call --effort silly faux/echo hi", 2, "llmd: --effort: must be one of none, minimal, low, medium, high, xhigh, max\n"},
		{"call --effort= faux/echo hi", 2, "llmd: --effort: must be one of none, minimal"},
		{"call --max-tokens 0 faux/echo hi", 2, "llmd: --max-tokens: must be at least 1"},
		{"call --max-tokens many faux/echo hi", 2, "llmd: --max-tokens"},
		{"call --addr http://127.0.0.1:1 faux/echo hi", 2, `llmd: --addr: "http://127.0.0.1:1" must be tcp://host:port or unix:///path`},
		{"call --addr foo faux/echo hi", 2, `llmd: --addr: "foo" must be tcp://host:port or unix:///path`},
		{"call --addr :50051 faux/echo hi", 2, `llmd: --addr: ":50051" must name the host, such as 127.0.0.1:50051`},
		{"call --addr tcp://:50051 faux/echo hi", 2, `llmd: --addr: "tcp://:50051" must name the host, such as 127.0.0.1:50051`},
		{"call --addr unix:s faux/echo hi", 2, `llmd: --addr: "unix:s" must be tcp://host:port or unix:///path`},
		{"call --addr= faux/echo hi", 2, "llmd: --addr: must not be empty\n"},
		{"call --config= faux/echo hi", 2, "llmd: --config: must not be empty\n"},
		{"call --image= faux/echo hi", 2, "llmd: --image: must not be empty\n"},
		{"call --addr 127.0.0.1:1 --token-file= faux/echo hi", 2, "llmd: --token-file: must not be empty\n"},
		{"health --addr=", 2, "llmd: --addr: must not be empty\n"},
		{"serve --config=", 2, "llmd: --config: must not be empty\n"},
		{"models --provider=", 2, "llmd: --provider: must not be empty\n"},
		{"serve --help", 0, "LLMD_LISTEN"},
		{"call --tls faux/echo hi", 2, "llmd: --tls is for an llmd elsewhere: say where with --addr\n"},
		{"call --token-file nowhere faux/echo hi", 2, "llmd: --token-file is for an llmd elsewhere"},
		{"call --config nowhere --addr 127.0.0.1:1 faux/echo hi", 2, "llmd: --config is for an llmd inside this command"},
		{"health --timeout 0s", 2, "llmd: --timeout: must be more than 0s\n"},
		{"models --provider antropic", 2, "did you mean anthropic?"},
	} {
		code, out, errs := llmd(t, strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(out+errs, tt.output) {
			t.Errorf("llmd %s: exit code %d, want %d\n%s%s", tt.args, code, tt.code, out, errs)
		}
		if tt.code == 0 && errs != "" || tt.code != 0 && out != "" {
			t.Errorf("llmd %s: wrong stream\nstdout: %s\nstderr: %s", tt.args, out, errs)
		}
	}
}

// A mistake of the configuration ends every command with code 2 and says where.
func TestConfigurationMistakes(t *testing.T) {
	for _, tt := range []struct{ text, where string }{
		{"server:\n  lisen: tcp://127.0.0.1:1\n", ":2: server.lisen: unknown key"},
		{"server:\n  listen: http://127.0.0.1\n", `:2: server.listen: "http://127.0.0.1" must be tcp://host:port or unix:///path`},
		{"providers:\n  - id: lab\n    api: openai-completions\n    base_url: ftp://x\n", ":4: providers[0].base_url: must begin with http:// or https://"},
		{"# none yet\nproviders:\n  - id: lab\n", ":3: providers[0].api: is missing"},
		{"providers:\n  - {id: openai, api_key: '${NO_SUCH_KEY}'}\n", ":2: providers[0].api_key: environment variable NO_SUCH_KEY is not set"},
	} {
		path := writeFile(t, "llmd.yaml", tt.text)
		for _, args := range [][]string{
			{"serve", "--config", path},
			{"check", "--config", path},
			{"models", "--config", path},
			{"call", "--config", path, "faux/echo", "hi"},
		} {
			code, out, errs := llmd(t, args...)
			if code != exitUsage || out != "" || !strings.Contains(errs, "llmd: "+path+tt.where) {
				t.Errorf("llmd %s: exit code %d, want 2 and %q in\n%s", args[0], code, tt.where, errs)
			}
		}
	}
	code, _, errs := llmd(t, "serve", "--config", filepath.Join(t.TempDir(), "none.yaml"))
	if code != exitUsage || !strings.Contains(errs, "none.yaml: no such file or directory") {
		t.Errorf("a file that is not there: exit code %d\n%s", code, errs)
	}
	c := newCommand(t.Context(), "", "LLMD_LISTEN", "127.0.0.1")
	if code := c.run("serve"); code != exitUsage || !strings.Contains(c.err.String(), "environment: LLMD_LISTEN: ") {
		t.Errorf("a bad variable: exit code %d\n%s", code, c.err.String())
	}
	c = newCommand(t.Context(), "", "LLMD_CONFIG", writeFile(t, "llmd.yaml", "serve: {}\n"))
	if code := c.run("models"); code != exitUsage || !strings.Contains(c.err.String(), "llmd.yaml:1: serve: unknown key") {
		t.Errorf("$LLMD_CONFIG: exit code %d\n%s", code, c.err.String())
	}
}

package integration

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/server"
)

const (
	secret = "integration-secret-key" // every provider's key
	canary = "integration-canary"     // part of every system prompt
)

// shared is ../shared, beside the checkout.
func shared(t testing.TB, parts ...string) string {
	t.Helper()
	dir := filepath.Join(append([]string{"..", "..", "shared"}, parts...)...)
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("../shared is required in CI: %v", err)
		}
		t.Skip("../shared is not here: recordings live beside the checkout, not in it")
	}
	return dir
}

// host is one provider of llmd's configuration.
type host struct {
	id, api, base string
	models        []model
	compat        string // inline YAML
}

type model struct {
	id            string
	reasoning     bool
	input         string // inline YAML list; empty = [text, image]
	context, most int
}

func (h *host) yaml() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  - id: %q\n    api: %q\n    base_url: %q\n    api_key: %q\n    allow_unlisted_models: true\n", h.id, h.api, h.base, secret)
	if h.compat != "" {
		fmt.Fprintf(&b, "    compat: %s\n", h.compat)
	}
	if len(h.models) > 0 {
		b.WriteString("    models:\n")
	}
	for _, m := range h.models {
		input := m.input
		if input == "" {
			input = "[text, image]"
		}
		if m.context == 0 {
			m.context, m.most = 200_000, 32_000
		}
		fmt.Fprintf(&b, "      - {id: %q, reasoning: %v, input: %s, context_window_tokens: %d, max_output_tokens: %d}\n", m.id, m.reasoning, input, m.context, m.most)
	}
	return b.String()
}

// llmd is a server in this process and a client of it.
type llmd struct {
	llmdv1.InferenceServiceClient
	models llmdv1.ModelServiceClient
	conn   *grpc.ClientConn
	log    *logBuffer
	addr   string
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start runs llmd with these providers until the test ends, and then looks for
// secrets and prompts in its log.
func start(t testing.TB, hosts ...*host) *llmd {
	t.Helper()
	return startWith(t, "", hosts...)
}

// startWith adds lines to the server section of the configuration.
func startWith(t testing.TB, serverYAML string, hosts ...*host) *llmd {
	t.Helper()
	var text strings.Builder
	text.WriteString("server:\n  instance: test\n  drain_timeout: 2s\n" + serverYAML)
	if len(hosts) > 0 {
		text.WriteString("providers:\n")
	}
	for _, h := range hosts {
		text.WriteString(h.yaml())
	}
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"GOOGLE_CLOUD_PROJECT": "test-project", "AWS_REGION": "us-east-1"}[name]
		return v, ok
	}
	file, err := config.Parse("test.yaml", []byte(text.String()), env)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text.String())
	}
	l := &llmd{log: &logBuffer{}}
	app, err := server.New(file, env, "test", l.log)
	if err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.addr = socket.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- app.Serve(ctx, []net.Listener{socket}, nil) }()
	l.conn, err = grpc.NewClient("passthrough:///"+l.addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)), grpc.WithDisableServiceConfig())
	if err != nil {
		t.Fatal(err)
	}
	l.InferenceServiceClient = llmdv1.NewInferenceServiceClient(l.conn)
	l.models = llmdv1.NewModelServiceClient(l.conn)
	t.Cleanup(func() {
		_ = l.conn.Close()
		stop()
		select {
		case err := <-served:
			if err != nil {
				t.Errorf("serve: %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("the server does not stop")
		}
		for _, word := range []string{secret, canary, "panic"} {
			if strings.Contains(l.log.String(), word) {
				t.Errorf("llmd's log holds %q", word)
			}
		}
	})
	return l
}

func limited(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func user(text string) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: []*llmdv1.UserContent{
		{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: text}}},
	}}}}
}

// ask is a minimal generation.
func ask(model, prompt string, tools ...string) *llmdv1.Generation {
	g := &llmdv1.Generation{Model: model, Context: &llmdv1.Context{SystemPrompt: canary, Messages: []*llmdv1.Message{user(prompt)}}}
	for _, name := range tools {
		g.Context.Tools = append(g.Context.Tools, &llmdv1.Tool{
			Name: name, Description: "A tool.", ParametersJsonSchema: `{"type":"object","properties":{},"additionalProperties":true}`,
		})
	}
	return g
}

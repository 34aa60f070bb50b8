package harness

import (
	"bytes"
	"context"
	"fmt"
	"net"
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
	// Secret is every provider's key.
	Secret = "integration-secret-key"
	// Canary is part of every system prompt.
	Canary = "integration-canary"
)

// Host is one provider of llmd's configuration.
type Host struct {
	ID, API, Base string
	Models        []Model
	Compat        string // inline YAML
	More          string // further lines of YAML
}

// Model is one model of a Host.
type Model struct {
	ID            string
	Reasoning     bool
	Input         string // inline YAML list; empty = [text, image]
	Context, Most int
}

func (h *Host) yaml() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  - id: %q\n    api: %q\n    base_url: %q\n    api_key: %q\n    allow_unlisted_models: true\n", h.ID, h.API, h.Base, Secret)
	if h.Compat != "" {
		fmt.Fprintf(&b, "    compat: %s\n", h.Compat)
	}
	b.WriteString(h.More)
	if len(h.Models) > 0 {
		b.WriteString("    models:\n")
	}
	for _, m := range h.Models {
		input := m.Input
		if input == "" {
			input = "[text, image]"
		}
		if m.Context == 0 {
			m.Context, m.Most = 200_000, 32_000
		}
		fmt.Fprintf(&b, "      - {id: %q, reasoning: %v, input: %s, context_window_tokens: %d, max_output_tokens: %d}\n", m.ID, m.Reasoning, input, m.Context, m.Most)
	}
	return b.String()
}

// LLMD is a server in this process and a client of it.
type LLMD struct {
	llmdv1.InferenceServiceClient
	Models llmdv1.ModelServiceClient
	Conn   *grpc.ClientConn
	Log    *LogBuffer
	Addr   string

	stop   context.CancelFunc
	now    chan struct{}
	served chan error
}

// LogBuffer collects llmd's log.
type LogBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *LogBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *LogBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Start runs llmd with these providers until the test ends, and then looks for
// secrets and prompts in its log. serverYAML are more lines of the server section.
func Start(t testing.TB, serverYAML string, hosts ...*Host) *LLMD {
	t.Helper()
	l := &LLMD{Log: &LogBuffer{}, now: make(chan struct{}), served: make(chan error, 1)}
	app := l.app(t, serverYAML, hosts)
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Addr = socket.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	go func() { l.served <- app.Serve(ctx, []net.Listener{socket}, l.now) }()
	l.Conn = l.Dial(t)
	l.InferenceServiceClient = llmdv1.NewInferenceServiceClient(l.Conn)
	l.Models = llmdv1.NewModelServiceClient(l.Conn)
	t.Cleanup(func() { l.close(t) })
	return l
}

func (l *LLMD) app(t testing.TB, serverYAML string, hosts []*Host) *server.App {
	t.Helper()
	var text strings.Builder
	text.WriteString("server:\n  instance: test\n")
	if !strings.Contains(serverYAML, "drain_timeout") {
		text.WriteString("  drain_timeout: 2s\n")
	}
	text.WriteString(serverYAML)
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
	app, err := server.New(file, env, "test", l.Log)
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// Dial opens a connection of its own to the server.
func (l *LLMD) Dial(t testing.TB, more ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+l.Addr, append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16 << 20)), grpc.WithDisableServiceConfig(),
	}, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// Stop asks the server to end, as SIGTERM does.
func (l *LLMD) Stop() { l.stop() }

// StopNow ends a drain at once, as a second SIGTERM does.
func (l *LLMD) StopNow() { close(l.now) }

// Stopped says whether the server has ended, waiting for at most d.
func (l *LLMD) Stopped(d time.Duration) bool {
	select {
	case err := <-l.served:
		l.served <- err
		return true
	case <-time.After(d):
		return false
	}
}

func (l *LLMD) close(t testing.TB) {
	_ = l.Conn.Close()
	l.stop()
	select {
	case err := <-l.served:
		if err != nil {
			t.Errorf("serve: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the server does not stop")
	}
	for _, word := range []string{Secret, Canary, "panic"} {
		if strings.Contains(l.Log.String(), word) {
			t.Errorf("llmd's log holds %q", word)
		}
	}
}

// Limited is a context that ends with the test, or after d.
func Limited(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

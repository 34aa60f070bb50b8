package catalogtest

import (
	"bytes"
	"context"
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
	"github.com/llmd-dev/llmd/integration/harness"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/server"
)

// secret begins every key; none may be in a log or an answer.
const secret = "s3cret-"

// llmd is a server that reads a file, and a client of it.
type llmd struct {
	llmdv1.InferenceServiceClient
	models llmdv1.ModelServiceClient
	app    *server.App
	log    *logBuffer
	path   string
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

// env makes an environment of names and values.
func env(pairs ...string) config.Env {
	return func(name string) (string, bool) {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// start serves the configuration until the test ends, and then looks for secrets
// in the log.
func start(t *testing.T, text string, pairs ...string) *llmd {
	t.Helper()
	path := filepath.Join(t.TempDir(), "llmd.yaml")
	write(t, path, text)
	return startFile(t, path, env(pairs...))
}

func startFile(t *testing.T, path string, lookup config.Env) *llmd {
	t.Helper()
	file, err := config.Load(path, lookup)
	if err != nil {
		t.Fatal(err)
	}
	l := &llmd{log: &logBuffer{}, path: path}
	if l.app, err = server.New(file, lookup, "test", l.log); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- l.app.Serve(ctx, []net.Listener{socket}, ctx.Done()) }()
	conn := dial(t, "passthrough:///"+socket.Addr().String())
	l.InferenceServiceClient, l.models = llmdv1.NewInferenceServiceClient(conn), llmdv1.NewModelServiceClient(conn)
	t.Cleanup(func() {
		stop()
		select {
		case err := <-served:
			if err != nil {
				t.Errorf("serve: %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("the server does not stop")
		}
		for _, word := range []string{secret, harness.Canary, "panic"} {
			if strings.Contains(l.log.String(), word) {
				t.Errorf("llmd's log holds %q", word)
			}
		}
	})
	return l
}

func dial(t *testing.T, target string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)), grpc.WithDisableServiceConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// limited is a context that ends with the test, and a minute at the latest.
func limited(t *testing.T) context.Context { return harness.Limited(t, time.Minute) }

// ask sends one prompt and gives the text of the answer.
func (l *llmd) ask(t *testing.T, model string) (string, error) {
	t.Helper()
	r, err := l.Complete(limited(t), &llmdv1.CompleteRequest{Generation: harness.Ask(model, "Hello.")})
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, c := range r.GetMessage().GetContent() {
		text.WriteString(harness.TextOf(c))
	}
	return text.String(), nil
}

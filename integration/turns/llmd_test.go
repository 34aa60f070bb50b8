package turns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
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

// player is the provider: it answers each request with the recording that is on,
// and keeps the request. One request is played at a time.
type player struct {
	*httptest.Server
	mu   sync.Mutex
	on   *recording
	sent []byte
}

// play puts a recording on.
func (p *player) play(r *recording) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.on, p.sent = r, nil
}

// got is the request that was answered.
func (p *player) got() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

func newPlayer(t *testing.T) *player {
	t.Helper()
	p := &player{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.sent = body
		for k, v := range p.on.Headers {
			switch strings.ToLower(k) {
			case "transfer-encoding", "content-length", "connection", "date", "content-encoding":
			default:
				w.Header().Set(k, v)
			}
		}
		w.WriteHeader(p.on.Status)
		_, _ = w.Write(p.on.response)
	}))
	t.Cleanup(p.Close)
	return p
}

// llmd is a server in this process with the player behind all its providers, and a
// client of it.
type llmd struct {
	llmdv1.InferenceServiceClient
	player *player
}

// configuration names the providers of the conversations, and of their models those
// that reason. Providers and models that llmd knows keep what it knows of them.
func configuration(api, base string, all []conversation) string {
	var b strings.Builder
	b.WriteString("server:\n  instance: test\nproviders:\n")
	var providers []string
	models, apis := map[string][]string{}, map[string]string{}
	for _, c := range all {
		p, m := c[0].Provider, c[0].Model
		apis[p] = c.apiOf(api)
		if !slices.Contains(providers, p) {
			providers = append(providers, p)
		}
		if c.thinks() && !slices.Contains(models[p], m) {
			models[p] = append(models[p], m)
		}
	}
	for _, p := range providers {
		fmt.Fprintf(&b, "  - id: %q\n    api: %q\n    base_url: %q\n    api_key: secret\n    allow_unlisted_models: true\n", p, apis[p], base)
		if p == "google-vertex" && apis[p] == "anthropic-messages" {
			b.WriteString("    compat: {messages_dialect: vertex}\n")
		}
		if len(models[p]) > 0 {
			b.WriteString("    models:\n")
		}
		for _, m := range models[p] {
			fmt.Fprintf(&b, "      - {id: %q, reasoning: true}\n", m)
		}
	}
	return b.String()
}

// start runs llmd until the test ends.
func start(t *testing.T, api, base string, all []conversation) *llmd {
	t.Helper()
	l := &llmd{player: newPlayer(t)}
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"GOOGLE_CLOUD_PROJECT": "test-project", "AWS_REGION": "us-east-1"}[name]
		return v, ok
	}
	text := configuration(api, l.player.URL+base, all)
	file, err := config.Parse("test.yaml", []byte(text), env)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	app, err := server.New(file, env, "test", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- app.Serve(ctx, []net.Listener{socket}, nil) }()
	conn, err := grpc.NewClient("passthrough:///"+socket.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)))
	if err != nil {
		t.Fatal(err)
	}
	l.InferenceServiceClient = llmdv1.NewInferenceServiceClient(conn)
	t.Cleanup(func() {
		_ = conn.Close()
		stop()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return l
}

// prepare is the request that llmd would send.
func (l *llmd) prepare(g *llmdv1.Generation) (*llmdv1.PrepareContextResponse, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return l.PrepareContext(ctx, &llmdv1.PrepareContextRequest{Generation: g})
}

// stream plays a recording through llmd and returns the message that it gave out,
// and the request that the provider got.
func (l *llmd) stream(r *recording, g *llmdv1.Generation) (*llmdv1.AssistantMessage, []byte, error) {
	l.player.play(r)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	s, err := l.Stream(ctx, &llmdv1.StreamRequest{Generation: g})
	if err != nil {
		return nil, nil, err
	}
	var m *llmdv1.AssistantMessage
	for {
		e, err := s.Recv()
		switch {
		case errors.Is(err, io.EOF) && m == nil:
			return nil, nil, errors.New("the stream has no terminal event")
		case errors.Is(err, io.EOF):
			return m, l.player.got(), nil
		case err != nil:
			return nil, nil, err
		case e.GetDone() != nil:
			m = e.GetDone().GetMessage()
		case e.GetError() != nil:
			return nil, nil, fmt.Errorf("the answer ended in an error: %s", e.GetError().GetError().GetReason())
		}
	}
}

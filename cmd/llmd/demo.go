package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/llmd-dev/llmd/adapters/faux/fauxserver"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/server"
)

const (
	// The two models of the demo. The first is built in; the second is served by
	// a loopback HTTP server that speaks another wire API.
	modelA = "faux/agent"
	modelB = "lab/claude-like"
	// modelLong is what the demo aborts.
	modelLong = "faux/long"

	apiOfB = "anthropic-messages"

	// demoPatience ends a demo that hangs.
	demoPatience = 30 * time.Second
)

type demoCmd struct{}

// Run plays the demo. Whatever is not as it should be is an error.
func (demoCmd) Run(s *session) error {
	ctx, cancel := context.WithTimeout(s.ctx, demoPatience)
	defer cancel()
	d, stop, err := startDemo(ctx, s)
	if err != nil {
		return err
	}
	defer stop()
	began := time.Now()
	for _, part := range []func(context.Context) error{d.toolCall, d.toolResult, d.handoff, d.handBack, d.abort} {
		if err := part(ctx); err != nil {
			d.out.end()
			return fmt.Errorf("the demo went wrong: %w", err)
		}
		if d.out.out.err != nil { // nobody sees the rest
			return d.out.out.err
		}
	}
	d.out.title(fmt.Sprintf("All as it should be, in %s. Next: llmd serve, and the README.", time.Since(began).Round(10*time.Millisecond)))
	return d.out.out.err
}

// demo is a conversation with an llmd at the other end of a socket.
type demo struct {
	client llmdv1.InferenceServiceClient
	out    *demoPrinter
	// messages are the conversation so far.
	messages []*llmdv1.Message
}

// startDemo starts the second model's host, an llmd that knows it, and a client.
// The llmd sees no environment, so that nothing of the user's has a part in it.
func startDemo(ctx context.Context, s *session) (d *demo, stop func(), err error) {
	alone := *s
	alone.env = func(string) (string, bool) { return "", false }
	host, stopHost, err := serveHost(ctx)
	if err != nil {
		return nil, nil, err
	}
	listener, err := server.Listen(ctx, config.Address{Network: "tcp", Address: "127.0.0.1:0"})
	if err != nil {
		stopHost()
		return nil, nil, err
	}
	stopServer, err := alone.start(ctx, demoConfig(host), listener)
	if err != nil {
		stopHost()
		return nil, nil, err
	}
	conn, err := dial(listener.Addr().String())
	if err != nil {
		stopServer()
		stopHost()
		return nil, nil, err
	}
	d = &demo{client: llmdv1.NewInferenceServiceClient(conn), out: newDemoPrinter(s)}
	d.out.title("llmd demo: a server on " + listener.Addr().String() + ", and this program as its gRPC client")
	d.out.line("A", modelA+", built into llmd; API faux")
	d.out.line("B", modelB+", a small HTTP server at "+host+"; API "+apiOfB)
	return d, func() { _ = conn.Close(); stopServer(); stopHost() }, nil
}

// demoConfig is what a file with the host of model B would say.
func demoConfig(host string) *config.File {
	file := config.Default()
	file.Server.Instance = "demo"
	file.Server.Listen = nil
	file.Providers = []config.Provider{{
		ID: "lab", API: apiOfB, BaseURL: host, APIKey: config.NewSecret("none"),
		Models: []config.Model{{ID: "claude-like", Input: []llmdv1.Modality{llmdv1.Modality_MODALITY_TEXT}}},
	}}
	return file
}

// serveHost starts the HTTP server of model B.
func serveHost(ctx context.Context) (url string, stop func(), err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{Handler: fauxserver.AnthropicHandler(), ReadHeaderTimeout: demoPatience}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.Serve(l) // it ends because it is closed
	}()
	return "http://" + l.Addr().String(), func() { _ = srv.Close(); <-ended }, nil
}

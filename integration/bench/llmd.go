package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

// buildLLMD builds the binary as it is released: without symbols.
func buildLLMD(ctx context.Context, dir string) (string, error) {
	out := filepath.Join(dir, "llmd")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, "github.com/llmd-dev/llmd/cmd/llmd")
	cmd.Stderr = os.Stderr
	return out, cmd.Run()
}

// llmdConfig is the usual configuration: two hosts, and room for the many idle
// streams on few connections.
const llmdConfig = `server:
  listen: [tcp://%s]
  max_concurrent_streams: 1000
%sproviders:
  - id: chat
    api: openai-completions
    base_url: http://%s/v1
    api_key: none
    models:
%s  - id: anthropic
    base_url: http://%s
    api_key: none
    models:
%s`

// adminConfig turns metrics on, and profiles, which cost nothing until somebody looks.
const adminConfig = `  admin: {listen: "tcp://%s", pprof: true}
`

// startLLMD starts llmd and waits until it serves. took is how long that was.
func (b *bench) startLLMD(ctx context.Context, name, binary string) (p *process, took time.Duration, err error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, 0, err
	}
	admin, mockAddr := "", b.mock.addr
	if b.telemetry {
		at, err := freeAddr()
		if err != nil {
			return nil, 0, err
		}
		admin = fmt.Sprintf(adminConfig, at)
		if b.profiles {
			fmt.Fprintf(b.out, "%s: http://%s/debug/pprof/\n", name, at)
		}
	}
	config := filepath.Join(filepath.Dir(binary), fmt.Sprintf("bench-%s-%d.yaml", name, os.Getpid()))
	if dir := os.TempDir(); dir != "" {
		config = filepath.Join(dir, filepath.Base(config))
	}
	models := b.listed()
	body := fmt.Sprintf(llmdConfig, addr, admin, mockAddr, models, mockAddr, models)
	if err := os.WriteFile(config, []byte(body), 0o600); err != nil {
		return nil, 0, err
	}
	defer os.Remove(config)
	cmd := command(ctx, binary, "serve", "--config", config)
	cmd.Stderr = nil // a line a call
	if b.telemetry {
		// The mock is the collector, too: each request has its spans.
		cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+mockAddr, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf")
	}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	p = &process{name: name, addr: addr, cmd: cmd}
	if err := awaitServing(ctx, addr); err != nil {
		p.stop()
		return nil, 0, fmt.Errorf("%s: %w", name, err)
	}
	return p, time.Since(begun), nil
}

// listed are the models of all measurements, as a configuration lists them.
func (b *bench) listed() string {
	var text strings.Builder
	names := map[string]bool{}
	for _, s := range b.scenarios() {
		if name := s.model(); !names[name] {
			names[name] = true
			fmt.Fprintf(&text, "      - {id: %s, input: [text, image], context_window_tokens: 100000000, max_output_tokens: 4096}\n", name)
		}
	}
	return text.String()
}

// freeAddr is an address that nobody listens on.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// awaitServing asks for the health until it is SERVING. It looks for the port
// itself: grpc-go would wait a second after a refused connection.
func awaitServing(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			_ = c.Close()
			break
		}
		if ctx.Err() != nil {
			return err
		}
		time.Sleep(500 * time.Microsecond)
	}
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	answer, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{})
	if err == nil && answer.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		err = fmt.Errorf("health is %s", answer.GetStatus())
	}
	return err
}

package main

import (
	"context"
	"fmt"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/llmd-dev/llmd/internal/config"
)

type healthCmd struct {
	Addr    string        `help:"Where it runs (tcp://host:port or unix:///path); default: the first address that \"llmd serve\" would listen on." placeholder:"ADDRESS"`
	Config  string        `help:"Configuration file (YAML) to find that address; default $LLMD_CONFIG, or none." type:"path" placeholder:"FILE"`
	Service string        `help:"Ask for one service, such as llmd.v1.InferenceService." placeholder:"NAME"`
	Timeout time.Duration `help:"How long the answer may take." default:"5s"`

	identityFlags
}

// Run asks grpc.health.v1, for probes of containers without grpcurl.
func (c *healthCmd) Run(s *session) error {
	if c.Timeout <= 0 {
		return &usageError{"--timeout: must be more than 0s"}
	}
	address := c.Addr
	if address == "" {
		file, err := config.Load(c.Config, s.env)
		if err != nil {
			return err
		}
		address = file.Server.Listen[0].String()
	}
	options, err := c.options(address)
	if err != nil {
		return err
	}
	conn, err := dial(address, options...)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(s.ctx, c.Timeout)
	defer cancel()
	answer, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{Service: c.Service})
	if err != nil {
		return unanswered(address, err)
	}
	if _, err := fmt.Fprintln(s.stdout, answer.GetStatus()); err != nil {
		return err
	}
	if answer.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		return exitCodeError(exitError)
	}
	return nil
}

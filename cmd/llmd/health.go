package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/llmd-dev/llmd/internal/config"
)

type healthCmd struct {
	Addr    string        `help:"Where it runs (tcp://host:port or unix:///path); default: the first address that \"llmd serve\" would listen on." type:"name" placeholder:"ADDRESS"`
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
	address, options, err := c.where(s)
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
		return c.alone(s, unanswered(address, err))
	}
	if _, err := fmt.Fprintln(s.stdout, answer.GetStatus()); err != nil {
		return err
	}
	if answer.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		return exitCodeError(exitError)
	}
	return nil
}

// alone says what may be wrong where nobody answered at an address that was only supposed:
// a server that was given its file by "llmd serve --config" may be elsewhere.
func (c *healthCmd) alone(s *session, err error) error {
	if _, answered := status.FromError(err); answered {
		return err
	}
	for _, name := range []string{"LLMD_CONFIG", "LLMD_LISTEN"} {
		if value, _ := s.env(name); value != "" {
			return err
		}
	}
	if c.Addr != "" || c.Config != "" {
		return err
	}
	return fmt.Errorf("%w; no configuration was named: if the server has one, give it with --config or $LLMD_CONFIG", err)
}

// where is the address to ask, and how. Without --addr it is the first one that the
// configuration listens on, and its TLS is that of the configuration, too.
func (c *healthCmd) where(s *session) (string, []grpc.DialOption, error) {
	if c.Addr != "" {
		options, err := c.options(c.Addr)
		return c.Addr, options, err
	}
	file, err := config.Load(c.Config, s.env)
	if err != nil {
		return "", nil, err
	}
	first := file.Server.Listen[0]
	address := onThisMachine(first)
	options, err := c.options(address)
	if err != nil || first.Network == "unix" || !file.Server.TLS.On() || c.first() != "" {
		return address, options, err
	}
	pinned, err := pin(file.Server.TLS.CertFile)
	return address, append(options, grpc.WithTransportCredentials(credentials.NewTLS(pinned))), err
}

// onThisMachine is an address as a client on the same machine dials it: one that
// stands for all of the machine's is its loopback address.
func onThisMachine(a config.Address) string {
	if host, port, err := net.SplitHostPort(a.Address); err == nil && a.Network == "tcp" {
		if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
			a.Address = net.JoinHostPort(map[bool]string{true: "127.0.0.1", false: "::1"}[ip.Is4()], port)
		}
	}
	return a.String()
}

// pin trusts the certificate of the server's own file and no other. Names and dates
// are for those who call from elsewhere.
func pin(certFile string) (*tls.Config, error) {
	text, err := os.ReadFile(certFile)
	if err != nil {
		return nil, fmt.Errorf("server.tls.cert_file: %w", err)
	}
	block, rest := pem.Decode(text)
	for block != nil && block.Type != "CERTIFICATE" {
		block, rest = pem.Decode(rest)
	}
	if block == nil {
		return nil, fmt.Errorf("server.tls.cert_file: %s holds no certificate in PEM", certFile)
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection is stricter
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 || !bytes.Equal(state.PeerCertificates[0].Raw, block.Bytes) {
				return errors.New("it has another certificate than " + certFile)
			}
			return nil
		},
	}, nil
}

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/server"
)

const (
	// maxReceive is what contract section 4 asks of clients: no event is larger.
	maxReceive = 16 << 20
	// pipeBytes is what a connection inside the process buffers.
	pipeBytes = 1 << 20
)

// dial connects to a running llmd, the connection is made by the first call. The
// address is what [target] takes.
func dial(address string, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	name, _, err := target(address)
	if err != nil {
		return nil, err
	}
	options = append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReceive)),
	}, options...)
	return grpc.NewClient(name, options...)
}

// target is an address in the words of grpc-go, and whether it is on this machine for
// sure: tcp://host:port or host:port, unix:///path or unix:/path, or grpc-go's own.
func target(address string) (name string, local bool, err error) {
	if strings.HasPrefix(address, "passthrough:") || strings.HasPrefix(address, "dns:") {
		return address, false, nil
	}
	if port, ok := strings.CutPrefix(strings.TrimPrefix(address, "tcp://"), ":"); ok {
		return "", false, &usageError{fmt.Sprintf("--addr: %q must name the host, such as 127.0.0.1:%s", address, port)}
	}
	a, err := config.ShortAddress(address)
	switch {
	case err != nil:
		return "", false, &usageError{"--addr: " + err.Error()}
	case a.Network == "unix":
		return a.String(), true, nil
	}
	return a.Address, a.Local(), nil
}

// reach connects to the llmd at an address or, if that is empty, to one with this
// configuration that runs inside the process. Close ends both.
func (s *session) reach(address, configPath string, who *identityFlags) (conn *grpc.ClientConn, closeAll func(), err error) {
	if address != "" {
		if configPath != "" {
			return nil, nil, &usageError{"--config is for an llmd inside this command, --addr for one elsewhere: give one of them"}
		}
		options, err := who.options(address)
		if err != nil {
			return nil, nil, err
		}
		if conn, err = dial(address, options...); err != nil {
			return nil, nil, err
		}
		return conn, func() { _ = conn.Close() }, nil
	}
	if flag := who.first(); flag != "" {
		return nil, nil, &usageError{flag + " is for an llmd elsewhere: say where with --addr"}
	}
	file, err := config.Load(configPath, s.env)
	if err != nil {
		return nil, nil, err
	}
	return s.reachFile(file)
}

// reachFile runs an llmd inside the process and connects to it through memory: no
// port is opened, and nobody else can call it.
func (s *session) reachFile(file *config.File) (conn *grpc.ClientConn, closeAll func(), err error) {
	file.Server.Listen, file.Server.Web, file.Server.TLS, file.Server.Auth = nil, config.Web{}, config.TLS{}, config.Auth{}
	pipe := bufconn.Listen(pipeBytes)
	stop, err := s.start(s.ctx, file, pipe)
	if err != nil {
		return nil, nil, err
	}
	conn, err = dial("passthrough:///llmd", grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		return pipe.DialContext(ctx)
	}))
	if err != nil {
		stop()
		return nil, nil, err
	}
	return conn, func() { _ = conn.Close(); stop() }, nil
}

// start serves a configuration until stop is called, which waits for the end. It
// does not end with ctx: an interrupted call still wants its receipt.
func (s *session) start(ctx context.Context, file *config.File, listener net.Listener) (stop func(), err error) {
	app, err := server.New(file, s.env, version(), io.Discard) //nolint:contextcheck // what it starts outlives the command
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stopNow, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		// It ends because it is told to; whoever calls it sees everything else.
		_ = app.Serve(ctx, []net.Listener{listener}, stopNow)
	}()
	return func() { close(stopNow); cancel(); <-ended }, nil
}

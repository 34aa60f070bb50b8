package telemetry

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/server"
)

// lab is an llmd whose telemetry somebody looks at.
type lab struct {
	llmdv1.InferenceServiceClient
	conn  *grpc.ClientConn
	log   *harness.LogBuffer
	admin string // URL of the admin pages; empty = there are none
	path  string

	end    context.CancelFunc
	served chan error
}

// start serves a configuration. variables are the environment's, llmd's and
// OpenTelemetry's alike.
func start(t testing.TB, text string, variables ...string) *lab {
	t.Helper()
	for i := 0; i < len(variables); i += 2 {
		t.Setenv(variables[i], variables[i+1])
	}
	l := &lab{log: &harness.LogBuffer{}, path: filepath.Join(t.TempDir(), "llmd.yaml"), served: make(chan error, 1)}
	if err := os.WriteFile(l.path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := config.Load(l.path, os.LookupEnv)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	app, err := server.New(file, os.LookupEnv, "1.2.3", l.log)
	if err != nil {
		t.Fatal(err)
	}
	if file.Server.Admin.On() {
		if app.Admin, err = server.Listen(t.Context(), file.Server.Admin.Listen); err != nil {
			t.Fatal(err)
		}
		l.admin = "http://" + app.Admin.Addr().String()
	}
	socket, err := server.Listen(t.Context(), file.Server.Listen[0])
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	l.end = stop
	go func() { l.served <- app.Serve(ctx, []net.Listener{socket}, nil) }()
	if l.conn, err = grpc.NewClient("passthrough:///"+socket.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableServiceConfig()); err != nil {
		t.Fatal(err)
	}
	l.InferenceServiceClient = llmdv1.NewInferenceServiceClient(l.conn)
	t.Cleanup(func() { l.stop(t) })
	return l
}

// stop ends the server as SIGTERM does; afterwards all is exported.
func (l *lab) stop(t testing.TB) {
	t.Helper()
	if l.end == nil {
		return
	}
	_ = l.conn.Close()
	l.end()
	l.end = nil
	if err := <-l.served; err != nil {
		t.Errorf("serve: %v", err)
	}
}

// listen has free ports for the server and its admin pages.
const listen = "server:\n  listen: [tcp://127.0.0.1:0]\n  drain_timeout: 2s\n  instance: lab\n"

const adminPages = "  admin: {listen: 'tcp://127.0.0.1:0'}\n"

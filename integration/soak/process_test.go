package soak

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// binary builds llmd.
func binary(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "llmd")
	if text, err := exec.Command("go", "build", "-o", out, "../../cmd/llmd").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// process is one llmd.
type process struct {
	cmd    *exec.Cmd
	conn   *grpc.ClientConn
	client llmdv1.InferenceServiceClient
	config string
	log    *harness.LogBuffer
}

const configuration = `server:
  listen: [unix://%s]
  drain_timeout: 5s
  log_level: warn
providers:
  - {id: lab, api: openai-completions, base_url: %s, api_key: none, allow_unlisted_models: true, display_name: "reload %d"}
`

func writeConfig(path, socket, provider string, n int) error {
	if err := os.WriteFile(path+".new", fmt.Appendf(nil, configuration, socket, provider, n), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func start(ctx context.Context, program, dir, provider string, n int) (*process, error) {
	socket := filepath.Join(dir, fmt.Sprintf("s%d", n))
	p := &process{config: filepath.Join(dir, fmt.Sprintf("c%d.yaml", n)), log: &harness.LogBuffer{}}
	if err := writeConfig(p.config, socket, provider, 0); err != nil {
		return nil, err
	}
	p.cmd = exec.Command(program, "serve", "--config", p.config)
	p.cmd.Stderr = p.log
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	var err error
	if p.conn, err = grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("localhost"), grpc.WithDisableServiceConfig()); err != nil {
		return nil, err
	}
	p.client = llmdv1.NewInferenceServiceClient(p.conn)
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if _, err := healthv1.NewHealthClient(p.conn).Check(ctx, &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true)); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, p.log.String())
	}
	return p, nil
}

// end asks it to end, and waits for that.
func (p *process) end() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	done := make(chan error, 1)
	go func() { done <- p.cmd.Wait() }()
	select {
	case err := <-done:
		_ = p.conn.Close()
		return err
	case <-time.After(30 * time.Second):
		_ = p.cmd.Process.Kill()
		return fmt.Errorf("it does not end: %w", <-done)
	}
}

// resident is its memory in MiB, and files how many it has open.
func (p *process) resident() (mib, files int) {
	dir := "/proc/" + strconv.Itoa(p.cmd.Process.Pid)
	text, err := os.ReadFile(dir + "/status")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			mib = kib >> 10
		}
	}
	all, _ := os.ReadDir(dir + "/fd")
	return mib, len(all)
}

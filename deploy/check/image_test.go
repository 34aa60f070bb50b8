package check

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var built struct {
	sync.Once
	path string
	err  error
	out  []byte
}

// build makes the binary as the Dockerfile does, once.
func build(t *testing.T) string {
	t.Helper()
	built.Do(func() {
		dir, err := os.MkdirTemp("", "llmd-deploy")
		if err != nil {
			built.err = err
			return
		}
		built.path = filepath.Join(dir, "llmd")
		cmd := exec.Command("go", "build", "-C", "../..", "-trimpath", "-ldflags", "-s -w", "-o", built.path, "./cmd/llmd")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
		built.out, built.err = cmd.CombinedOutput()
	})
	if built.err != nil {
		t.Fatalf("%v\n%s", built.err, built.out)
	}
	return built.path
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.path != "" {
		_ = os.RemoveAll(filepath.Dir(built.path))
	}
	os.Exit(code)
}

// The image is scratch: the binary must find all it needs in the tree that rootfs.sh
// makes, as the user that the image names. Without a container engine, chroot is what
// shows it.
func TestImageTree(t *testing.T) {
	if os.Getuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI must be root: chroot needs it")
		}
		t.Skip("chroot needs root")
	}
	parent := t.TempDir()
	for dir := parent; dir != "/"; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o005 != 0o005 {
			if err := os.Chmod(dir, info.Mode().Perm()|0o055); err != nil {
				t.Fatal(err)
			}
		}
	}
	root := filepath.Join(parent, "rootfs")
	if out, err := exec.Command("../docker/rootfs.sh", build(t), root).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	inside := func(ctx context.Context, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir = "/"
		cmd.Env = []string{"HOME=/"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		return cmd
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if out, err := inside(ctx, "/llmd", "version").CombinedOutput(); err != nil {
		t.Fatalf("version: %v\n%s", err, out)
	}
	var log bytes.Buffer
	serve := inside(ctx, "/llmd", "serve")
	serve.Env = append(serve.Env, "LLMD_LISTEN=unix:///run/llmd/llmd.sock")
	serve.Stderr = &log
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	up := func() bool {
		return inside(ctx, "/llmd", "health", "--addr", "unix:///run/llmd/llmd.sock").Run() == nil
	}
	for !up() {
		if ctx.Err() != nil {
			t.Fatalf("it does not serve\n%s", log.String())
		}
		time.Sleep(50 * time.Millisecond)
	}
	out, err := inside(ctx, "/llmd", "call", "--addr", "unix:///run/llmd/llmd.sock", "faux/echo", "Hello from a chroot.").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Hello from a chroot.") {
		t.Errorf("call: %v\n%s", err, out)
	}
	if info, err := os.Stat(filepath.Join(root, "run/llmd/llmd.sock")); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	_ = serve.Process.Signal(syscall.SIGTERM)
	if err := serve.Wait(); err != nil {
		t.Errorf("serve: %v\n%s", err, log.String())
	}
	if !strings.Contains(log.String(), "msg=stopped") {
		t.Errorf("it did not end by itself:\n%s", log.String())
	}
}

// What the Dockerfile says must agree with the tree.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile("../docker/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"CGO_ENABLED=0", "FROM scratch", "USER 65532:65532", "deploy/docker/rootfs.sh", `ENTRYPOINT ["/llmd"]`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s", want)
		}
	}
}

// Package redistest runs a real Redis, or Valkey, for tests.
package redistest

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Binary is the server that is found: $LLMD_REDIS, redis-server or valkey-server.
// Where there is none the test is skipped, in CI it fails.
func Binary(t testing.TB) string {
	t.Helper()
	for _, name := range []string{os.Getenv("LLMD_REDIS"), "redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	const how = "no redis-server or valkey-server in PATH: apt-get install redis-server, or name one by LLMD_REDIS"
	if os.Getenv("CI") == "true" {
		t.Fatal(how)
	}
	t.Skip(how)
	return ""
}

// Server is a Redis that runs until the test ends.
type Server struct {
	// Addr is host:port.
	Addr string

	t    testing.TB
	args []string
	cmd  *exec.Cmd
	log  bytes.Buffer
	// watch ends the server if this process dies: its standard input ends then.
	watch *exec.Cmd
	alive io.Closer
}

// Start starts one on a loopback port, without persistence. args are more of its
// command line.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	binary := Binary(t)
	port := strconv.Itoa(FreePort(t))
	s := &Server{Addr: net.JoinHostPort("127.0.0.1", port), t: t}
	dir := t.TempDir()
	s.args = append([]string{
		binary, "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--dir", dir,
		"--pidfile", filepath.Join(dir, "pid"), "--daemonize", "no",
	}, args...)
	s.Run()
	t.Cleanup(s.Kill)
	return s
}

// Run starts it again, empty.
func (s *Server) Run() {
	s.t.Helper()
	s.cmd = exec.Command(s.args[0], s.args[1:]...)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.watch = exec.Command("sh", "-c", "read -r _; kill -9 "+strconv.Itoa(s.cmd.Process.Pid))
	in, err := s.watch.StdinPipe()
	if err == nil {
		err = s.watch.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.alive = in
	for range 500 {
		if c, err := net.DialTimeout("tcp", s.Addr, time.Second); err == nil {
			_ = c.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Fatalf("redis does not listen:\n%s", s.log.String())
}

// Kill ends it at once.
func (s *Server) Kill() {
	if s.cmd.ProcessState == nil {
		if s.watch != nil && s.watch.Process != nil {
			_ = s.watch.Process.Kill()
			_ = s.alive.Close()
			_ = s.watch.Wait()
		}
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

// Freeze stops it from answering, Thaw lets it go on.
func (s *Server) Freeze() { _ = s.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw undoes Freeze.
func (s *Server) Thaw() { _ = s.cmd.Process.Signal(syscall.SIGCONT) }

// FreePort is a loopback port that nobody uses now.
func FreePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

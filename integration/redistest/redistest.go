// Package redistest runs a real Redis, or Valkey, for tests.
package redistest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// Port stands in the arguments of a server for a free port: see Server.Ports.
	Port = "{port}"

	// starting is how long a server may take to be ready.
	starting = time.Minute
	// A port of this range is given to nobody who asks for just any.
	firstPort, lastPort = 10_000, 32_000
)

// Binary is the server that is found: $LLMD_REDIS, redis-server or valkey-server.
// Where there is none the test is skipped, in CI it fails.
func Binary(t testing.TB) string {
	t.Helper()
	return find(t, "no redis-server or valkey-server in PATH: apt-get install redis-server, or name one by LLMD_REDIS",
		os.Getenv("LLMD_REDIS"), "redis-server", "valkey-server")
}

// find is the path of the first program that is there.
func find(t testing.TB, how string, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
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
	// Ports are those that stand for Port in the arguments, in their order.
	Ports []string

	t    testing.TB
	args []string
	cmd  *exec.Cmd
	log  *logs
	// ended is closed when the process has ended.
	ended chan struct{}
	// watch ends the server if this process dies: its standard input ends then.
	watch *exec.Cmd
	alive io.Closer
}

// logs collects what a server says.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Start starts one on a loopback port, without persistence. args are more of its
// command line.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	dir := t.TempDir()
	return started(t, append([]string{
		Binary(t), "--bind", "127.0.0.1", "--port", Port, "--save", "", "--appendonly", "no", "--dir", dir,
		"--pidfile", filepath.Join(dir, "pid"), "--daemonize", "no",
	}, args...))
}

// started runs a server. Somebody else may take a port between its choice and its use:
// then others are tried.
func started(t testing.TB, args []string) *Server {
	t.Helper()
	s := &Server{t: t}
	t.Cleanup(s.Kill)
	var err error
	for range 10 {
		s.args, s.Ports = nil, nil
		for _, a := range args {
			if a == Port {
				a = strconv.Itoa(FreePort(t))
				s.Ports = append(s.Ports, a)
			}
			s.args = append(s.args, a)
		}
		s.Addr = net.JoinHostPort("127.0.0.1", s.Ports[0])
		s.Ports = s.Ports[1:]
		if err = s.run(); !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Run starts it again, empty.
func (s *Server) Run() {
	s.t.Helper()
	var err error
	for range 100 { // its clients know the port: nobody else can have it for long
		if err = s.run(); !errors.Is(err, errPortTaken) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

var errPortTaken = errors.New("redistest: a port was taken")

// run starts the process and waits until it says that it is ready: that a port answers
// may be another one's doing.
func (s *Server) run() error {
	s.log, s.ended = &logs{}, make(chan struct{})
	s.cmd = exec.Command(s.args[0], s.args[1:]...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return err
	}
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait()
		close(ended)
	}(s.cmd, s.ended)
	s.watch = exec.Command("sh", "-c", "read -r _; kill -9 "+strconv.Itoa(s.cmd.Process.Pid))
	in, err := s.watch.StdinPipe()
	if err == nil {
		err = s.watch.Start()
	}
	if err != nil {
		return err
	}
	s.alive = in
	for end := time.Now().Add(starting); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		said := s.log.String()
		if strings.Contains(said, "eady to accept connections") || strings.Contains(said, "Sentinel ID is") {
			return nil
		}
		select {
		case <-s.ended:
			s.Kill()
			if said = s.log.String(); strings.Contains(said, "in use") || strings.Contains(said, "Failed listening on port") {
				return errPortTaken
			}
			return fmt.Errorf("redis ended:\n%s", said)
		default:
		}
	}
	return fmt.Errorf("redis is not ready:\n%s", s.log.String())
}

// Kill ends it at once.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	if s.watch != nil && s.watch.Process != nil {
		_ = s.watch.Process.Kill()
		_ = s.alive.Close()
		_ = s.watch.Wait()
	}
	_ = s.cmd.Process.Kill()
	<-s.ended
	s.cmd, s.watch = nil, nil
}

// Freeze stops it from answering, Thaw lets it go on.
func (s *Server) Freeze() { _ = s.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw undoes Freeze.
func (s *Server) Thaw() { _ = s.cmd.Process.Signal(syscall.SIGCONT) }

// FreePort is a loopback port that nobody uses now, and that is not given to those who
// listen or dial with any port.
func FreePort(t testing.TB) int {
	t.Helper()
	for range 1000 {
		port := firstPort + rand.N(lastPort-firstPort)
		if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("there is no free port")
	return 0
}

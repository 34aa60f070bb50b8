package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is one server.
type process struct {
	name string
	addr string
	cmd  *exec.Cmd
}

// listening begins the line with which a server of this binary says where it is.
const listening = "listening "

// startRole starts this binary in another role.
func startRole(ctx context.Context, role, mockAddr string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := command(ctx, self, "-role", role, "-mock", mockAddr)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), listening)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s did not start: %q, %w", role, line, err)
	}
	return &process{name: role, addr: addr, cmd: cmd}, nil
}

// command is a process that ends with this one.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = os.Stderr
	return cmd
}

func (p *process) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// serveRole is the other side of startRole.
func serveRole(role, mockAddr string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, listening+l.Addr().String())
	switch role {
	case "mock":
		return runMock(l)
	case "copy":
		return runCopy(l, mockAddr)
	case "memory":
		return runMemory(l)
	case "empty":
		return runEmpty(l, mockAddr)
	}
	return fmt.Errorf("no role %q", role)
}

// cpu is the processor time that the process has taken so far. The scheduler's own
// count of each thread has nanoseconds, where /proc/PID/stat has ticks of 10 ms. Go
// ends no threads here, so that none is missing.
func (p *process) cpu() (time.Duration, error) {
	threads, err := filepath.Glob(p.proc("task/*/schedstat"))
	if err != nil || len(threads) == 0 {
		return 0, errors.Join(fmt.Errorf("%s has ended", p.name), err)
	}
	total := time.Duration(0)
	for _, name := range threads {
		text, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		word, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return 0, err
		}
		total += time.Duration(n)
	}
	return total, nil
}

func (p *process) proc(name string) string {
	return fmt.Sprintf("/proc/%d/%s", p.cmd.Process.Pid, name)
}

// memoryBytes reads a row of /proc/PID/status: VmRSS is now, VmHWM the peak.
func (p *process) memoryBytes(row string) (int64, error) {
	f, err := os.Open(p.proc("status"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return 0, err
	}
	_, after, ok := strings.Cut(string(text), row+":")
	fields := strings.Fields(after)
	if !ok || len(fields) == 0 {
		return 0, fmt.Errorf("no %s in %s", row, p.proc("status"))
	}
	n, err := strconv.ParseInt(fields[0], 10, 64)
	return n << 10, err
}

// openFiles is how many files this process, and those it starts, may have open.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 1024
	}
	return limit.Cur
}

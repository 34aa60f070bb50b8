package main

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// addresses waits until a server's log names n addresses.
func addresses(t *testing.T, log *output, n int) []string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		found := regexp.MustCompile(`msg=listening address=(\S+)`).FindAllStringSubmatch(log.String(), -1)
		if len(found) == n {
			var all []string
			for _, f := range found {
				all = append(all, f[1])
			}
			return all
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not listen:\n%s", log)
		}
	}
}

// scripted streams what a script of the built-in provider says.
func scripted(t *testing.T, conn *grpc.ClientConn, script string) (grpc.ServerStreamingClient[llmdv1.StreamResponse], *fold) {
	t.Helper()
	stream, err := llmdv1.NewInferenceServiceClient(conn).Stream(t.Context(), &llmdv1.StreamRequest{Generation: &llmdv1.Generation{
		Model:   "faux/echo",
		Context: &llmdv1.Context{Messages: []*llmdv1.Message{userMessage(userText("faux: " + script))}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	f := &fold{}
	if err := readEvents(stream, f, 4); err != nil { // it has begun
		t.Fatal(err)
	}
	return stream, f
}

// connect is a client that the test closes at its end.
func connect(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := dial(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestServe runs the command in this process: on two addresses, until it is told to
// end, with a stream that is left to finish.
func TestServe(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	socket := filepath.Join(t.TempDir(), "run", "llmd.sock")
	c := newCommand(ctx, "", "LLMD_LISTEN", "tcp://127.0.0.1:0,unix://"+socket)
	code := make(chan int)
	go func() { code <- c.run("serve") }()
	at := addresses(t, &c.err, 2)
	if at[1] != "unix://"+socket {
		t.Errorf("%v", at)
	}
	for _, address := range at {
		if code, out, errs := llmd(t, "call", "--addr", address, "faux/echo", "Hello"); code != exitOK || out != "Hello\n" {
			t.Errorf("%s: exit code %d, %q\n%s", address, code, out, errs)
		}
	}
	stream, f := scripted(t, connect(t, at[0]), `{"text": "word ", "repeat": 10, "delay_ms": 30}`)
	stop()
	if err := readEvents(stream, f, -1); err != nil {
		t.Error(err)
	}
	if got := textOf(f.terminal.GetDone().GetMessage().GetContent()[0]); got != strings.Repeat("word ", 10) {
		t.Errorf("%q", got)
	}
	if got := <-code; got != exitOK || !strings.HasSuffix(c.err.String(), "msg=stopped\n") {
		t.Errorf("exit code %d\n%s", got, c.err.String())
	}
}

func TestServeWhereSomebodyIs(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	first := newCommand(ctx, "", "LLMD_LISTEN", "tcp://127.0.0.1:0")
	code := make(chan int)
	go func() { code <- first.run("serve") }()
	taken := addresses(t, &first.err, 1)[0]
	second := newCommand(t.Context(), "", "LLMD_LISTEN", "tcp://127.0.0.1:0,"+taken)
	if code := second.run("serve"); code != exitError ||
		!strings.HasPrefix(second.err.String(), "llmd: listen on "+taken+": bind: address already in use (another program uses it: choose another by server.listen or LLMD_LISTEN)\n") || strings.Count(second.err.String(), "listen on") != 1 {
		t.Errorf("exit code %d\n%s", code, second.err.String())
	}
	stop()
	<-code
}

// build makes the program once for the tests that need a process of its own.
func build(t *testing.T) string {
	t.Helper()
	switch {
	case testing.Short():
		t.Skip("builds the program: not with -short")
	case runtime.GOOS == "windows":
		t.Skip("there is no SIGTERM")
	}
	path := filepath.Join(t.TempDir(), "llmd")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// process starts the program; its exit code comes by the channel.
func process(t *testing.T, path string, log *output, env []string, args ...string) (*exec.Cmd, <-chan int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env, cmd.Stderr = append(cmd.Environ(), env...), log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	code := make(chan int, 1)
	go func() {
		_ = cmd.Wait()
		code <- cmd.ProcessState.ExitCode()
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, code
}

func TestProcess(t *testing.T) {
	program := build(t)

	t.Run("SIGTERM lets streams finish", func(t *testing.T) {
		var log output
		cmd, code := process(t, program, &log, []string{"LLMD_LISTEN=tcp://127.0.0.1:0"}, "serve")
		conn := connect(t, addresses(t, &log, 1)[0])
		stream, f := scripted(t, conn, `{"text": "word ", "repeat": 10, "delay_ms": 50}`)
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := readEvents(stream, f, -1); err != nil || f.terminal.GetDone() == nil {
			t.Errorf("%v, %v", err, f.terminal)
		}
		if got := <-code; got != exitOK {
			t.Errorf("exit code %d\n%s", got, log.String())
		}
	})

	t.Run("SIGTERM aborts streams in the end", func(t *testing.T) {
		var log output
		config := writeFile(t, "llmd.yaml", "server: {drain_timeout: 1s, listen: 'unix://"+filepath.Join(t.TempDir(), "s")+"'}\n")
		cmd, code := process(t, program, &log, nil, "serve", "--config", config)
		conn := connect(t, addresses(t, &log, 1)[0])
		stream, f := scripted(t, conn, `{"text": "word ", "repeat": 1000, "delay_ms": 50}`)
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		err := readEvents(stream, f, -1)
		if f.terminal.GetAborted().GetCause() != llmdv1.AbortCause_ABORT_CAUSE_SHUTDOWN || status.Code(err) != codes.Unavailable ||
			!strings.HasPrefix(describe(err), "SERVER_SHUTTING_DOWN: ") {
			t.Errorf("%v, %v", err, f.terminal)
		}
		if got := <-code; got != exitOK {
			t.Errorf("exit code %d\n%s", got, log.String())
		}
	})

	t.Run("a second signal ends it at once", func(t *testing.T) {
		var log output
		cmd, code := process(t, program, &log, []string{"LLMD_LISTEN=tcp://127.0.0.1:0"}, "serve")
		conn := connect(t, addresses(t, &log, 1)[0])
		stream, f := scripted(t, conn, `{"text": "word ", "repeat": 1000, "delay_ms": 50}`)
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		log.waitFor(t, "msg=draining")
		began := time.Now()
		for done := false; !done; { // the first signal's handler may not be ready for the second
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
				break
			}
			select {
			case got := <-code:
				if done = true; got != exitInterrupted || !strings.HasSuffix(log.String(), "msg=stopped\n") {
					t.Errorf("exit code %d\n%s", got, log.String())
				}
			case <-time.After(50 * time.Millisecond):
			}
		}
		if took := time.Since(began); took > 25*time.Second { // the drain would take 30
			t.Errorf("it took %s", took)
		}
		// In haste, too, there is a receipt.
		if err := readEvents(stream, f, -1); status.Code(err) != codes.Unavailable || f.terminal.GetAborted().GetCause() != llmdv1.AbortCause_ABORT_CAUSE_SHUTDOWN {
			t.Errorf("%v, %v", err, f.terminal)
		}
	})

	t.Run("a mistake of the configuration", func(t *testing.T) {
		var log output
		config := writeFile(t, "llmd.yaml", "server:\n  drain_timeout: soon\n")
		_, code := process(t, program, &log, nil, "serve", "--config", config)
		if got := <-code; got != exitUsage || !strings.Contains(log.String(), config+":2: server.drain_timeout: must be a duration") {
			t.Errorf("exit code %d\n%s", got, log.String())
		}
	})

	t.Run("Ctrl-C ends a call with a receipt", func(t *testing.T) {
		var log output
		cmd, code := process(t, program, &log, nil, "call", "faux/agent", `faux: [{"thinking": "Well."}, {"text": "word ", "repeat": 1000, "delay_ms": 20}]`)
		log.waitFor(t, "Well.")
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if got := <-code; got != exitInterrupted || !strings.Contains(log.String(), "aborted (REQUESTED): ") {
			t.Errorf("exit code %d\n%s", got, log.String())
		}
	})
}

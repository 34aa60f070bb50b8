package faults

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// held starts a stream that has seen some text and whose provider is silent.
func held(t *testing.T, p *Player, c llmdv1.InferenceServiceClient) (*Script, <-chan *harness.Outcome) {
	t.Helper()
	w := chatWire()
	frames := w.Frames(Sample())
	sent := frames[:inText.sent(w, frames)]
	s := p.Add(func(e *Exchange) bool {
		e.Head(200, "Content-Type: "+w.ContentType)
		e.Play(sent)
		if !e.Wait() {
			return false
		}
		e.Play(frames[len(sent):])
		return e.End()
	})
	seen := make(chan struct{})
	var once sync.Once
	done := make(chan *harness.Outcome, 1)
	go func() {
		o := harness.Run(harness.Limited(t, time.Minute), c, request(w, s, "held "+s.key), func(o *harness.Outcome, _ *llmdv1.StreamResponse) {
			if sees(o, added(sent)) {
				once.Do(func() { close(seen) })
			}
		})
		once.Do(func() { close(seen) })
		done <- o
	}()
	<-seen
	return s, done
}

func serving(t *testing.T, conn *grpc.ClientConn) healthv1.HealthCheckResponse_ServingStatus {
	t.Helper()
	resp, err := healthv1.NewHealthClient(conn).Check(harness.Limited(t, 5*time.Second), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Errorf("health: %v", err)
	}
	return resp.GetStatus()
}

// within waits for a condition.
func within(d time.Duration, f func() bool) bool {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if f() {
			return true
		}
	}
	return f()
}

func checkShutdown(t *testing.T, o *harness.Outcome) {
	t.Helper()
	for _, f := range o.Faults {
		t.Error(f)
	}
	if o.Aborted.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_SHUTDOWN || o.Status.Code() != codes.Unavailable || o.Reason() != "SERVER_SHUTTING_DOWN" {
		t.Errorf("%v, %v", o.Aborted.GetCause(), o.Status)
		return
	}
	e := o.Message.GetError()
	if e.GetReason() != "SERVER_SHUTTING_DOWN" || codes.Code(e.GetCode()) != codes.Unavailable || len(o.Message.GetContent()) != 2 || !o.Message.GetContent()[1].GetText().GetIncomplete() {
		t.Errorf("%v", o.Message)
	}
	if p := o.Trailer.Get("grpc-retry-pushback-ms"); len(p) != 1 || p[0] != "0" {
		t.Errorf("pushback %v", p)
	}
}

// TestDrainOrder: the health goes first, then new streams are refused with the
// reason, running ones may end, the rest get their receipt, and all is over within
// the drain.
func TestDrainOrder(t *testing.T) {
	t.Parallel()
	p := NewPlayer(t)
	// An address that others can reach: there may be a load balancer.
	l := harness.Start(t, "  listen: [\"tcp://0.0.0.0:50051\"]\n  allow_insecure: true\n  drain_timeout: 3s\n", hosts(p, []*Wire{chatWire()})...)
	s1, ends := held(t, p, l)
	s2, stays := held(t, p, l)
	if st := serving(t, l.Conn); st != healthv1.HealthCheckResponse_SERVING {
		t.Fatalf("before: %v", st)
	}
	watch, err := healthv1.NewHealthClient(l.Conn).Watch(harness.Limited(t, 20*time.Second), &healthv1.HealthCheckRequest{Service: "llmd.v1.InferenceService"})
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := watch.Recv(); err != nil || resp.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("watched: %v, %v", resp, err)
	}
	began := time.Now()
	l.Stop()
	if !within(500*time.Millisecond, func() bool { return serving(t, l.Conn) == healthv1.HealthCheckResponse_NOT_SERVING }) {
		t.Error("the health stays up")
	}
	if resp, err := watch.Recv(); err != nil || resp.GetStatus() != healthv1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("watched: %v, %v", resp, err)
	}
	// Half of the drain, at most 5 s, is for load balancers: streams are still taken.
	whole := p.Add(answers(chatWire(), Sample()))
	if o := harness.Run(harness.Limited(t, 5*time.Second), l, request(chatWire(), whole, ""), nil); o.Stop() != "TOOL_USE" {
		t.Errorf("while load balancers learn of it: %s, %v", o.Stop(), o.Status)
	}
	// Then they are refused, and told why.
	var refused *status.Status
	if !within(3*time.Second, func() bool {
		o := harness.Run(harness.Limited(t, 5*time.Second), l, request(chatWire(), whole, ""), nil)
		refused = o.Status
		return o.Status.Code() != codes.OK
	}) {
		t.Fatal("new streams are never refused")
	}
	at := time.Since(began)
	if refused.Code() != codes.Unavailable || harness.ReasonOf(refused.Err()) != "SERVER_SHUTTING_DOWN" {
		t.Errorf("refused with %v", refused)
	}
	if at < time.Second || at > 2500*time.Millisecond {
		t.Errorf("refused after %v, the balancers' time is 1.5 s", at)
	}
	s1.Open()
	if o := <-ends; o.Stop() != "TOOL_USE" || o.Status.Code() != codes.OK {
		t.Errorf("a stream that ends in time: %s, %v", o.Stop(), o.Status)
	}
	checkShutdown(t, <-stays)
	select {
	case <-s2.Gone:
	case <-time.After(time.Second):
		t.Error("the upstream connection stays open")
	}
	if !l.Stopped(10 * time.Second) {
		t.Error("the server does not end")
	}
	// The upper bound leaves room for a busy machine.
	if d := time.Since(began); d < 1900*time.Millisecond || d > 10*time.Second {
		t.Errorf("ended after %v, the drain is 3 s and the receipts are due after 2 s", d)
	}
}

// TestDrainWithoutStreams: nothing to wait for, though somebody watches the health.
func TestDrainWithoutStreams(t *testing.T) {
	t.Parallel()
	l := harness.Start(t, "  drain_timeout: 30s\n")
	watch, err := healthv1.NewHealthClient(l.Conn).Watch(harness.Limited(t, 20*time.Second), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	l.Stop()
	if !l.Stopped(10 * time.Second) { // of 30
		t.Errorf("ended after %v", time.Since(began))
	}
}

// TestSecondSignal: at once, partials and all.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	p := NewPlayer(t)
	l := harness.Start(t, "  drain_timeout: 30s\n", hosts(p, []*Wire{chatWire()})...)
	s, done := held(t, p, l)
	l.Stop()
	time.Sleep(100 * time.Millisecond)
	if l.Stopped(50 * time.Millisecond) {
		t.Fatal("the first signal ended it")
	}
	began := time.Now()
	l.StopNow()
	if !l.Stopped(10 * time.Second) { // of 30
		t.Errorf("ended after %v", time.Since(began))
	}
	if o := <-done; o.Status.Code() != codes.Unavailable && o.Status.Code() != codes.Canceled {
		t.Errorf("%v", o.Status)
	}
	<-s.Gone
}

// TestDrainOfABlockedReader: a client that does not read holds nothing up.
func TestDrainOfABlockedReader(t *testing.T) {
	t.Parallel()
	w := chatWire()
	p := NewPlayer(t)
	l := harness.Start(t, "  drain_timeout: 2s\n", hosts(p, []*Wire{w})...)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	stream, err := l.Stream(ctx, request(w, p.Add(flood(w)), ""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	l.Stop()
	if !l.Stopped(15 * time.Second) {
		t.Errorf("ended after %v", time.Since(began))
	}
}

// TestSignals: the built binary, and real signals.
func TestSignals(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the binary")
	}
	binary := filepath.Join(t.TempDir(), "llmd")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../cmd/llmd").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p := NewPlayer(t)
	start := func(t *testing.T, drain string) (*exec.Cmd, *grpc.ClientConn) {
		t.Helper()
		dir, err := os.MkdirTemp("", "llmd") //nolint:usetesting // a socket's path may have 107 bytes
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		// A socket of its own: a free TCP port may be somebody else's by the time.
		socket := filepath.Join(dir, "s")
		text := fmt.Sprintf("server:\n  listen: unix://%s\n  drain_timeout: %s\n  instance: signals\nproviders:\n  - id: p-openai-completions\n    api: openai-completions\n    base_url: %s/v1\n    api_key: none\n    models: [{id: m, reasoning: true}]\n", socket, drain, p.URL)
		path := filepath.Join(dir, "llmd.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(context.Background(), binary, "serve", "--config", path)
		var log strings.Builder
		cmd.Stderr = &log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_, err = healthv1.NewHealthClient(conn).Check(harness.Limited(t, 10*time.Second), &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true))
		if err != nil {
			t.Fatalf("%v\n%s", err, log.String())
		}
		return cmd, conn
	}
	wait := func(t *testing.T, cmd *exec.Cmd) (code int, took time.Duration) {
		t.Helper()
		began := time.Now()
		done := make(chan struct{})
		go func() { defer close(done); _ = cmd.Wait() }()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatal("the process does not end")
		}
		return cmd.ProcessState.ExitCode(), time.Since(began)
	}
	t.Run("one", func(t *testing.T) {
		t.Parallel()
		cmd, conn := start(t, "3s")
		_, done := held(t, p, llmdv1.NewInferenceServiceClient(conn))
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if !within(time.Second, func() bool {
			resp, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{})
			return err != nil || resp.GetStatus() == healthv1.HealthCheckResponse_NOT_SERVING
		}) {
			t.Error("the health stays up")
		}
		code, took := wait(t, cmd)
		checkShutdown(t, <-done)
		if code != 0 || took < 1500*time.Millisecond || took > 3500*time.Millisecond {
			t.Errorf("exit code %d after %v", code, took)
		}
	})
	t.Run("two", func(t *testing.T) {
		t.Parallel()
		cmd, conn := start(t, "60s")
		_, done := held(t, p, llmdv1.NewInferenceServiceClient(conn))
		_ = cmd.Process.Signal(syscall.SIGTERM)
		time.Sleep(300 * time.Millisecond)
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if _, took := wait(t, cmd); took > 2*time.Second {
			t.Errorf("ended after %v", took)
		}
		<-done
	})
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		cmd, _ := start(t, "60s")
		_ = cmd.Process.Signal(os.Interrupt)
		if code, took := wait(t, cmd); code != 0 || took > time.Second {
			t.Errorf("exit code %d after %v", code, took)
		}
	})
}

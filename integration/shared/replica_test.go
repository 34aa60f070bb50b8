package sharedtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
	"github.com/llmd-dev/llmd/integration/redistest"
	"github.com/llmd-dev/llmd/service/responses"
)

// How long a process counts as alive. On a busy machine one of a second may seem dead.
const (
	longLease  = 20 * time.Second
	shortLease = 2 * time.Second
)

// Callers and their tokens.
const (
	mine, theirs          = "token-one", "token-two"
	secretText            = "a-secret-that-nobody-else-may-read"
	configurationOfShared = `server:
  listen: [unix://%s]
  instance: replica-%d
  drain_timeout: 3s
  log_level: info
  auth:
    unix_socket: required
    tokens: [{name: one, sha256: %s}, {name: two, sha256: %s}]
  responses:
    store: redis
    encryption_keys: [{id: test, key: "` + "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f" + `"}]
    redis: {addresses: ["%s"], lease: %s, flush_interval: 20ms, timeout: 2s}
`
)

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "llmd-shared")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "llmd")
	if text, err := exec.Command("go", "build", "-o", out, "../../cmd/llmd").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, text)
	}
	return out, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := build(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// replica is one llmd process.
type replica struct {
	llmdv1.InferenceServiceClient
	cmd *exec.Cmd
	log *harness.LogBuffer
}

// site is Redis and three processes that share it.
type site struct {
	redis *redistest.Server
	// mu is for those that are replaced while others look.
	mu       sync.Mutex
	replicas []*replica
	again    func(n int) *replica
}

func (s *site) replica(n int) *replica {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replicas[n]
}

// restart kills a replica and starts another in its place.
func (s *site) restart(t *testing.T, n int) {
	t.Helper()
	s.replica(n).kill()
	r := s.again(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas[n] = r
}

func start(t *testing.T, lease time.Duration) *site {
	t.Helper()
	s := &site{redis: redistest.Start(t)}
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "s") //nolint:usetesting // the names of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s.again = func(n int) *replica { return run(t, program, dir, s.redis.Addr, lease, n) }
	for n := range 3 {
		s.replicas = append(s.replicas, s.again(n))
	}
	return s
}

func run(t *testing.T, program, dir, redis string, lease time.Duration, n int) *replica {
	t.Helper()
	socket, config := filepath.Join(dir, fmt.Sprint(n)), filepath.Join(dir, fmt.Sprint(n, ".yaml"))
	text := fmt.Sprintf(configurationOfShared, socket, n, digest(mine), digest(theirs), redis, lease)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &replica{log: &harness.LogBuffer{}}
	r.cmd = exec.Command(program, "serve", "--config", config)
	r.cmd.Stderr = r.log
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("localhost"),
		grpc.WithDisableServiceConfig(), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		r.kill()
		for _, word := range []string{secretText, "panic", "0f0f0f0f"} {
			if strings.Contains(r.log.String(), word) {
				t.Errorf("the log of replica %d holds %q:\n%s", n, word, r.log.String())
			}
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true)); err != nil {
		t.Fatalf("%v\n%s", err, r.log.String())
	}
	r.InferenceServiceClient = llmdv1.NewInferenceServiceClient(conn)
	return r
}

// kill is kill -9.
func (r *replica) kill() {
	if r.cmd.ProcessState == nil {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
	}
}

// as is a context with a caller's token.
func as(t testing.TB, token string) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

// script asks for an answer of n words with pauses between them, after some thinking.
func script(request string, n int, pause, detached time.Duration) *llmdv1.StreamRequest {
	text := fmt.Sprintf(`faux: [{"thinking": "Hm. Let me see."}, {"text": "%s ", "repeat": %d, "delay_ms": %d}, {"tool_call": {"name": "look", "arguments": {"q": "%s"}}}]`,
		secretText, n, pause.Milliseconds(), request)
	req := &llmdv1.StreamRequest{RequestId: request, Generation: &llmdv1.Generation{Model: "faux/echo", Context: &llmdv1.Context{
		Messages: []*llmdv1.Message{{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: []*llmdv1.UserContent{
			{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: text}}},
		}}}}},
		Tools: []*llmdv1.Tool{{Name: "look", ParametersJsonSchema: `{"type":"object"}`}},
	}}}
	if detached > 0 {
		req.Options = &llmdv1.StreamOptions{Detached: durationpb.New(detached)}
	}
	return req
}

type receiver interface {
	Recv() (*llmdv1.StreamResponse, error)
}

// read takes events until the end, or until so many have come. io.EOF is no error.
func read(stream receiver, err error, most int) ([]*llmdv1.StreamResponse, error) {
	var all []*llmdv1.StreamResponse
	for err == nil && len(all) < most {
		var e *llmdv1.StreamResponse
		if e, err = stream.Recv(); err == nil {
			all = append(all, e)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return all, err
}

const everything = 1 << 30

func attach(r *replica, ctx context.Context, request string, after int32, most int) ([]*llmdv1.StreamResponse, error) {
	req := &llmdv1.AttachRequest{Target: &llmdv1.AttachRequest_RequestId{RequestId: request}}
	if after >= 0 {
		req.LastSequenceNumber = &after
	}
	stream, err := r.Attach(ctx, req)
	return read(stream, err, most)
}

func last(events []*llmdv1.StreamResponse) *llmdv1.StreamResponse {
	if len(events) == 0 {
		return nil
	}
	return events[len(events)-1]
}

func ended(events []*llmdv1.StreamResponse) bool { return responses.Terminal(last(events)) }

// text is what the deltas of a text say.
func text(events []*llmdv1.StreamResponse) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString(e.GetTextDelta().GetDelta())
	}
	return b.String()
}

func textOf(m *llmdv1.AssistantMessage) string {
	var b strings.Builder
	for _, c := range m.GetContent() {
		b.WriteString(c.GetText().GetText())
	}
	return b.String()
}

// merged joins neighbouring deltas of a block, whose borders mean nothing, and takes
// off the numbers, ids and times.
func merged(events []*llmdv1.StreamResponse) (out []*llmdv1.StreamResponse) {
	for _, e := range events {
		e = proto.CloneOf(e)
		e.SequenceNumber = 0
		var before *llmdv1.StreamResponse
		if len(out) > 0 {
			before = out[len(out)-1]
		}
		switch {
		case e.GetTextDelta() != nil && before.GetTextDelta() != nil:
			before.GetTextDelta().Delta += e.GetTextDelta().GetDelta()
			continue
		case e.GetThinkingDelta() != nil && before.GetThinkingDelta() != nil:
			before.GetThinkingDelta().Delta += e.GetThinkingDelta().GetDelta()
			continue
		case e.GetToolCallDelta() != nil && before.GetToolCallDelta() != nil:
			d := before.GetToolCallDelta()
			d.Delta += e.GetToolCallDelta().GetDelta()
			d.ValidPrefixBytes, d.Closing = e.GetToolCallDelta().GetValidPrefixBytes(), e.GetToolCallDelta().GetClosing()
			continue
		case e.GetStarted() != nil:
			s := e.GetStarted()
			s.ResponseId, s.RequestId, s.Instance, s.CreateTime = "", "", "", nil
		case e.GetDone() != nil:
			e.GetDone().GetMessage().ResponseId, e.GetDone().GetMessage().CreateTime = "", nil
		}
		out = append(out, e)
	}
	return out
}

package clients

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/clients/build"
)

// client runs one language's program.
type client struct {
	server *server
	built  *build.Built
	// interruptAt: press Ctrl-C when the output has this.
	interruptAt string
	stdin       string
}

// result is what a program did.
type result struct {
	out, err string
	code     int
	// said is the conversation that it saved.
	said []*llmdv1.Message
}

// last is the answer it ended with.
func (r *result) last(t *testing.T) *llmdv1.AssistantMessage {
	t.Helper()
	if len(r.said) == 0 || r.said[len(r.said)-1].GetAssistant() == nil {
		t.Fatalf("the conversation does not end with an answer: %v\n%s%s", r.said, r.out, r.err)
	}
	return r.said[len(r.said)-1].GetAssistant()
}

// quickJava makes a JVM that lives for a second cost half of what it would.
const quickJava = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

// run runs the program against llmd.
func (c *client) run(t *testing.T, args ...string) *result {
	t.Helper()
	return c.runAt(t, c.server.address, args...)
}

func (c *client) runAt(t *testing.T, address string, args ...string) *result {
	t.Helper()
	saved := filepath.Join(t.TempDir(), "conversation.binpb")
	r := c.exec(t, append([]string{"--addr", address, "--save", saved}, args...)...)
	data, err := os.ReadFile(saved)
	if err != nil {
		if len(args) > 0 && args[0] != "vectors" {
			t.Fatalf("exit code %d, %v\n%s%s", r.code, err, r.out, r.err)
		}
		return r
	}
	conversation := &llmdv1.Context{}
	if err := proto.Unmarshal(data, conversation); err != nil {
		t.Fatal(err)
	}
	r.said = conversation.GetMessages()
	return r
}

// exec runs the program.
func (c *client) exec(t *testing.T, args ...string) *result {
	t.Helper()
	args = append(c.built.Run[1:len(c.built.Run):len(c.built.Run)], args...)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.built.Run[0], args...)
	cmd.Dir = c.built.Dir
	// No proxy of the environment may stand between the client and this machine, and
	// arguments are UTF-8.
	cmd.Env = append(os.Environ(), "no_proxy=*", "NO_PROXY=*", "LC_ALL=C.UTF-8", "JDK_JAVA_OPTIONS="+quickJava)
	cmd.Stdin = strings.NewReader(c.stdin)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if c.interruptAt != "" {
		cmd.Stdout = io.MultiWriter(&out, &watcher{text: c.interruptAt, seen: func() { _ = cmd.Process.Signal(syscall.SIGINT) }})
	}
	err := cmd.Run()
	r := &result{out: out.String(), err: strings.TrimPrefix(stderr.String(), "NOTE: Picked up JDK_JAVA_OPTIONS: "+quickJava+"\n")}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		r.code = exit.ExitCode()
	} else if err != nil {
		t.Fatalf("%v\n%s", err, r.err)
	}
	return r
}

// watcher calls seen once a text has been written to it.
type watcher struct {
	text string
	seen func()
	buf  bytes.Buffer
	once sync.Once
}

// Write implements io.Writer.
func (w *watcher) Write(p []byte) (int, error) {
	w.buf.Write(p)
	if strings.Contains(w.buf.String(), w.text) {
		w.once.Do(w.seen)
	}
	return len(p), nil
}

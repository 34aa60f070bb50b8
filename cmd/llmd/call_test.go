package main

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/server"
)

// pixel is a file with a picture of one pixel.
func pixel(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	return writeFile(t, "pixel.png", b.String())
}

func TestCall(t *testing.T) {
	picture := pixel(t)
	for _, tt := range []struct {
		name, stdin string
		args        []string
		code        int
		out, errs   string // the whole of stdout; a part of stderr
	}{
		{"echo", "", []string{"faux/echo", "Hello", "there"}, 0, "Hello there\n", "faux/echo: STOP, 3 + 3 tokens, $0, "},
		{"stdin", "from a pipe\n", []string{"faux/echo"}, 0, "from a pipe\n", "STOP"},
		{"dash", "from a pipe\n", []string{"faux/echo", "-"}, 0, "from a pipe\n", "STOP"},
		{"both", "from a pipe\n", []string{"faux/echo", "Say this:"}, 0, "Say this:\n\nfrom a pipe\n", "STOP"},
		{"no text", "\x89PNG\r\n", []string{"faux/echo", "Look:"}, 2, "", "standard input is no text in UTF-8"},
		{"too much text", strings.Repeat("x", maxInput+1), []string{"faux/echo"}, 2, "", "standard input has more than 64 MiB"},
		{"no prompt", "", []string{"faux/echo"}, 2, "", "there is no prompt"},
		{"thinking", "", []string{"faux/agent", "Hi"}, 0, "You said: Hi\n", "The user said \"Hi\". I have no tools, so I answer at once.\nfaux/agent: STOP, "},
		{"no thinking", "", []string{"--effort", "none", "faux/agent", "Hi"}, 0, "You said: Hi\n", "faux/agent: STOP, "},
		{"the other name", "", []string{"--thinking", "high", "faux/agent", "Hi"}, 0, "You said: Hi\n", "The user said"},
		{"image", "", []string{"--image", picture, "faux/echo"}, 0, "You sent 1 image(s).\n", "STOP"},
		{"image and a pipe", "What is it?", []string{"--image", picture, "faux/echo"}, 0, "What is it?\n", "STOP"},
		{"image not taken", "", []string{"--image", picture, "faux/text-only", "Hi"}, 0, "", "DOWNGRADED images.placeholder: the model does not take images\n"},
		{"no image", "", []string{"--image", "call_test.go", "faux/echo", "Hi"}, 2, "", "call_test.go is no image"},
		{"limit", "", []string{"--max-tokens", "1", "faux/echo", "Hello there"}, 0, "", "faux/echo: LENGTH, "},
		{"bad limit", "", []string{"--max-tokens=-1", "faux/echo", "Hello there"}, 2, "", "llmd: --max-tokens: must be at least 1"},
		{"refused", "", []string{"faux/error", "rate_limit"}, 1, "", "llmd: RATE_LIMITED: Too many requests. (try again in 1s)"},
		{"failed", "", []string{"faux/error", "mid-stream"}, 1, "This answer will not end well.\n", "llmd: PROVIDER_OVERLOADED: "},
		{"filtered", "", []string{"faux/error", "refusal"}, 1, "This answer will not end well.\n", "llmd: CONTENT_FILTERED: "},
		{"cut", "", []string{"faux/error", "truncate"}, 1, "This answer will not end well.\n", "llmd: PROVIDER_STREAM_TRUNCATED: "},
		{"near miss", "", []string{"faux/ecoh", "Hi"}, 1, "", "llmd: MODEL_NOT_FOUND: "},
		{"no host", "", []string{"--addr", "127.0.0.1:1", "faux/echo", "Hi"}, 1, "", `llmd: no llmd answers at 127.0.0.1:1 (is "llmd serve" running?): dial tcp 127.0.0.1:1: `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCommand(t.Context(), tt.stdin)
			code := c.run(append([]string{"call"}, tt.args...)...)
			if code != tt.code || !strings.Contains(c.err.String(), tt.errs) {
				t.Errorf("exit code %d, want %d and %q in\n%s", code, tt.code, tt.errs, c.err.String())
			}
			if out := c.out.String(); out != tt.out && (tt.out != "" || tt.code != 0) {
				t.Errorf("stdout %q, want %q", out, tt.out)
			}
		})
	}
}

// TestCallJSON reads the lines back: they are the events, whole and in order.
func TestCallJSON(t *testing.T) {
	code, out, errs := llmd(t, "call", "--json", "faux/agent", "a <b> & c")
	if code != exitOK || errs != "" {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	f := &fold{}
	for line := range strings.Lines(out) {
		var e llmdv1.StreamResponse
		if err := protojson.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if err := f.add(&e); err != nil {
			t.Fatal(err)
		}
	}
	message := f.terminal.GetDone().GetMessage()
	if err := f.check(message); err != nil || message.GetStopReason() != llmdv1.StopReason_STOP_REASON_STOP {
		t.Errorf("%v: %v", err, message)
	}
	if !strings.Contains(out, `<b> `) {
		t.Errorf("text is escaped:\n%s", out)
	}
}

// serveOn runs an llmd until the test ends, and says where.
func serveOn(t testing.TB, address config.Address) string {
	t.Helper()
	listener, err := server.Listen(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	file := config.Default()
	file.Server.Instance = "test"
	stop, err := newCommand(t.Context(), "").start(t.Context(), file, listener)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return address.Network + "://" + listener.Addr().String()
}

func TestCallARunningServer(t *testing.T) {
	for _, address := range []config.Address{
		{Network: "tcp", Address: "127.0.0.1:0"},
		{Network: "unix", Address: t.TempDir() + "/llmd.sock"},
	} {
		at := serveOn(t, address)
		for _, name := range []string{at, strings.TrimPrefix(at, "tcp://")} {
			code, out, errs := llmd(t, "call", "--addr", name, "faux/echo", "Hello")
			if code != exitOK || out != "Hello\n" {
				t.Errorf("%s: exit code %d, %q\n%s", name, code, out, errs)
			}
		}
	}
}

// An interrupt aborts the response and prints what there is of it.
func TestCallInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	c := newCommand(ctx, "")
	code := make(chan int)
	go func() { code <- c.run("call", "faux/long", "Go on") }()
	c.out.waitFor(t, "word20 ")
	interrupt()
	select {
	case got := <-code:
		if got != exitInterrupted {
			t.Errorf("exit code %d, want %d", got, exitInterrupted)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
	if strings.Contains(c.out.String(), "word2000") || !strings.HasSuffix(c.out.String(), "\n") {
		t.Errorf("stdout: %q", c.out.String())
	}
	inOrder(t, c.err.String(), "faux/long: ABORTED, ", "aborted (REQUESTED): ", " characters kept, connection to the provider closed after ")
}

// An interrupt before the call has begun ends it all the same.
func TestCallInterruptedAtOnce(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	c := newCommand(ctx, "")
	began := time.Now()
	if code := c.run("call", "faux/slow", "Go on"); code != exitInterrupted || time.Since(began) > abortPatience+time.Minute {
		t.Errorf("exit code %d after %s\n%s", code, time.Since(began), c.err.String())
	}
}

func TestDollars(t *testing.T) {
	for pico, want := range map[int64]string{
		0: "$0", 1: "$0.000000000001", 1_000_000_000_000: "$1", 1_250_000: "$0.00000125", 10_500_000_000_000: "$10.5",
	} {
		if got := dollars(pico); got != want {
			t.Errorf("%d: %s, want %s", pico, got, want)
		}
	}
}

func TestEnumWord(t *testing.T) {
	for got, want := range map[string]string{
		enumWord(llmdv1.StopReason_STOP_REASON_TOOL_USE):    "TOOL_USE",
		enumWord(llmdv1.StopReason_STOP_REASON_UNSPECIFIED): "UNSPECIFIED",
		enumWord(llmdv1.StopReason(99)):                     "99",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

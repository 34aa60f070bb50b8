package clients

import (
	"encoding/base64"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// scenario is one row of the matrix.
type scenario struct {
	name string
	run  func(t *testing.T, c *client)
}

func scenarios() []scenario {
	return []scenario{
		{"text", text},
		{"thinking", thinking},
		{"tool call, arguments read at each delta", toolCall},
		{"tool loop", toolLoop},
		{"hand-off to another model", handoff},
		{"abort by Ctrl-C, partial kept", abort},
		{"cancel, partial fetched", cancel},
		{"connection lost, answer taken up again", resume},
		{"deadline, partial kept", deadline},
		{"error details and retry delay", errorDetails},
		{"error after some text, partial kept", errorPartial},
		{"no server there", noServer},
		{"request of 10 MiB", bigRequest},
		{"final message over 4 MiB, default limits", bigMessage},
		{"Unix socket", unixSocket},
		{"TLS", tlsSocket},
		{"token over TLS, never in the clear", token},
		{"golden vectors", goldenVectors},
	}
}

func text(t *testing.T, c *client) {
	const words = "Grüezi, 東京 👋! A \"quoted\" word\nand a second line."
	r := c.run(t, "ask", "faux/echo", words)
	want(t, "output", r.out, words+"\n")
	want(t, "exit code", r.code, 0)
	m := r.last(t)
	content(t, m, textBlock(words))
	want(t, "stop reason", m.GetStopReason(), llmdv1.StopReason_STOP_REASON_STOP)
	if m.GetResponseId() == "" || m.GetUsage().GetTotalTokens() == 0 {
		t.Errorf("the message lacks facts: %v", m)
	}
}

// thinking: what was thought is shown apart, and its signature is kept to the byte.
func thinking(t *testing.T, c *client) {
	r := c.run(t, "ask", "faux/agent", `faux: [{"thinking": "Hm, hm."}, {"redacted": "psst"}, {"text": "Yes."}]`)
	want(t, "output", r.out, "Yes.\n")
	want(t, "errors", strings.TrimSpace(r.err), "Hm, hm.")
	m := r.last(t).GetContent()
	if len(m) != 3 || m[0].GetThinking().GetThinking() != "Hm, hm." || !m[1].GetThinking().GetRedacted() || m[2].GetText().GetText() != "Yes." {
		t.Fatalf("content %v", m)
	}
	want(t, "format", m[0].GetThinking().GetSignature().GetFormat(), "faux.thinking")
	want(t, "format", m[1].GetThinking().GetSignature().GetFormat(), "faux.redacted")
	// faux refuses thinking whose signature is not its own for this very text.
	again := c.run(t, "handoff", "faux/agent", "faux/agent", `faux: [{"thinking": "Hm, hm."}, {"text": "Yes."}]`)
	want(t, "exit code when the answer is sent back", again.code, 0)
}

const city = "Zürich \"👋\" \\ \n東"

// callScript is a call whose deltas come apart: llmd merges those that wait.
func callScript(t *testing.T) string {
	t.Helper()
	name, err := json.Marshal(city)
	if err != nil {
		t.Fatal(err)
	}
	return `faux: [{"text": "Let me look."}, {"tool_call": {"name": "weather", "arguments": {"city": ` + string(name) + `}}, "delay_ms": 50}]`
}

// toolCall: the client parses the arguments with its language's own JSON parser
// after every delta and prints what it has.
func toolCall(t *testing.T, c *client) {
	r := c.run(t, "tools", "faux/agent", callScript(t))
	var seen []string
	for line := range strings.Lines(r.err) {
		_, partial, ok := strings.Cut(line, "partial ")
		if !ok {
			continue
		}
		var known struct{ City string }
		if err := json.Unmarshal([]byte(partial), &known); err != nil {
			t.Errorf("printed %q: %v", line, err)
		}
		if !strings.HasPrefix(city, known.City) {
			t.Errorf("partial city %q is no beginning of %q", known.City, city)
		}
		if len(seen) == 0 || seen[len(seen)-1] != known.City {
			seen = append(seen, known.City)
		}
	}
	if len(seen) < 3 || seen[len(seen)-1] != city {
		t.Errorf("the city grew like this: %q\n%s", seen, r.err)
	}
}

func toolLoop(t *testing.T, c *client) {
	r := c.run(t, "tools", "faux/agent", callScript(t))
	want(t, "exit code", r.code, 0)
	if len(r.said) != 4 {
		t.Fatalf("%d messages: %v\n%s", len(r.said), r.said, r.err)
	}
	call, result := r.said[1].GetAssistant().GetContent()[1].GetToolCall(), r.said[2].GetToolResult()
	want(t, "stop reason", r.said[1].GetAssistant().GetStopReason(), llmdv1.StopReason_STOP_REASON_TOOL_USE)
	want(t, "call of the result", result.GetToolCallId(), call.GetId())
	want(t, "result", result.GetContent()[0].GetText().GetText(), "22 °C and sunny in "+city)
	var args struct{ City string }
	if err := json.Unmarshal([]byte(call.GetArgumentsJson()), &args); err != nil || args.City != city {
		t.Errorf("arguments %s: %v", call.GetArgumentsJson(), err)
	}
	if !strings.Contains(r.out, "22 °C and sunny in Zürich") {
		t.Errorf("the answer does not report the result: %s", r.out)
	}
}

// handoff: think is asked, agent goes on; its history holds thinking that agent
// may not be sent, so llmd must have changed it.
func handoff(t *testing.T, c *client) {
	r := c.run(t, "handoff", "faux/think", "faux/agent", "Hello.")
	want(t, "exit code", r.code, 0)
	if len(r.said) != 4 {
		t.Fatalf("%d messages: %v\n%s", len(r.said), r.said, r.err)
	}
	want(t, "first model", r.said[1].GetAssistant().GetModel(), "think")
	want(t, "second model", r.said[3].GetAssistant().GetModel(), "agent")
	if n := len(r.said[1].GetAssistant().GetContent()); n < 3 {
		t.Errorf("the first answer has %d blocks", n)
	}
	if r.said[3].GetAssistant().GetStopReason() != llmdv1.StopReason_STOP_REASON_STOP {
		t.Errorf("the second answer ended with %s", r.said[3].GetAssistant().GetStopReason())
	}
}

const countdown = `faux: {"text": "ten nine eight seven six five four three two one", "delay_ms": 450}`

func abort(t *testing.T, c *client) {
	c.interruptAt = "nine"
	r := c.run(t, "ask", "faux/echo", countdown)
	want(t, "exit code", r.code, 130)
	m := r.last(t)
	want(t, "stop reason", m.GetStopReason(), llmdv1.StopReason_STOP_REASON_ABORTED)
	partial(t, m, r.out, "ten nine")
	want(t, "reason", m.GetError().GetReason(), "ABORT_REQUESTED")
	if !strings.Contains(r.err, "Ctrl-C") {
		t.Errorf("it does not show the receipt: %s", r.err)
	}
}

func cancel(t *testing.T, c *client) {
	r := c.run(t, "cancel", "faux/echo", countdown)
	want(t, "exit code", r.code, 0)
	m := r.last(t)
	want(t, "stop reason", m.GetStopReason(), llmdv1.StopReason_STOP_REASON_ABORTED)
	partial(t, m, "", "ten")
}

// resume: nothing is missing and nothing is there twice, printed or folded.
func resume(t *testing.T, c *client) {
	r := c.run(t, "resume", "faux/echo", `faux: {"text": "ten nine eight seven six five", "delay_ms": 250}`)
	want(t, "exit code", r.code, 0)
	want(t, "output", r.out, "ten nine eight seven six five\n")
	m := r.last(t)
	want(t, "stop reason", m.GetStopReason(), llmdv1.StopReason_STOP_REASON_STOP)
	content(t, m, textBlock("ten nine eight seven six five"))
}

func deadline(t *testing.T, c *client) {
	r := c.run(t, "--deadline", "5", "ask", "faux/echo", countdown)
	want(t, "exit code", r.code, 1)
	m := r.last(t)
	want(t, "stop reason", m.GetStopReason(), llmdv1.StopReason_STOP_REASON_ABORTED)
	partial(t, m, r.out, "ten nine")
	failure(t, r, "DEADLINE_EXCEEDED", "DEADLINEEXCEEDED", "")
}

func errorDetails(t *testing.T, c *client) {
	r := c.run(t, "ask", "faux/error", "rate_limit")
	want(t, "exit code", r.code, 1)
	failure(t, r, "RATE_LIMITED", "RESOURCEEXHAUSTED", "1")
	if len(r.said) != 1 {
		t.Errorf("there is no answer to keep: %v", r.said)
	}
}

func errorPartial(t *testing.T, c *client) {
	r := c.run(t, "ask", "faux/error", "mid-stream")
	want(t, "exit code", r.code, 1)
	failure(t, r, "PROVIDER_OVERLOADED", "UNAVAILABLE", "")
	m := r.last(t)
	want(t, "stop reason", m.GetStopReason(), llmdv1.StopReason_STOP_REASON_ERROR)
	want(t, "reason", m.GetError().GetReason(), "PROVIDER_OVERLOADED")
	content(t, m, textBlock("This answer will not end well."))
}

// noServer: gRPC itself says so, without a reason and with words of the library.
func noServer(t *testing.T, c *client) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	r := c.runAt(t, address, "ask", "faux/echo", "Hello?")
	want(t, "exit code", r.code, 1)
	if !regexp.MustCompile(`(?mi)^error: \(UNAVAILABLE\): .*(refused|unavailable|connect)`).MatchString(r.err) {
		t.Errorf("it says %q", r.err)
	}
	if len(r.said) != 1 {
		t.Errorf("there is no answer to keep: %v", r.said)
	}
}

func bigRequest(t *testing.T, c *client) {
	picture := filepath.Join(t.TempDir(), "picture.png")
	data := append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 10<<20)...)
	if err := os.WriteFile(picture, data, 0o600); err != nil {
		t.Fatal(err)
	}
	r := c.run(t, "--image", picture, "ask", "faux/echo", "What is this?")
	want(t, "output", r.out, "What is this?\n")
	want(t, "exit code", r.code, 0)
	if n := len(r.said[0].GetUser().GetContent()[1].GetImage().GetData()); n != len(data) {
		t.Errorf("the request had %d bytes", n)
	}
}

// bigMessage: 4.5 MB do not fit into the terminal event, nor into the end of the
// block. The client's limits are those of its library, 4 MiB in most.
func bigMessage(t *testing.T, c *client) {
	line := strings.Repeat("0123456789 äöü 東京 ", 100)
	const times = 1800
	r := c.run(t, "ask", "faux/echo", `faux: {"text": "`+line+`", "repeat": 1800, "chunk": 500}`)
	want(t, "exit code", r.code, 0)
	whole := strings.Repeat(line, times)
	if r.out != whole+"\n" {
		t.Errorf("%d bytes of output, want %d\n%s", len(r.out), len(whole), r.err)
	}
	m := r.last(t)
	want(t, "stop reason", m.GetStopReason(), llmdv1.StopReason_STOP_REASON_STOP)
	if len(m.GetContent()) != 1 || m.GetContent()[0].GetText().GetText() != whole || m.GetContent()[0].GetText().GetIncomplete() {
		t.Errorf("the folded message is not the answer: %d blocks, %d bytes", len(m.GetContent()), proto.Size(m))
	}
}

func unixSocket(t *testing.T, c *client) {
	r := c.runAt(t, c.server.unix, "ask", "faux/echo", "Hello, socket.")
	want(t, "output", r.out, "Hello, socket.\n")
	want(t, "exit code", r.code, 0)
}

// tlsSocket: the client checks the name localhost against the authority it was given.
func tlsSocket(t *testing.T, c *client) {
	r := c.runAt(t, c.server.tls, "--ca", c.server.ca, "ask", "faux/echo", "Hello, TLS.")
	if r.out != "Hello, TLS.\n" || r.code != 0 {
		t.Errorf("exit code %d, output %q\n%s", r.code, r.out, r.err)
	}
}

// token: an llmd that knows its callers lets the client in with its token alone, and
// the client keeps the token from a network that could read it.
func token(t *testing.T, c *client) {
	with := []string{"--ca", c.server.guardedCA, "--token-file", c.server.token}
	r := c.runAt(t, c.server.guarded, append(with, "ask", "faux/echo", "Hello, friend.")...)
	if r.out != "Hello, friend.\n" || r.code != 0 {
		t.Errorf("exit code %d, output %q\n%s", r.code, r.out, r.err)
	}
	r = c.runAt(t, c.server.guarded, append(with, "resume", "faux/echo", `faux: {"text": "one two three four", "delay_ms": 100}`)...)
	if r.out != "one two three four\n" || r.code != 0 {
		t.Errorf("taken up again: exit code %d, output %q\n%s", r.code, r.out, r.err)
	}
	r = c.runAt(t, c.server.guarded, "--ca", c.server.guardedCA, "ask", "faux/echo", "Hello, stranger.")
	want(t, "exit code without a token", r.code, 1)
	failure(t, r, "UNAUTHENTICATED", "UNAUTHENTICATED", "")
	r = c.exec(t, "--addr", "llm.example.test:1", "--token-file", c.server.token, "ask", "faux/echo", "Hello?")
	if r.code == 0 || !strings.Contains(r.err, "in the clear") || strings.Contains(r.err, secret) {
		t.Errorf("to another machine without TLS: exit code %d\n%s", r.code, r.err)
	}
}

// goldenVectors: the client folds each stream as it comes over the wire.
func goldenVectors(t *testing.T, c *client) {
	args := []string{"vectors"}
	for _, v := range c.server.all {
		args = append(args, v.Name)
	}
	r := c.runAt(t, c.server.vectors, args...)
	want(t, "exit code", r.code, 0)
	got := map[string]string{}
	for line := range strings.Lines(r.out) {
		name, folded, _ := strings.Cut(strings.TrimSpace(line), " ")
		got[name] = folded
	}
	for _, v := range c.server.all {
		if v.Message == nil {
			want(t, v.Name, got[v.Name], "incomplete stream")
			continue
		}
		data, err := base64.StdEncoding.DecodeString(got[v.Name])
		m := &llmdv1.AssistantMessage{}
		if err != nil || got[v.Name] == "" || proto.Unmarshal(data, m) != nil {
			t.Errorf("%s: printed %q\n%s", v.Name, got[v.Name], r.err)
			continue
		}
		if diff := cmp.Diff(v.Message, m, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", v.Name, diff)
		}
	}
}

func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func textBlock(s string) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{Text: s}}}
}

func content(t *testing.T, m *llmdv1.AssistantMessage, blocks ...*llmdv1.AssistantContent) {
	t.Helper()
	if diff := cmp.Diff(blocks, m.GetContent(), protocmp.Transform()); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
}

// partial: the message holds one block of text, not ended, which begins as said and
// is what was printed.
func partial(t *testing.T, m *llmdv1.AssistantMessage, printed, begins string) {
	t.Helper()
	if len(m.GetContent()) != 1 {
		t.Fatalf("content %v", m.GetContent())
	}
	got := m.GetContent()[0].GetText()
	if !got.GetIncomplete() || !strings.HasPrefix(got.GetText(), begins) {
		t.Errorf("partial %v, want incomplete and %q", got, begins)
	}
	if printed != "" && strings.TrimSuffix(printed, "\n") != got.GetText() {
		t.Errorf("printed %q, kept %q", printed, got.GetText())
	}
}

var shown = regexp.MustCompile(`(?m)^error: (\S+) \((\w+)\): (.*?)(?:; retry in ([\d.]+) s)?$`)

// failure: the client shows the reason, the code and the delay in seconds.
// Languages spell codes and numbers as they are used to.
func failure(t *testing.T, r *result, reason, code, delay string) {
	t.Helper()
	m := shown.FindStringSubmatch(r.err)
	if m == nil {
		t.Fatalf("no error is shown: %s", r.err)
	}
	want(t, "reason", m[1], reason)
	want(t, "code", strings.ToUpper(strings.ReplaceAll(m[2], "_", "")), code)
	want(t, "delay", strings.TrimSuffix(m[4], ".0"), delay)
	if m[3] == "" {
		t.Error("no words are shown")
	}
}

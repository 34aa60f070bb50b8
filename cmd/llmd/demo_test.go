package main

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/config"
)

func TestDemo(t *testing.T) {
	began := time.Now()
	code, out, errs := llmd(t, "demo")
	if code != exitOK || errs != "" {
		t.Fatalf("exit code %d\n%s\n%s", code, out, errs)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
	if strings.ContainsAny(out, "\x1b\r") {
		t.Error("control characters where the output is no terminal")
	}
	inOrder(t, out,
		"A         faux/agent", "B         lab/claude-like, a small HTTP server at http://127.0.0.1:", "anthropic-messages",
		// An answer with thinking and a tool call, whose arguments grow.
		"\n1. ", "thinking  ", "signed    ", "faux.thinking", "text      ", "call      forecast (",
		`city "Zür"`, `city "Zürich"`, `days 3`, `unit "ce"`, `unit "celsius"`,
		`arguments {"city":"Zürich","days":3,"unit":"celsius"}`, "done      TOOL_USE",
		// The tool's answer.
		"\n2. ", "tool      Rain until Thursday", "text      forecast says: Rain until Thursday, 14 degrees.", "done      STOP",
		// The hand-off to another API.
		"\n3. ", "request   POST http://127.0.0.1:", "/v1/messages", "changed   3 places",
		"DOWNGRADED thinking.foreign in message 1, block 0", "DOWNGRADED thinking.foreign in message 3, block 0", "DOWNGRADED images.placeholder in message 4, block 1",
		"text      This is claude-like, speaking anthropic-messages. I was given 5 messages and 1 tool result", "done      STOP",
		// And back.
		"\n4. ", "signature ", "is in the request", "signature ", "is in the request", "changed   nothing", "done      STOP",
		// The abort.
		"\n5. ", `receipt   cause REQUESTED, reason "the user pressed stop"`, "connection to the provider closed after ", "stop reason ABORTED, ", "marked incomplete",
		"later     GetResponse demo.", "the same message",
		"\nAll as it should be")
}

// The signatures that go back are the ones that were shown when they came.
func TestDemoShowsTheSameSignatures(t *testing.T) {
	_, out, _ := llmd(t, "demo")
	var signed, returned []string
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "  signed "):
			signed = append(signed, fields[1])
		case strings.HasPrefix(line, "  signature "):
			returned = append(returned, fields[1])
		}
	}
	if len(signed) != 3 || strings.Join(signed[:2], " ") != strings.Join(returned, " ") {
		t.Errorf("signed %v, returned %v", signed, returned)
	}
}

func TestDemoOnATerminal(t *testing.T) {
	c := newCommand(t.Context(), "")
	p := &demoPrinter{out: &noting{Writer: &c.out}, style: style{tty: true, color: true}}
	p.title("Title")
	for _, soFar := range []string{`{"city":"Zür"}`, `{"city":"Zürich"}`} {
		if err := p.arguments([]byte(soFar)); err != nil {
			t.Fatal(err)
		}
	}
	p.line("done", "yes")
	inOrder(t, c.out.String(), "\x1b[1mTitle\x1b[0m\n", "\r\x1b[K", `city "Zür"`, "\r\x1b[K", `city "Zürich"`, "\n", "done")
	if n := strings.Count(c.out.String(), "\n"); n != 3 {
		t.Errorf("%d lines, want 3: the arguments share one\n%q", n, c.out.String())
	}
}

// What cannot be printed is told, by the demo and by health.
func TestFullOutput(t *testing.T) {
	for _, args := range [][]string{{"demo"}, {"health", "--addr", serveOn(t, config.Address{Network: "tcp", Address: "127.0.0.1:0"})}} {
		c := newCommand(t.Context(), "")
		c.stdout = fullDisk{}
		if code := c.run(args...); code != exitError || c.err.String() != "llmd: no space left on device\n" {
			t.Errorf("%v: exit code %d\n%s", args, code, c.err.String())
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// A demo that is interrupted says so instead of pretending.
func TestDemoInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := newCommand(ctx, "")
	if code := c.run("demo"); code == exitOK {
		t.Errorf("exit code 0\n%s", c.out.String())
	}
}

func TestFoldIsStrict(t *testing.T) {
	start := func(n int32) *llmdv1.StreamResponse {
		return &llmdv1.StreamResponse{SequenceNumber: n, Event: &llmdv1.StreamResponse_TextStart{TextStart: &llmdv1.TextStartEvent{}}}
	}
	delta := func(n int32, text string) *llmdv1.StreamResponse {
		return &llmdv1.StreamResponse{SequenceNumber: n, Event: &llmdv1.StreamResponse_TextDelta{TextDelta: &llmdv1.TextDeltaEvent{Delta: text}}}
	}
	end := func(n int32) *llmdv1.StreamResponse {
		return &llmdv1.StreamResponse{SequenceNumber: n, Event: &llmdv1.StreamResponse_TextEnd{TextEnd: &llmdv1.TextEndEvent{Content: &llmdv1.TextContent{Text: "x"}}}}
	}
	started := func(n int32) *llmdv1.StreamResponse {
		return &llmdv1.StreamResponse{SequenceNumber: n, Event: &llmdv1.StreamResponse_Started{Started: &llmdv1.StartedEvent{}}}
	}
	done := func(n int32) *llmdv1.StreamResponse {
		return &llmdv1.StreamResponse{SequenceNumber: n, Event: &llmdv1.StreamResponse_Done{Done: &llmdv1.DoneEvent{Message: &llmdv1.AssistantMessage{}}}}
	}
	for _, tt := range []struct {
		name   string
		events []*llmdv1.StreamResponse
		want   string
	}{
		{"whole", []*llmdv1.StreamResponse{started(0), start(1), delta(2, "x"), end(3), done(4)}, ""},
		{"gap", []*llmdv1.StreamResponse{started(0), start(2)}, "event 2 came where 1 was due"},
		{"no started", []*llmdv1.StreamResponse{start(0)}, "started must come first"},
		{"started twice", []*llmdv1.StreamResponse{started(0), started(1)}, "started must come first"},
		{"delta lost", []*llmdv1.StreamResponse{started(0), start(1), end(2)}, "block 0 ends with other text than its deltas gave"},
		{"delta changed", []*llmdv1.StreamResponse{started(0), start(1), delta(2, "y"), end(3)}, "block 0 ends with other text than its deltas gave"},
		{"no start", []*llmdv1.StreamResponse{started(0), delta(1, "x"), end(2)}, "block 0 ends with other text than its deltas gave"},
		{"after the end", []*llmdv1.StreamResponse{started(0), done(1), start(2)}, "after the terminal event"},
	} {
		f := &fold{}
		var err error
		for _, e := range tt.events {
			if err = f.add(e); err != nil {
				break
			}
		}
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

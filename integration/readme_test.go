package integration

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/server"
)

// readmeAddress is where the README's server listens.
const readmeAddress = "127.0.0.1:50051"

// TestReadmeGrpcurl types what the README types and looks for what it shows.
func TestReadmeGrpcurl(t *testing.T) {
	program := grpcurl(t)
	text, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := readmeBlocks(string(text))
	if len(blocks) < 5 {
		t.Fatalf("the README has %d blocks for grpcurl", len(blocks))
	}
	shell := &readmeShell{dir: t.TempDir(), here: strings.NewReplacer(readmeAddress, serveReadme(t))}
	// The README says grpcurl; here it is the one that was found.
	if err := os.Symlink(program, filepath.Join(shell.dir, "grpcurl")); err != nil {
		t.Fatal(err)
	}
	shell.typeIn(t, blocks)
}

// grpcurl finds the program. CI must have it.
func grpcurl(t *testing.T) string {
	t.Helper()
	candidates := []string{os.Getenv("LLMD_GRPCURL")}
	if path, err := exec.LookPath("grpcurl"); err == nil {
		candidates = append(candidates, path)
	}
	if cache, err := os.UserCacheDir(); err == nil {
		candidates = append(candidates, filepath.Join(cache, "llmd-ci", "bin", "grpcurl"))
		found, _ := filepath.Glob(filepath.Join(cache, "llmd-ci", "grpcurl-*", "grpcurl"))
		candidates = append(candidates, found...)
	}
	for _, path := range candidates {
		if info, err := os.Stat(path); path != "" && err == nil && info.Mode().IsRegular() {
			path, err = filepath.Abs(path)
			if err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("grpcurl is required in CI: put it on the PATH or into $LLMD_GRPCURL")
	}
	t.Skip("grpcurl is not here: install it, or name it in $LLMD_GRPCURL")
	return ""
}

// serveReadme runs what `llmd serve` runs, on a free port.
func serveReadme(t *testing.T) (address string) {
	t.Helper()
	file := config.Default()
	file.Server.Instance = "readme"
	app, err := server.New(file, func(string) (string, bool) { return "", false }, "test", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := server.Listen(t.Context(), config.Address{Network: "tcp", Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopNow, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- app.Serve(ctx, []net.Listener{listener}, stopNow) }()
	t.Cleanup(func() {
		close(stopNow)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// readmeBlock is one block of commands.
type readmeBlock struct {
	commands []readmeCommand
	// background: the command runs until a later one ends it.
	background bool
	// fails: the commands end with an error.
	fails bool
}

// readmeCommand is one command and what the README shows of its output.
type readmeCommand struct {
	line  string
	shown []string
}

// readmeBlocks finds the blocks that are marked for grpcurl.
func readmeBlocks(text string) []readmeBlock {
	var blocks []readmeBlock
	marked := regexp.MustCompile("(?s)<!-- (?:grpcurl|curl)(: runs[^>]*)?(: fails)? -->\n```console\n(.*?)```\n")
	for _, m := range marked.FindAllStringSubmatch(text, -1) {
		b := readmeBlock{background: m[1] != "", fails: m[2] != ""}
		lines := strings.Split(strings.TrimSuffix(m[3], "\n"), "\n")
		for i := 0; i < len(lines); i++ {
			line, isCommand := strings.CutPrefix(lines[i], "$ ")
			if !isCommand {
				last := &b.commands[len(b.commands)-1]
				last.shown = append(last.shown, lines[i])
				continue
			}
			// A command goes on while a quote is open, or after a backslash.
			for i+1 < len(lines) && (strings.Count(line, "'")%2 == 1 || strings.HasSuffix(line, `\`)) {
				i++
				line += "\n" + lines[i]
			}
			b.commands = append(b.commands, readmeCommand{line: line})
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// readmeShell runs commands as a reader would.
type readmeShell struct {
	// dir has the program.
	dir string
	// here puts what is here in the place of what the page says.
	here *strings.Replacer
	env  []string
}

// typeIn runs all blocks and checks what they say.
func (s *readmeShell) typeIn(t *testing.T, blocks []readmeBlock) {
	t.Helper()
	var finish []func() // for what runs beside the others
	for _, b := range blocks {
		for _, c := range b.commands {
			if b.background {
				finish = append(finish, s.begin(t, c))
				continue
			}
			out, err := s.run(t.Context(), c.line, nil)
			if b.fails {
				if _, ok := errors.AsType[*exec.ExitError](err); !ok {
					t.Errorf("%s: it should fail: %v", c.line, err)
				}
				err = nil
			}
			checkReadme(t, c, out, err)
		}
	}
	for _, f := range finish {
		f()
	}
}

// run runs one command to its end; its output also goes to also.
func (s *readmeShell) run(ctx context.Context, line string, also io.Writer) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", s.here.Replace(line))
	cmd.Env = append(append(os.Environ(), s.env...), "PATH="+s.dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	var out bytes.Buffer
	cmd.Stdout = &out
	if also != nil {
		cmd.Stdout = io.MultiWriter(&out, also)
	}
	cmd.Stderr = cmd.Stdout
	err := cmd.Run()
	return out.String(), err
}

// begin runs a command beside the others. It returns once the answer has begun;
// the function that it returns waits for the end and checks it.
func (s *readmeShell) begin(t *testing.T, c readmeCommand) (finish func()) {
	t.Helper()
	type result struct {
		out string
		err error
	}
	begun, done := &readmeSignal{text: `"word1 "`, seen: make(chan struct{})}, make(chan result, 1)
	go func() {
		out, err := s.run(t.Context(), c.line, begun)
		done <- result{out, err}
	}()
	select {
	case <-begun.seen:
	case r := <-done:
		done <- r
	case <-t.Context().Done():
	}
	return func() {
		r := <-done
		checkReadme(t, c, r.out, r.err)
	}
}

// readmeSignal closes seen when a text has been written to it.
type readmeSignal struct {
	text string
	seen chan struct{}
	buf  bytes.Buffer
	once sync.Once
}

// Write implements io.Writer.
func (s *readmeSignal) Write(p []byte) (int, error) {
	s.buf.Write(p)
	if strings.Contains(s.buf.String(), s.text) {
		s.once.Do(func() { close(s.seen) })
	}
	return len(p), nil
}

// checkReadme says where a command did otherwise than the README shows.
func checkReadme(t *testing.T, c readmeCommand, out string, err error) {
	t.Helper()
	problem := readmeDiffers(c.shown, out)
	if err != nil {
		problem = err.Error()
	}
	if problem != "" {
		name, _, _ := strings.Cut(c.line, "\n")
		t.Errorf("%s: %s\n%s", name, problem, out)
	}
}

// readmeDiffers looks for the lines shown, in their order. "..." stands for any
// lines, and at the end of a line for the rest of it. How many blanks there are
// inside a line does not count: JSON printers of protobuf vary them.
func readmeDiffers(shown []string, out string) (problem string) {
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	at, skip := 0, false
	for i, line := range shown {
		if line == "..." {
			skip = true
			continue
		}
		if skip && i == len(shown)-1 { // the end of the output, not any line like it
			at = max(at, len(lines)-1)
		}
		found := false
		for ; at < len(lines) && !found; at++ {
			if found = readmeLineIs(line, lines[at]); !found && !skip {
				break
			}
		}
		if !found {
			return "the README shows " + strings.TrimSpace(line) + ", which is not there"
		}
		skip = false
	}
	if at < len(lines) && !skip {
		return "the README does not show the end"
	}
	return ""
}

func readmeLineIs(shown, got string) bool {
	plain := func(s string) string {
		indent := s[:len(s)-len(strings.TrimLeft(s, " "))]
		return indent + strings.Join(strings.Fields(s), " ")
	}
	if begin, ok := strings.CutSuffix(shown, "..."); ok {
		return strings.HasPrefix(plain(got), plain(begin))
	}
	return plain(got) == plain(shown)
}

// TestReadmeCheck keeps the checker itself honest.
func TestReadmeCheck(t *testing.T) {
	blocks := readmeBlocks("x\n<!-- grpcurl -->\n```console\n$ a 'b\n  c' \\\n d\none\n...\n$ e\n```\n```console\n$ not this\n```\n")
	if len(blocks) != 1 || len(blocks[0].commands) != 2 || blocks[0].background {
		t.Fatalf("%+v", blocks)
	}
	if c := blocks[0].commands[0]; c.line != "a 'b\n  c' \\\n d" || strings.Join(c.shown, "|") != "one|..." {
		t.Errorf("%+v", c)
	}
	const out = "{\n  \"a\":  1\n}\n{\n  \"b\": 2\n}\n"
	for _, tt := range []struct {
		shown string
		same  bool
	}{
		{"{\n  \"a\": 1\n}\n{\n  \"b\": 2\n}", true},
		{"{\n...\n  \"b\": 2\n}", true},
		{"{\n...\n}", true},
		{"{\n...", true},
		{"{\n  \"a\": ...\n...", true},
		{"{\n  \"a\": 1\n}", false},
		{"{\n...\n  \"a\": 2\n...", false},
		{"...\n  \"b\": 2\n...\n  \"a\": 1\n...", false},
		{"...\n\"b\": 2\n...", false},
		{"{\n  \"b\": 2\n...", false},
	} {
		if problem := readmeDiffers(strings.Split(tt.shown, "\n"), out); (problem == "") != tt.same {
			t.Errorf("%q: %q", tt.shown, problem)
		}
	}
}

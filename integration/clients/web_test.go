package clients

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/llmd-dev/llmd/integration/clients/browser"
	"github.com/llmd-dev/llmd/integration/clients/build"
	"github.com/llmd-dev/llmd/integration/harness"
	"github.com/llmd-dev/llmd/internal/config"
	llmd "github.com/llmd-dev/llmd/internal/server"
)

// web is the example for browsers.
func web() *build.Language {
	return &build.Language{Name: "Web", Dir: "web", Needs: []string{"node", "npm"}, Lock: "package-lock.json"}
}

// builtWeb builds the example; a test that must not skip fails without its tools.
func builtWeb(t *testing.T) *build.Built {
	t.Helper()
	onlyWhenAsked(t)
	l := web()
	if missing := l.Missing(); missing != "" {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is required in CI", missing)
		}
		t.Skipf("%s is not here", missing)
	}
	b, err := l.Build(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// serveWeb runs llmd with a listener for the web, and gives its URL.
func serveWeb(t *testing.T, lines string) string {
	t.Helper()
	none := func(string) (string, bool) { return "", false }
	file, err := config.Parse("llmd.yaml", []byte("server:\n  instance: web\n  drain_timeout: 1s\n  listen: ['tcp://127.0.0.1:0']\n"+lines), none)
	if err != nil {
		t.Fatal(err)
	}
	log := &harness.LogBuffer{}
	app, err := llmd.New(file, none, "test", log)
	if err != nil {
		t.Fatal(err)
	}
	all, err := llmd.ListenAll(t.Context(), file.Server.Addresses())
	if err != nil {
		t.Fatal(err)
	}
	app.Web = all[1:]
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- app.Serve(ctx, all[:1], ctx.Done()) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("llmd's log:\n%s", log)
		}
	})
	return "http://" + all[1].Addr().String()
}

// The program for Node streams by both protocols, in both encodings and HTTP versions.
func TestWebFromNode(t *testing.T) {
	c := &client{built: builtWeb(t)}
	url := serveWeb(t, "  web: {listen: ['tcp://127.0.0.1:0']}\n")
	for _, protocol := range []string{"connect", "grpc-web"} {
		for _, binary := range []bool{false, true} {
			for _, version := range []string{"1.1", "2"} {
				flags := []string{"--url", url, "--protocol", protocol, "--http", version}
				if binary {
					flags = append(flags, "--binary")
				}
				t.Run(strings.Join(flags[2:], " "), func(t *testing.T) {
					t.Parallel()
					const words = "Grüezi, 東京 👋!"
					r := c.exec(t, append(flags, "ask", "faux/echo", words)...)
					want(t, "output", r.out, words+"\n")
					want(t, "exit code", r.code, 0)
					r = c.exec(t, append(flags, "ask", "faux/error", "rate_limit")...)
					want(t, "exit code", r.code, 1)
					want(t, "errors", r.err, "error: RATE_LIMITED (ResourceExhausted): Too many requests.; retry in 1 s\n")
				})
			}
		}
	}
	t.Run("abort", func(t *testing.T) {
		t.Parallel()
		c := &client{built: c.built, interruptAt: "nine"}
		r := c.exec(t, "--url", url, "ask", "faux/echo", countdown)
		want(t, "exit code", r.code, 130)
		if !strings.HasPrefix(r.out, "ten nine") || strings.Contains(r.out, "one") || !strings.Contains(r.err, "ABORTED ABORT_REQUESTED") {
			t.Errorf("%q, %q", r.out, r.err)
		}
	})
	t.Run("deadline", func(t *testing.T) {
		t.Parallel()
		r := c.exec(t, "--url", url, "--deadline", "6", "ask", "faux/slow", "Count.")
		want(t, "exit code", r.code, 1)
		if !strings.HasPrefix(r.out, "word1") || !strings.Contains(r.err, "DEADLINE_EXCEEDED") {
			t.Errorf("%q, %q", r.out, r.err)
		}
	})
}

// page is the example's page in a browser.
type page struct {
	*browser.Page
	t *testing.T
}

func (p *page) eval(expression string) string {
	p.t.Helper()
	got, err := p.Eval(expression)
	if err != nil {
		p.t.Fatal(err)
	}
	return got
}

func (p *page) wait(expression string) {
	p.t.Helper()
	if err := p.Wait(expression); err != nil {
		p.t.Fatal(err)
	}
}

// send fills the form in and presses the button.
func (p *page) send(fields map[string]string) {
	p.t.Helper()
	for name, value := range fields {
		p.eval("document.getElementById('form').elements." + name + ".value = " + strconv.Quote(value))
	}
	p.eval("document.getElementById('status').textContent = ''; document.getElementById('send').click()")
}

const answerEnded = "document.getElementById('abort').disabled && document.getElementById('status').textContent.length > 1"

func (p *page) text(id string) string {
	p.t.Helper()
	return p.eval("document.getElementById('" + id + "').textContent")
}

// The page streams into its text, piece by piece, and aborts an answer with what there
// was of it; a page that is not named gets nothing.
func TestWebInChromium(t *testing.T) {
	built := builtWeb(t)
	program := browser.Find()
	if program == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("chromium is required in CI: apt-get install chromium, or name it in $LLMD_CHROMIUM")
		}
		t.Skip("chromium is not here: apt-get install chromium, or name it in $LLMD_CHROMIUM")
	}
	files, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.FileServer(http.Dir(filepath.Join(built.Dir, "dist"))), ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(files) }()
	t.Cleanup(func() { _ = s.Close() })
	_, port, _ := net.SplitHostPort(files.Addr().String())
	origin := "http://localhost:" + port
	digest := sha256.Sum256([]byte("token-of-the-page"))
	url := serveWeb(t, "  web: {listen: ['tcp://127.0.0.1:0'], allowed_origins: ['"+origin+"']}\n"+
		"  auth: {tokens: [{name: page, sha256: "+hex.EncodeToString(digest[:])+"}]}\n")
	b, err := browser.Start(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	opened, err := b.Open(origin + "/")
	if err != nil {
		t.Fatal(err)
	}
	p := &page{opened, t}
	// Every change of the text is kept, to see that it grew.
	p.eval("window.seen = []; new MutationObserver(() => seen.push(document.getElementById('answer').textContent)).observe(document.getElementById('answer'), {childList: true, characterData: true, subtree: true})")
	for _, protocol := range []string{"connect", "grpc-web"} {
		for _, format := range []string{"json", "binary"} {
			p.eval("seen.length = 0")
			fields := map[string]string{"address": url, "token": "token-of-the-page", "protocol": protocol, "format": format, "model": "faux/echo", "prompt": countdown}
			p.send(fields)
			p.wait("document.getElementById('answer').textContent.startsWith('ten nine')")
			if now := p.text("answer"); strings.Contains(now, "one") {
				t.Errorf("%s %s: all came at once: %q", protocol, format, now)
			}
			p.eval("document.getElementById('abort').click()")
			p.wait(answerEnded)
			if answer, status := p.text("answer"), p.text("status"); !strings.HasPrefix(answer, "ten nine") || strings.Contains(answer, "one") || !strings.HasPrefix(status, "ABORTED ABORT_REQUESTED") {
				t.Errorf("%s %s: %q, %q", protocol, format, answer, status)
			}
			if n, _ := strconv.Atoi(p.eval("new Set(seen).size")); n < 2 {
				t.Errorf("%s %s: the text changed %d times", protocol, format, n)
			}
			fields["model"], fields["prompt"] = "faux/agent", `faux: [{"thinking": "Hm, hm."}, {"text": "Grüezi <b>東京</b> 👋"}]`
			p.send(fields)
			p.wait(answerEnded)
			want(t, "answer", p.text("answer"), "Grüezi <b>東京</b> 👋")
			want(t, "thinking", p.text("thinking"), "Hm, hm.")
			if status := p.text("status"); !strings.HasPrefix(status, "STOP, ") {
				t.Errorf("%s %s: %q", protocol, format, status)
			}
			fields["model"], fields["prompt"] = "faux/error", "rate_limit"
			p.send(fields)
			p.wait(answerEnded)
			want(t, "status", p.text("status"), "RATE_LIMITED (ResourceExhausted): Too many requests.; retry in 1 s")
		}
	}
	p.send(map[string]string{"token": "wrong"})
	p.wait(answerEnded)
	if status := p.text("status"); !strings.HasPrefix(status, "UNAUTHENTICATED (Unauthenticated)") {
		t.Errorf("with a wrong token: %q", status)
	}
	// The same files under another name are another page.
	stranger, err := b.Open("http://127.0.0.1:" + port + "/")
	if err != nil {
		t.Fatal(err)
	}
	q := &page{stranger, t}
	q.send(map[string]string{"address": url, "token": "token-of-the-page", "model": "faux/echo", "prompt": "Hello"})
	q.wait(answerEnded)
	if status := q.text("status"); q.text("answer") != "" || !strings.Contains(status, "Failed to fetch") {
		t.Errorf("another page: %q", status)
	}
}

// Package browser drives a headless Chromium, as far as the tests of a page need it: by
// the DevTools protocol, https://chromedevtools.github.io/devtools-protocol.
package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"golang.org/x/net/websocket"
)

// Find is the program; "" if there is none.
func Find() string {
	for _, name := range []string{os.Getenv("LLMD_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	return ""
}

// Browser is a running browser. It is not safe for concurrent use.
type Browser struct {
	cmd  *exec.Cmd
	conn *websocket.Conn
	last int
	dir  string
}

// Start runs the program with a profile of its own.
func Start(ctx context.Context, program string) (*Browser, error) {
	dir, err := os.MkdirTemp("", "llmd-browser")
	if err != nil {
		return nil, err
	}
	// Its sandbox does not run as root, nor in most containers; the page is ours.
	b := &Browser{dir: dir, cmd: exec.CommandContext(ctx, program, "--headless=new", "--remote-debugging-port=0", "--remote-allow-origins=http://127.0.0.1", "--user-data-dir="+dir,
		"--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-proxy-server", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost", "about:blank")}
	stderr, err := b.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	url, err := debugURL(stderr)
	if err == nil {
		b.conn, err = websocket.Dial(url, "", "http://127.0.0.1")
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// debugURL is where the browser says that it can be driven.
func debugURL(stderr io.Reader) (string, error) {
	said := regexp.MustCompile(`DevTools listening on (ws://\S+)`)
	var all strings.Builder
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if m := said.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			return m[1], nil
		}
		all.WriteString(lines.Text() + "\n")
	}
	return "", errors.New("browser: it does not start:\n" + all.String())
}

// Close ends the browser.
func (b *Browser) Close() {
	if b.conn != nil {
		_ = b.conn.Close()
	}
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait()
	// Its children may still write.
	for range 20 {
		if os.RemoveAll(b.dir) == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

type message struct {
	ID        int             `json:"id,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    any             `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// call calls a method and reads its result.
func (b *Browser) call(session, method string, params, result any) error {
	b.last++
	if err := websocket.JSON.Send(b.conn, message{ID: b.last, SessionID: session, Method: method, Params: params}); err != nil {
		return err
	}
	for {
		_ = b.conn.SetReadDeadline(time.Now().Add(time.Minute))
		var m message
		if err := websocket.JSON.Receive(b.conn, &m); err != nil {
			return fmt.Errorf("browser: %s: %w", method, err)
		}
		if m.ID != b.last {
			continue // an event
		}
		if m.Error != nil {
			return fmt.Errorf("browser: %s: %s", method, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	}
}

// Page is one page.
type Page struct {
	b       *Browser
	session string
}

// Open opens a page and waits until it is loaded.
func (b *Browser) Open(url string) (*Page, error) {
	var target struct {
		ID string `json:"targetId"`
	}
	if err := b.call("", "Target.createTarget", map[string]string{"url": url}, &target); err != nil {
		return nil, err
	}
	var session struct {
		ID string `json:"sessionId"`
	}
	attach := struct {
		Target  string `json:"targetId"`
		Flatten bool   `json:"flatten"`
	}{target.ID, true}
	if err := b.call("", "Target.attachToTarget", attach, &session); err != nil {
		return nil, err
	}
	p := &Page{b, session.ID}
	return p, p.Wait("document.readyState === 'complete' && location.href !== 'about:blank'")
}

// Eval runs JavaScript and gives what it results in as a text.
func (p *Page) Eval(expression string) (string, error) {
	var out struct {
		Result struct {
			Value any `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	params := struct {
		Expression string `json:"expression"`
		Await      bool   `json:"awaitPromise"`
		ByValue    bool   `json:"returnByValue"`
	}{expression, true, true}
	if err := p.b.call(p.session, "Runtime.evaluate", params, &out); err != nil {
		return "", err
	}
	if out.Exception != nil {
		return "", fmt.Errorf("browser: %s %s", out.Exception.Text, out.Exception.Exception.Description)
	}
	return fmt.Sprint(out.Result.Value), nil
}

// Wait waits until an expression is true.
func (p *Page) Wait(expression string) error {
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		got, err := p.Eval("!!(" + expression + ")")
		if err != nil || got == "true" {
			return err
		}
		if time.Now().After(deadline) {
			text, _ := p.Eval("document.body.innerText")
			return fmt.Errorf("browser: in vain waited for %s; the page says\n%s", expression, text)
		}
	}
}

package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	channelzv1 "google.golang.org/grpc/channelz/grpc_channelz_v1"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/llmd-dev/llmd/internal/config"
)

const adminConfig = `server:
  listen: ['tcp://127.0.0.1:0']
  admin: {listen: 'tcp://127.0.0.1:0', allowed_hosts: [llmd.lab]%s}
  caller_keys: {allow: true}
  auth: {tokens: [{name: alice, sha256: 2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b}]}
providers:
  - {id: one, api: openai-completions, base_url: 'http://h', api_key: s3cret-1, headers: {X-Token: s3cret-2}, proxy: 'http://u:s3cret-3@p:1'}
`

// page asks the admin pages as somebody would who knows them by that name.
func page(h http.Handler, method, path, host, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = host
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func adminApp(t *testing.T, more string) (*App, http.Handler, *logBuffer) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "llmd.yaml")
	write(t, path, fmt.Sprintf(adminConfig, more))
	app, log := newApp(t, path)
	return app, newAdmin(app).handler(), log
}

func TestAdminPages(t *testing.T) {
	app, h, _ := adminApp(t, "")
	for _, c := range []struct {
		method, path, body string
		code               int
		says               string
	}{
		{"GET", "/", "", 200, "/metrics"},
		{"GET", "/healthz", "", 200, "ok"},
		{"GET", "/readyz", "", 200, "ok"},
		{"GET", "/metrics", "", 200, "llmd_draining 0"},
		{"GET", "/metrics", "", 200, "go_goroutines"},
		{"GET", "/metrics", "", 200, `llmd_config_reloads_total{llmd_result="failed"} 0`},
		{"GET", "/metrics", "", 200, `llmd_credentials_failures_total{llmd_provider="faux"} 0`},
		{"GET", "/loglevel", "", 200, "info"},
		{"PUT", "/loglevel", "debug\n", 200, "debug"},
		{"PUT", "/loglevel", "loud", 400, "one of: debug, info, warn, error"},
		{"PUT", "/loglevel", strings.Repeat("x", 1<<20), 400, "one of"},
		{"POST", "/loglevel", "debug", 405, ""},
		{"GET", "/config", "", 200, "max_receive_bytes: 67108864"},
		{"GET", "/config", "", 200, "unix_socket: open"},
		{"GET", "/config", "", 200, "X-Token: REDACTED"},
		{"GET", "/config", "", 200, "proxy: REDACTED"},
		{"GET", "/debug/pprof/", "", 404, ""},
		{"GET", "/debug/pprof/heap", "", 404, ""},
		{"GET", "/channelz", "", 404, ""},
		{"GET", "/nonsense", "", 404, ""},
	} {
		w := page(h, c.method, c.path, "127.0.0.1:1", c.body)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
		if strings.Contains(w.Body.String(), "s3cret") || strings.Contains(w.Body.String(), "2bb80d53") {
			t.Errorf("%s shows a secret:\n%s", c.path, w.Body)
		}
	}
	if app.level.Level() != slog.LevelDebug {
		t.Error("the log level is not changed")
	}
	app.transport.health.Shutdown()
	if w := page(h, "GET", "/readyz", "localhost", ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("readyz of a server that drains: %d", w.Code)
	}
	if w := page(h, "GET", "/healthz", "localhost", ""); w.Code != http.StatusOK {
		t.Errorf("healthz of a server that drains: %d", w.Code)
	}
}

// TestAdminStrangers: a web page in a browser of this machine neither reads nor writes.
func TestAdminStrangers(t *testing.T) {
	app, h, _ := adminApp(t, "")
	for host, code := range map[string]int{
		"127.0.0.1:50052": 200, "[::1]:50052": 200, "localhost:50052": 200, "LOCALHOST": 200, "10.1.2.3": 200, "llmd.lab:1": 200,
		"evil.example": 421, "evil.example:50052": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421, "": 421,
	} {
		if w := page(h, "GET", "/config", host, ""); w.Code != code {
			t.Errorf("Host %q: %d, want %d", host, w.Code, code)
		}
	}
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}} {
		if w := page(h, "PUT", "/loglevel", "localhost", "debug", header...); w.Code != http.StatusForbidden {
			t.Errorf("%v: %d", header, w.Code)
		}
	}
	if app.level.Level() != slog.LevelInfo {
		t.Error("a stranger changed the log level")
	}
}

func TestAdminProfiles(t *testing.T) {
	_, h, _ := adminApp(t, ", pprof: true")
	if w := page(h, "GET", "/debug/pprof/goroutine?debug=1", "localhost", ""); w.Code != 200 || !strings.Contains(w.Body.String(), "goroutine profile") {
		t.Errorf("%d", w.Code)
	}
	if w := page(h, "GET", "/debug/pprof/cmdline", "localhost", ""); w.Code != 404 {
		t.Errorf("the command line is shown: %d", w.Code)
	}
}

// TestAdminServed: over a socket, with channelz by gRPC beside the pages.
func TestAdminServed(t *testing.T) {
	app, _, log := adminApp(t, ", channelz: true")
	var err error
	if app.Admin, err = Listen(t.Context(), app.File.Server.Admin.Listen); err != nil {
		t.Fatal(err)
	}
	serve(t, app)
	address := app.Admin.Addr().String()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/channelz", http.NoBody)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if !strings.Contains(string(body), "callsStarted") && !strings.Contains(string(body), "serverId") {
		t.Errorf("%s", body)
	}
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	servers, err := channelzv1.NewChannelzClient(conn).GetServers(ctx, &channelzv1.GetServersRequest{})
	if err != nil || len(servers.GetServer()) == 0 {
		t.Errorf("%v %v", servers, err)
	}
	if log.count("admin pages") != 1 {
		t.Errorf("log:\n%s", log)
	}
}

// TestAdminExposed: other machines reach the pages only if that is said.
func TestAdminExposed(t *testing.T) {
	for text, refused := range map[string]bool{
		"server: {admin: {listen: 'tcp://0.0.0.0:1'}}":                                                      true,
		"server: {allow_insecure: true, admin: {listen: 'tcp://192.0.2.1:1'}}":                              true,
		"server: {admin: {listen: 'tcp://0.0.0.0:1', allow_insecure: true}}":                                false,
		"server: {admin: {listen: 'tcp://127.0.0.1:1'}}":                                                    false,
		"server: {admin: {listen: 'tcp://[::1]:1'}}":                                                        false,
		"server: {admin: {listen: 'unix:///run/llmd/admin.sock'}}":                                          false,
		"server: {listen: ['tcp://127.0.0.1:1'], admin: {listen: 'tcp://127.0.0.1:2', allowed_hosts: [a]}}": false,
	} {
		none := func(string) (string, bool) { return "", false }
		file, err := config.Parse("llmd.yaml", []byte(text), none)
		if err != nil {
			t.Fatal(err)
		}
		_, err = New(file, none, "test", io.Discard)
		if refused != (err != nil && strings.Contains(err.Error(), "server.admin.allow_insecure: true")) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := config.Parse("f", []byte("server: {listen: 'tcp://127.0.0.1:1', admin: {listen: 'tcp://127.0.0.1:1'}}"), nil); err == nil {
		t.Error("one address for both")
	}
}

// TestJSONLog: one JSON object a line.
func TestJSONLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "llmd.yaml")
	write(t, path, "server: {listen: ['unix:///s'], log_format: json}\n")
	app, log := newApp(t, path)
	app.log.Info("hello", "n", 1)
	if got := log.String(); !strings.Contains(got, `"msg":"hello","n":1}`) {
		t.Errorf("%s", got)
	}
}

package integration

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/server"
)

// servePage runs llmd with lines of the server section, and gives its addresses.
func servePage(t *testing.T, lines string) (native, web string) {
	t.Helper()
	none := func(string) (string, bool) { return "", false }
	file, err := config.Parse("llmd.yaml", []byte("server:\n  instance: page\n  drain_timeout: 1s\n"+lines), none)
	if err != nil {
		t.Fatal(err)
	}
	app, err := server.New(file, none, "test", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	all, err := server.ListenAll(t.Context(), file.Server.Addresses())
	if err != nil {
		t.Fatal(err)
	}
	n := len(file.Server.Listen)
	if app.Web = all[n:]; len(app.Web) > 0 {
		web = app.Web[0].Addr().String()
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- app.Serve(ctx, all[:n], ctx.Done()) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return all[0].Addr().String(), web
}

// certify writes a certificate for 127.0.0.1 that is its own authority, and its key.
func certify(t *testing.T, cert, key string) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	der, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: s.Certificate().Raw}, key: {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGrpcurlPage types what docs/grpcurl.md types and looks for what it shows.
func TestGrpcurlPage(t *testing.T) {
	program := grpcurl(t)
	text, err := os.ReadFile("../docs/grpcurl.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := readmeBlocks(string(text))
	if all := strings.Count(string(text), "```console"); len(blocks) != all || all < 10 {
		t.Fatalf("of %d blocks %d are marked to be run", all, len(blocks))
	}
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.Symlink(program, in("grpcurl")); err != nil {
		t.Fatal(err)
	}
	certify(t, in("ca.pem"), in("key.pem"))
	const token = "token-of-the-page"
	digest := sha256.Sum256([]byte(token))
	open, _ := servePage(t, "  listen: ['tcp://127.0.0.1:0', 'unix://"+in("s")+"']\n")
	guarded, _ := servePage(t, "  listen: ['tcp://127.0.0.1:0']\n  tls: {cert_file: "+in("ca.pem")+", key_file: "+in("key.pem")+"}\n"+
		"  auth: {tokens: [{name: page, sha256: "+hex.EncodeToString(digest[:])+"}]}\n")
	shell := &readmeShell{dir: dir, env: []string{"LLMD_TOKEN=" + token}, here: strings.NewReplacer(
		readmeAddress, open, "127.0.0.1:50443", guarded, "/run/llmd/llmd.sock", in("s"), "ca.pem", in("ca.pem"), "gen/llmd.binpb", "../gen/llmd.binpb",
	)}
	shell.typeIn(t, blocks)
}

// TestCurlOnClientsPage types the calls by curl of docs/clients.md.
func TestCurlOnClientsPage(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not here")
	}
	text, err := os.ReadFile("../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := readmeBlocks(string(text))
	if len(blocks) == 0 {
		t.Fatal("the page has no calls by curl")
	}
	_, web := servePage(t, "  listen: ['tcp://127.0.0.1:0']\n  web: {listen: ['tcp://127.0.0.1:0']}\n")
	shell := &readmeShell{dir: t.TempDir(), here: strings.NewReplacer("127.0.0.1:50080", web), env: []string{"no_proxy=*"}}
	shell.typeIn(t, blocks)
}

package security

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/server"
)

// An address for other machines needs TLS and authentication, or plain words; the
// error is one of the configuration, which ends the command with exit code 2.
func TestRefusesToBeExposed(t *testing.T) {
	a := newAuthority(t, "ca")
	exposed := strings.Replace(guarded(t, a, ""), "127.0.0.1:0", "0.0.0.0:0", 1)
	bare := "server: {listen: ['tcp://0.0.0.0:0']"
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"bare": {bare + "}\n", false}, "in plain words": {bare + ", allow_insecure: true}\n", true}, "guarded": {exposed, true},
	} {
		file, err := config.Parse("llmd.yaml", []byte(c.text), noEnv)
		if err != nil {
			t.Fatal(err)
		}
		_, err = server.New(file, noEnv, "test", io.Discard)
		var mistake *config.ParseError
		if c.ok != (err == nil) || err != nil && (!errors.As(err, &mistake) || mistake.Key != "server.listen") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// While it runs, too: a file that takes the callers away is not taken.
func TestReloadDoesNotExpose(t *testing.T) {
	a := newAuthority(t, "ca")
	path := filepath.Join(t.TempDir(), "llmd.yaml")
	text := strings.Replace(guarded(t, a, ""), "127.0.0.1:0", "0.0.0.0:0", 1)
	write(t, path, text)
	file, err := config.Load(path, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	app, err := server.New(file, noEnv, "test", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	// The new file alone would be harmless; at the addresses that are open it is not.
	write(t, path, "server: {listen: ['tcp://127.0.0.1:0']}\n")
	if err := app.Reload(); err == nil || !strings.Contains(err.Error(), "server.auth") {
		t.Errorf("%v", err)
	}
}

func TestOldTLS(t *testing.T) {
	a := newAuthority(t, "ca")
	l := start(t, guarded(t, a, ""))
	for version, ok := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: false, tls.VersionTLS13: true} {
		c := a.trusts()
		c.MinVersion, c.MaxVersion, c.NextProtos = version, version, []string{"h2"}
		conn, err := tls.Dial("tcp", strings.TrimPrefix(l.tcp, "passthrough:///"), c)
		if err == nil {
			_ = conn.Close()
		}
		if ok != (err == nil) {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
	}
	// Nor is there a way in without TLS, or with a server that the client does not
	// trust.
	if err := ask(with(t, aliceToken), dial(t, l.tcp, nil), "faux/echo"); status.Code(err) != codes.Unavailable {
		t.Errorf("without TLS: %v", err)
	}
	if err := ask(with(t, aliceToken), dial(t, l.tcp, newAuthority(t, "other").trusts()), "faux/echo"); status.Code(err) != codes.Unavailable {
		t.Errorf("an untrusted server: %v", err)
	}
}

// Certificates let in whom the configuration names, by URI or by name, and nobody
// else's.
func TestForeignCertificates(t *testing.T) {
	a, other := newAuthority(t, "ca"), newAuthority(t, "ca") // of the same name
	l := start(t, guarded(t, a, ""))
	future, past := time.Time{}, time.Now().Add(-time.Minute)
	for name, c := range map[string]struct {
		cert tls.Certificate
		code codes.Code
	}{
		"a URI":                   {a.client(t, batchURI, future), codes.OK},
		"a name":                  {a.client(t, "ops", future), codes.OK},
		"another URI":             {a.client(t, batchURI+"2", future), codes.Unauthenticated},
		"another name":            {a.client(t, "nobody", future), codes.Unauthenticated},
		"a URI in a name":         {a.client(t, "batch", future), codes.Unauthenticated},
		"an expired one":          {a.client(t, batchURI, past), codes.Unavailable},
		"another authority":       {other.client(t, batchURI, future), codes.Unavailable},
		"another authority, name": {other.client(t, "ops", future), codes.Unavailable},
	} {
		tlsOf := a.trusts()
		// The client sends its certificate whatever the server asks for.
		tlsOf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &c.cert, nil }
		conn := dial(t, l.tcp, tlsOf)
		if err := ask(limited(t), conn, "faux/echo"); status.Code(err) != c.code {
			t.Errorf("%s: %v, want %v", name, err, c.code)
		}
		if c.code == codes.OK {
			want(t, name+" and a wrong token", ask(with(t, "x"), conn, "faux/echo"), codes.Unauthenticated, "UNAUTHENTICATED")
			want(t, name+" and a token", ask(with(t, aliceToken), conn, "faux/echo"), codes.OK, "")
		}
	}
	want(t, "none", ask(limited(t), dial(t, l.tcp, a.trusts()), "faux/echo"), codes.Unauthenticated, "UNAUTHENTICATED")
}

// A certificate that runs out while it is connected is refused from then on.
func TestCertificateRunsOut(t *testing.T) {
	a := newAuthority(t, "ca")
	l := start(t, guarded(t, a, ""))
	// Certificates tell whole seconds.
	end := time.Now().Truncate(time.Second).Add(3 * time.Second)
	conn := dial(t, l.tcp, a.trusts(a.client(t, "ops", end)))
	want(t, "before", ask(limited(t), conn, "faux/echo"), codes.OK, "")
	time.Sleep(time.Until(end) + 50*time.Millisecond)
	want(t, "after", ask(limited(t), conn, "faux/echo"), codes.Unauthenticated, "UNAUTHENTICATED")
}

func TestRequiredCertificate(t *testing.T) {
	a := newAuthority(t, "ca")
	l := start(t, strings.Replace(guarded(t, a, ""), "ca.crt}", "ca.crt, require_client_cert: true}", 1))
	if err := ask(with(t, aliceToken), dial(t, l.tcp, a.trusts()), "faux/echo"); status.Code(err) != codes.Unavailable {
		t.Errorf("a token and no certificate: %v", err)
	}
	want(t, "both", ask(with(t, aliceToken), dial(t, l.tcp, a.trusts(a.client(t, "ops", time.Time{}))), "faux/echo"), codes.OK, "")
}

// New files reach new connections, and streams of old ones go on. Kubernetes swaps
// a link two folders up; half-written files change nothing.
func TestRotation(t *testing.T) {
	old, next := newAuthority(t, "old"), newAuthority(t, "next")
	dir := t.TempDir()
	version := func(a *authority, name string) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		a.files(t, filepath.Join(dir, name))
		link := filepath.Join(dir, "..data_tmp")
		if err := errors.Join(os.Symlink(name, link), os.Rename(link, filepath.Join(dir, "..data"))); err != nil {
			t.Fatal(err)
		}
	}
	version(old, "..1")
	for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	l := start(t, fmt.Sprintf("server:\n  listen: ['tcp://127.0.0.1:0']\n  drain_timeout: 1s\n  tls: {cert_file: %s, key_file: %s, client_ca_file: %s}\n  auth: {mtls: [{name: ops, common_name: ops}]}\n",
		in("tls.crt"), in("tls.key"), in("ca.crt")))
	stream, err := llmdv1.NewInferenceServiceClient(dial(t, l.tcp, old.trusts(old.client(t, "ops", time.Time{})))).Stream(limited(t),
		&llmdv1.StreamRequest{Generation: harness.Ask("faux/echo", `faux: {"text": "word ", "repeat": 100, "delay_ms": 50}`)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	version(next, "..2")
	fresh := func() error {
		return ask(limited(t), dial(t, l.tcp, next.trusts(next.client(t, "ops", time.Time{}))), "faux/echo")
	}
	for deadline := time.Now().Add(10 * time.Second); fresh() != nil; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the new files are not used: %v\n%s", fresh(), l.log)
		}
	}
	// The old authority's clients are strangers to new connections.
	mixed := next.trusts(old.client(t, "ops", time.Time{}))
	if err := ask(limited(t), dial(t, l.tcp, mixed), "faux/echo"); err == nil {
		t.Error("a client of the old authority is let in")
	}
	for {
		if _, err = stream.Recv(); err != nil {
			break
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("the old stream was dropped: %v", err)
	}
	// A key that does not fit its certificate.
	write(t, in("tls.key"), "nonsense")
	time.Sleep(1100 * time.Millisecond)
	if err := fresh(); err != nil || strings.Count(l.log.String(), "key=server.tls.cert_file") != 1 {
		t.Errorf("after a bad file: %v\n%s", err, l.log)
	}
}

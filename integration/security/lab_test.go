package security

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/server"
)

const (
	aliceToken = "alice-token-5f1d0c" // of callers in tests
	bobToken   = "bob-token-99e2aa"
)

// lab is an llmd with the addresses of its own configuration.
type lab struct {
	app  *server.App
	log  *harness.LogBuffer
	path string
	// tcp and unix are targets for clients; empty if there is no such address.
	tcp, unix string
	// web is host:port of the web's listener, webSocket the path of its socket.
	web, webSocket string
	// admin is the URL of the admin pages; empty = there are none.
	admin string

	// stop ends it and waits until it has.
	stop func()
}

func noEnv(string) (string, bool) { return "", false }

// otelEnv has what the test sets of OpenTelemetry's variables, and no others.
func otelEnv(name string) (string, bool) {
	if !strings.HasPrefix(name, "OTEL_") {
		return "", false
	}
	return os.LookupEnv(name)
}

// start serves a configuration until the test ends.
func start(t *testing.T, text string) *lab {
	t.Helper()
	l := &lab{log: &harness.LogBuffer{}, path: filepath.Join(t.TempDir(), "llmd.yaml")}
	write(t, l.path, text)
	file, err := config.Load(l.path, noEnv)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if l.app, err = server.New(file, otelEnv, "test", l.log); err != nil {
		t.Fatal(err)
	}
	if file.Server.Admin.On() {
		if l.app.Admin, err = server.Listen(t.Context(), file.Server.Admin.Listen); err != nil {
			t.Fatal(err)
		}
		l.admin = "http://" + l.app.Admin.Addr().String()
	}
	listeners, err := server.ListenAll(t.Context(), file.Server.Addresses())
	if err != nil {
		t.Fatal(err)
	}
	native := len(file.Server.Listen)
	l.app.Web = listeners[native:]
	for i, a := range file.Server.Addresses() {
		switch address := listeners[i].Addr().String(); {
		case i >= native && a.Network == "unix":
			l.webSocket = a.Address
		case i >= native:
			l.web = address
		case a.Network == "unix":
			l.unix = "unix://" + a.Address
		default:
			l.tcp = "passthrough:///" + address
		}
	}
	listeners = listeners[:native]
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- l.app.Serve(ctx, listeners, ctx.Done()) }()
	l.stop = sync.OnceFunc(func() {
		stop()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(func() {
		l.stop()
		for _, word := range []string{aliceToken, bobToken, harness.Canary, "panicked"} {
			if strings.Contains(l.log.String(), word) {
				t.Errorf("llmd's log holds %q", word)
			}
		}
	})
	return l
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// dial connects; a nil config is no TLS.
func dial(t *testing.T, target string, c *tls.Config) *grpc.ClientConn {
	t.Helper()
	transport := insecure.NewCredentials()
	if c != nil {
		transport = credentials.NewTLS(c)
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(transport), grpc.WithDisableServiceConfig(), grpc.WithAuthority("localhost"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func limited(t *testing.T) context.Context { return harness.Limited(t, 20*time.Second) }

// with sends a bearer token along.
func with(t *testing.T, token string) context.Context {
	if token == "" {
		return limited(t)
	}
	return metadata.AppendToOutgoingContext(limited(t), "authorization", "Bearer "+token)
}

// ask is the smallest call that needs a caller; its error is all that matters.
func ask(ctx context.Context, conn *grpc.ClientConn, model string) error {
	_, err := llmdv1.NewInferenceServiceClient(conn).Complete(ctx, &llmdv1.CompleteRequest{Generation: harness.Ask(model, "Hello.")})
	return err
}

// want wants a code and a reason; the reason "" goes with OK alone.
func want(t *testing.T, what string, err error, code codes.Code, reason string) {
	t.Helper()
	if status.Code(err) != code || harness.ReasonOf(err) != reason {
		t.Errorf("%s: %v (%s), want %v, %s", what, err, harness.ReasonOf(err), code, reason)
	}
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{}
	a.cert, a.key = a.issue(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

var serials int64 = 1000

// issue signs a certificate; the first one by itself.
func (a *authority) issue(t *testing.T, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serials++
	c.SerialNumber = big.NewInt(serials)
	if c.NotAfter.IsZero() {
		c.NotAfter = time.Now().Add(time.Hour)
	}
	c.NotBefore = c.NotAfter.Add(-2 * time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return made, key
}

// server makes the certificate of a server.
func (a *authority) server(t *testing.T) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	return a.issue(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "llmd"}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

// client makes the certificate of a client, by common name or by URI.
func (a *authority) client(t *testing.T, name string, end time.Time) tls.Certificate {
	t.Helper()
	c := &x509.Certificate{NotAfter: end, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, Subject: pkix.Name{CommonName: name}}
	if strings.Contains(name, "://") {
		uri, err := url.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		c.Subject, c.URIs = pkix.Name{CommonName: "workload"}, []*url.URL{uri}
	}
	cert, key := a.issue(t, c)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

// trusts is the TLS of a client that trusts this authority.
func (a *authority) trusts(certs ...tls.Certificate) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{RootCAs: pool, Certificates: certs, ServerName: "localhost", MinVersion: tls.VersionTLS12}
}

func certPEM(c *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
}

func keyPEM(t *testing.T, key *ecdsa.PrivateKey) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// files writes what server.tls names, and gives its YAML.
func (a *authority) files(t *testing.T, dir string) string {
	t.Helper()
	cert, key := a.server(t)
	write(t, filepath.Join(dir, "tls.crt"), certPEM(cert))
	write(t, filepath.Join(dir, "tls.key"), keyPEM(t, key))
	write(t, filepath.Join(dir, "ca.crt"), certPEM(a.cert))
	return "{cert_file: " + filepath.Join(dir, "tls.crt") + ", key_file: " + filepath.Join(dir, "tls.key") + ", client_ca_file: " + filepath.Join(dir, "ca.crt")
}

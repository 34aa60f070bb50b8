package clients

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/clients/vectors"
)

// server is everything that the clients talk to.
type server struct {
	address string // of llmd, host:port
	unix    string // and its Unix socket, as unix:/path
	tls     string // the same behind TLS, host:port
	ca      string // the file of the authority that vouches for it
	// guarded is another llmd behind TLS, which wants the token in a file.
	guarded, guardedCA, token string

	vectors string // of the server that plays the vectors
	all     []vectors.Vector
}

// serve runs `llmd serve`, a TLS proxy before it and the server of the vectors.
func serve(t *testing.T) *server {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "llmd")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, root+"/cmd/llmd").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	socket := filepath.Join(t.TempDir(), "s") // its path may not be long
	config := filepath.Join(dir, "llmd.yaml")
	text := "server:\n  instance: clients\n  listen: [\"tcp://127.0.0.1:0\", \"unix://" + socket + "\"]\n  drain_timeout: 2s\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &server{unix: "unix:" + socket, ca: filepath.Join(dir, "ca.pem")}
	s.address = start(t, exec.CommandContext(t.Context(), program, "serve", "--config", config))
	s.tls = terminate(t, s.ca, s.address)
	s.guard(t, program)
	s.vectors = s.play(t)
	return s
}

// secret is the token of the caller that the guarded llmd knows.
const secret = "a-token-for-the-tests-of-clients"

// guard runs an llmd that knows one caller, with TLS before it.
func (s *server) guard(t *testing.T, program string) {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "llmd.yaml")
	s.guardedCA, s.token = filepath.Join(dir, "ca.pem"), filepath.Join(dir, "token")
	text := fmt.Sprintf("server:\n  listen: tcp://127.0.0.1:0\n  drain_timeout: 2s\n  auth: {tokens: [{name: app, sha256: %x}]}\n", sha256.Sum256([]byte(secret)))
	for path, text := range map[string]string{config: text, s.token: secret + "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.guarded = terminate(t, s.guardedCA, start(t, exec.CommandContext(t.Context(), program, "serve", "--config", config)))
}

// start starts llmd and waits for the address that it listens on.
func start(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	listening := regexp.MustCompile(`msg=listening address=tcp://(\S+)`)
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return m[1]
		}
	}
	t.Fatal("llmd does not say where it listens")
	return ""
}

// terminate puts TLS before an address, and writes the authority's certificate.
func terminate(t *testing.T, ca, to string) string {
	t.Helper()
	authority, key := certificate(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "llmd test authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil, nil)
	host, hostKey := certificate(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, authority, key)
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{host.Raw}, PrivateKey: hostKey}}, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go splice(in, to)
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return net.JoinHostPort("localhost", port)
}

// certificate makes one for an hour, signed by the authority or by itself.
func certificate(t *testing.T, about, authority *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if authority == nil {
		authority, by = about, key
	}
	about.SerialNumber = big.NewInt(time.Now().UnixNano())
	about.NotBefore, about.NotAfter = time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, about, authority, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return made, key
}

func splice(in net.Conn, to string) {
	defer func() { _ = in.Close() }()
	out, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
	_, _ = io.Copy(in, out)
}

// play serves the vectors: the model vectors/NAME answers with the stream NAME.
func (s *server) play(t *testing.T) string {
	t.Helper()
	var err error
	if s.all, err = vectors.Load(filepath.Join(root, "proto", "vectors")); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	llmdv1.RegisterInferenceServiceServer(g, &player{vectors: s.all})
	go func() { _ = g.Serve(l) }()
	t.Cleanup(g.Stop)
	return l.Addr().String()
}

type player struct {
	llmdv1.UnimplementedInferenceServiceServer
	vectors []vectors.Vector
}

// newer is field 99, length-delimited, "newer": what an event of the future, or a
// field of the future in an event of today, looks like on the wire.
var newer = []byte{0x9a, 0x06, 0x05, 'n', 'e', 'w', 'e', 'r'}

// Stream implements llmdv1.InferenceServiceServer.
func (p *player) Stream(r *llmdv1.StreamRequest, stream llmdv1.InferenceService_StreamServer) error {
	for _, v := range p.vectors {
		if "vectors/"+v.Name != r.GetGeneration().GetModel() {
			continue
		}
		var end error
		for _, e := range v.Events {
			if e.GetEvent() == nil || v.Name == "future_fields" {
				e = &llmdv1.StreamResponse{SequenceNumber: e.GetSequenceNumber(), Event: e.GetEvent()}
				e.ProtoReflect().SetUnknown(newer)
			}
			if err := stream.Send(e); err != nil {
				return err
			}
			end = ended(e)
		}
		return end
	}
	return status.Error(codes.NotFound, "no such vector")
}

// ended is the status that goes with a terminal event.
func ended(e *llmdv1.StreamResponse) error {
	switch v := e.GetEvent().(type) {
	case *llmdv1.StreamResponse_Error:
		return status.Error(codes.Code(v.Error.GetError().GetCode()), v.Error.GetError().GetMessage())
	case *llmdv1.StreamResponse_Aborted:
		if v.Aborted.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_REQUESTED {
			return status.Error(codes.Code(v.Aborted.GetMessage().GetError().GetCode()), v.Aborted.GetMessage().GetError().GetMessage())
		}
	}
	return nil
}

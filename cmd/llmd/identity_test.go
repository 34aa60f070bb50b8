package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// selfSigned writes a certificate of localhost that anybody may trust, and its key.
func selfSigned(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ops"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, b []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}))
	}
	return writeFile(t, "tls.crt", block("CERTIFICATE", der)), writeFile(t, "tls.key", block("PRIVATE KEY", raw))
}

// TestIdentity: call and health reach an llmd that is guarded, with a token or a
// certificate; not without.
func TestIdentity(t *testing.T) {
	cert, key := selfSigned(t)
	// sha256sum of "secret".
	config := writeFile(t, "llmd.yaml", "server:\n  listen: tcp://localhost:0\n  tls: {cert_file: "+cert+", key_file: "+key+", client_ca_file: "+cert+"}\n"+
		"  auth:\n    tokens: [{name: app, sha256: 2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b}]\n    mtls: [{name: ops, common_name: ops}]\n")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	c := newCommand(ctx, "")
	code := make(chan int)
	go func() { code <- c.run("serve", "--config", config) }()
	_, port, _ := strings.Cut(strings.TrimPrefix(addresses(t, &c.err, 1)[0], "tcp://"), ":")
	at := "localhost:" + port
	token, wrong := writeFile(t, "token", "secret\n"), writeFile(t, "wrong", "s3cret\n")
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--tls-ca", cert, "--token-file", token}, exitOK, ""},
		{[]string{"--tls-ca", cert, "--tls-cert", cert, "--tls-key", key}, exitOK, ""},
		{[]string{"--tls-ca", cert, "--token-file", wrong}, exitError, "UNAUTHENTICATED: the bearer token is not known"},
		{[]string{"--tls-ca", cert}, exitError, "UNAUTHENTICATED: the call has no credentials"},
		{[]string{"--tls", "--token-file", token}, exitError, "no llmd answers at " + at + " (give its authority with --tls-ca)"},
		{[]string{"--token-file", token}, exitError, "no llmd answers at " + at + " (does it want TLS? Then use --tls or --tls-ca)"},
		{[]string{"--tls-ca", cert, "--token-file", writeFile(t, "empty", "\n")}, exitUsage, "must hold one token"},
		{[]string{"--tls-ca", cert, "--token-file", writeFile(t, "lines", "s3cret\ns3cret\n")}, exitUsage, "must hold one token"},
		{[]string{"--tls-ca", key}, exitUsage, "--tls-ca: " + key + " holds no certificate"},
		{[]string{"--tls-ca", "/nowhere"}, exitUsage, "--tls-ca: open /nowhere"},
		{[]string{"--tls-cert", cert}, exitUsage, "--tls-cert and --tls-key go together"},
		{[]string{"--token-file", "/nowhere"}, exitUsage, "--token-file: open /nowhere"},
	} {
		args := append([]string{"call", "--addr", at, "faux/echo", "Hello"}, tt.args...)
		code, out, errs := llmd(t, args...)
		if code != tt.code || !strings.Contains(errs, tt.says) || code == exitOK && out != "Hello\n" || strings.Contains(errs, "s3cret") {
			t.Errorf("%v: exit code %d, %q\n%s", tt.args, code, out, errs)
		}
	}
	if code, out, errs := llmd(t, "health", "--addr", at, "--tls-ca", cert); code != exitOK || out != "SERVING\n" {
		t.Errorf("health: %d, %q\n%s", code, out, errs)
	}
	// Without --addr the configuration says all: a server whose certificate is the
	// file's is trusted, another is not.
	probe := newCommand(t.Context(), "", "LLMD_LISTEN", at)
	if code := probe.run("health", "--config", config); code != exitOK || probe.out.String() != "SERVING\n" {
		t.Errorf("health by the configuration: %d, %q\n%s", code, &probe.out, &probe.err)
	}
	foreign, foreignKey := selfSigned(t)
	probe = newCommand(t.Context(), "", "LLMD_LISTEN", at)
	other := writeFile(t, "other.yaml", "server:\n  tls: {cert_file: "+foreign+", key_file: "+foreignKey+"}\n")
	if code := probe.run("health", "--config", other); code != exitError || !strings.Contains(probe.err.String(), "another certificate") {
		t.Errorf("health of another server: %d\n%s", code, &probe.err)
	}
	for _, elsewhere := range []string{"llm.example.test:1", "dns:///llm.example.test:1"} {
		code, _, errs := llmd(t, "call", "--addr", elsewhere, "--token-file", token, "faux/echo", "Hello")
		if code != exitUsage || !strings.Contains(errs, "in the clear") {
			t.Errorf("a token in the clear to %s: %d\n%s", elsewhere, code, errs)
		}
	}
	// A command with an llmd of its own is let in by that.
	if code, out, errs := llmd(t, "call", "--config", config, "faux/echo", "Hello"); code != exitOK || out != "Hello\n" {
		t.Errorf("inside: %d, %q\n%s", code, out, errs)
	}
	stop()
	<-code
}

// TestServeExposed: what other machines can reach is guarded, or refused; check says the
// same of it as serve, and of files that are not there.
func TestServeExposed(t *testing.T) {
	for text, problem := range map[string]string{
		"listen: tcp://0.0.0.0:0":                                         "server.listen: other machines can reach tcp://0.0.0.0:0: set server.tls and server.auth, or server.allow_insecure: true",
		"admin: {listen: tcp://0.0.0.0:0}":                                "server.admin.listen: other machines can reach",
		"tls: {cert_file: /no/such/cert.pem, key_file: /no/such/key.pem}": "server.tls.cert_file: /no/such/cert.pem: no such file or directory",
	} {
		config := writeFile(t, "llmd.yaml", "server: {"+text+"}\n")
		_, _, said := llmd(t, "serve", "--config", config)
		for _, command := range []string{"serve", "check"} {
			code, out, errs := llmd(t, command, "--config", config)
			if code != exitUsage || out != "" || errs != said || !strings.Contains(errs, config+": "+problem) {
				t.Errorf("%s: exit code %d\n%s", command, code, errs)
			}
		}
	}
}

// TestAdvice: what keeps TLS from being spoken is told apart.
func TestAdvice(t *testing.T) {
	cert, key := selfSigned(t)
	stranger, strangersKey := selfSigned(t)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(pair.Leaf)
	wants := &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}, Certificates: []tls.Certificate{pair},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted,
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	defer func() { _ = l.Close() }()
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				_ = tls.Server(c, wants).HandshakeContext(t.Context())
				_, _ = io.Copy(io.Discard, c) // until the client has seen the alert and closes
				_ = c.Close()
			})
		}
	})
	_, port, _ := strings.Cut(l.Addr().String(), ":")
	for _, tt := range []struct {
		host, says string
		args       []string
	}{
		{"localhost", "it wants a client certificate: use --tls-cert and --tls-key", nil},
		{"localhost", "it does not take the certificate of --tls-cert", []string{"--tls-cert", stranger, "--tls-key", strangersKey}},
		{"127.0.0.1", "call it by a name that its certificate has", nil},
	} {
		at := tt.host + ":" + port
		code, _, errs := llmd(t, append([]string{"call", "--addr", at, "--tls-ca", cert, "faux/echo", "Hello"}, tt.args...)...)
		if code != exitError || !strings.Contains(errs, "no llmd answers at "+at+" ("+tt.says+")") {
			t.Errorf("%s %v: exit code %d\n%s", at, tt.args, code, errs)
		}
	}
}

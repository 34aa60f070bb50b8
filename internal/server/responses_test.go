package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llmd-dev/llmd/integration/redistest"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/service/responses"
)

// redisPair makes a certificate for 127.0.0.1 that is its own authority.
func redisPair(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redis"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// TestRedisInTheClear: a way to Redis that leads over a network without TLS is warned of.
func TestRedisInTheClear(t *testing.T) {
	for redis, want := range map[string]string{
		"addresses: [127.0.0.1:1]":                                      "",
		"addresses: ['[::1]:1']":                                        "",
		"addresses: [localhost:1]":                                      "",
		"addresses: [unix:///nowhere/redis.sock]":                       "",
		"addresses: [0.0.0.0:1]":                                        "0.0.0.0:1", // no loopback, although it leads there
		"addresses: [0.0.0.0:1], tls: {}":                               "",
		"addresses: [127.0.0.1:1, 0.0.0.0:1, 0.0.0.0:2], cluster: true": "0.0.0.0:1,0.0.0.0:2",
	} {
		text := "server:\n  responses:\n    store: redis\n    encryption_keys: [{id: k, key: " + strings.Repeat("0f", 32) + "}]\n    redis: {password: pass-word, " + redis + "}\n"
		none := func(string) (string, bool) { return "", false }
		file, err := config.Parse("f.yaml", []byte(text), none)
		if err != nil {
			t.Fatal(err)
		}
		log := &logBuffer{}
		app, err := New(file, none, "test", log)
		if err != nil {
			t.Fatal(err)
		}
		app.service.Close()
		said := log.String()
		if warned := strings.Contains(said, "level=WARN msg=\"the network on the way to Redis"); warned != (want != "") || !strings.Contains(said, want) || strings.Contains(said, "pass-word") {
			t.Errorf("%s:\n%s", redis, said)
		}
	}
}

// Redis with a password, by TLS with a certificate of the client's, and what is said
// where one of them is wrong.
func TestCheckStore(t *testing.T) {
	dir := t.TempDir()
	cert, key := redisPair(t, dir)
	secret := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	password, wrong, short := secret("p", "pass-word"), secret("w", "another"), secret("s", "0f0f")
	plain := redistest.Start(t, "--requirepass", "pass-word")
	secure := redistest.Start(t, "--tls-port", redistest.Port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "yes")
	safe := net.JoinHostPort("127.0.0.1", secure.Ports[0])
	tls := fmt.Sprintf("tls: {ca_file: %s, cert_file: %s, key_file: %s}", cert, cert, key)
	for _, tt := range []struct{ name, redis, keyFile, kind, problem string }{
		{name: "password", redis: "addresses: [" + plain.Addr + "], password_file: " + password},
		{name: "no password", redis: "addresses: [" + plain.Addr + "]", kind: "refused"},
		{name: "wrong password", redis: "addresses: [" + plain.Addr + "], password_file: " + wrong, kind: "refused"},
		{name: "TLS", redis: "addresses: [" + safe + "], " + tls},
		{name: "unknown authority", redis: "addresses: [" + safe + "], tls: {}", kind: "unreachable"},
		{name: "nobody there", redis: "addresses: [127.0.0.1:1]", kind: "unreachable"},
		{name: "no such file", redis: "addresses: [127.0.0.1:1], password_file: /nowhere", problem: "server.responses.redis.password_file"},
		{name: "no certificate", redis: "addresses: [127.0.0.1:1], tls: {ca_file: " + password + "}", problem: "server.responses.redis.tls.ca_file"},
		{name: "short key", redis: "addresses: [127.0.0.1:1]", keyFile: short, problem: "server.responses.encryption_keys"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			one := "key: " + strings.Repeat("0f", 32)
			if tt.keyFile != "" {
				one = "key_file: " + tt.keyFile
			}
			text := fmt.Sprintf("server:\n  responses:\n    store: redis\n    encryption_keys: [{id: k, %s}]\n    redis: {timeout: 30s, %s}\n", one, tt.redis)
			file, err := config.Parse("f.yaml", []byte(text), func(string) (string, bool) { return "", false })
			if err != nil {
				t.Fatal(err)
			}
			what, err := CheckStore(context.Background(), file)
			var failed *responses.UnavailableError
			var mistake *config.ParseError
			switch {
			case tt.problem != "":
				if !errors.As(err, &mistake) || mistake.Key != tt.problem || strings.Contains(err.Error(), "0f0f") {
					t.Errorf("%v", err)
				}
			case tt.kind != "":
				if !errors.As(err, &failed) || failed.Kind != tt.kind {
					t.Errorf("%v, %+v", err, failed)
				}
			case err != nil || what == "":
				t.Errorf("%q, %v (%v)", what, err, errors.Unwrap(err))
			}
		})
	}
	if what, err := CheckStore(context.Background(), config.Default()); what != "" || err != nil {
		t.Errorf("in memory: %q, %v", what, err)
	}
}

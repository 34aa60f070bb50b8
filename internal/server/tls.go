package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/llmd-dev/llmd/internal/config"
)

// certificates are the files of server.tls. They are looked at when a client
// connects, at most once in a while, and read again when their contents differ;
// that sees what Kubernetes does to a mounted Secret. Connections that exist keep
// what they were made with.
type certificates struct {
	files config.TLS
	every time.Duration

	mu     sync.Mutex
	log    *slog.Logger // set before the first connection
	looked time.Time
	seen   fingerprints
	config *tls.Config
}

// newCertificates reads the files. A mistake is a *config.ParseError.
func newCertificates(file *config.File) (*certificates, error) {
	c := &certificates{files: file.Server.TLS, every: pollEvery}
	c.seen = c.look()
	loaded, key, err := load(c.files)
	if err != nil {
		return nil, &config.ParseError{File: file.Path, Key: "server.tls." + key, Problem: err.Error()}
	}
	c.config, c.looked = loaded, time.Now()
	return c, nil
}

func (c *certificates) look() fingerprints {
	paths := []string{c.files.CertFile, c.files.KeyFile}
	if c.files.ClientCAFile != "" {
		paths = append(paths, c.files.ClientCAFile)
	}
	return take(paths)
}

// load makes what a connection needs of the files; key names the one that is bad.
// What a key file holds is in no message.
func load(files config.TLS) (_ *tls.Config, key string, _ error) {
	cert, key, err := pair(files)
	if err != nil {
		return nil, key, err
	}
	made := &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"},
		// A resumed session would live by authorities that may be gone.
		SessionTicketsDisabled: true,
	}
	if files.ClientCAFile == "" {
		return made, "", nil
	}
	text, err := readPEM(files.ClientCAFile)
	if err != nil {
		return nil, "client_ca_file", err
	}
	made.ClientCAs = x509.NewCertPool()
	if !made.ClientCAs.AppendCertsFromPEM(text) {
		return nil, "client_ca_file", errors.New("the file " + files.ClientCAFile + " holds no certificate in PEM")
	}
	made.ClientAuth = tls.VerifyClientCertIfGiven
	if files.RequireClientCert {
		made.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return made, "", nil
}

func pair(files config.TLS) (_ tls.Certificate, key string, _ error) {
	chain, err := readPEM(files.CertFile)
	if err != nil {
		return tls.Certificate{}, "cert_file", err
	}
	private, err := readPEM(files.KeyFile)
	if err != nil {
		return tls.Certificate{}, "key_file", err
	}
	cert, err := tls.X509KeyPair(chain, private)
	if err != nil {
		return tls.Certificate{}, "cert_file", errors.New("the files " + files.CertFile + " and " + files.KeyFile + " are no certificate with its key: " + err.Error())
	}
	return cert, "", nil
}

// readPEM reads a small regular file.
func readPEM(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxHashedBytes) {
		return nil, errors.New(path + " is not a regular file of a sensible size")
	}
	text, err := os.ReadFile(path)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, errors.New(path + ": " + e.Err.Error())
	}
	return text, err
}

// expires is when the certificate runs out; zero if there is none.
func (c *certificates) expires() time.Time {
	if c == nil {
		return time.Time{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if leaf := c.config.Certificates[0].Leaf; leaf != nil {
		return leaf.NotAfter
	}
	return time.Time{}
}

// current is what the next connection gets. Files that are bad, or not all written
// yet, change nothing and are named once.
func (c *certificates) current(*tls.ClientHelloInfo) (*tls.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) < c.every {
		return c.config, nil
	}
	c.looked = time.Now()
	now := c.look()
	if maps.Equal(now, c.seen) {
		return c.config, nil
	}
	c.seen = now
	loaded, key, err := load(c.files)
	if err != nil {
		c.log.Error("the TLS files are not reloaded; the old ones stay", "key", "server.tls."+key, "problem", err.Error())
		return c.config, nil
	}
	c.config = loaded
	c.log.Info("TLS files reloaded")
	return loaded, nil
}

// web is for the web's TCP listeners: the same files, and HTTP/1.1 besides.
func (c *certificates) web() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		now, err := c.current(hello)
		if err != nil {
			return nil, err
		}
		now = now.Clone()
		now.NextProtos = []string{"h2", "http/1.1"}
		return now, nil
	}}
}

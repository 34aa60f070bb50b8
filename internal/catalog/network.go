package catalog

import (
	"crypto/x509"
	"errors"
	"io"
	"os"
)

// maxFileBytes bounds a file that the configuration names. Keys are short; the
// largest bundles of authorities have a quarter of it.
const maxFileBytes = 1 << 20

// network fills in how the provider is reached.
func (e *entry) network(file string, p *Provider) error {
	user := part(e.user)
	p.TraceContext = user.TraceContext
	p.Network = Network{Proxy: user.Proxy, ConnectTimeout: user.Timeouts.Connect}
	if user.CAFile == "" {
		return nil
	}
	text, err := readSmall(user.CAFile)
	if err == nil && !x509.NewCertPool().AppendCertsFromPEM([]byte(text)) {
		err = errors.New("the file " + user.CAFile + " holds no certificate in PEM")
	}
	if err != nil {
		return e.mistake(file, "ca_file", err.Error())
	}
	p.Network.ExtraCAs = text
	return nil
}

// readSmall reads a file that the configuration names. Its errors name the path
// and nothing of what is in it.
func readSmall(path string) (string, error) {
	// What is no file, such as a pipe, may never end, and a reload reads it again.
	info, err := os.Stat(path)
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return "", errors.New(path + ": " + e.Err.Error())
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New(path + " is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	switch {
	case err != nil:
		return "", err
	case len(text) > maxFileBytes:
		return "", errors.New("the file " + path + " is larger than 1 MiB")
	}
	return string(text), nil
}

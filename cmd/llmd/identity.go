package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// identityFlags are how a command trusts an llmd elsewhere and says who it is.
type identityFlags struct {
	TLS       bool   `name:"tls" help:"Use TLS, with the system's certificate authorities. The other --tls flags imply it."`
	TLSCA     string `name:"tls-ca" help:"Certificate authorities to trust instead (PEM)." type:"path" placeholder:"FILE"`
	TLSCert   string `name:"tls-cert" help:"Client certificate (PEM); with --tls-key." type:"path" placeholder:"FILE"`
	TLSKey    string `name:"tls-key" help:"Its private key (PEM)." type:"path" placeholder:"FILE"`
	TokenFile string `name:"token-file" help:"File with a bearer token for llmd." type:"path" placeholder:"FILE"`
}

// first names one of the flags that are given; empty if none is.
func (f *identityFlags) first() string {
	switch {
	case f.TokenFile != "":
		return "--token-file"
	case f.TLSCA != "":
		return "--tls-ca"
	case f.TLSCert != "":
		return "--tls-cert"
	case f.TLSKey != "":
		return "--tls-key"
	case f.TLS:
		return "--tls"
	}
	return ""
}

// options are those of a connection to address.
func (f *identityFlags) options(address string) ([]grpc.DialOption, error) {
	_, local, err := target(address)
	if err != nil {
		return nil, err
	}
	var options []grpc.DialOption
	secure := f.TLS || f.TLSCA != "" || f.TLSCert != "" || f.TLSKey != ""
	if secure {
		c, err := f.tlsConfig()
		if err != nil {
			return nil, err
		}
		options = append(options, grpc.WithTransportCredentials(credentials.NewTLS(c)))
	}
	if f.TokenFile == "" {
		return options, nil
	}
	if !local && !secure {
		return nil, &usageError{"--token-file would send the token in the clear to another machine: use --tls or --tls-ca as well"}
	}
	text, err := os.ReadFile(f.TokenFile)
	if err != nil {
		return nil, &usageError{"--token-file: " + err.Error()}
	}
	token := strings.TrimSpace(string(text))
	// What HTTP can carry, and no more than one word (RFC 6750, section 2.1).
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, &usageError{"--token-file: " + f.TokenFile + " must hold one token, in ASCII and without spaces"}
	}
	return append(options, grpc.WithPerRPCCredentials(bearer(token))), nil
}

func (f *identityFlags) tlsConfig() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS13}
	if f.TLSCA != "" {
		text, err := os.ReadFile(f.TLSCA)
		if err != nil {
			return nil, &usageError{"--tls-ca: " + err.Error()}
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, &usageError{"--tls-ca: " + f.TLSCA + " holds no certificate in PEM"}
		}
	}
	if (f.TLSCert == "") != (f.TLSKey == "") {
		return nil, &usageError{"--tls-cert and --tls-key go together"}
	}
	if f.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(f.TLSCert, f.TLSKey)
		if err != nil {
			return nil, &usageError{"--tls-cert: " + err.Error()}
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// bearer is a token that goes with each call.
type bearer string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. What stays on
// this machine needs none; [identityFlags.options] refuses the rest.
func (bearer) RequireTransportSecurity() bool { return false }

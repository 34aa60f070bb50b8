package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
)

// unreachable says for people which host could not be reached and why. It is made
// of known words: the error's own text may hold a URL with a key in it.
func unreachable(t *Target, err error) string {
	host := "the provider"
	if u, perr := url.Parse(t.BaseURL); perr == nil && u.Host != "" {
		host = u.Host
	}
	// So net/http calls all that goes wrong on the way to a proxy.
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "proxyconnect" {
		host = "the proxy to " + host
	}
	return host + " could not be reached: " + whyUnreachable(err)
}

func whyUnreachable(err error) string {
	var (
		lookup   *net.DNSError
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
		invalid  x509.CertificateInvalidError
		record   tls.RecordHeaderError
		network  net.Error
	)
	switch {
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return "there is no such host"
	case errors.Is(err, errRefused):
		return "it refused the request"
	case errors.As(err, &lookup):
		return "its name could not be looked up"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was reset"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no route to it"
	case errors.As(err, &unknown):
		return "its certificate is signed by an unknown authority"
	case errors.As(err, &hostname):
		return "its certificate is for another host"
	case errors.As(err, &invalid):
		return "its certificate is invalid or has expired"
	case errors.As(err, &record):
		return "it does not speak TLS"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it closed the connection without an answer"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "connecting took too long"
	}
	return "the connection failed"
}

package fetch

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// maxURL is the longest URL in bytes. Signed links come to some 2,000.
const maxURL = 8 << 10

// parse reads a URL and brings its host into the one form that is checked, looked
// up and dialled. Whatever could be read in two ways is refused.
func parse(raw string) (*url.URL, error) {
	if len(raw) > maxURL {
		return nil, refuse("is longer than %d bytes", maxURL)
	}
	// Browsers take a backslash for a slash and skip tabs and line ends; others do
	// not.
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return nil, refuse("has spaces, control characters or backslashes")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, refuse("cannot be read")
	}
	return u, normalize(u)
}

// normalize checks a parsed URL and rewrites its host.
func normalize(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return refuse("is neither http nor https")
	case u.Opaque != "" || u.Host == "":
		return refuse("has no host")
	case u.User != nil:
		return refuse("holds a user name or password")
	}
	host, err := normalHost(u.Hostname())
	if err != nil {
		return err
	}
	port := u.Port()
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return refuse("has a port that is no number from 1 to 65535")
		}
		port = strconv.FormatUint(n, 10)
	}
	switch {
	case port != "":
		u.Host = net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		u.Host = "[" + host + "]"
	default:
		u.Host = host
	}
	u.Fragment, u.RawFragment = "", ""
	return nil
}

// normalHost is a host in lower case, as ASCII and without the dot at its end.
func normalHost(host string) (string, error) {
	if strings.Contains(host, ":") {
		a, err := netip.ParseAddr(host)
		if err != nil || a.Zone() != "" {
			return "", refuse("has a host that is no IPv6 address without a zone")
		}
		return a.String(), nil
	}
	host, err := ascii(host)
	if err != nil {
		return "", err
	}
	host = strings.TrimSuffix(host, ".")
	if host == "" || len(host) > 253 || strings.HasPrefix(host, ".") || strings.Contains(host, "..") || strings.HasSuffix(host, ".") {
		return "", refuse("has a host that is no name")
	}
	if !numeric(host[strings.LastIndexByte(host, '.')+1:]) {
		return host, nil
	}
	// 2130706433, 0x7f.1 and 0177.0.0.1 are addresses to some resolvers
	// (https://url.spec.whatwg.org/#ends-in-a-number-checker).
	a, err := netip.ParseAddr(host)
	if err != nil {
		return "", refuse("has an IPv4 address in an unusual spelling")
	}
	return a.String(), nil
}

// ascii is a host in lower case, international names as their ASCII form.
func ascii(host string) (string, error) {
	for i := range len(host) {
		if host[i] < 0x80 {
			continue
		}
		// What looks like other letters, dots and digits becomes them here: the
		// checks come after it.
		mapped, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return "", refuse("has a host that is no international name")
		}
		host = mapped
		break
	}
	host = strings.ToLower(host)
	if strings.ContainsFunc(host, func(r rune) bool {
		return r != '-' && r != '.' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	}) {
		return "", refuse("has a host that is no name")
	}
	return host, nil
}

// numeric: a last label that makes a name an IPv4 address in the eyes of some.
func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return !strings.ContainsFunc(hex, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') })
	}
	return !strings.ContainsFunc(label, func(r rune) bool { return r < '0' || r > '9' })
}

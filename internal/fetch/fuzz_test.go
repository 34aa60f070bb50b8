package fetch

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
)

// special are the networks that are not globally reachable, from IANA's registries of
// special-purpose addresses, multicast among them, and what carries such an address
// within.
// https://www.iana.org/assignments/iana-ipv4-special-registry/
// https://www.iana.org/assignments/iana-ipv6-special-registry/
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32",
	"::/128", "::1/128", "::ffff:0:0/96", "64:ff9b:1::/48", "100::/64", "2001:2::/48", "2001:db8::/32", "3fff::/20", "5f00::/16",
	"fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)

func prefixes(all ...string) (out []netip.Prefix) {
	for _, s := range all {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// FuzzURL asks for any URL, with any addresses behind its name: what is dialled is
// public, and is one of the addresses that the name had.
func FuzzURL(f *testing.F) {
	for _, h := range hostile {
		f.Add(h.url, []byte{93, 184, 216, 34})
	}
	for _, a := range []string{"93.184.216.34", "127.0.0.1", "2606:2800:220:1::1", "::1", "64:ff9b::a00:1", "2002:a00:1::1", "::ffff:10.0.0.1"} {
		f.Add("https://public.example/a.png", netip.MustParseAddr(a).AsSlice())
	}
	f.Fuzz(func(t *testing.T, url string, answer []byte) {
		known, ok := netip.AddrFromSlice(answer)
		fetcher, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		fetcher.lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
			if a, err := netip.ParseAddr(host); err == nil {
				return []netip.Addr{a}, nil
			}
			if !ok {
				return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			}
			return []netip.Addr{known}, nil
		}
		fetcher.connect = func(_ context.Context, host string, to netip.AddrPort) (net.Conn, error) {
			literal, err := netip.ParseAddr(host)
			if a := to.Addr(); a.Unmap() != known.Unmap() && (err != nil || a.Unmap() != literal.Unmap()) {
				t.Errorf("%q leads to %s, which nobody named", url, to)
			}
			for _, p := range special {
				if p.Contains(to.Addr()) {
					t.Errorf("%q leads to %s, of %s", url, to, p)
				}
			}
			return nil, errors.New("the network must not be reached")
		}
		if _, _, err := fetcher.Fetch(t.Context(), url); err == nil {
			t.Errorf("%q was downloaded from nowhere", url)
		}
	})
}

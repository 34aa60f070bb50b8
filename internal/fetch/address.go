package fetch

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"code.dny.dev/ssrf"
)

// The metadata services of the clouds: they give credentials to whoever can reach
// them, so nothing opens them. Most are in ranges that are refused anyway; they are
// listed because an allow-list may open those.
//
//   - 169.254.169.254: AWS, Google Cloud, Azure, OpenStack, Oracle and others;
//     169.254.170.2 and 169.254.170.23: credentials of ECS tasks and EKS pods
//   - 168.63.129.16: Azure's host agent, in a public range
//   - 100.100.100.200: Alibaba Cloud
//   - 192.0.0.192: Oracle Cloud
//   - fd00:ec2::254 and fd00:ec2::23: AWS; fd20:ce::254: Google Cloud
func metadataService(a netip.Addr) bool {
	switch a.String() {
	case "169.254.169.254", "169.254.170.2", "169.254.170.23", "168.63.129.16", "100.100.100.200", "192.0.0.192",
		"fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254":
		return true
	}
	return false
}

func metadataName(host string) bool {
	switch host {
	case "metadata.google.internal", "metadata.goog", "metadata", "instance-data", "instance-data.ec2.internal":
		return true
	}
	return false
}

// guard decides which addresses may be dialled.
type guard struct {
	// public knows the special ranges of IANA's registries and refuses them; of IPv6
	// it takes the global unicast range alone.
	public *ssrf.Guardian
	hosts  []string
	nets   []netip.Prefix
}

// newGuard reads an allow-list: names, addresses and networks in CIDR form.
func newGuard(allow []string) (*guard, error) {
	g := &guard{public: ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork())}
	for _, entry := range allow {
		if strings.Contains(entry, "/") {
			p, err := netip.ParsePrefix(entry)
			if err != nil {
				return nil, fmt.Errorf("fetch: %q is no network in CIDR form", entry)
			}
			g.nets = append(g.nets, p.Masked())
			continue
		}
		host, err := normalHost(strings.TrimSuffix(strings.TrimPrefix(entry, "["), "]"))
		if err != nil {
			return nil, fmt.Errorf("fetch: %q is neither a host nor a network", entry)
		}
		if a, err := netip.ParseAddr(host); err == nil {
			g.nets = append(g.nets, netip.PrefixFrom(a, a.BitLen()))
			continue
		}
		g.hosts = append(g.hosts, host)
	}
	return g, nil
}

// errNotPublic is also what a name gets that does not exist.
const errNotPublic = refusal("has no public address; server.images.allow_hosts opens others")

// checkHost refuses a host by its name.
func (g *guard) checkHost(host string) error {
	if metadataName(host) {
		return refuse("is a metadata service")
	}
	return nil
}

// check refuses an address that host has led to.
func (g *guard) check(host string, at netip.AddrPort) error {
	forms := append(inside(at.Addr()), at.Addr())
	if slices.ContainsFunc(forms, metadataService) {
		return refuse("is a metadata service")
	}
	if slices.Contains(g.hosts, host) {
		return nil
	}
	opened := false
	for _, a := range forms {
		if slices.ContainsFunc(g.nets, func(p netip.Prefix) bool { return p.Contains(a) }) {
			opened = true
		} else if a.Zone() != "" || g.public.SafeAddr(a) != nil {
			return errNotPublic
		}
	}
	if p := at.Port(); !opened && p != 80 && p != 443 && p < 1024 {
		return refuse("has a port other than 80, 443 and 1024 to 65535")
	}
	return nil
}

// inside finds the IPv4 addresses that an IPv6 address may stand for.
func inside(a netip.Addr) []netip.Addr {
	if !a.Is6() {
		return nil
	}
	b := a.As16()
	v4 := func(i, j, k, l int) netip.Addr { return netip.AddrFrom4([4]byte{b[i], b[j], b[k], b[l]}) }
	last := v4(12, 13, 14, 15)
	begins := func(p ...byte) bool { return bytes.HasPrefix(b[:], p) }
	switch {
	case a.Is4In6():
		return []netip.Addr{last} // RFC 4291, 2.5.5.2
	case begins(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0):
		if last.Compare(netip.AddrFrom4([4]byte{0, 0, 0, 1})) <= 0 {
			return nil // :: and ::1
		}
		return []netip.Addr{last} // RFC 4291, 2.5.5.1: compatible
	case begins(0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0):
		return []netip.Addr{last} // RFC 6052: NAT64
	case begins(0, 0x64, 0xff, 0x9b, 0, 1):
		return []netip.Addr{last, v4(6, 7, 9, 10), v4(9, 10, 11, 12)} // RFC 8215: local NAT64, by the lengths of RFC 6052
	case begins(0x20, 0x02):
		return []netip.Addr{v4(2, 3, 4, 5)} // RFC 3056: 6to4
	case begins(0x20, 0x01, 0, 0):
		client := netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})
		return []netip.Addr{v4(4, 5, 6, 7), client} // RFC 4380: Teredo
	case b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe:
		return []netip.Addr{last} // RFC 5214: ISATAP
	}
	return nil
}

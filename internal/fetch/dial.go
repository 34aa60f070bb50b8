package fetch

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"
)

const (
	// A host with a dead address must not use up the time of the others.
	connectTimeout = 4 * time.Second
	maxAddresses   = 4
)

// requestKey finds the context of the request that a connection is made for. The
// standard library detaches its dialling from the request, in the hope that another
// one can use the connection; here there is no other one.
type requestKey struct{}

func boundTo(ctx context.Context) context.Context { return context.WithValue(ctx, requestKey{}, ctx) }

// dial connects to a host of a checked URL. Every address that the name has must
// be allowed: a name with one private address among public ones is up to something.
func (f *Fetcher) dial(ctx context.Context, _, address string) (net.Conn, error) { //nolint:contextcheck // its own context is the wrong one
	if own, ok := ctx.Value(requestKey{}).(context.Context); ok {
		ctx = own
	}
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, err
	}
	all, err := f.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, a := range all {
		if err := f.guard.check(host, netip.AddrPortFrom(a, uint16(port))); err != nil {
			return nil, err
		}
	}
	err = errNotPublic
	for _, a := range all[:min(len(all), maxAddresses)] {
		var conn net.Conn
		if conn, err = f.tryOne(ctx, host, netip.AddrPortFrom(a, uint16(port))); err == nil || ctx.Err() != nil {
			return conn, err
		}
	}
	return nil, err
}

// addresses looks a host up, once.
func (f *Fetcher) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if err := f.guard.checkHost(host); err != nil {
		return nil, err
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	all, err := f.lookup(ctx, host)
	if err != nil || len(all) == 0 {
		return nil, errNotPublic
	}
	for i := range all {
		// The operating system would connect by IPv4.
		all[i] = all[i].Unmap()
	}
	// IPv4 first: a host without it fails at once, one without IPv6 may hang.
	slices.SortStableFunc(all, func(a, b netip.Addr) int { return cmp.Compare(a.BitLen(), b.BitLen()) })
	return all, nil
}

func (f *Fetcher) tryOne(ctx context.Context, host string, to netip.AddrPort) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	return f.connect(ctx, host, to)
}

// dialOne connects to one address. The address of the socket is checked once more
// when it is about to connect, so that no way through the resolver or the standard
// library leads around the guard.
func (f *Fetcher) dialOne(ctx context.Context, host string, to netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{
		KeepAlive: -1,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return errNotPublic
			}
			return f.guard.check(host, at)
		},
	}
	return d.DialContext(ctx, "tcp", to.String())
}

func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

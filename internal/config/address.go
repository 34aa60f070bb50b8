package config

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Address is where llmd listens, in the words of net.Listen.
type Address struct {
	// Network is "tcp" or "unix".
	Network string
	// Address is "host:port", or the path of a socket.
	Address string
}

// String is the address as it is written in the file.
func (a Address) String() string { return a.Network + "://" + a.Address }

// Local says whether only this machine can reach the address.
func (a Address) Local() bool {
	if a.Network == "unix" {
		return true
	}
	host, _, err := net.SplitHostPort(a.Address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// ShortAddress reads what [ParseAddress] does and, as it is usual on command lines and
// in variables, host:port and gRPC's unix:/path.
func ShortAddress(s string) (Address, error) {
	if path, ok := strings.CutPrefix(s, "unix:/"); ok && !strings.HasPrefix(path, "/") {
		return ParseAddress("unix:///" + path)
	}
	if _, _, err := net.SplitHostPort(s); err == nil && !strings.Contains(s, "/") && !strings.HasPrefix(s, "unix:") {
		return ParseAddress("tcp://" + s)
	}
	return ParseAddress(s)
}

// ParseAddress reads tcp://host:port or unix:///path. The host must be written:
// listening beyond this machine is never the meaning of something left out. Errors
// begin with what was read.
func ParseAddress(s string) (Address, error) {
	if path, ok := strings.CutPrefix(s, "unix://"); ok {
		// The kernel's limit is 108 bytes with the terminating zero.
		if !strings.HasPrefix(path, "/") || len(path) < 2 || len(path) > 107 {
			return Address{}, fmt.Errorf("%q must be unix:///absolute/path, of at most 107 bytes", s)
		}
		return Address{Network: "unix", Address: path}, nil
	}
	hostPort, ok := strings.CutPrefix(s, "tcp://")
	if !ok {
		return Address{}, fmt.Errorf("%q must be tcp://host:port or unix:///path", s)
	}
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return Address{}, fmt.Errorf("%q must be tcp://host:port", s)
	}
	if host == "" {
		return Address{}, fmt.Errorf("%q must name the host; tcp://0.0.0.0:%s listens on all of them", s, port)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return Address{}, fmt.Errorf("%q must have a port from 0 to 65535", s)
	}
	return Address{Network: "tcp", Address: hostPort}, nil
}

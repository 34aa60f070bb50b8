//go:build !linux && !darwin

package server

import "net"

// peerUser: nobody is known here.
func peerUser(*net.UnixConn) (uid uint32, known bool) { return 0, false }

package server

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerUser is the user of the process at the other end, as it was when that connected.
func peerUser(conn *net.UnixConn) (uid uint32, known bool) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, false
	}
	_ = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); err == nil {
			uid, known = cred.Uid, true
		}
	})
	return uid, known
}

package upstream

import (
	"net"
	"os"
	"syscall"
	"testing"
)

// What llmd itself has run out of is not said to be the host's fault.
func TestNoFilesLeft(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE} {
		err := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", errno)}
		const want = "lab.test could not be reached: llmd has as many files open as it may"
		if got := unreachable(&Target{BaseURL: "https://lab.test/v1"}, err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

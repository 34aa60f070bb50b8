package server

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/llmd-dev/llmd/internal/config"
)

func TestListenUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run", "llmd.sock")
	a := config.Address{Network: "unix", Address: path}
	l, err := Listen(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]os.FileMode{path: 0o660, filepath.Dir(path): 0o750} {
		if info, err := os.Stat(at); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has the mode %v, want %v (%v)", at, info.Mode().Perm(), want, err)
		}
	}
	if _, err := Listen(t.Context(), a); err == nil {
		t.Error("a socket that is served was taken over")
	}
	// A process that was killed leaves its socket behind.
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	_ = l.Close()
	l, err = Listen(t.Context(), a)
	if err != nil {
		t.Fatalf("a stale socket is in the way: %v", err)
	}
	_ = l.Close()
}

func TestListenFileInTheWay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "llmd.sock")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), config.Address{Network: "unix", Address: path}); err == nil {
		t.Error("no error")
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "precious" {
		t.Errorf("the file is gone: %v", err)
	}
}

func TestListenTCP(t *testing.T) {
	l, err := Listen(t.Context(), config.Address{Network: "tcp", Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if _, err := Listen(t.Context(), config.Address{Network: "tcp", Address: l.Addr().String()}); err == nil {
		t.Error("two on one port")
	}
}

// Patience is for load balancers: without an address for others there is none.
func TestLocal(t *testing.T) {
	for _, c := range []struct {
		addresses []config.Address
		want      bool
	}{
		{[]config.Address{{Network: "tcp", Address: "127.0.0.1:1"}}, true},
		{[]config.Address{{Network: "tcp", Address: "[::1]:1"}, {Network: "unix", Address: "/x"}}, true},
		{[]config.Address{{Network: "tcp", Address: "0.0.0.0:1"}}, false},
		{[]config.Address{{Network: "unix", Address: "/x"}, {Network: "tcp", Address: ":1"}}, false},
	} {
		if got := local(c.addresses); got != c.want {
			t.Errorf("%v local: %v", c.addresses, got)
		}
	}
}

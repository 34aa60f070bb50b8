package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/llmd-dev/llmd/internal/config"
)

const (
	socketMode    = 0o660
	socketDirMode = 0o750
)

// local: only this machine can reach the addresses.
func local(all []config.Address) bool {
	return !slices.ContainsFunc(all, func(a config.Address) bool { return !a.Local() })
}

// Listen opens an address. A Unix socket that nobody answers on is replaced, and
// the folder that it is in is made, with mode 0750.
func Listen(ctx context.Context, a config.Address) (net.Listener, error) {
	open := listenUnix
	if a.Network != "unix" {
		open = new(net.ListenConfig).Listen
	}
	l, err := open(ctx, a.Network, a.Address)
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "listen" {
		err = op.Err // the rest of its text repeats what is said here
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", a, err)
	}
	return l, nil
}

// ListenAll opens all addresses, or none.
func ListenAll(ctx context.Context, all []config.Address) ([]net.Listener, error) {
	var listeners []net.Listener
	for _, a := range all {
		l, err := Listen(ctx, a)
		if err != nil {
			for _, open := range listeners {
				_ = open.Close()
			}
			return nil, err
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

func listenUnix(ctx context.Context, network, path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), socketDirMode); err != nil {
		return nil, err
	}
	if err := removeStale(ctx, path); err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, network, path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, socketMode); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return errors.New("a file that is no socket is in the way")
	}
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path)
	if err == nil {
		_ = c.Close()
		return errors.New("another process serves this socket")
	}
	return os.Remove(path)
}

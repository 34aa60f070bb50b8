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

// Listen opens an address. A Unix socket that nobody answers on is replaced.
func Listen(ctx context.Context, a config.Address) (net.Listener, error) {
	if a.Network != "unix" {
		l, err := new(net.ListenConfig).Listen(ctx, a.Network, a.Address)
		if err != nil {
			return nil, fmt.Errorf("listen on %s: %w", a, err)
		}
		return l, nil
	}
	if err := os.MkdirAll(filepath.Dir(a.Address), socketDirMode); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", a, err)
	}
	if err := removeStale(ctx, a.Address); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", a, err)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", a.Address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", a, err)
	}
	if err := os.Chmod(a.Address, socketMode); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("listen on %s: %w", a, err)
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

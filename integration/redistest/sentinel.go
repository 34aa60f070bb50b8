package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Sentinel starts a sentinel that watches a master under a name, alone. It takes its
// silence of a second for its death.
func Sentinel(t testing.TB, name string, master *Server) *Server {
	t.Helper()
	program := find(t, "no redis-sentinel or valkey-sentinel in PATH: apt-get install redis-sentinel", "redis-sentinel", "valkey-sentinel")
	dir := t.TempDir()
	config := filepath.Join(dir, "sentinel.conf") // it writes into it
	text := fmt.Sprintf("sentinel monitor %[1]s %[2]s 1\nsentinel down-after-milliseconds %[1]s 1000\nsentinel failover-timeout %[1]s 5000\nsentinel parallel-syncs %[1]s 1\n",
		name, strings.Replace(master.Addr, ":", " ", 1))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return started(t, []string{program, config, "--bind", "127.0.0.1", "--port", Port, "--dir", dir, "--daemonize", "no"})
}

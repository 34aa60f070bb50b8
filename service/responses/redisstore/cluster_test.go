package redisstore_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/llmd-dev/llmd/integration/redistest"
	"github.com/llmd-dev/llmd/service/responses"
	"github.com/llmd-dev/llmd/service/responses/redisstore"
	"github.com/llmd-dev/llmd/service/responses/storetest"
)

// A cluster of three masters passes the same suite.
func TestClusterIsAStore(t *testing.T) {
	if testing.Short() {
		t.Skip("the suite on one Redis will do")
	}
	cli, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Skip("no redis-cli in PATH, which makes a cluster: apt-get install redis-tools")
	}
	var nodes []string
	for range 3 {
		// The port of the cluster's own bus is 10,000 more by itself, which may be taken
		// or too large.
		nodes = append(nodes, redistest.Start(t, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port", fmt.Sprint(redistest.FreePort(t))).Addr)
	}
	args := append([]string{"--cluster", "create"}, nodes...)
	if out, err := exec.Command(cli, append(args, "--cluster-replicas", "0", "--cluster-yes")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	n := 0
	storetest.Run(t, func(t *testing.T) (here, there responses.Store) {
		n++
		cluster := func(o *redisstore.Options) {
			o.Prefix = fmt.Sprint("test", n)
			o.Client = redisstore.Connect(redisstore.Connection{Addresses: nodes[:2], Cluster: true, Timeout: 5 * time.Second})
		}
		return open(t, strings.Join(nodes, ","), "here", cluster), open(t, "", "there", cluster)
	})
}

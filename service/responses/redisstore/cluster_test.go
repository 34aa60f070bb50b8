package redisstore_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/llmd-dev/llmd/integration/redistest"
	"github.com/llmd-dev/llmd/service/responses"
	"github.com/llmd-dev/llmd/service/responses/redisstore"
	"github.com/llmd-dev/llmd/service/responses/storetest"
)

// serves waits until a node takes commands for all slots: it answers CLUSTERDOWN while
// it has not heard from the others, which redis-cli does not wait for.
func serves(t *testing.T, node string) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: node})
	defer func() { _ = client.Close() }()
	var info string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		info, _ = client.ClusterInfo(t.Context()).Result()
		if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_slots_ok:16384") {
			return
		}
	}
	t.Fatalf("%s does not serve the cluster:\n%s", node, info)
}

// node starts a node of a cluster.
func node(t *testing.T, more ...string) *redistest.Server {
	t.Helper()
	// The port of the cluster's own bus is 10,000 more by itself, which may be taken.
	return redistest.Start(t, append([]string{"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port", redistest.Port}, more...)...)
}

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
		nodes = append(nodes, node(t).Addr)
	}
	args := append([]string{"--cluster", "create"}, nodes...)
	if out, err := exec.Command(cli, append(args, "--cluster-replicas", "0", "--cluster-yes")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, node := range nodes {
		serves(t, node)
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

package redisstore

import (
	"context"
	"crypto/tls"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Connection says how Redis is reached.
type Connection struct {
	// Addresses are host:port or unix:///path of one server; of nodes of a cluster; or
	// of sentinels.
	Addresses []string
	Cluster   bool
	// SentinelMaster is the name of the master that the sentinels know.
	SentinelMaster                     string
	Username, Password                 string
	SentinelUsername, SentinelPassword string
	Database                           int
	TLS                                *tls.Config
	Timeout                            time.Duration
}

// Connect makes a client. It connects when it is used.
func Connect(c Connection) redis.UniversalClient {
	// The library writes to standard error by itself: what matters is told by health.go.
	logging.Disable()
	addresses := make([]string, len(c.Addresses))
	for i, a := range c.Addresses {
		addresses[i] = strings.TrimPrefix(a, "unix://")
	}
	return redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs: addresses, IsClusterMode: c.Cluster, MasterName: c.SentinelMaster, DB: c.Database,
		Username: c.Username, Password: c.Password, SentinelUsername: c.SentinelUsername, SentinelPassword: c.SentinelPassword,
		TLSConfig: c.TLS, ClientName: "llmd",
		// Each round trip has its own limit, and health.go decides when to try again.
		ContextTimeoutEnabled: true, DialTimeout: c.Timeout, ReadTimeout: c.Timeout, WriteTimeout: c.Timeout, PoolTimeout: c.Timeout,
		MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// Check says whether Redis can be used: that it answers, and takes a write. What is
// wrong is in a *responses.UnavailableError.
func Check(ctx context.Context, client redis.UniversalClient, prefix string) error {
	h := newHealth("checked", discard())
	_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Ping(ctx)
		p.Set(ctx, prefix+":check", "1", time.Second)
		return nil
	})
	return h.note(err)
}

package config

import (
	"encoding/base64"
	"encoding/hex"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// StoreRedis is the value of server.responses.store that shares responses.
const StoreRedis = "redis"

// Responses says where running and recent responses are known, and for how long a
// response may outlive its connection.
type Responses struct {
	// Store is "memory" or "redis".
	Store string
	// MaxDetached is the longest StreamOptions.detached; 0 = none is allowed.
	MaxDetached time.Duration
	// MaxResponseBytes is what is kept of one response in Redis, MaxBytes what this
	// process keeps there in all.
	MaxResponseBytes, MaxBytes int
	// EncryptionKeys are for what is kept in Redis. The first one encrypts.
	EncryptionKeys []EncryptionKey
	// Redis is how it is reached.
	Redis Redis
}

// Shared says whether other processes see the responses of this one.
func (r Responses) Shared() bool { return r.Store == StoreRedis }

// EncryptionKey is an AES-256 key with its name.
type EncryptionKey struct {
	ID string
	// Key is the key itself, KeyFile names a file that holds it: one of the two.
	Key     Secret
	KeyFile string
}

// Redis is how Redis is reached.
type Redis struct {
	// Addresses are of one server, of the nodes of a cluster, or of sentinels.
	Addresses []string
	// Cluster: the addresses are nodes of a Redis Cluster.
	Cluster bool
	// SentinelMaster is the name of the master that the sentinels know.
	SentinelMaster string
	// Username and Password, or a file that holds it, are for Redis itself.
	Username     string
	Password     Secret
	PasswordFile string
	// SentinelUsername and SentinelPassword are for the sentinels.
	SentinelUsername string
	SentinelPassword Secret
	// Database is the number of the database.
	Database int
	// Prefix begins the names of all keys and channels.
	Prefix string
	// TLS protects the connection.
	TLS RedisTLS
	// Timeout bounds each round trip.
	Timeout time.Duration
	// Lease is how long a process counts as alive without a sign.
	Lease time.Duration
	// FlushInterval is how often new events are written.
	FlushInterval time.Duration
}

// InTheClear are those of the addresses to which the way leads over a network, without
// TLS.
func (r Redis) InTheClear() []string {
	if r.TLS.Enabled {
		return nil
	}
	var all []string
	for _, a := range r.Addresses {
		if !strings.HasPrefix(a, "unix://") && !(Address{Network: "tcp", Address: a}).Local() {
			all = append(all, a)
		}
	}
	return all
}

// RedisTLS is TLS to Redis.
type RedisTLS struct {
	Enabled                   bool
	CAFile, CertFile, KeyFile string
	ServerName                string
}

func defaultResponses() Responses {
	return Responses{
		Store: "memory", MaxDetached: 10 * time.Minute, MaxResponseBytes: 8 << 20, MaxBytes: 256 << 20,
		Redis: Redis{Prefix: "llmd", Timeout: 500 * time.Millisecond, Lease: 10 * time.Second, FlushInterval: 50 * time.Millisecond},
	}
}

func responsesKeys(r *Responses) []key {
	return []key{
		{
			name: "store", kind: "one of: memory, redis", def: "memory",
			doc:  "Where running and recent responses are known. memory: in this process alone. redis: shared between all processes that name the same Redis, for Abort, GetResponse, Attach and a repeated request_id. See shared-responses.md.",
			read: func(v value) { v.word(&r.Store, "memory", StoreRedis) },
		},
		{
			name: "max_detached", kind: "duration", def: "10m",
			doc:  "The longest StreamOptions.detached: how long a response may go on without a reader. 0s switches it off.",
			read: func(v value) { v.duration(&r.MaxDetached, 0, 24*time.Hour) },
		},
		{
			name: "max_response_bytes", kind: "bytes", def: "8 MiB",
			doc:  "What is kept of one response in Redis. Of a longer one the older events give way to a snapshot.",
			read: func(v value) { v.size(&r.MaxResponseBytes, 64<<10, 512<<20) },
		},
		{
			name: "max_bytes", kind: "bytes", def: "256 MiB",
			doc:  "What this process keeps in Redis in all. Beyond it the oldest responses that have ended are forgotten early.",
			read: func(v value) { v.size(&r.MaxBytes, 1<<20, math.MaxInt64) },
		},
		{
			name: "encryption_keys", kind: "list of mappings", doc: "AES-256 keys for what is kept in Redis; required for redis. The first one encrypts, the others can still be read.",
			read: func(v value) { v.encryptionKeys(&r.EncryptionKeys) }, below: func() []key { return encryptionKeyKeys(&EncryptionKey{}) },
		},
		{
			name: "redis", kind: "mapping", doc: "How Redis, or Valkey, is reached.",
			read: func(v value) { v.redis(&r.Redis) }, below: func() []key { return redisKeys(&Redis{}) },
		},
	}
}

func encryptionKeyKeys(k *EncryptionKey) []key {
	return []key{
		{name: "id", kind: "text", doc: "Names the key, in at most 32 bytes. Required, unique.", read: func(v value) {
			if v.text(&k.ID) && len(k.ID) > 32 {
				v.bad("must have at most 32 bytes")
			}
		}},
		{
			name: "key", kind: "text", doc: "The key: 32 bytes in hexadecimal or base64, as of: openssl rand -base64 32. ${NAME} is replaced by the environment variable.",
			read: func(v value) {
				var s string
				if !v.text(&s) {
					return
				}
				if _, ok := DecodeKey(s); !ok && !(v.template && strings.Contains(s, "${")) {
					v.bad("must be 32 bytes in hexadecimal or base64") // it is not repeated
				}
				k.Key = NewSecret(s)
			},
		},
		{name: "key_file", kind: "path", doc: "A file that holds the key in the same form. It is read at the start.", read: func(v value) { v.text(&k.KeyFile) }},
	}
}

// DecodeKey reads 32 bytes in hexadecimal or base64.
func DecodeKey(s string) ([]byte, bool) {
	s = strings.TrimSpace(s)
	for _, decode := range []func(string) ([]byte, error){hex.DecodeString, base64.StdEncoding.DecodeString, base64.RawURLEncoding.DecodeString} {
		if b, err := decode(s); err == nil && len(b) == 32 {
			return b, true
		}
	}
	return nil, false
}

func (v value) encryptionKeys(target *[]EncryptionKey) {
	v.list(func(item value) {
		var k EncryptionKey
		item.object(encryptionKeyKeys(&k))
		if !item.has("id") {
			return
		}
		switch {
		case hasKey(item.node, "key") == hasKey(item.node, "key_file"):
			item.bad("must have either key or key_file")
		case slices.ContainsFunc(*target, func(other EncryptionKey) bool { return other.ID == k.ID }):
			item.fail(item.node.Line, joinPath(item.path, "id"), "%q is given twice", k.ID)
		}
		*target = append(*target, k)
	})
}

func redisKeys(r *Redis) []key {
	return []key{
		{
			name: "addresses", kind: "list of addresses", doc: "host:port or unix:///path of Redis; of some nodes of a cluster; or of the sentinels. Required for redis.",
			read: func(v value) { v.redisAddresses(&r.Addresses) },
		},
		{name: "cluster", kind: "true or false", def: "false", doc: "The addresses are nodes of a Redis Cluster.", read: func(v value) { v.boolean(&r.Cluster) }},
		{name: "sentinel_master", kind: "text", doc: "The name of the master that the sentinels at the addresses know.", read: func(v value) { v.text(&r.SentinelMaster) }},
		{name: "username", kind: "text", doc: "The user of Redis's access control lists.", read: func(v value) { v.text(&r.Username) }},
		{name: "password", kind: "text", doc: "The password. ${NAME} is replaced by the environment variable.", read: func(v value) { v.secret(&r.Password) }},
		{name: "password_file", kind: "path", doc: "A file that holds the password. It is read at the start.", read: func(v value) { v.text(&r.PasswordFile) }},
		{name: "sentinel_username", kind: "text", doc: "The user at the sentinels.", read: func(v value) { v.text(&r.SentinelUsername) }},
		{name: "sentinel_password", kind: "text", doc: "The password at the sentinels.", read: func(v value) { v.secret(&r.SentinelPassword) }},
		{name: "database", kind: "whole number", def: "0", doc: "The number of the database. A cluster has only 0.", read: func(v value) {
			if n, ok := v.count(0, 1<<16); ok {
				r.Database = int(n)
			}
		}},
		{name: "prefix", kind: "text", def: "llmd", doc: "Begins the names of all keys and channels. Processes share responses if they have the same.", read: func(v value) { v.text(&r.Prefix) }},
		{name: "tls", kind: "mapping", doc: "TLS to Redis. Without it the connection, and the password, are in the clear; llmd warns of that at the start, unless Redis is on the same machine.", read: func(v value) { v.redisTLS(&r.TLS) }, below: func() []key { return redisTLSKeys(&RedisTLS{}) }},
		{
			name: "timeout", kind: "duration", def: "500ms", doc: "For each round trip. Only a request with a request_id waits for one before it is sent to its provider.",
			read: func(v value) { v.duration(&r.Timeout, 10*time.Millisecond, 30*time.Second) },
		},
		{
			name: "lease", kind: "duration", def: "10s", doc: "How long a process counts as alive that gives no sign. Then others say that its responses are aborted.",
			read: func(v value) { v.duration(&r.Lease, time.Second, 10*time.Minute) },
		},
		{
			name: "flush_interval", kind: "duration", def: "50ms", doc: "How often new events are written, those of all responses in one round trip.",
			read: func(v value) { v.duration(&r.FlushInterval, time.Millisecond, 10*time.Second) },
		},
	}
}

func redisTLSKeys(t *RedisTLS) []key {
	return []key{
		{name: "enabled", kind: "true or false", def: "true", doc: "TLS 1.2 or later, where tls is given; false is as if it were not.", read: func(v value) { v.boolean(&t.Enabled) }},
		{name: "ca_file", kind: "path", def: "the system's", doc: "PEM certificates of the authorities that are trusted.", read: func(v value) { v.text(&t.CAFile) }},
		{name: "cert_file", kind: "path", doc: "A client certificate, PEM.", read: func(v value) { v.text(&t.CertFile) }},
		{name: "key_file", kind: "path", doc: "Its private key, PEM.", read: func(v value) { v.text(&t.KeyFile) }},
		{name: "server_name", kind: "text", def: "the host of the address", doc: "The name that the certificate of Redis must have.", read: func(v value) { v.text(&t.ServerName) }},
	}
}

func (v value) redisTLS(t *RedisTLS) {
	t.Enabled = true
	v.object(redisTLSKeys(t))
	if (t.CertFile == "") != (t.KeyFile == "") {
		v.bad("cert_file and key_file go together")
	}
}

func (v value) redis(r *Redis) {
	v.object(redisKeys(r))
	switch {
	case r.Cluster && r.SentinelMaster != "":
		v.bad("cluster and sentinel_master exclude each other")
	case r.Cluster && r.Database != 0:
		v.fail(v.node.Line, joinPath(v.path, "database"), "must be 0: a cluster has no other")
	case !r.Cluster && r.SentinelMaster == "" && len(r.Addresses) > 1:
		v.fail(v.node.Line, joinPath(v.path, "addresses"), "must be one, unless cluster or sentinel_master is set")
	case !r.Password.IsZero() && r.PasswordFile != "":
		v.bad("password and password_file exclude each other")
	}
}

func (v value) redisAddresses(target *[]string) {
	*target = nil
	add := func(item value) {
		var s string
		switch {
		case !item.text(&s):
		case !isRedisAddress(s) && !(v.template && strings.Contains(s, "${")):
			item.bad("must be host:port or unix:///path") // not repeated: a URL may hold a password
		default:
			*target = append(*target, s)
		}
	}
	if v.isText() {
		add(v)
		return
	}
	v.list(add)
	if v.node.Kind == yaml.SequenceNode && len(v.node.Content) == 0 {
		v.bad("must name at least one address")
	}
}

func isRedisAddress(s string) bool {
	if path, ok := strings.CutPrefix(s, "unix://"); ok {
		return strings.HasPrefix(path, "/") && len(path) > 1
	}
	host, port, err := net.SplitHostPort(s)
	n, perr := strconv.ParseUint(port, 10, 16)
	return err == nil && perr == nil && n > 0 && isHost(host)
}

// responses looks at what the keys of server.responses say together with others.
func (v value) responses(s *Server) {
	r := &s.Responses
	if !r.Shared() {
		return
	}
	missing := func(key, why string) {
		v.fail(v.node.Line, joinPath(v.path, "responses."+key), "is missing: responses.store: redis needs it%s", why)
	}
	if len(r.Redis.Addresses) == 0 {
		missing("redis.addresses", "")
	}
	if len(r.EncryptionKeys) == 0 {
		missing("encryption_keys", "; openssl rand -base64 32 makes a key")
	}
	if !s.PartialStore {
		v.fail(v.node.Line, joinPath(v.path, "partial_store"), "must be on: responses.store: redis keeps responses")
	}
}

package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"os"
	"strings"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/telemetry"
	"github.com/llmd-dev/llmd/service"
	"github.com/llmd-dev/llmd/service/responses"
	"github.com/llmd-dev/llmd/service/responses/redisstore"
)

// sharedStore is the store of shared responses; nil = they are kept in memory.
func sharedStore(file *config.File, log *slog.Logger) (responses.Store, error) {
	r := file.Server.Responses
	if !r.Shared() {
		return nil, nil
	}
	connection, err := redisConnection(file)
	if err != nil {
		return nil, err
	}
	keys, err := encryptionKeys(file)
	if err != nil {
		return nil, err
	}
	if exposed := r.Redis.InTheClear(); len(exposed) > 0 {
		log.Warn("the network on the way to Redis can read the password and change what is there: server.responses.redis.tls is not set", "addresses", strings.Join(exposed, ","))
	}
	return redisstore.New(redisstore.Options{
		Client: redisstore.Connect(connection), Prefix: r.Redis.Prefix, Instance: file.Server.Instance, Keys: keys, Log: log,
		Lost:    func(instance string) *llmdv1.Error { return service.ErrorOf(&responses.LostError{Instance: instance}) },
		Timeout: r.Redis.Timeout, Flush: r.Redis.FlushInterval, Lease: r.Redis.Lease,
		MaxResponseBytes: r.MaxResponseBytes, MaxBytes: r.MaxBytes,
	})
}

// storeReadings measure a store that tells of itself.
func storeReadings(store responses.Store, most int) func() []telemetry.Reading {
	shared, ok := store.(*redisstore.Store)
	if !ok {
		return func() []telemetry.Reading { return nil }
	}
	return func() []telemetry.Reading {
		s := shared.Stats()
		all := telemetry.Shared(telemetry.SharedStore{
			Available: s.Reading == "" && s.Writing == "", Bytes: s.StoredBytes, Buffered: s.BufferedBytes,
			Failures: s.Failures, Dropped: s.Dropped, Lost: s.Lost,
		})
		return append(all, telemetry.Use(telemetry.LimitSharedStore, s.StoredBytes, int64(most))...)
	}
}

// CheckStore says whether the store of shared responses can be used; what it is, or
// why not. It is empty where responses are kept in memory.
func CheckStore(ctx context.Context, file *config.File) (what string, err error) {
	r := file.Server.Responses
	if !r.Shared() {
		return "", nil
	}
	what = "redis at " + strings.Join(r.Redis.Addresses, ", ")
	connection, err := redisConnection(file)
	if err != nil {
		return what, err
	}
	if _, err := encryptionKeys(file); err != nil {
		return what, err
	}
	client := redisstore.Connect(connection)
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(ctx, 2*r.Redis.Timeout)
	defer cancel()
	return what, redisstore.Check(ctx, client, r.Redis.Prefix)
}

func redisConnection(file *config.File) (redisstore.Connection, error) {
	r := file.Server.Responses.Redis
	c := redisstore.Connection{
		Addresses: r.Addresses, Cluster: r.Cluster, SentinelMaster: r.SentinelMaster, Username: r.Username, Password: r.Password.Reveal(),
		SentinelUsername: r.SentinelUsername, SentinelPassword: r.SentinelPassword.Reveal(), Database: r.Database, Timeout: r.Timeout,
	}
	if r.PasswordFile != "" {
		text, err := secretFile(file, "redis.password_file", r.PasswordFile)
		if err != nil {
			return c, err
		}
		c.Password = text
	}
	var err error
	c.TLS, err = redisTLS(file)
	return c, err
}

func redisTLS(file *config.File) (*tls.Config, error) {
	t := file.Server.Responses.Redis.TLS
	if !t.Enabled {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile != "" {
		text, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, responsesMistake(file, "redis.tls.ca_file", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, responsesMistake(file, "redis.tls.ca_file", errors.New("holds no PEM certificate"))
		}
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, responsesMistake(file, "redis.tls.cert_file", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

func encryptionKeys(file *config.File) ([]redisstore.Key, error) {
	var keys []redisstore.Key
	for _, k := range file.Server.Responses.EncryptionKeys {
		text := k.Key.Reveal()
		if k.KeyFile != "" {
			var err error
			if text, err = secretFile(file, "encryption_keys.key_file", k.KeyFile); err != nil {
				return nil, err
			}
		}
		secret, ok := config.DecodeKey(text)
		if !ok {
			return nil, responsesMistake(file, "encryption_keys", errors.New("the key "+k.ID+" must be 32 bytes in hexadecimal or base64"))
		}
		keys = append(keys, redisstore.Key{ID: k.ID, Secret: secret})
	}
	return keys, nil
}

// maxSecretBytes is more than any key or password has.
const maxSecretBytes = 64 << 10

func secretFile(file *config.File, key, path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", responsesMistake(file, key, err)
	}
	if info.Size() > maxSecretBytes {
		return "", responsesMistake(file, key, errors.New("the file is too large for a secret"))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", responsesMistake(file, key, err)
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" {
		return "", responsesMistake(file, key, errors.New("the file "+path+" is empty"))
	}
	return secret, nil
}

// responsesMistake is a mistake of the configuration below server.responses.
func responsesMistake(file *config.File, key string, err error) error {
	return &config.ParseError{File: file.Path, Key: "server.responses." + key, Problem: err.Error()}
}

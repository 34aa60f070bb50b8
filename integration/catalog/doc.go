// Package catalogtest looks at providers, models, keys and configuration from the
// outside: a configuration file, llmd behind a socket, a gRPC client, and a host
// that remembers what it was asked.
package catalogtest

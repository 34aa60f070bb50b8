// Package server puts a configured llmd together: catalogue, client, services,
// interceptors and the gRPC server, with its addresses and its shutdown. The
// command and the tests start the same thing from here.
package server

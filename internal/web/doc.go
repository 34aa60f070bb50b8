// Package web lets browsers, and programs without gRPC, call the gRPC server: by
// gRPC-Web, by Connect (https://connectrpc.com/docs/protocol), and by JSON, which is
// Connect's other encoding. gRPC itself is spoken here, too.
//
//	HTTP/1.1 or HTTP/2 --> guard --> transcoder (vanguard) --> bridge --> grpc.Server
//	                       hosts,    Connect and gRPC-Web      a connection
//	                       origins,  to gRPC and back          in memory
//	                       sizes
//
// The bridge gives every connection of a client one of its own to the gRPC server,
// in memory, with the client's address and certificate. That costs a second framing
// of each message; for it a call from the web is a call like any other. The
// alternative, grpc.Server.ServeHTTP, drops its calls when the server drains, has no
// flow control for what a client sends or does not read, and takes Unix sockets for
// TCP.
//
// What a browser does on behalf of a page is not what its user wants: guard.go lets
// in no page that the configuration does not name, and no name of this host that it
// does not know, by which a page could make itself one of ours (DNS rebinding).
//
// All calls have one request message here, so a request is read whole, within
// limits of size and time, before anything is made of it.
package web

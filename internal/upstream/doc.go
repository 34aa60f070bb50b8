// Package upstream sends requests to providers: one HTTP client for all of them,
// and the credentials that it puts on.
//
// # What makes a provider's answer special
//
// An answer streams for minutes and must be given up within milliseconds when
// the caller goes away. So the client has no time limit of its own after the
// connection stands (the engine watches the stream), never follows a redirect
// (the credentials would go along), and closing a body ends the exchange at once:
// an HTTP/1.1 connection is closed, an HTTP/2 stream is reset, and nothing is
// read on to save a connection. Compression is never asked for, because it delays
// small events, but it is undone where a server compresses all the same.
//
// # Ways to a provider
//
// A [Network] says how a target's connections are made: through which proxy, with
// which certificate authorities trusted, in what time. Targets that agree share
// their connections. What a cloud's chain asks for credentials goes the way that
// the environment says.
//
// # Errors
//
// [Client.Do] returns context errors as they are and everything else as an
// *[adapters.UpstreamError]. An answer with an error status is an answer: its
// body is the adapter's to read.
//
// # Credentials
//
// A [Credentials] puts a secret on a request: a key in a header ([NewKey]), a
// signature by AWS ([NewAWS]), a token from Google ([NewGoogle]) or nothing
// ([None]). No secret is part of any error, of what [Credentials.Describe] says,
// or of what [Client.Describe] shows of a request.
package upstream

// Package integration tests llmd from the outside: a real server on a real
// socket, a real gRPC client, and providers played on loopback from recordings.
//
//	replay_test.go      the played provider: recorded bytes, cut and ended at will
//	llmd_test.go        llmd in this process, behind a socket (package harness)
//	recordings_test.go  ../shared/fixtures: real bytes give the right message
//	cases/              ../shared/cases: each public bug stays fixed
//	truncate_test.go    a cut body is never a success, and loses nothing
//	cancel_test.go      cancel at every event: closed, kept, nothing left behind
//	invalid_test.go     bad requests: code, reason and field
//	rawcodec_test.go    requests and answers of clients that parse for themselves
//	readme_test.go      what README.md and docs/grpcurl.md show is what comes,
//	grpcurl_test.go     typed into a real grpcurl
//	links_test.go       the pages' links lead somewhere
//	imports_test.go     who may import whom
//
// The other folders, each with a page of its own in its doc.go:
//
//	harness      what the tests from the outside share
//	providersim  a server that plays every provider
//	redistest    a real Redis
//	faults       providers and clients broken on purpose
//	handoff      any history to any model
//	options      what each option becomes, and docs/options.md
//	turns        what providers are sent back, byte for byte
//	crosscheck   requests beside those of another library
//	catalog      providers, models and configuration
//	security     llmd as an attacker sees it
//	shared       several llmd and a Redis
//	telemetry    metrics, traces, events
//	web          browsers, and programs without gRPC
//	clients      the programs below examples/
//	soak         a long time at a high load
//	bench        what llmd costs; docs/performance.md
//
// Recordings are never copied here. Where ../shared is absent, tests that need it
// are skipped; with CI set they fail.
package integration

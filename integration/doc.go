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
//	imports_test.go     who may import whom
//
// Folder faults breaks providers and clients on purpose; what it shares with this one
// is in folder harness.
//
// Recordings are never copied here. Where ../shared is absent, tests that need it
// are skipped; with CI set they fail.
package integration

// Package cases plays every public case of ../shared/cases to llmd: a wire
// behaviour that broke a client somewhere, with what must come out of it. A case
// has a server and a provider of its own, so none can see another.
//
//	case_test.go      the format of a case file (../shared/cases/SCHEMA.md)
//	provider_test.go  the played provider: bytes, cut and ended as the case says
//	history_test.go   a case's conversation as the contract's Generation
//	match_test.go     values compared with matchers
//	assert_test.go    assertions on a request's body
//	failure_test.go   an error's facts, and the contract's rows for a case's words
//	stream_test.go    kind stream: an answer, as a client sees it
//	abort_test.go     kind stream, stopped by the caller
//	request_test.go   kind request: the body that a conversation becomes
//	error_test.go     kind error: an answer that is none
//
// Where ../shared is absent the tests are skipped; with CI set they fail.
package cases

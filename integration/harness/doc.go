// Package harness is what tests from the outside share: llmd in this process
// behind a real socket, and a client that checks all it sees against the event
// grammar of the contract.
//
//	llmd.go     a server from a configuration text, and a client of it
//	outcome.go  one stream as a client saw it
//	message.go  requests and looking into messages
package harness

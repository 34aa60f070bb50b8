// Package handoff holds llmd's first law to account: any history goes to any model,
// nothing is refused, and nothing is lost in silence.
//
// It walks conversations over models of all wire APIs. A [Walk] makes up what users
// and tools do, as agents make it: answers without results, results that come late
// or twice, failed and aborted turns, odd ids and odd texts. Each turn is handed off,
// encoded, checked and answered by package providersim, and the answer is read by the
// real decoder and becomes history for the next model.
//
//	world.go     the models, and one turn: hand-off, encode, check, answer
//	walk.go      conversations as agents make them
//	content.go   what users and tools say
//	laws_test.go what must hold of every turn
//	places_test.go which part of a request is whose: nothing moved, nothing put in
//	bite_test.go a law notices each change that is not reported
//	adversarial_test.go histories that nobody should make and somebody does
//	size_linux_test.go what it costs grows with the history and no faster
//	walk_test.go many walks in the process; LLMD_LONG=1 for the long run
//	socket_test.go the same through real servers
//	page_test.go the APIs that docs/handoff.md names
//	minimise_test.go from a failure to a small case in testdata
//
// Every piece of content holds a word that is found nowhere else in the conversation
// (see [Word]), so a test can tell by the bytes of a request what became of it.
package handoff

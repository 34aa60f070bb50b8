// Package crosscheck compares the requests that llmd writes with those that another
// library of the same kind sends: npm's @earendil-works/pi-ai, from which the shapes
// of many hosts are known.
//
// The same conversations go through both, API by API: llmd's in this process, the
// other's through a Node script (send.mjs) to a server on loopback. Every difference
// between the two bodies is in differences.txt with its reason, or the test fails; so
// does a line there that no difference needs any more. What differs is decided by the
// provider's own documentation, never by the other library.
//
// The package is installed beside the checkout (`.ci/run crosscheck`, into the cache
// folder of the CI), never into it. Where it is absent the test is skipped.
//
//	conversations_test.go  what is sent
//	target_test.go         the models, as both know them
//	convert_test.go        a conversation as the other library spells it
//	notation_test.go       two notations of one thing
//	compare_test.go        two bodies, and the table of differences
//	crosscheck_test.go     the test
package crosscheck

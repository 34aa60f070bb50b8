// Package faults breaks providers and clients in every way that networks and hosts
// break them, and checks that the contract holds in each.
//
//	wire.go          an answer as frames, and what each frame adds to it
//	wire_*.go        the frames of each wire API, in our own words
//	player.go        a provider on a raw socket: exact bytes, exact faults
//	player_http2.go  the same over TLS and HTTP/2, frame by frame
//	cell_test.go     one fault in one phase of one answer, and how it must end
//	matrix_test.go   wire APIs x faults x phases, over HTTP/1.1 and HTTP/2
//	http2_test.go    what only HTTP/2 has
//	http2_share_test.go  streams that share a connection
//	load_test.go     many streams with random faults at once
//	retry_test.go    retries and fallbacks through sockets
//	life_test.go     delays, sleeps, long polls and deadlines
//	sizes_test.go    answers too large for one message
//	slow_test.go     readers that stop
//	shutdown_test.go the order of a drain
//
// Everything runs in a short form by default; LLMD_LONG=1 asks for the long one, and
// LLMD_MATRIX_ROUNDS, LLMD_LOAD_STREAMS and LLMD_LOAD_TIME say how long exactly.
package faults

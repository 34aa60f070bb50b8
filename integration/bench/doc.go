// Command bench measures what llmd costs, beside servers that do as little as can
// be done. Absolute figures of a shared machine decide nothing, so that all servers
// take turns within one run and the figures that count are ratios of medians:
//
//	go run ./integration/bench            everything, about ten minutes
//	go run ./integration/bench -quick     one short round
//	go run ./integration/bench -only cpu  one measurement
//	go run ./integration/bench -only cpu -load "256 kB" -profiles
//	                                      one workload, and where llmd's profiles are
//	go run ./integration/bench -llmd old=/tmp/old,new=/tmp/new
//	                                      two builds take turns
//
// # Who takes part
//
// Each is a process of its own, started from this binary but for llmd itself:
//
//	mock     the provider: raw sockets, OpenAI chat and Anthropic shapes, every
//	         delta a write of its own unless asked otherwise
//	copy     a reverse proxy that copies bytes: the least for reading HTTP
//	memory   a gRPC server that sends messages from memory: the least for gRPC
//	empty    an "empty llmd": lines of the stream, encoding/json, one gRPC message
//	         a delta, and nothing else
//	llmd     the real binary with its usual configuration, metrics on, and a span
//	         for each request and attempt sent to the mock, which plays the collector
//
// This process is the load client. It counts the bytes of text and arguments that
// arrive, never messages: merging deltas is allowed, losing them is not, and a
// request that comes short ends the run.
//
// # What is measured
//
// Processor time is user and system time of the server's process as the kernel
// accounts for it, so the mock's and the client's are left out. Peak memory is the
// kernel's high-water mark of a process that was started for the measurement. Delay
// is told by the mock, which puts the time into each paced delta.
//
//	main.go       flags, and the order of the measurements
//	process.go    starting servers, reading /proc
//	scenario.go   what a model's name asks the mock for
//	body.go       answers in the shapes of the providers
//	mock.go       the provider
//	floors.go     copy and memory
//	empty.go      the empty llmd
//	llmd.go       building and configuring llmd
//	client.go     the load client
//	measure_*.go  the measurements
//	report.go     medians and tables
//
// It needs Linux, for /proc.
package main

// Package generation runs one request: it plans it for a model, calls the
// provider, reads the answer and publishes the events of the contract.
//
// # The way of one request
//
//	plan.go       model -> hand-off -> options -> provider request, no traffic
//	attempt.go    candidates and retries up to the commit point
//	run.go        the one stream loop: frames -> decoder -> assembler
//	assembler.go  parts -> events and message; alone knows the event grammar
//	ending.go     the same for how they end, whole or in part
//	watchdog.go   the clocks of a running answer
//	queue.go      events waiting for one reader, bounded, merging
//	sender.go     the goroutine that sends them, while there are any
//
// A run belongs to no RPC. It publishes to queues; the RPC that began it and
// those that attached to it each drain one. When the last reader leaves, the run
// is aborted and its partial message kept.
//
// # Who ends a run
//
// Whatever comes first: the provider (done or error), a reader (Abort, cancel,
// deadline, standing still) or the service (shutdown). The decision is taken once,
// under the run's lock; everything after it only cleans up.
package generation

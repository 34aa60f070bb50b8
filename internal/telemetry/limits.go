package telemetry

// Limit documents one limit of the metrics llmd.limit.*.
type Limit struct {
	// Name is the value of the label llmd.limit.
	Name string
	// Unit is what its usage and its maximum count.
	Unit string
	// Key is where it is configured, or what it is where it is fixed.
	Key string
	// Usage: its current use and its maximum are in metrics, too; else only hits are.
	Usage bool
}

// The limits.
const (
	LimitCalls        = "concurrent_calls"
	LimitRequestBytes = "request_bytes"
	LimitCallerCalls  = "caller_concurrent_calls"
	LimitCallerRate   = "caller_requests_per_second"
	LimitReceiveBytes = "receive_bytes"
	LimitStore        = "partial_store"
	LimitTombstones   = "tombstones"
	LimitDetached     = "detached"
	LimitSharedStore  = "shared_store"
	LimitQueue        = "queue"
	LimitSlowClient   = "slow_consumer"
	LimitAnswerBytes  = "answer_bytes"
)

// Limits lists every limit that is counted, in the order of the documentation.
func Limits() []Limit {
	return []Limit{
		{Name: LimitCalls, Unit: "calls", Key: "`server.limits.concurrent_calls`", Usage: true},
		{Name: LimitRequestBytes, Unit: "bytes", Key: "`server.limits.request_bytes`", Usage: true},
		{Name: LimitCallerCalls, Unit: "calls of the caller with the most", Key: "`server.limits.per_caller.concurrent_calls`, or the caller's own", Usage: true},
		{Name: LimitCallerRate, Unit: "calls a second", Key: "`server.limits.per_caller.requests_per_second`, or the caller's own"},
		{Name: LimitReceiveBytes, Unit: "bytes of a request", Key: "`server.max_receive_bytes`"},
		{Name: LimitStore, Unit: "bytes", Key: "64 MiB of ended responses; a hit is one forgotten before its five minutes", Usage: true},
		{Name: LimitTombstones, Unit: "Abort calls that came before their request", Key: "10,000; a hit is one not remembered", Usage: true},
		{Name: LimitDetached, Unit: "detached responses that nobody reads", Key: "1,000; a hit is one that was aborted, as if it were not detached", Usage: true},
		{Name: LimitSharedStore, Unit: "bytes in Redis", Key: "`server.responses.max_bytes`; a hit is a response that made room, for the most part one that has ended", Usage: true},
		{Name: LimitQueue, Unit: "events of a stream", Key: "256 events or 1 MiB; a hit is a wait, see `llmd.stream.stall`"},
		{Name: LimitSlowClient, Unit: "seconds of a send", Key: "30 s; the stream ends with SLOW_CONSUMER"},
		{Name: LimitAnswerBytes, Unit: "bytes of an answer", Key: "64 MiB; it ends with PROVIDER_PROTOCOL_ERROR"},
	}
}

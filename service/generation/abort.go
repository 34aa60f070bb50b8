package generation

import (
	"time"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Abort is the decision to end a run before its provider did. As an error it is
// what the message and the status say.
type Abort struct { //nolint:errname // a decision first, an error by the way
	Cause llmdv1.AbortCause
	// Reason is the caller's own word, from AbortRequest.
	Reason string
	// Cancelled: the caller went away instead of asking for the abort.
	Cancelled bool

	at         time.Time
	closeDelay time.Duration
}

func (a *Abort) Error() string {
	switch {
	case a.Cancelled:
		return "the call was cancelled"
	case a.Cause == llmdv1.AbortCause_ABORT_CAUSE_DEADLINE:
		return "the deadline of the call was near"
	case a.Cause == llmdv1.AbortCause_ABORT_CAUSE_SHUTDOWN:
		return "the server is shutting down"
	case a.Cause == llmdv1.AbortCause_ABORT_CAUSE_SLOW_CONSUMER:
		return "the client did not read for 30 s"
	}
	return "the response was aborted on request"
}

// ok says whether a stream that ends with this abort has the status OK.
func (a *Abort) ok() bool {
	return a.Cause == llmdv1.AbortCause_ABORT_CAUSE_REQUESTED && !a.Cancelled
}

package responses

import (
	"context"
	"errors"
	"time"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Store knows the responses of a service: those that run and those that ended a
// short time ago. [Registry] keeps them in the memory of one process; other stores
// share them between processes. All of its methods are safe for concurrent use.
//
// For a stranger a response does not exist: whatever takes a [Key] finds only what
// its owner began. A store that cannot be asked answers with an *[UnavailableError].
type Store interface {
	// Claim registers a response that is about to run, unless its request id is known;
	// then the answer says what is known and nothing is registered. An error means
	// that this process alone knows the response: it is registered all the same.
	Claim(ctx context.Context, c *Claim) (Claimed, error)
	// Finish turns a running response into a record; with nil it is forgotten, and
	// failure is what those who follow it hear.
	Finish(owner, responseID string, rec *Record, failure *llmdv1.Error)
	// Known finds the response of a request id.
	Known(ctx context.Context, k Key) (*Known, error)
	// Abort ends a running response and waits for its end. A request id that is not
	// known is remembered for [TombstoneTTL].
	Abort(ctx context.Context, k Key, reason string) (*Receipt, error)
	// Message is the message of a response. If it runs, its end is waited for, at
	// most for wait.
	Message(ctx context.Context, k Key, wait time.Duration) (*Kept, error)
	// Follow reads the numbered events of a response behind a number; -1 = all.
	Follow(ctx context.Context, k Key, after int32) (Trail, error)
	// Running lists the responses that run in this process.
	Running() []Live
	// Shared says whether other processes see what this one runs.
	Shared() bool
	// Close forgets what is in this process, once others have it.
	Close()
}

var (
	// ErrNotFound means that there is no such response, or not the owner's.
	ErrNotFound = errors.New("responses: no such response, or it has expired")
	// ErrUnnumbered means that a response has no numbered events: only its message
	// can be had.
	ErrUnnumbered = errors.New("responses: the events of the response are not numbered")
	// ErrGone means that neither the events nor a snapshot of them are kept.
	ErrGone = errors.New("responses: the events are not kept any more")
)

// BeyondEndError means that a number lies behind the last event of a response.
type BeyondEndError struct{ Last int32 }

func (e *BeyondEndError) Error() string { return "responses: the response has ended before this event" }

// UnavailableError means that a store cannot be asked now. Kind says why, in a word:
// "unreachable", "timeout", "full", "refused" or "failed".
type UnavailableError struct {
	Kind string
	Err  error
}

func (e *UnavailableError) Error() string {
	return "responses: the store of shared responses cannot be asked: " + e.Kind
}

// Unwrap gives the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// LostError means that the process that made a response is gone.
type LostError struct{ Instance string }

func (*LostError) Error() string { return "the llmd that made the response is gone" }

// StatusError is the error of a response as its last event, or its record, says it.
type StatusError struct{ Status *llmdv1.Error }

func (e *StatusError) Error() string { return e.Status.GetMessage() }

// Live is a response that runs in this process.
type Live interface {
	// Abort ends it at somebody's wish and says whether it was still running.
	Abort(reason string) bool
	// Shutdown ends it because the service stops.
	Shutdown()
	// Done is closed when it has ended and its record is kept.
	Done() <-chan struct{}
	// Snapshot is the message so far, or the final one once Done is closed.
	Snapshot() *llmdv1.AssistantMessage
	// Follow reads its events behind a number; nil if they are not numbered.
	Follow(after int32) Trail
	// Hold keeps it going without a reader until released.
	Hold() (release func())
	// Feed is where a shared store takes its events from. notify is called when there
	// is something new; it must not block, nor call the response.
	Feed(notify func()) Feed
}

// Feed is the events of a running response as a shared store takes them. What is
// taken is settled: everybody sees the same events. It is for one goroutine.
type Feed interface {
	// Take returns the next events, of about most bytes.
	Take(most int) (events []*llmdv1.StreamResponse, more bool)
	// Waiting is about how many bytes have not been taken. Any goroutine may ask.
	Waiting() int
	// Stand returns started and what stands for everything until now, a numbered snapshot
	// or the terminal event. Both are nil before started.
	Stand() (started, stand *llmdv1.StreamResponse)
	// Skip takes all that waits up to a number at once.
	Skip(number int32)
	// Close lets go of it.
	Close()
}

// Trail reads events in the order of their numbers.
type Trail interface {
	// Next waits for the next events. Where those that come next are gone, the first
	// two are started and a snapshot, numbered as the last event that it stands for.
	// io.EOF follows the terminal event; other errors end a trail as well, a
	// *[StatusError] where the response failed before its first event.
	Next(ctx context.Context) ([]*llmdv1.StreamResponse, error)
	// Close lets go of it.
	Close()
}

// Record is a response that has ended. It is never changed.
type Record struct {
	// Started and Terminal are its first and its last event.
	Started, Terminal *llmdv1.StreamResponse
	// Message is the final message; without content, and ContentOmitted, if that
	// was over MaxRecordBytes.
	Message        *llmdv1.AssistantMessage
	ContentOmitted bool
	// Err is what the status said; nil = OK.
	Err error
	// Log has the numbered events, the last of them Terminal; nil = they are not kept.
	Log *Log
	// ExpireTime is when it is forgotten.
	ExpireTime time.Time
}

// Key names a response.
type Key struct {
	// Owner is the authenticated principal.
	Owner string
	// ResponseID or RequestID: one of the two.
	ResponseID, RequestID string
}

// Claim is a response that is about to run.
type Claim struct {
	Owner, ResponseID, RequestID string
	// Hash is the digest of the request's body.
	Hash [32]byte
	Live Live
}

// Claimed is the answer to a claim.
type Claimed struct {
	// Known is the response that has the request id already.
	Known *Known
	// Aborted says that an Abort for the request id came before, with its reason.
	Aborted bool
	Reason  string
}

// Known is what a request id leads to. Live is set if it runs in this process,
// Record if it ended there.
type Known struct {
	ResponseID string
	Hash       [32]byte
	Live       Live
	Record     *Record
}

// Receipt is the answer to an abort.
type Receipt struct {
	Message *llmdv1.AssistantMessage
	// ContentOmitted: the message is kept without its content, for its size.
	ContentOmitted bool
	// Finished: it had ended before.
	Finished bool
}

// Kept is the message of a response. ExpireTime is zero while it runs.
type Kept struct {
	Message *llmdv1.AssistantMessage
	// ContentOmitted: it is kept without its content, for its size.
	ContentOmitted bool
	ExpireTime     time.Time
}

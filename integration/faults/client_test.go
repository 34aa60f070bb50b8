package faults

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// clientFault is what a client does while the provider is silent in some phase.
type clientFault struct {
	name string
	// own: it needs a connection of its own.
	own bool
	// ctx, if set, bounds the call from its beginning.
	ctx  func(context.Context) (context.Context, context.CancelFunc)
	tune func(*llmdv1.StreamRequest)
	// act happens once all that the provider sent has been seen.
	act func(*trial)
	// resume: the provider goes on instead of being silent.
	resume bool
	want   func(Phase) want
	// stored is the reason in the kept message.
	stored string
}

func clientFaults() []*clientFault {
	gone := func(Phase) want { return want{code: codes.Canceled} }
	return []*clientFault{
		{
			name: "client cancels", stored: "CANCELLED", want: gone,
			act: func(x *trial) { x.decide(); x.cancel() },
		},
		{
			name: "client vanishes", own: true, stored: "CANCELLED", want: gone,
			act: func(x *trial) { x.decide(); _ = x.conn.Close() },
		},
		{
			name: "client stops reading, then reads on", resume: true, want: func(Phase) want { return whole },
			act: func(x *trial) { x.script.Open(); time.Sleep(200 * time.Millisecond) },
		},
		{
			name: "Abort", stored: "ABORT_REQUESTED",
			want: func(Phase) want { return want{last: "aborted", reasons: []string{"ABORT_REQUESTED"}} },
			act: func(x *trial) {
				x.decide()
				_, err := x.l.Abort(x.long, &llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_RequestId{RequestId: x.id}, Reason: "enough"})
				if err != nil {
					x.errorf("Abort: %v", err)
				}
			},
		},
		{
			name: "deadline", stored: "DEADLINE_EXCEEDED",
			tune: func(r *llmdv1.StreamRequest) {
				r.Options = &llmdv1.StreamOptions{DeadlineMargin: durationpb.New(6 * time.Second)}
			},
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 10*time.Second)
			},
			want: func(Phase) want {
				return want{last: "aborted", code: codes.DeadlineExceeded, reasons: []string{"DEADLINE_EXCEEDED"}}
			},
		},
	}
}

package generation

import (
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// How the message ends, whole or in part.

// finish ends an answer whose terminal marker came.
func (a *assembler) finish() {
	if a.stop.Stop == llmdv1.StopReason_STOP_REASON_ERROR {
		a.message.ProviderStopReason = a.word(a.stop.Name)
		a.fail(a.stop.Err)
		return
	}
	for _, b := range a.pending() {
		a.end(b)
	}
	m := a.snapshot(a.reason())
	m.ProviderStopReason = a.word(a.stop.Name)
	e := &llmdv1.DoneEvent{Message: m}
	e.Message, e.ContentOmitted = fit(m)
	a.message = m
	a.emit(&llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_Done{Done: e}})
}

// pending are the blocks without an end, in the order they should end.
func (a *assembler) pending() []*block {
	var out []*block
	for _, b := range a.blocks {
		if !b.ended {
			out = append(out, b)
		}
	}
	for _, b := range a.unnamed {
		if b.waits() {
			out = append(out, b)
		}
	}
	if b := a.silent; b != nil && b.waits() {
		out = append(out, b)
	}
	return out
}

// reason applies the stop rule of contract 1.19.
func (a *assembler) reason() llmdv1.StopReason {
	calls := slices.ContainsFunc(a.blocks, (*block).executable)
	switch {
	case a.stop.Stop == llmdv1.StopReason_STOP_REASON_STOP && calls:
		return llmdv1.StopReason_STOP_REASON_TOOL_USE
	case a.stop.Stop == llmdv1.StopReason_STOP_REASON_TOOL_USE && !calls:
		return llmdv1.StopReason_STOP_REASON_STOP
	}
	return a.stop.Stop
}

// cut stops all blocks where they are: what has no end is incomplete.
func (a *assembler) cut() {
	for _, b := range a.pending() {
		if b.kind != toolCallBlock {
			continue
		}
		if !b.started && (b.id != "" || b.scanner.Len() > 0) {
			a.startCall(b)
		}
		r := b.scanner.Finish()
		b.result = &r
	}
}

// fail ends an answer after the commit point with an error.
func (a *assembler) fail(err error) {
	a.cut()
	e := a.errorOf(err)
	m := a.snapshot(llmdv1.StopReason_STOP_REASON_ERROR)
	m.Error = e
	a.message = m
	ev := &llmdv1.ErrorEvent{Error: e}
	ev.Message, ev.ContentOmitted = fit(m)
	a.emit(&llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_Error{Error: ev}})
}

// abort ends an answer at somebody's wish.
func (a *assembler) abort(ab *Abort) {
	a.cut()
	m := a.snapshot(llmdv1.StopReason_STOP_REASON_ABORTED)
	m.Error = a.errorOf(ab)
	if a.stop != nil { // the provider was done, and the caller did not hear of it
		m.ProviderStopReason = a.word(a.stop.Name)
	}
	a.message = m
	ev := &llmdv1.AbortedEvent{Cause: ab.Cause, Reason: ab.Reason, UpstreamCloseDelay: durationpb.New(ab.closeDelay)}
	ev.Message, ev.ContentOmitted = fit(m)
	a.emit(&llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_Aborted{Aborted: ev}})
}

// snapshot is the message so far.
func (a *assembler) snapshot(reason llmdv1.StopReason) *llmdv1.AssistantMessage {
	m := proto.CloneOf(a.message)
	m.StopReason = reason
	m.Content = make([]*llmdv1.AssistantContent, 0, len(a.blocks))
	for _, b := range a.blocks {
		m.Content = append(m.Content, b.content(b.ended))
	}
	m.Usage = a.usage
	return m
}

func (a *assembler) snapshotEvent() *llmdv1.StreamResponse {
	e := &llmdv1.SnapshotEvent{}
	e.Message, e.ContentOmitted = fit(a.snapshot(llmdv1.StopReason_STOP_REASON_PENDING))
	return &llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_Snapshot{Snapshot: e}}
}

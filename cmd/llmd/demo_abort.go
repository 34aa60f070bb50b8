package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

const (
	abortReason = "the user pressed stop"
	// abortAfter is how many events of the long answer are read before the abort;
	// the whole answer has two thousand.
	abortAfter = 100
)

// abort stops a long answer and shows what is left of it.
func (d *demo) abort(ctx context.Context) error {
	d.out.title("5. A long answer is aborted. Its stream stays open for the receipt.")
	stream, err := d.client.Stream(ctx, &llmdv1.StreamRequest{Generation: &llmdv1.Generation{
		Model:   modelLong,
		Context: &llmdv1.Context{Messages: []*llmdv1.Message{userMessage(userText("Tell me everything."))}},
	}})
	if err != nil {
		return err
	}
	f := &fold{}
	if err := readEvents(stream, f, abortAfter); err != nil {
		return err
	}
	d.out.line("text", fmt.Sprintf("%.40s... (%d characters so far)", f.text(0), len(f.text(0))))
	id := f.started.GetResponseId()
	answer, err := d.client.Abort(ctx, &llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_ResponseId{ResponseId: id}, Reason: abortReason})
	if err != nil {
		return err
	}
	if err := readEvents(stream, f, -1); err != nil {
		return err
	}
	aborted := f.terminal.GetAborted()
	switch m := aborted.GetMessage(); {
	case aborted.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_REQUESTED || aborted.GetReason() != abortReason:
		return fmt.Errorf("the receipt names %s, %q", aborted.GetCause(), aborted.GetReason())
	case m.GetStopReason() != llmdv1.StopReason_STOP_REASON_ABORTED || len(m.GetContent()) != 1:
		return fmt.Errorf("the partial message stopped with %s and has %d blocks", m.GetStopReason(), len(m.GetContent()))
	case f.check(m) != nil || !m.GetContent()[0].GetText().GetIncomplete():
		return errors.New("the partial message is not what was streamed")
	case answer.GetAlreadyFinished() || !proto.Equal(answer.GetMessage(), m):
		return errors.New("the answer of Abort has another message than the stream")
	}
	d.out.line("receipt", fmt.Sprintf("cause %s, reason %q", enumWord(aborted.GetCause()), aborted.GetReason()))
	d.out.line("", fmt.Sprintf("connection to the provider closed after %s", aborted.GetUpstreamCloseDelay().AsDuration()))
	d.out.line("", fmt.Sprintf("stop reason %s, %d characters (%d words) kept, marked incomplete",
		enumWord(aborted.GetMessage().GetStopReason()), len(f.text(0)), len(strings.Fields(f.text(0)))))
	return d.getResponse(ctx, id, aborted.GetMessage())
}

// getResponse asks for the aborted response once more.
func (d *demo) getResponse(ctx context.Context, id string, want *llmdv1.AssistantMessage) error {
	kept, err := d.client.GetResponse(ctx, &llmdv1.GetResponseRequest{Target: &llmdv1.GetResponseRequest_ResponseId{ResponseId: id}})
	if err != nil {
		return err
	}
	if !proto.Equal(kept.GetMessage(), want) {
		return errors.New("the answer of GetResponse has another message than the stream")
	}
	d.out.line("later", fmt.Sprintf("GetResponse %s: the same message, kept until %s", id, kept.GetExpireTime().AsTime().Local().Format("15:04:05")))
	return nil
}

// readEvents reads n events, or to the end of the stream if n is negative.
func readEvents(stream grpc.ServerStreamingClient[llmdv1.StreamResponse], f *fold, n int) error {
	for ; n != 0; n-- {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) && n < 0 {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f.add(e); err != nil {
			return err
		}
	}
	return nil
}

package responses

import (
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

func doneEvent(m *llmdv1.AssistantMessage, omitted bool) *llmdv1.StreamResponse {
	return &llmdv1.StreamResponse{SequenceNumber: 7, Event: &llmdv1.StreamResponse_Done{
		Done: &llmdv1.DoneEvent{Message: m, ContentOmitted: omitted},
	}}
}

// What is read is what was kept, and a change to the one is none to the other.
func TestKept(t *testing.T) {
	text := func() *llmdv1.AssistantMessage {
		return &llmdv1.AssistantMessage{ResponseId: "a.1", Content: []*llmdv1.AssistantContent{
			{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{Text: "Guten Tag"}}},
		}}
	}
	whole, bare := text(), &llmdv1.AssistantMessage{ResponseId: "a.1"}
	started := &llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_Started{Started: &llmdv1.StartedEvent{ResponseId: "a.1"}}}
	failed, log, expires := errors.New("no"), NewLog([]*llmdv1.StreamResponse{started}), time.Unix(1, 0)
	for name, in := range map[string]*Record{
		"the message of the terminal event": {Started: started, Terminal: doneEvent(whole, false), Message: whole},
		"a terminal event without content":  {Started: started, Terminal: doneEvent(bare, true), Message: whole},
		"both without content":              {Started: started, Terminal: doneEvent(bare, true), Message: bare, ContentOmitted: true},
		"an empty message":                  {Started: started, Terminal: doneEvent(whole, false), Message: &llmdv1.AssistantMessage{}},
		"a failure with a log":              {Started: started, Terminal: doneEvent(whole, false), Message: whole, Err: failed, Log: log},
	} {
		t.Run(name, func(t *testing.T) {
			want := proto.CloneOf(in.Message)
			k := keep(in)
			k.expires = expires
			out := k.record()
			if !proto.Equal(out.Message, want) || !proto.Equal(out.Started, in.Started) || !proto.Equal(out.Terminal, in.Terminal) {
				t.Errorf("kept %v, read %v", in, out)
			}
			if out.ContentOmitted != in.ContentOmitted || !errors.Is(out.Err, in.Err) || out.Log != in.Log || !out.ExpireTime.Equal(expires) {
				t.Errorf("kept %v, read %v", in, out)
			}
			out.Message.ResponseId = "changed"
			if !proto.Equal(in.Message, want) || !proto.Equal(k.record().Message, want) {
				t.Error("the one who reads a record changes what is kept")
			}
		})
	}
	if (*kept)(nil).record() != nil {
		t.Error("nothing kept is a record")
	}
}

// A message is counted once, although it is in the terminal event and in the record.
func TestKeptSize(t *testing.T) {
	m := &llmdv1.AssistantMessage{ResponseId: "a.1"}
	rec := &Record{Started: &llmdv1.StreamResponse{SequenceNumber: 1}, Terminal: doneEvent(m, false), Message: m}
	if got, want := keep(rec).size(), proto.Size(rec.Started)+proto.Size(rec.Terminal); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

// A record whose events are with a shared store that has lost them goes on under their
// numbers all the same.
func TestTrailWithoutLog(t *testing.T) {
	m := &llmdv1.AssistantMessage{ResponseId: "a.1", StopReason: llmdv1.StopReason_STOP_REASON_STOP}
	end := doneEvent(m, false)
	end.SequenceNumber = 40
	rec := &Record{Started: &llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_Started{Started: &llmdv1.StartedEvent{}}}, Terminal: end, Message: m}
	for after, count := range map[int32]int{-1: 3, 38: 3, 39: 1, 40: 1} {
		trail, err := rec.Trail(after)
		if err != nil {
			t.Fatal(err)
		}
		events, err := trail.Next(t.Context())
		if err != nil || len(events) != count || events[count-1] != end ||
			count == 3 && (events[0] != rec.Started || events[1].GetSequenceNumber() != 39 || events[1].GetSnapshot().GetMessage().GetStopReason() != llmdv1.StopReason_STOP_REASON_PENDING) {
			t.Errorf("behind %d: %v, %v", after, events, err)
		}
		if _, err := trail.Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("behind %d: %v", after, err)
		}
	}
	var beyond *BeyondEndError
	if _, err := rec.Trail(41); !errors.As(err, &beyond) || beyond.Last != 40 {
		t.Errorf("behind the end: %v", err)
	}
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/config"
)

// The functions between the markers stand in README.md and the pages of docs, to the
// letter; TestPagesShowTheExamples checks it.

// begin ask

// ask prints the answer of a model as it comes.
func ask(ctx context.Context, address, model, prompt string) error {
	conn, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	stream, err := llmdv1.NewInferenceServiceClient(conn).Stream(ctx, &llmdv1.StreamRequest{
		Generation: &llmdv1.Generation{
			Model: model,
			Context: &llmdv1.Context{Messages: []*llmdv1.Message{{Message: &llmdv1.Message_User{
				User: &llmdv1.UserMessage{Content: []*llmdv1.UserContent{{Block: &llmdv1.UserContent_Text{
					Text: &llmdv1.TextContent{Text: prompt},
				}}}},
			}}}},
		},
	})
	if err != nil {
		return err
	}
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return errors.New("the stream ended without a terminal event")
		}
		if err != nil {
			return err // a gRPC status; its ErrorInfo has the reason
		}
		switch e := event.GetEvent().(type) {
		case *llmdv1.StreamResponse_TextDelta:
			fmt.Print(e.TextDelta.GetDelta())
		case *llmdv1.StreamResponse_Done:
			fmt.Printf("\n%s\n", e.Done.GetMessage().GetStopReason())
			return nil // send this message back as it is to go on
		}
	}
}

// end ask

// begin arguments

// arguments is what is known of one tool call's arguments.
type arguments struct{ text []byte }

// add takes the next delta and returns the members that can be read so far.
func (a *arguments) add(e *llmdv1.ToolCallDeltaEvent) (map[string]any, error) {
	a.text = append(a.text, e.GetDelta()...)
	usable := a.text[:e.GetValidPrefixBytes()]
	var known map[string]any
	err := json.Unmarshal([]byte(string(usable)+e.GetClosing()), &known)
	return known, err
}

// end arguments

// begin attach

// attach follows a response behind the last event that was seen.
func attach(ctx context.Context, client llmdv1.InferenceServiceClient, requestID string, last int32) (grpc.ServerStreamingClient[llmdv1.StreamResponse], error) {
	return client.Attach(ctx, &llmdv1.AttachRequest{
		Target:             &llmdv1.AttachRequest_RequestId{RequestId: requestID},
		LastSequenceNumber: &last, // unset: from the beginning
	})
}

// end attach

// exampleServer starts an llmd for an example.
func exampleServer() (address string, stop func(), err error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	stop, err = newCommand(context.Background(), "").start(context.Background(), config.Default(), l)
	return l.Addr().String(), stop, err
}

func Example_ask() {
	address, stop, err := exampleServer()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	if err := ask(context.Background(), address, "faux/echo", "Hello there"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Hello there
	// STOP_REASON_STOP
}

func Example_arguments() {
	address, stop, err := exampleServer()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	conn, err := dial(address)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = conn.Close() }()
	stream, err := llmdv1.NewInferenceServiceClient(conn).Stream(context.Background(), &llmdv1.StreamRequest{Generation: &llmdv1.Generation{
		Model: "faux/echo",
		Context: &llmdv1.Context{Messages: []*llmdv1.Message{userMessage(userText(
			`faux: {"tool_call": {"name": "save", "arguments": {"path": "/tmp/notes", "lines": [1, 22]}}, "chunk": 9, "delay_ms": 100}`))}},
	}})
	var args arguments
	for err == nil {
		var event *llmdv1.StreamResponse
		if event, err = stream.Recv(); err == nil && event.GetToolCallDelta() != nil {
			var known map[string]any
			known, err = args.add(event.GetToolCallDelta())
			fmt.Printf("%-38s %v\n", args.text, known)
		}
	}
	if !errors.Is(err, io.EOF) {
		fmt.Println(err)
	}
	// Output:
	// {"path":                               map[]
	// {"path": "/tmp/not                     map[path:/tmp/not]
	// {"path": "/tmp/notes", "lin            map[path:/tmp/notes]
	// {"path": "/tmp/notes", "lines": [1,    map[lines:[1] path:/tmp/notes]
	// {"path": "/tmp/notes", "lines": [1, 22]} map[lines:[1 22] path:/tmp/notes]
}

func Example_attach() {
	address, stop, err := exampleServer()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	conn, err := dial(address)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = conn.Close() }()
	client := llmdv1.NewInferenceServiceClient(conn)
	request := &llmdv1.StreamRequest{
		RequestId: "r", Options: &llmdv1.StreamOptions{Detached: durationpb.New(time.Minute)},
		Generation: &llmdv1.Generation{Model: "faux/echo", Context: &llmdv1.Context{Messages: []*llmdv1.Message{userMessage(userText("one two"))}}},
	}
	ctx, lose := context.WithCancel(context.Background())
	stream, err := client.Stream(ctx, request)
	if err == nil {
		_, err = stream.Recv() // started, number 0
	}
	lose()
	if err == nil {
		stream, err = attach(context.Background(), client, "r", 0)
	}
	for err == nil {
		var event *llmdv1.StreamResponse
		if event, err = stream.Recv(); err == nil && event.GetDone() != nil {
			fmt.Println(event.GetDone().GetMessage().GetContent()[0].GetText().GetText())
		}
	}
	if !errors.Is(err, io.EOF) {
		fmt.Println(err)
	}
	// Output:
	// one two
}

// Command go talks to llmd from Go: a program to copy from. See README.md.
package main

import (
	"context"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/llmd-dev/llmd/accumulate"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

const usage = `usage: client [flags] COMMAND

  ask MODEL PROMPT            stream an answer; Ctrl-C aborts it and keeps what there is
  tools MODEL PROMPT          let the model call a tool until it has its answer
  handoff MODEL OTHER PROMPT  ask one model, and another to go on
  cancel MODEL PROMPT         cancel after the first words, then fetch the partial
  resume MODEL PROMPT         lose the connection after the first words, and go on
  vectors NAME...             fold the golden streams of a test server

A PROMPT of - is read from the standard input.
`

func main() {
	address := flag.String("addr", "127.0.0.1:50051", "host:port or unix:/path")
	ca := flag.String("ca", "", "PEM `file` of the authority to trust: use TLS")
	tokenFile := flag.String("token-file", "", "`file` with a bearer token for llmd")
	image := flag.String("image", "", "PNG `file` to show the model")
	save := flag.String("save", "", "`file` for the conversation, a llmd.v1.Context")
	deadline := flag.Float64("deadline", 0, "`seconds` that an answer may take")
	flag.Usage = func() { fmt.Fprint(os.Stderr, usage); flag.PrintDefaults() }
	flag.Parse()

	conn, err := dial(*address, *ca, *tokenFile)
	if err != nil {
		fail(err)
	}
	c := &chat{client: llmdv1.NewInferenceServiceClient(conn), deadline: time.Duration(*deadline * float64(time.Second)), context: &llmdv1.Context{}}
	err = run(c, flag.Args(), *image)
	if *save != "" { // however it ended
		if data, err := proto.Marshal(c.context); err != nil {
			fail(err)
		} else if err := os.WriteFile(*save, data, 0o600); err != nil {
			fail(err)
		}
	}
	if err != nil {
		fail(err)
	}
	if c.aborted {
		os.Exit(130)
	}
}

func run(c *chat, args []string, image string) error {
	command := ""
	if len(args) > 0 {
		command, args = args[0], args[1:]
	}
	want := map[string]int{"ask": 2, "tools": 2, "handoff": 3, "cancel": 2, "resume": 2, "vectors": len(args)}
	if n, ok := want[command]; !ok || n != len(args) {
		flag.Usage()
		os.Exit(2)
	}
	if command == "vectors" {
		return vectors(c, args)
	}
	if err := c.say(args[len(args)-1], image); err != nil {
		return err
	}
	switch command {
	case "tools":
		return toolLoop(c, args[0])
	case "handoff":
		if err := c.answer(args[0]); err != nil || c.aborted {
			return err
		}
		if err := c.say("Go on.", ""); err != nil {
			return err
		}
		return c.answer(args[1]) // the same conversation, another model
	case "cancel":
		return cancelled(c, args[0])
	case "resume":
		return resumed(c, args[0])
	}
	return c.answer(args[0])
}

// toolLoop answers tool calls until the model needs no more.
func toolLoop(c *chat, model string) error {
	c.context.Tools = []*llmdv1.Tool{{
		Name: "weather", Description: "The weather in a city now.",
		ParametersJsonSchema: `{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}`,
	}}
	for {
		if err := c.answer(model); err != nil || c.aborted {
			return err
		}
		last := c.context.GetMessages()[len(c.context.GetMessages())-1].GetAssistant()
		if last.GetStopReason() != llmdv1.StopReason_STOP_REASON_TOOL_USE {
			return nil
		}
		for _, block := range last.GetContent() {
			if call := block.GetToolCall(); call != nil {
				c.add(&llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: weather(call)}})
			}
		}
	}
}

// cancelled shows the other way to stop: the call is cancelled, which shows
// nothing more, and llmd keeps what there was.
func cancelled(c *chat, model string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stream, err := c.client.Stream(ctx, c.request(model))
	if err != nil {
		return err
	}
	var id string
	_, err = accumulate.Collect(stream, func(e *llmdv1.StreamResponse, _ *accumulate.Accumulator) {
		if s := e.GetStarted(); s != nil {
			id = s.GetResponseId()
		}
		if e.GetTextDelta() != nil {
			cancel()
		}
	})
	if status.Code(err) != codes.Canceled {
		return err
	}
	found, err := c.client.GetResponse(context.Background(), &llmdv1.GetResponseRequest{
		Target:       &llmdv1.GetResponseRequest_ResponseId{ResponseId: id},
		WaitDuration: durationpb.New(5 * time.Second),
	})
	if err != nil {
		return err
	}
	c.keep(found.GetMessage())
	fmt.Println("cancelled:", found.GetMessage().GetStopReason())
	return nil
}

// resumed shows what to do when a connection is lost: the response goes on without a
// reader for as long as was asked for, and Attach takes it up behind the last event seen.
func resumed(c *chat, model string) error {
	request := c.request(model)
	request.Options = &llmdv1.StreamOptions{Detached: durationpb.New(time.Minute)}
	lost, lose := context.WithCancel(context.Background())
	defer lose()
	var fold accumulate.Accumulator
	var last int32
	stream, err := c.client.Stream(lost, request)
	for err == nil && lost.Err() == nil {
		var e *llmdv1.StreamResponse
		if e, err = stream.Recv(); err == nil {
			fold.Add(e)
			show(e, &fold)
			last = e.GetSequenceNumber()
		}
		if e.GetTextDelta() != nil {
			lose() // as a network may
		}
	}
	if err != nil {
		return err
	}
	stream, err = c.client.Attach(context.Background(), &llmdv1.AttachRequest{
		Target: &llmdv1.AttachRequest_RequestId{RequestId: request.GetRequestId()}, LastSequenceNumber: &last,
	})
	for err == nil && !fold.Ended() {
		var e *llmdv1.StreamResponse
		if e, err = stream.Recv(); err == nil {
			fold.Add(e)
			show(e, &fold)
		}
	}
	fmt.Println()
	c.keep(fold.Message())
	return err
}

// vectors prints what the test server's streams fold to.
func vectors(c *chat, names []string) error {
	for _, name := range names {
		stream, err := c.client.Stream(context.Background(), c.request("vectors/"+name))
		if err != nil {
			return err
		}
		m, err := accumulate.Collect(stream, nil)
		if errors.Is(err, accumulate.ErrIncomplete) {
			fmt.Println(name, "incomplete stream")
			continue
		}
		data, err := proto.Marshal(m)
		if err != nil {
			return err
		}
		fmt.Println(name, base64.StdEncoding.EncodeToString(data))
	}
	return nil
}

// prompt is the text of an argument.
func prompt(arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	text, err := io.ReadAll(os.Stdin)
	return string(text), err
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "error:", describe(err))
	os.Exit(1)
}

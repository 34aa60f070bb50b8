package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/llmd-dev/llmd/accumulate"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// dial opens a connection: to host:port or unix:/path, with TLS if ca is set. The
// token goes with each call, but never in the clear to another machine.
func dial(address, ca, tokenFile string) (*grpc.ClientConn, error) {
	secure := insecure.NewCredentials()
	if ca != "" {
		var err error
		if secure, err = credentials.NewClientTLSFromFile(ca, ""); err != nil {
			return nil, err
		}
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(secure)}
	if tokenFile != "" {
		if ca == "" && !local(address) {
			return nil, errors.New("--token-file would send the token in the clear to another machine: use --ca as well")
		}
		token, err := os.ReadFile(tokenFile)
		if err != nil {
			return nil, err
		}
		options = append(options, grpc.WithPerRPCCredentials(bearer(strings.TrimSpace(string(token)))))
	}
	return grpc.NewClient(address, options...)
}

// local says whether an address is on this machine.
func local(address string) bool {
	if strings.HasPrefix(address, "unix:") {
		return true
	}
	host, _, _ := net.SplitHostPort(address)
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// bearer is a token that goes with each call.
type bearer string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials: dial has looked.
func (bearer) RequireTransportSecurity() bool { return false }

// chat is one conversation.
type chat struct {
	client   llmdv1.InferenceServiceClient
	context  *llmdv1.Context
	deadline time.Duration // 0 = none
	aborted  bool          // the person pressed Ctrl-C
}

func (c *chat) add(m *llmdv1.Message) { c.context.Messages = append(c.context.Messages, m) }

// keep appends an answer as it came: its signatures, order and argument text are
// what providers check.
func (c *chat) keep(m *llmdv1.AssistantMessage) {
	if m != nil {
		c.add(&llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: m}})
	}
}

// say appends what the person says, and shows.
func (c *chat) say(arg, image string) error {
	text, err := prompt(arg)
	if err != nil {
		return err
	}
	content := []*llmdv1.UserContent{{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: text}}}}
	if image != "" {
		data, err := os.ReadFile(image)
		if err != nil {
			return err
		}
		content = append(content, &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: &llmdv1.ImageContent{
			Source: &llmdv1.ImageContent_Data{Data: data}, MimeType: "image/png",
		}}})
	}
	c.add(&llmdv1.Message{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: content}}})
	return nil
}

func (c *chat) request(model string) *llmdv1.StreamRequest {
	return &llmdv1.StreamRequest{
		RequestId:  rand.Text(),
		Generation: &llmdv1.Generation{Model: model, Context: c.context},
		// With a deadline, the partial arrives this long before it.
		Options: &llmdv1.StreamOptions{DeadlineMargin: durationpb.New(time.Second)},
	}
}

// answer streams the model's answer to the terminal and appends it to the
// conversation, whole or not.
func (c *chat) answer(model string) error {
	ctx := context.Background()
	if c.deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.deadline)
		defer cancel()
	}
	request := c.request(model)
	stream, err := c.client.Stream(ctx, request)
	if err != nil {
		return err
	}
	defer c.abortOnInterrupt(request.GetRequestId())()
	message, err := accumulate.Collect(stream, show)
	fmt.Println()
	c.keep(message)
	c.aborted = message.GetStopReason() == llmdv1.StopReason_STOP_REASON_ABORTED
	return err
}

// abortOnInterrupt aborts the answer when the person presses Ctrl-C. The stream
// stays open: it ends with an aborted event that holds what there was.
func (c *chat) abortOnInterrupt(requestID string) (stop func()) {
	interrupted, ignore := signal.NotifyContext(context.Background(), os.Interrupt)
	leave := context.AfterFunc(interrupted, func() {
		_, err := c.client.Abort(context.Background(), &llmdv1.AbortRequest{
			Target: &llmdv1.AbortRequest_RequestId{RequestId: requestID}, Reason: "Ctrl-C",
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, "abort:", describe(err))
		}
	})
	return func() { leave(); ignore() }
}

// show prints an event: the answer to the output, the rest beside it.
func show(e *llmdv1.StreamResponse, soFar *accumulate.Accumulator) {
	switch v := e.GetEvent().(type) {
	case *llmdv1.StreamResponse_TextDelta:
		fmt.Print(v.TextDelta.GetDelta())
	case *llmdv1.StreamResponse_ThinkingDelta:
		fmt.Fprint(os.Stderr, v.ThinkingDelta.GetDelta())
	case *llmdv1.StreamResponse_ThinkingEnd:
		fmt.Fprintln(os.Stderr)
	case *llmdv1.StreamResponse_ToolCallDelta:
		// What can be read so far, by any JSON parser. To look at, not to act on.
		var known struct {
			City string `json:"city"`
		}
		if err := json.Unmarshal(soFar.Arguments(v.ToolCallDelta.GetContentIndex()), &known); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		line, _ := json.Marshal(known) //nolint:errchkjson // a string can be written
		fmt.Fprintf(os.Stderr, "partial %s\n", line)
	case *llmdv1.StreamResponse_Aborted:
		fmt.Fprintf(os.Stderr, "aborted: %s %s\n", v.Aborted.GetCause(), v.Aborted.GetReason())
	}
}

// weather runs the tool. Calls that the model did not finish are not run.
func weather(call *llmdv1.ToolCall) *llmdv1.ToolResultMessage {
	result := &llmdv1.ToolResultMessage{ToolCallId: call.GetId(), ToolName: call.GetName()}
	var args struct{ City string }
	text := "22 °C and sunny in "
	if err := json.Unmarshal([]byte(call.GetArgumentsJson()), &args); err != nil || call.GetArgumentsError() != "" {
		text, result.IsError = "unreadable arguments: "+call.GetArgumentsError(), true
	}
	result.Content = []*llmdv1.ToolResultContent{{Block: &llmdv1.ToolResultContent_Text{Text: &llmdv1.TextContent{Text: text + args.City}}}}
	return result
}

// describe says what an error means: the reason is for programs, the delay is
// there if trying again makes sense.
func describe(err error) string {
	s, ok := status.FromError(err)
	if !ok {
		return err.Error()
	}
	reason, retry := "", ""
	for _, detail := range s.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			reason = d.GetReason() + " "
		case *errdetails.RetryInfo:
			retry = fmt.Sprintf("; retry in %g s", d.GetRetryDelay().AsDuration().Seconds())
		}
	}
	return fmt.Sprintf("%s(%s): %s%s", reason, code.Code(s.Code()), s.Message(), retry)
}

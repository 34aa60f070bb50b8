package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

func seconds(n int64) *durationpb.Duration { return &durationpb.Duration{Seconds: n} }

func reasonOf(err error) string { return harness.ReasonOf(err) }

func fieldsOf(err error) []string {
	var out []string
	for _, d := range status.Convert(err).Details() {
		if b, ok := d.(*errdetails.BadRequest); ok {
			for _, v := range b.GetFieldViolations() {
				out = append(out, v.GetField())
			}
		}
	}
	return out
}

// TestInvalidRequests: each kind of bad input names its field, before any traffic.
func TestInvalidRequests(t *testing.T) {
	up := newReplay(t)
	l := start(t, chatHost(up))
	const msgs = "generation.context.messages"
	for _, c := range []struct {
		name  string
		spoil func(*llmdv1.StreamRequest)
		field string
	}{
		{"no generation", func(r *llmdv1.StreamRequest) { r.Generation = nil }, "generation"},
		{"no model", func(r *llmdv1.StreamRequest) { r.Generation.Model = "" }, "generation.model"},
		{"no context", func(r *llmdv1.StreamRequest) { r.Generation.Context = nil }, "generation.context"},
		{"no messages", func(r *llmdv1.StreamRequest) { r.Generation.Context.Messages = nil }, msgs},
		{"an empty message", func(r *llmdv1.StreamRequest) {
			r.Generation.Context.Messages = append(r.Generation.Context.Messages, &llmdv1.Message{})
		}, msgs + "[1]"},
		{"a user without blocks", func(r *llmdv1.StreamRequest) {
			r.Generation.Context.Messages[0].GetUser().Content = nil
		}, msgs + "[0].user.content"},
		{"an empty block", func(r *llmdv1.StreamRequest) {
			r.Generation.Context.Messages[0].GetUser().Content = []*llmdv1.UserContent{{}}
		}, msgs + "[0].user.content[0]"},
		{"an image without source", func(r *llmdv1.StreamRequest) {
			r.Generation.Context.Messages[0].GetUser().Content = []*llmdv1.UserContent{{Block: &llmdv1.UserContent_Image{Image: &llmdv1.ImageContent{}}}}
		}, msgs + "[0].user.content[0].image"},
		{"a result without id", func(r *llmdv1.StreamRequest) {
			r.Generation.Context.Messages = append(r.Generation.Context.Messages, &llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: &llmdv1.ToolResultMessage{}}})
		}, msgs + "[1].tool_result.tool_call_id"},
		{"a tool without name", func(r *llmdv1.StreamRequest) { r.Generation.Context.Tools = []*llmdv1.Tool{{}} }, "generation.context.tools[0].name"},
		{"a bad tool name", func(r *llmdv1.StreamRequest) { r.Generation.Context.Tools = []*llmdv1.Tool{{Name: "a b"}} }, "generation.context.tools[0].name"},
		{"two tools of one name", func(r *llmdv1.StreamRequest) {
			r.Generation.Context.Tools = []*llmdv1.Tool{{Name: "a"}, {Name: "a"}}
		}, "generation.context.tools[1].name"},
		{"a schema that is no JSON", func(r *llmdv1.StreamRequest) {
			r.Generation.Context.Tools = []*llmdv1.Tool{{Name: "a", ParametersJsonSchema: "{"}}
		}, "generation.context.tools[0].parameters_json_schema"},
		{"a schema that is no schema", func(r *llmdv1.StreamRequest) {
			r.Generation.Context.Tools = []*llmdv1.Tool{{Name: "a", ParametersJsonSchema: `{"type":5}`}}
		}, "generation.context.tools[0].parameters_json_schema"},
		{"temperature", func(r *llmdv1.StreamRequest) {
			r.Generation.Config = &llmdv1.GenerationConfig{Temperature: new(2.1)}
		}, "generation.config.temperature"},
		{"top_p", func(r *llmdv1.StreamRequest) {
			r.Generation.Config = &llmdv1.GenerationConfig{TopP: proto.Float64(0)}
		}, "generation.config.top_p"},
		{"max_output_tokens", func(r *llmdv1.StreamRequest) {
			r.Generation.Config = &llmdv1.GenerationConfig{MaxOutputTokens: proto.Int32(0)}
		}, "generation.config.max_output_tokens"},
		{"stop_sequences", func(r *llmdv1.StreamRequest) {
			r.Generation.Config = &llmdv1.GenerationConfig{StopSequences: strings.Split(strings.Repeat("x", 17), "")}
		}, "generation.config.stop_sequences"},
		{"an unknown enum value", func(r *llmdv1.StreamRequest) {
			r.Generation.Reasoning = &llmdv1.ReasoningConfig{Effort: 99}
		}, "generation.reasoning.effort"},
		{"a tool that is not there", func(r *llmdv1.StreamRequest) {
			r.Generation.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_ToolName{ToolName: "x"}}
		}, "generation.tool_choice.tool_name"},
		{"too many labels", func(r *llmdv1.StreamRequest) {
			r.Generation.Labels = map[string]string{}
			for i := range 33 {
				r.Generation.Labels[fmt.Sprint(i)] = "v"
			}
		}, "generation.labels"},
		{"bad provider options", func(r *llmdv1.StreamRequest) {
			r.Generation.ProviderOptionsJson = map[string]string{"lab": "["}
		}, "generation.provider_options_json[lab]"},
		{"retries", func(r *llmdv1.StreamRequest) { r.Generation.Retry = &llmdv1.RetryPolicy{MaxRetries: -1} }, "generation.retry.max_retries"},
		{"an idle timeout under a second", func(r *llmdv1.StreamRequest) {
			r.Generation.Watchdog = &llmdv1.Watchdog{IdleTimeout: &durationpb.Duration{Nanos: 1}}
		}, "generation.watchdog.idle_timeout"},
		{"a long request id", func(r *llmdv1.StreamRequest) { r.RequestId = strings.Repeat("x", 129) }, "request_id"},
		{"an unprintable request id", func(r *llmdv1.StreamRequest) { r.RequestId = "a\nb" }, "request_id"},
		{"a fast heartbeat", func(r *llmdv1.StreamRequest) {
			r.Options = &llmdv1.StreamOptions{HeartbeatInterval: &durationpb.Duration{Nanos: 1}}
		}, "options.heartbeat_interval"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := slowAnswer(1)
			req := &llmdv1.StreamRequest{Generation: ask("lab/m1", up.add(s))}
			c.spoil(req)
			o := l.stream(limited(t, 5*time.Second), req, nil)
			if o.Status.Code() != codes.InvalidArgument || o.Reason() != "INVALID_REQUEST" || !slices.Contains(fieldsOf(o.Status.Err()), c.field) {
				t.Errorf("%v %s names %v, want %s", o.Status, o.Reason(), fieldsOf(o.Status.Err()), c.field)
			}
			if s.requests.Load() != 0 {
				t.Error("a request went to the provider")
			}
			if _, err := l.Complete(limited(t, 5*time.Second), &llmdv1.CompleteRequest{Generation: req.GetGeneration(), RequestId: req.GetRequestId()}); req.GetOptions() == nil && status.Code(err) != codes.InvalidArgument {
				t.Errorf("Complete: %v", err)
			}
		})
	}
}

// TestManyViolations: the details stay small, and what is left out is counted.
func TestManyViolations(t *testing.T) {
	l := start(t)
	req := &llmdv1.StreamRequest{Generation: ask("faux/echo", "x")}
	for range 200 {
		req.Generation.Context.Messages = append(req.Generation.Context.Messages, &llmdv1.Message{})
	}
	o := l.stream(limited(t, 5*time.Second), req, nil)
	listed := len(fieldsOf(o.Status.Err()))
	omitted := o.Info().GetMetadata()["violationsOmitted"]
	if size := proto.Size(o.Status.Proto()); size > 4<<10 {
		t.Errorf("the status has %d bytes", size)
	}
	if omitted != fmt.Sprint(200-listed) || listed == 0 {
		t.Errorf("%d listed, %s omitted", listed, omitted)
	}
}

// TestUnknownNames: NOT_FOUND with the names that were meant.
func TestUnknownNames(t *testing.T) {
	up := newReplay(t)
	l := start(t, chatHost(up))
	for _, c := range []struct{ model, reason, suggests string }{
		{"nobody/m1", "PROVIDER_NOT_FOUND", ""},
		{"faux/ehco", "MODEL_NOT_FOUND", "faux/echo"},
		{"echo", "MODEL_NOT_FOUND", "faux/echo"},
		{"anthropicc/claude-x", "PROVIDER_NOT_FOUND", "anthropic"},
	} {
		o := l.stream(limited(t, 5*time.Second), &llmdv1.StreamRequest{Generation: ask(c.model, "x")}, nil)
		if o.Status.Code() != codes.NotFound || o.Reason() != c.reason || !strings.Contains(o.Info().GetMetadata()["suggestions"], c.suggests) {
			t.Errorf("%s: %v %v", c.model, o.Status, o.Info())
		}
	}
}

// TestGRPCsOwnRefusals: what grpc-go refuses by itself hurts nobody else.
func TestGRPCsOwnRefusals(t *testing.T) {
	up := newReplay(t)
	l := startWith(t, "  max_receive_bytes: 1048576\n", chatHost(up))
	s := slowAnswer(300)
	done := make(chan *outcome, 1)
	go func() {
		done <- l.stream(limited(t, 20*time.Second), &llmdv1.StreamRequest{Generation: ask("lab/m1", up.add(s))}, nil)
	}()
	big := &llmdv1.StreamRequest{Generation: ask("lab/m1", strings.Repeat("x", 2<<20))}
	if o := l.stream(limited(t, 5*time.Second), big, nil); o.Status.Code() != codes.ResourceExhausted {
		t.Errorf("too large: %v", o.Status)
	}
	// A client that does not check its strings: the raw bytes of a bad message.
	bad, err := proto.Marshal(&llmdv1.StreamRequest{Generation: &llmdv1.Generation{Model: "lab/mX"}})
	if err != nil {
		t.Fatal(err)
	}
	bad[slices.Index(bad, 'X')] = 0xff
	err = l.Conn.Invoke(limited(t, 5*time.Second), llmdv1.InferenceService_Complete_FullMethodName, rawMessage(bad), &llmdv1.CompleteResponse{}, rawCodec())
	if status.Code(err) != codes.Internal {
		t.Errorf("invalid UTF-8: %v", err)
	}
	if o := <-done; o.Stop() != "STOP" {
		t.Errorf("another stream was hurt: %v", o.Status)
	}
}

// TestCallerKeys: refused unless the configuration allows them.
func TestCallerKeys(t *testing.T) {
	up := newReplay(t)
	s := slowAnswer(1)
	req := &llmdv1.StreamRequest{Generation: ask("lab/m1", up.add(s))}
	with := func(t *testing.T) context.Context {
		return metadata.AppendToOutgoingContext(limited(t, 5*time.Second), "llmd-provider-key-lab", harness.Secret+"-of-the-caller")
	}
	if o := start(t, chatHost(up)).stream(with(t), req, nil); o.Status.Code() != codes.PermissionDenied || s.requests.Load() != 0 {
		t.Errorf("not allowed: %v", o.Status)
	}
	if o := startWith(t, "  caller_keys: {allow: true}\n", chatHost(up)).stream(with(t), req, nil); o.Stop() != "STOP" {
		t.Errorf("allowed: %v", o.Status)
	}
	denied := &script{status: 401, header: map[string]string{"content-type": "application/json"}, body: []byte(`{"error":{"message":"bad key","code":"invalid_api_key"}}`)}
	req.Generation = ask("lab/m1", up.add(denied))
	o := startWith(t, "  caller_keys: {allow: true}\n", chatHost(up)).stream(with(t), req, nil)
	if o.Status.Code() != codes.Unauthenticated || o.Reason() != "PROVIDER_AUTH_FAILED" {
		t.Errorf("a bad key of the caller: %v %s", o.Status, o.Reason())
	}
}

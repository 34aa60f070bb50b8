package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/llmd-dev/llmd/adapters/jsonstream"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Options for a provider that is known and not asked may be there for a fallback;
// options for nobody are a mistake.
func TestProviderOptionsNeedAProvider(t *testing.T) {
	s := newService(t)
	for _, tt := range []struct{ id, want string }{
		{"faux", ""},
		{"openai", ""},
		{"opnai", "generation.provider_options_json[opnai]: names no provider; did you mean openai"},
		{"", "generation.provider_options_json[]: names no provider"},
	} {
		g := asks("faux/echo", said("a"))
		g.ProviderOptionsJson = map[string]string{tt.id: "{}"}
		_, prepared := s.PrepareContext(t.Context(), &llmdv1.PrepareContextRequest{Generation: g})
		_, completed := s.Complete(t.Context(), &llmdv1.CompleteRequest{Generation: g})
		for rpc, err := range map[string]error{"PrepareContext": prepared, "Complete": completed} {
			if tt.want == "" {
				if err != nil {
					t.Errorf("%s, %q: %v", rpc, tt.id, err)
				}
				continue
			}
			if got := violation(t, err); !strings.HasPrefix(got, tt.want) {
				t.Errorf("%s, %q: %s", rpc, tt.id, got)
			}
		}
	}
}

func TestDeadlineMargin(t *testing.T) {
	for _, tt := range []struct {
		left, margin time.Duration // left 0: no deadline
		bad          bool
	}{
		{time.Hour, time.Minute, false},
		{time.Hour, 0, false},
		{0, time.Hour, false},
		{time.Minute, time.Minute, true}, // nothing would be left
		{time.Minute, time.Hour, true},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), tt.left)
		if tt.left == 0 {
			ctx = t.Context()
		}
		o := &llmdv1.StreamOptions{DeadlineMargin: durationpb.New(tt.margin)}
		err := validateMargin(softDeadline(ctx, o), o)
		cancel()
		if (err != nil) != tt.bad {
			t.Errorf("%s before a deadline in %s: %v", tt.margin, tt.left, err)
		}
		if err != nil && !strings.HasPrefix(violation(t, toStatus(err)), "options.deadline_margin: must be less than the time") {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := validateMargin(softDeadline(ctx, nil), nil); err != nil {
		t.Errorf("without a margin: %v", err)
	}
}

func TestWaitDuration(t *testing.T) {
	s := newService(t)
	get := func(d time.Duration) error {
		_, err := s.GetResponse(t.Context(), &llmdv1.GetResponseRequest{
			Target: &llmdv1.GetResponseRequest_RequestId{RequestId: "x"}, WaitDuration: durationpb.New(d),
		})
		return err
	}
	if got := violation(t, get(10*time.Minute+1)); got != "wait_duration: must be at most 10m0s" {
		t.Error(got)
	}
	if got := reasonIn(get(10 * time.Minute)); got != "RESPONSE_NOT_FOUND" {
		t.Errorf("ten minutes: %s", got)
	}
}

// A strict hand-off names places as all other violations do.
func TestLossIsNamedByField(t *testing.T) {
	strict := func(messages ...*llmdv1.Message) error {
		g := asks("faux/text-only", messages...)
		g.Handoff = &llmdv1.HandoffPolicy{Strict: true}
		_, err := newService(t).PrepareContext(t.Context(), &llmdv1.PrepareContextRequest{Generation: g})
		return err
	}
	image := bytesOf(pixel(t), "image/png")
	thinking := &llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: &llmdv1.AssistantMessage{
		Api: "anthropic-messages", Provider: "anthropic", Model: "m", Content: []*llmdv1.AssistantContent{
			{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{Text: "Hm."}}},
			{Block: &llmdv1.AssistantContent_Thinking{Thinking: &llmdv1.ThinkingContent{Thinking: "Well.", Signature: &llmdv1.Signature{
				Data: []byte("s"), Format: "anthropic.thinking", Api: "anthropic-messages", Provider: "anthropic", Model: "m",
			}}}},
		},
	}}}
	const at = "generation.context.messages"
	for want, err := range map[string]error{
		at + "[0].user.content[1]: ":        strict(said("a", image)),
		at + "[1].assistant.content[1]: ":   strict(said("a"), thinking, said("b")),
		at + "[2].tool_result.content[0]: ": strict(said("a"), called("1", "look", "{}"), returned("1", false, image), said("b")),
	} {
		if got := violation(t, err); reasonIn(err) != "HANDOFF_WOULD_LOSE_CONTENT" || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", reasonIn(err), got, want)
		}
	}
}

// A refusal names the losses of the hand-off and those of the adapter.
func TestEveryLossIsNamed(t *testing.T) {
	g := asks("amazon-bedrock/anthropic.claude-opus-4-6-v1",
		said("a"), called("1", "look", `{"":1}`), returned("1", false), returned("2", false), said("b"))
	g.Handoff = &llmdv1.HandoffPolicy{Strict: true}
	_, err := catalogueService(t).Inference.PrepareContext(t.Context(), &llmdv1.PrepareContextRequest{Generation: g})
	var got []string
	for _, d := range status.Convert(err).Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok {
			for _, v := range bad.GetFieldViolations() {
				got = append(got, v.GetReason())
			}
		}
	}
	if want := []string{"tool_result.orphan", "tool_call.unnamed_member"}; !slices.Equal(got, want) {
		t.Errorf("%v: %q, want %q", err, got, want)
	}
}

// A warning that could come too late to be one is moved, and that is said.
func TestStallWarningIsLowered(t *testing.T) {
	for _, tt := range []struct {
		stall, idle time.Duration
		want        []string
	}{
		{10 * time.Second, 20 * time.Second, nil},
		{0, 20 * time.Second, nil},
		{11 * time.Second, 20 * time.Second, []string{"stall_warning is lowered to 10s, half of idle_timeout"}},
	} {
		g := asks("faux/echo", said("a"))
		g.Watchdog = &llmdv1.Watchdog{StallWarning: durationpb.New(tt.stall), IdleTimeout: durationpb.New(tt.idle)}
		got, err := newService(t).PrepareContext(t.Context(), &llmdv1.PrepareContextRequest{Generation: g})
		if err != nil || !slices.Equal(got.GetEffective().GetAdjustments(), tt.want) {
			t.Errorf("%s of %s: %v, %v", tt.stall, tt.idle, got.GetEffective(), err)
		}
	}
}

// A request without anything in it is told which field is missing, in the message too.
func TestNothingIsAsked(t *testing.T) {
	_, err := newService(t).Complete(t.Context(), &llmdv1.CompleteRequest{})
	if got := status.Convert(err).Message(); got != "generation: must be set" {
		t.Errorf("%q", got)
	}
}

// What the built-in provider does when it fails leads to words that say what and where.
func TestWordsOfFailures(t *testing.T) {
	for way, want := range map[string]string{
		"html":      "the provider answered HTTP 502 with a page or text that is no JSON",
		"malformed": "the provider sent something that cannot be read: frame ",
		"server":    "Something broke.",
	} {
		_, err := newService(t).Complete(t.Context(), &llmdv1.CompleteRequest{Generation: asks("faux/error", said(way))})
		if got := status.Convert(err).Message(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", way, got, want)
		}
	}
}

// TestModelNames: a provider may take any id, but none takes one without end, which would
// stand in logs.
func TestModelNames(t *testing.T) {
	s := newService(t)
	for n, want := range map[int]string{maxModelName: "", maxModelName + 1: "must have at most 2304 bytes"} {
		name := "faux/" + strings.Repeat("m", n-len("faux/"))
		second := asks("faux/echo", said("a"))
		second.FallbackModels = []string{"faux/echo", name}
		for field, g := range map[string]*llmdv1.Generation{"generation.model": asks(name, said("a")), "generation.fallback_models[1]": second} {
			_, err := s.PrepareContext(t.Context(), &llmdv1.PrepareContextRequest{Generation: g})
			if want == "" {
				if c := status.Code(err); c != codes.NotFound {
					t.Errorf("%s of %d bytes: %v", field, n, err)
				}
				continue
			}
			if got := violation(t, err); got != field+": "+want {
				t.Errorf("%s of %d bytes: %q", field, n, got)
			}
		}
	}
}

// TestManyViolations: a request that is wrong at very many places costs no more than one
// that is wrong at some, and how many they are is said.
func TestManyViolations(t *testing.T) {
	const n = 10_000
	g := asks("faux/echo", said())
	g.Context.Messages = slices.Repeat([]*llmdv1.Message{{}}, n)
	err := validateGeneration(g, &checker{})
	invalid, ok := errors.AsType[*InvalidError](err)
	if !ok || len(invalid.Violations) > 1000 {
		t.Fatalf("%T with %d violations", err, len(invalid.Violations))
	}
	err = toStatus(err)
	listed := details[*errdetails.BadRequest](err)[0].GetFieldViolations()
	omitted := details[*errdetails.ErrorInfo](err)[0].GetMetadata()["violationsOmitted"]
	if len(listed) < 20 || strconv.Itoa(n-len(listed)) != omitted {
		t.Errorf("%d listed, %s omitted", len(listed), omitted)
	}
	if m := status.Convert(err).Message(); m != "generation.context.messages[0]: nothing is set (and 9999 more)" {
		t.Errorf("message %q", m)
	}
}

// The table of limits in docs/errors.md has the limits of the code.
func TestLimitsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "### Limits of a request\n")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := map[string]string{}
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, " | "); len(cells) == 3 {
			for field := range strings.SplitSeq(strings.TrimPrefix(cells[0], "| "), ", ") {
				rows[strings.Trim(field, "`")] = cells[1]
			}
		}
	}
	const mib = 1 << 20
	for field, want := range map[string]string{
		"model":                            fmt.Sprintf("1 to %d bytes", maxModelName),
		"request_id":                       fmt.Sprintf("1 to %d characters", maxRequestID),
		"tool_call.id":                     fmt.Sprintf("1 to %d characters", maxToolCallID),
		"signature.data":                   fmt.Sprintf("1 byte to %d MiB", maxOpaqueBytes/mib),
		"tool_result.details_json":         fmt.Sprintf("%d MiB", maxOpaqueBytes/mib),
		"config.output_json_schema":        fmt.Sprintf("at most %d MiB and %d levels deep", jsonstream.MaxBytes/mib, jsonstream.MaxDepth),
		"provider_options_json":            fmt.Sprintf("at most %d MiB and %d levels deep", jsonstream.MaxBytes/mib, jsonstream.MaxDepth),
		"config.stop_sequences":            fmt.Sprintf("%d, none", maxStops),
		"labels":                           fmt.Sprintf("%d; keys and values of up to %d bytes", maxLabels, maxLabelBytes),
		"fallback_models":                  strconv.Itoa(maxFallbacks),
		"retry.max_retries":                fmt.Sprintf("0 to %d", maxRetries),
		"AbortRequest.reason":              fmt.Sprintf("%d characters", maxReason),
		"GetResponseRequest.wait_duration": fmt.Sprintf("0s to %.0fm", longestWait.Minutes()),
		"ListModelsRequest.page_size":      fmt.Sprintf("1 to %d, %d if unset", maxPage, defaultPage),
		"the deadline of a call":           fmt.Sprintf("%.0f minutes", longestCall.Minutes()),
	} {
		if got := rows[field]; !strings.Contains(got, want) {
			t.Errorf("%s: the page says %q, the code %q", field, got, want)
		}
	}
}

package service

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/fetch"
	"github.com/llmd-dev/llmd/internal/upstream"
)

const pixelBase64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

func pixel(t *testing.T) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(pixelBase64)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// newService is the built-in provider behind the RPCs. allow opens hosts to
// downloads; none = downloads are off.
func newService(t *testing.T, allow ...string) *Inference {
	t.Helper()
	models, err := catalog.Load(config.Default(), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	var f *fetch.Fetcher
	if allow != nil {
		if f, err = fetch.New(fetch.Options{Allow: allow}); err != nil {
			t.Fatal(err)
		}
	}
	client := upstream.New(upstream.Options{})
	s := New(func() *catalog.Catalog { return models }, client, Options{Instance: "test", Images: f, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	t.Cleanup(func() { s.Close(); client.Close() })
	return s.Inference
}

// pictures serves the pixel, counting.
func pictures(t *testing.T) (base string, asked *atomic.Int32) {
	t.Helper()
	data := pixel(t)
	asked = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if strings.HasPrefix(r.URL.Path, "/none") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(data)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

func uri(u string) *llmdv1.ImageContent {
	return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: u}}
}

func bytesOf(data []byte, mime string) *llmdv1.ImageContent {
	return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: data}, MimeType: mime}
}

// said is a user message: texts and images.
func said(blocks ...any) *llmdv1.Message {
	u := &llmdv1.UserMessage{CreateTime: timestamppb.Now()}
	for _, b := range blocks {
		switch b := b.(type) {
		case string:
			u.Content = append(u.Content, &llmdv1.UserContent{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: b}}})
		case *llmdv1.ImageContent:
			u.Content = append(u.Content, &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: b}})
		}
	}
	return &llmdv1.Message{Message: &llmdv1.Message_User{User: u}}
}

func called(id, name, arguments string) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: &llmdv1.AssistantMessage{
		StopReason: llmdv1.StopReason_STOP_REASON_TOOL_USE,
		Content: []*llmdv1.AssistantContent{
			{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{Text: "look"}}},
			{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: &llmdv1.ToolCall{Id: id, Name: name, ArgumentsJson: arguments}}},
		},
	}}}
}

func returned(id string, failed bool, images ...*llmdv1.ImageContent) *llmdv1.Message {
	r := &llmdv1.ToolResultMessage{
		ToolCallId: id, ToolName: "look", IsError: failed, DetailsJson: "{}", Usage: &llmdv1.Usage{InputTokens: 1}, CreateTime: timestamppb.Now(),
	}
	for _, i := range images {
		r.Content = append(r.Content, &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Image{Image: i}})
	}
	return &llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: r}}
}

// Only what changes is copied, nothing of the rest is lost, and the caller's own
// conversation stays as it was.
func TestImagesBecomeBytes(t *testing.T) {
	base, asked := pictures(t)
	f, err := fetch.New(fetch.Options{Allow: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	data := pixel(t)
	in := &llmdv1.Context{
		SystemPrompt: "s", Tools: []*llmdv1.Tool{{Name: "look"}},
		Messages: []*llmdv1.Message{
			said("one", uri(base+"/a"), "two", uri("data:image/gif;base64,"+pixelBase64)),
			said("three", bytesOf(data, "image/png")),
			called("1", "look", "{}"),
			returned("1", true, uri(base+"/a"), bytesOf(data, "image/jpeg"), bytesOf(data, "image/png")),
		},
	}
	before := proto.CloneOf(in)
	want := proto.CloneOf(in)
	png := bytesOf(data, "image/png")
	want.Messages[0].GetUser().Content[1].Block = &llmdv1.UserContent_Image{Image: png}
	want.Messages[0].GetUser().Content[3].Block = &llmdv1.UserContent_Image{Image: png}
	want.Messages[3].GetToolResult().Content[0].Block = &llmdv1.ToolResultContent_Image{Image: png}
	want.Messages[3].GetToolResult().Content[1].Block = &llmdv1.ToolResultContent_Image{Image: png}

	got, err := images(withImages(t.Context(), f, nil, in), in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !proto.Equal(in, before) {
		t.Error("the caller's conversation was changed")
	}
	if got.Messages[1] != in.Messages[1] || got.Messages[2] != in.Messages[2] || asked.Load() != 1 {
		t.Errorf("unchanged messages were copied, or a URL was asked %d times", asked.Load())
	}
	still := &llmdv1.Context{Messages: in.Messages[1:3]}
	if got, err := images(t.Context(), still); err != nil || got != still {
		t.Errorf("a conversation that needs nothing is copied, %v", err)
	}
}

func TestImageTypes(t *testing.T) {
	for _, tt := range []struct{ head, want string }{
		{"\x89PNG\r\n\x1a\n\x00\x00\x00\x0d", "image/png"},
		{"\xff\xd8\xff\xe0....", "image/jpeg"},
		{"GIF87a", "image/gif"},
		{"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"},
		{"BM......", "image/bmp"},
		{"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00", "image/heic"},
		{"\x00\x00\x00\x18ftypavif\x00\x00\x00\x00", "image/avif"},
		{"\x00\x00\x00\x18ftypisom\x00\x00\x00\x00", ""},
		{"<svg xmlns='http://www.w3.org/2000/svg'/>", ""},
		{"<html>", ""},
		{"%PDF-1.7", ""},
		{"", ""},
	} {
		if got := imageType([]byte(tt.head)); got != tt.want {
			t.Errorf("%q is %q, want %q", tt.head, got, tt.want)
		}
	}
}

func asks(model string, messages ...*llmdv1.Message) *llmdv1.Generation {
	return &llmdv1.Generation{Model: model, Context: &llmdv1.Context{Messages: messages}}
}

// violation is the field and the description of a refusal.
func violation(t *testing.T, err error) string {
	t.Helper()
	s := status.Convert(err)
	if s.Code() != codes.InvalidArgument {
		t.Errorf("%v", err)
		return ""
	}
	for _, d := range s.Details() {
		if b, ok := d.(*errdetails.BadRequest); ok && len(b.GetFieldViolations()) > 0 {
			v := b.GetFieldViolations()[0]
			return v.GetField() + ": " + v.GetDescription()
		}
	}
	t.Errorf("%v has no violation", err)
	return ""
}

// Failures name the place by the caller's count, whatever the hand-off has moved
// or merged, and are INVALID_ARGUMENT.
func TestImageErrors(t *testing.T) {
	base, _ := pictures(t)
	shown := strings.TrimPrefix(base, "http://")
	const at = "generation.context.messages"
	for _, tt := range []struct {
		name     string
		messages []*llmdv1.Message
		want     string
	}{
		{"not there", []*llmdv1.Message{said("a", uri(base+"/none?key=secret"))}, at + "[0].user.content[1].image.uri: http://" + shown + "/none answered HTTP 404"},
		{
			"behind empty blocks and turns",
			[]*llmdv1.Message{said("a"), said("", "b", uri(base+"/ok"), uri(base+"/none"))},
			at + "[1].user.content[3].image.uri: http://" + shown + "/none answered HTTP 404",
		},
		{
			"in a failed result",
			[]*llmdv1.Message{said("a"), called("1", "look", "{}"), returned("1", true, uri(base+"/ok"), uri(base+"/none"))},
			at + "[2].tool_result.content[1].image.uri: http://" + shown + "/none answered HTTP 404",
		},
		{"private", []*llmdv1.Message{said(uri("http://10.0.0.1/x"))}, at + "[0].user.content[0].image.uri: http://10.0.0.1/x has no public address; server.images.allow_hosts opens others"},
		{"metadata", []*llmdv1.Message{said(uri("HTTP://169.254.169.254/latest"))}, at + "[0].user.content[0].image.uri: http://169.254.169.254/latest is a metadata service"},
		{"password", []*llmdv1.Message{said(uri("http://me:secret@127.0.0.1/x"))}, at + "[0].user.content[0].image.uri: http://127.0.0.1/x holds a user name or password"},
		{"bytes", []*llmdv1.Message{said(bytesOf([]byte("<svg/>"), "image/png"))}, at + "[0].user.content[0].image.data: the bytes are no image"},
	} {
		s := newService(t, "127.0.0.1")
		for rpc, call := range map[string]func() error{
			"PrepareContext": func() error {
				_, err := s.PrepareContext(t.Context(), &llmdv1.PrepareContextRequest{Generation: asks("faux/echo", tt.messages...)})
				return err
			},
			"Complete": func() error {
				_, err := s.Complete(t.Context(), &llmdv1.CompleteRequest{Generation: asks("faux/echo", tt.messages...)})
				return err
			},
		} {
			err := call()
			if got := violation(t, err); got != tt.want {
				t.Errorf("%s, %s: %s, want %s", tt.name, rpc, got, tt.want)
			}
			if strings.Contains(fmt.Sprint(err, status.Convert(err).Proto()), "secret") {
				t.Errorf("%s, %s: %v tells a secret", tt.name, rpc, err)
			}
		}
	}
}

func TestImagesOff(t *testing.T) {
	base, asked := pictures(t)
	_, err := newService(t).PrepareContext(t.Context(), &llmdv1.PrepareContextRequest{Generation: asks("faux/echo", said(uri(base)))})
	if got := violation(t, err); !strings.HasSuffix(got, "images are not downloaded here; send the bytes") || asked.Load() != 0 {
		t.Error(got)
	}
	if _, err = newService(t).PrepareContext(t.Context(), &llmdv1.PrepareContextRequest{
		Generation: asks("faux/echo", said(uri("data:image/png;base64,"+pixelBase64))),
	}); err != nil {
		t.Error(err)
	}
}

// PrepareContext shows what Stream would send.
func TestPreparedImage(t *testing.T) {
	base, _ := pictures(t)
	got, err := newService(t, "127.0.0.1").PrepareContext(t.Context(), &llmdv1.PrepareContextRequest{Generation: asks("faux/echo", said(uri(base)))})
	if err != nil {
		t.Fatal(err)
	}
	i := got.GetContext().GetMessages()[0].GetUser().GetContent()[0].GetImage()
	if !bytes.Equal(i.GetData(), pixel(t)) || i.GetMimeType() != "image/png" || !strings.Contains(got.GetRequest().GetBodyJson(), pixelBase64) {
		t.Errorf("%v in %s", i, got.GetRequest().GetBodyJson())
	}
}

// All models of a request get the same download; one that cannot see gets none.
func TestImagesOfCandidates(t *testing.T) {
	for _, tt := range []struct {
		model     string
		fallbacks []string
		asked     int32
	}{
		{"faux/echo", nil, 1},
		{"faux/text-only", nil, 0},
		{"faux/error", []string{"faux/error", "faux/echo"}, 1},
		{"faux/error", []string{"faux/text-only"}, 1},
	} {
		base, asked := pictures(t)
		s := newService(t, "127.0.0.1")
		g := asks(tt.model, said(uri(base), "overloaded"))
		g.FallbackModels = tt.fallbacks
		if _, err := s.Complete(t.Context(), &llmdv1.CompleteRequest{Generation: g}); err != nil {
			t.Errorf("%s, then %v: %v", tt.model, tt.fallbacks, err)
		}
		if asked.Load() != tt.asked {
			t.Errorf("%s, then %v: downloaded %d times", tt.model, tt.fallbacks, asked.Load())
		}
	}
}

// The end of the call ends its downloads.
func TestImageDownloadIsCancelled(t *testing.T) {
	gone := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
		close(gone)
	}))
	defer slow.Close()
	_, err := newService(t, "127.0.0.1").Complete(ctx, &llmdv1.CompleteRequest{Generation: asks("faux/echo", said(uri(slow.URL)))})
	if status.Code(err) != codes.Canceled {
		t.Error(err)
	}
	<-gone
}

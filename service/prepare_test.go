package service

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

func reasonIn(err error) string {
	for _, i := range details[*errdetails.ErrorInfo](err) {
		return i.GetReason()
	}
	return ""
}

func picture(n int) (data []byte, text, digest string) {
	data = bytes.Repeat([]byte{0xff, 0x00, 0x7f, '"'}, n/4+1)[:n]
	sum := sha256.Sum256(data)
	return data, base64.StdEncoding.EncodeToString(data), fmt.Sprintf("%d bytes, sha256 %s", n, hex.EncodeToString(sum[:]))
}

// Images over 64 KiB are shown by length and digest; all else is the exact text.
func TestShownBody(t *testing.T) {
	_, small, _ := picture(64 << 10)
	_, large, digest := picture(64<<10 + 1)
	_, odd, oddDigest := picture(100_001)
	for _, c := range []struct{ name, body, want string }{
		{"nothing", "", ""},
		{"no image", `{"a":"b","c":[1,2.50,"\"x\\"]}`, ""},
		{"64 KiB", `{"data":"` + small + `"}`, ""},
		{"a byte more", `{"data":"` + large + `"}`, `{"data":"` + digest + `"}`},
		{"a data URL", `{"url":"data:image/png;base64,` + odd + `"}`, `{"url":"data:image/png;base64,` + oddDigest + `"}`},
		{"several", `["` + large + `","x\"y","` + small + `","` + odd + `"]`, `["` + digest + `","x\"y","` + small + `","` + oddDigest + `"]`},
		{"long words", `{"text":"` + strings.Repeat("not base64, ", 20_000) + `"}`, ""},
		{"long text without blanks", `{"text":"` + strings.Repeat("é", 100_000) + `"}`, ""},
		{"escapes", `{"text":"` + strings.Repeat(`\"\\`, 60_000) + `","data":"` + large + `"}`, `{"text":"` + strings.Repeat(`\"\\`, 60_000) + `","data":"` + digest + `"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if want == "" {
				want = c.body
			}
			if got := shownBody(jsonwire.Body{Text: []byte(c.body)}); got != want {
				t.Errorf("%d bytes, want %d: %.200s", len(got), len(want), got)
			}
			if json.Valid([]byte(c.body)) && !json.Valid([]byte(shownBody(jsonwire.Body{Text: []byte(c.body)}))) {
				t.Error("what is shown is no JSON")
			}
		})
	}
}

// Images that are left out of the body until it is sent are shown in the same way.
func TestShownBodyLarge(t *testing.T) {
	small, smallText, _ := picture(64 << 10)
	large, _, digest := picture(64<<10 + 1)
	var w jsonwire.Writer
	w.BeginArray()
	w.Base64("data:image/png;base64,", large)
	w.Base64("", small)
	w.Base64("", large)
	w.EndArray()
	if want, got := `["data:image/png;base64,`+digest+`","`+smallText+`","`+digest+`"]`, shownBody(w.Body()); got != want {
		t.Errorf("%d bytes, want %d: %.200s", len(got), len(want), got)
	}
}

func TestShownContext(t *testing.T) {
	large, _, digest := picture(70_000)
	small, _, _ := picture(100)
	image := func(d []byte) *llmdv1.ImageContent {
		return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: d}, MimeType: "image/png"}
	}
	c := &llmdv1.Context{Messages: []*llmdv1.Message{
		{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: []*llmdv1.UserContent{
			{Block: &llmdv1.UserContent_Image{Image: image(small)}}, {Block: &llmdv1.UserContent_Image{Image: image(large)}},
		}}}},
		{Message: &llmdv1.Message_ToolResult{ToolResult: &llmdv1.ToolResultMessage{ToolCallId: "x", Content: []*llmdv1.ToolResultContent{
			{Block: &llmdv1.ToolResultContent_Image{Image: image(large)}},
		}}}},
	}}
	out := shownContext(c)
	user, result := out.GetMessages()[0].GetUser().GetContent(), out.GetMessages()[1].GetToolResult().GetContent()
	if !bytes.Equal(user[0].GetImage().GetData(), small) || user[1].GetImage().GetUri() != digest || result[0].GetImage().GetUri() != digest || user[1].GetImage().GetMimeType() != "image/png" {
		t.Errorf("%v", out)
	}
	if len(c.GetMessages()[0].GetUser().GetContent()[1].GetImage().GetData()) != 70_000 {
		t.Error("the request was changed")
	}
	few := &llmdv1.Context{Messages: c.GetMessages()[:0]}
	if shownContext(few) != few {
		t.Error("a context without large images was copied")
	}
}

// Looking for images takes time in proportion to the body.
func BenchmarkShownBody(b *testing.B) {
	_, large, _ := picture(1 << 20)
	body := []byte(`{"text":"` + strings.Repeat(`words and \"quotes\" `, 50_000) + `","data":"` + large + `"}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		shownBody(jsonwire.Body{Text: body})
	}
}

// TestUnknownFallback: a request that Stream refuses for a name is refused by
// PrepareContext, too, and both name the field.
func TestUnknownFallback(t *testing.T) {
	s := catalogueService(t)
	g := asks("anthropic/claude-opus-4-6", said("a"))
	g.FallbackModels = []string{"anthropic/claude-opus-4-6", "anthropic/none"}
	_, prepared := s.Inference.PrepareContext(t.Context(), &llmdv1.PrepareContextRequest{Generation: g})
	_, asked := s.Inference.Complete(t.Context(), &llmdv1.CompleteRequest{Generation: g})
	for _, err := range []error{prepared, asked} {
		const want = `generation.fallback_models[1]: provider "anthropic" has no model "anthropic/none"`
		if status.Code(err) != codes.NotFound || reasonIn(err) != "MODEL_NOT_FOUND" || !strings.HasPrefix(status.Convert(err).Message(), want) {
			t.Errorf("%v", err)
		}
	}
}

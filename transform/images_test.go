package transform_test

import (
	"errors"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/transform"
)

func blind(c *adapters.Constraints) { c.Images = false }

func imageExamples() []example {
	const (
		omitted     = "(image omitted: model does not support images)"
		toolOmitted = "(tool image omitted: model does not support images)"
		badSource   = "(image omitted: unsupported source)"
		badType     = "(image omitted: unsupported type)"
		attached    = "(image attached after the tool results)"
	)
	img := uImage(png("p"))
	placeholder := func(at int32, blocks ...int32) []*llmdv1.HandoffChange {
		var out []*llmdv1.HandoffChange
		for _, b := range blocks {
			out = append(out, change(at, b, downgraded, "images.placeholder"))
		}
		return out
	}
	typed := func(mime, data string) *llmdv1.ImageContent {
		return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: []byte(data)}, MimeType: mime}
	}
	return []example{
		{
			name: "T2 one placeholder for each run", to: chat, limit: blind,
			in:      conversation(user(img, img, uText("a"), img, uText("b"), img, img)),
			want:    conversation(user(uText(omitted), uText("a"), uText(omitted), uText("b"), uText(omitted))),
			changes: placeholder(0, 0, 1, 3, 5, 6),
		},
		{
			name: "T3 in results of tools", to: chat, limit: blind,
			in:      conversation(says("go"), answer(chat, calls("a")), result("a", rText("x"), rImage(png("p")), rImage(png("q")))),
			want:    conversation(says("go"), answer(chat, calls("a")), result("a", rText("x"), rText(toolOmitted))),
			changes: placeholder(2, 1, 2),
		},
		{
			name: "T4 a placeholder that the user wrote is not doubled", to: chat, limit: blind,
			in:      conversation(user(uText(omitted), img, uText("a"), img)),
			want:    conversation(user(uText(omitted), uText("a"), uText(omitted))),
			changes: placeholder(0, 1, 3),
		},
		{
			name: "T5 a model with eyes keeps images", to: chat,
			in: conversation(user(img, uText("a"), uImage(link("https://example.org/p.png")), uImage(link("HTTP://example.org/p.png")),
				uImage(link("data:image/png;base64,iVBORw0KGgo=")))),
		},
		{
			name: "a source that nobody should follow", to: chat,
			in: conversation(user(uImage(link("file:///etc/passwd")), uImage(link("ftp://h/x")), img, uImage(link("blob:x")), uText("a"),
				uImage(link("p.png")), uImage(link("data:image/png;base64,")), uImage(link("data:;base64,AA==")), uImage(link("data:image/png,AA")),
				uImage(link("data:text/plain;charset=x;base64,AA==")), uImage(link("DATA:image/png;base64,AA==")), uImage(link("https://")),
				uImage(&llmdv1.ImageContent{}))),
			want: conversation(user(uText(badSource), img, uText(badSource), uText("a"), uText(badSource))),
			changes: func() []*llmdv1.HandoffChange {
				var out []*llmdv1.HandoffChange
				for _, b := range []int32{0, 1, 3, 5, 6, 7, 8, 9, 10, 11, 12} {
					out = append(out, change(0, b, downgraded, "images.unsupported_source"))
				}
				return out
			}(),
		},
		{
			name: "a type that the API does not read, whatever it is called", to: claude,
			in: conversation(user(uImage(typed("image/bmp", "x")), uImage(typed("image/png", "BM")), uImage(typed("image/bmp", "GIF89a")),
				uImage(link("data:image/bmp;base64,Qk0=")), uImage(link("data:image/bmp;base64,iVBORw0KGgo=")), uImage(link("https://h/x")))),
			want: conversation(user(uText(badType), uImage(typed("image/bmp", "GIF89a")), uText(badType),
				uImage(link("data:image/bmp;base64,iVBORw0KGgo=")), uImage(link("https://h/x")))),
			changes: changes(change(0, 0, downgraded, "images.unsupported_type"), change(0, 1, downgraded, "images.unsupported_type"),
				change(0, 3, downgraded, "images.unsupported_type")),
		},
		{
			name: "HEIC and AVIF under another name", to: claude,
			in: conversation(user(uImage(typed("image/jpeg", "\x00\x00\x00\x18ftypheic")), uImage(png("1")), uImage(typed("image/png", "\x00\x00\x00\x1cftypavif")),
				uImage(link("data:image/png;base64,AAAAGGZ0eXBoZWlj")))),
			want: conversation(user(uText(badType), uImage(png("1")), uText(badType))),
			changes: changes(change(0, 0, downgraded, "images.unsupported_type"), change(0, 2, downgraded, "images.unsupported_type"),
				change(0, 3, downgraded, "images.unsupported_type")),
		},
		{
			name: "images of errors are shown after all results", to: claude,
			in: conversation(says("go"), answer(claude, calls("a"), calls("b"), calls("c")),
				failure("a", rText("x"), rImage(png("1")), rImage(png("2")), rText("y"), rImage(png("3"))), result("b", rImage(png("4"))),
				failure("c", rImage(png("5"))), says("next")),
			want: conversation(says("go"), answer(claude, calls("a"), calls("b"), calls("c")),
				failure("a", rText("x"), rText(attached), rText("y"), rText(attached)), result("b", rImage(png("4"))),
				failure("c", rText(attached)),
				user(uText("Images from the error result of tool call a (look):"), uImage(png("1")), uImage(png("2")), uImage(png("3")),
					uText("Images from the error result of tool call c (look):"), uImage(png("5")), uText("next"))),
			changes: changes(change(2, 1, rewritten, "images.error_result"), change(2, 2, rewritten, "images.error_result"),
				change(2, 4, rewritten, "images.error_result"), change(4, 0, rewritten, "images.error_result")),
		},
		{
			name: "in a turn of their own where there is no other", to: claude,
			in: conversation(says("go"), answer(claude, calls("a")), failure("a", rImage(png("1"))), answer(claude, text("x")), says("y")),
			want: conversation(says("go"), answer(claude, calls("a")), failure("a", rText(attached)),
				user(uText("Images from the error result of tool call a (look):"), uImage(png("1"))), answer(claude, text("x")), says("y")),
			changes: changes(change(2, 0, rewritten, "images.error_result")),
		},
	}
}

func TestRejectImages(t *testing.T) {
	in := example{to: chat, limit: blind, policy: rejectImages, in: conversation(
		says("a"), ended(chat, aborted, text("x")), answer(chat, &llmdv1.AssistantContent{}, calls("c")),
		result("c", &llmdv1.ToolResultContent{}, rText("x"), rImage(png("p"))))}
	_, err := transform.Apply(in.input())
	refused, ok := errors.AsType[*adapters.CapabilityError](err)
	if !ok {
		t.Fatalf("got %v, want a CapabilityError", err)
	}
	// The place is the caller's.
	if want := "generation.context.messages[3].tool_result.content[2].image"; refused.Field != want {
		t.Errorf("field %q, want %q", refused.Field, want)
	}

	in = example{to: chat, policy: rejectImages, in: conversation(user(uText("a"), uImage(link("file:///x"))))}
	_, err = transform.Apply(in.input())
	if refused, ok = errors.AsType[*adapters.CapabilityError](err); !ok {
		t.Fatalf("got %v, want a CapabilityError", err)
	}
	if want := "generation.context.messages[0].user.content[1].image"; refused.Field != want {
		t.Errorf("field %q, want %q", refused.Field, want)
	}

	// An image in a message that is not sent anyway refuses nothing.
	in = example{to: chat, limit: blind, policy: rejectImages, in: conversation(result("gone", rImage(png("p"))), says("a"))}
	apply(t, in.input())
}

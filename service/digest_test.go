package service

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

func withImage(size int) *llmdv1.StreamRequest {
	image := func(last byte) *llmdv1.UserContent {
		return &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: &llmdv1.ImageContent{
			MimeType: "image/png", Source: &llmdv1.ImageContent_Data{Data: append(bytes.Repeat([]byte("x"), size-1), last)},
		}}}
	}
	user := func(c ...*llmdv1.UserContent) *llmdv1.Message {
		return &llmdv1.Message{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: c}}}
	}
	return &llmdv1.StreamRequest{RequestId: "r", Generation: &llmdv1.Generation{
		Model: "p/m", Labels: map[string]string{"a": "1", "b": "2", "c": "3"}, FallbackModels: []string{"p/1", "p/2"},
		Context: &llmdv1.Context{SystemPrompt: "s", Messages: []*llmdv1.Message{user(image(1), image(2)), user(image(3))}},
	}}
}

// TestDigestOfLarge: a large request is hashed in parts, and each of them counts.
func TestDigestOfLarge(t *testing.T) {
	req := func() *llmdv1.StreamRequest { return withImage(2 * digestPiece) }
	want := digest(req())
	for range 20 { // maps are in another order each time
		if digest(req()) != want {
			t.Fatal("equal requests differ")
		}
	}
	content := func(r *llmdv1.StreamRequest, i int) *[]*llmdv1.UserContent {
		return &r.GetGeneration().GetContext().GetMessages()[i].GetUser().Content
	}
	seen := map[[32]byte]string{want: "the same"}
	for name, change := range map[string]func(r *llmdv1.StreamRequest){
		"a byte of an image": func(r *llmdv1.StreamRequest) { (*content(r, 0))[0].GetImage().GetData()[7]++ },
		"the order of images": func(r *llmdv1.StreamRequest) {
			c := *content(r, 0)
			c[0], c[1] = c[1], c[0]
		},
		"an image in the next message": func(r *llmdv1.StreamRequest) {
			c, next := content(r, 0), content(r, 1)
			*c, *next = (*c)[:1], append((*c)[1:2:2], *next...)
		},
		"a label":          func(r *llmdv1.StreamRequest) { r.Generation.Labels["a"] = "2" },
		"a fallback":       func(r *llmdv1.StreamRequest) { r.Generation.FallbackModels = []string{"p/1p/2"} },
		"an option":        func(r *llmdv1.StreamRequest) { r.Options = &llmdv1.StreamOptions{} },
		"an unknown field": func(r *llmdv1.StreamRequest) { r.Generation.ProtoReflect().SetUnknown([]byte("\xf8\x3f\x01")) },
		"where a byte stands": func(r *llmdv1.StreamRequest) {
			a, b := (*content(r, 0))[0].GetImage(), (*content(r, 0))[1].GetImage()
			data := a.GetData()
			a.Source = &llmdv1.ImageContent_Data{Data: data[:len(data)-1]}
			b.Source = &llmdv1.ImageContent_Data{Data: append(data[len(data)-1:len(data):len(data)], b.GetData()...)}
		},
	} {
		r := req()
		change(r)
		got := digest(r)
		if other := seen[got]; other != "" {
			t.Errorf("%s: the digest is that of %s", name, other)
		}
		seen[got] = name
	}
}

// TestDigestMemory: images are not copied.
func TestDigestMemory(t *testing.T) {
	r := withImage(4 << 20)
	size := proto.Size(r)
	got := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			digest(r)
		}
	}).AllocedBytesPerOp()
	if got > int64(size/10) {
		t.Errorf("%d bytes are allocated for a request of %d", got, size)
	}
}

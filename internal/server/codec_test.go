package server

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// frames cuts a message as it comes over the wire.
func frames(text []byte, size int) mem.BufferSlice {
	var out mem.BufferSlice
	for len(text) > size {
		out = append(out, mem.SliceBuffer(text[:size:size]))
		text = text[size:]
	}
	return append(out, mem.SliceBuffer(text))
}

func image(n int) *llmdv1.UserContent {
	return &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: &llmdv1.ImageContent{
		MimeType: "image/png", Source: &llmdv1.ImageContent_Data{Data: bytes.Repeat([]byte("png"), n/3)},
	}}}
}

func words(s string) *llmdv1.UserContent {
	return &llmdv1.UserContent{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: s}}}
}

func user(content ...*llmdv1.UserContent) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: content}}}
}

func conversation(imageBytes int) *llmdv1.StreamRequest {
	return &llmdv1.StreamRequest{RequestId: "r", Generation: &llmdv1.Generation{Model: "p/m", Context: &llmdv1.Context{
		SystemPrompt: "be brief",
		Messages: []*llmdv1.Message{
			user(words("first"), image(imageBytes), words("between"), image(9)), user(words("small")), user(image(imageBytes)), user(words("last")),
		},
		Tools: []*llmdv1.Tool{{Name: "t", ParametersJsonSchema: "{}"}},
	}}}
}

func TestUnmarshalLarge(t *testing.T) {
	want := conversation(300)
	text, err := proto.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 7, 16 << 10} {
		for _, least := range []uint64{1, 100, 1 << 20} {
			got := &llmdv1.StreamRequest{RequestId: "of before"}
			if err := unmarshalLarge(frames(text, size), got, least); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
				t.Errorf("frames of %d, fields from %d bytes\n%s", size, least, d)
			}
		}
	}
	for cut := range len(text) {
		if proto.Unmarshal(text[:cut], &llmdv1.StreamRequest{}) == nil {
			continue // between two fields
		}
		if err := unmarshalLarge(frames(text[:cut], 7), &llmdv1.StreamRequest{}, 100); err == nil {
			t.Fatalf("cut at %d of %d bytes, it was read", cut, len(text))
		}
	}
}

// TestCodecMemory: of a large request, what is kept is all that is allocated.
func TestCodecMemory(t *testing.T) {
	text, err := proto.Marshal(conversation(4 << 20))
	if err != nil {
		t.Fatal(err)
	}
	in := frames(text, 16<<10)
	c := newCodec()
	r := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := c.Unmarshal(in, &llmdv1.StreamRequest{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	if got, most := r.AllocedBytesPerOp(), int64(len(text)+len(text)/20); got > most {
		t.Errorf("%d bytes are allocated for a message of %d", got, len(text))
	}
}

// FuzzUnmarshalLarge: what is read is what the parser reads, and so is what is not.
func FuzzUnmarshalLarge(f *testing.F) {
	text, _ := proto.Marshal(conversation(60))
	f.Add(text, uint8(3), uint8(20))
	f.Add([]byte("\x0a\x02\x0a\x00\x0a\x03\x0a\x01a"), uint8(1), uint8(0))
	f.Fuzz(func(t *testing.T, text []byte, size, least uint8) {
		want, got := &llmdv1.StreamRequest{}, &llmdv1.StreamRequest{}
		wantErr := proto.Unmarshal(text, want)
		gotErr := unmarshalLarge(frames(text, int(size)+1), got, uint64(least))
		if gotErr == nil && wantErr != nil {
			t.Fatalf("read, but the parser says %v", wantErr)
		}
		if wantErr == nil && gotErr != nil && !hasGroup(text) {
			t.Fatalf("%v, but the parser reads it", gotErr)
		}
		if gotErr == nil && !proto.Equal(want, got) {
			t.Fatal(cmp.Diff(want, got, protocmp.Transform()))
		}
	})
}

// hasGroup: the text may hold a group, the old kind of field that is refused here.
func hasGroup(text []byte) bool {
	return bytes.ContainsFunc(text, func(r rune) bool { return r&7 == 3 || r&7 == 4 })
}

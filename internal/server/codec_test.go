package server

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/structpb"

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

// asParser reads text as it comes over the wire, and fails unless the parser, which
// has it in one piece, says the same.
func asParser(t *testing.T, text []byte, size int, least uint64, empty proto.Message) {
	t.Helper()
	want, got := proto.Clone(empty), proto.Clone(empty)
	wantErr := proto.Unmarshal(text, want)
	gotErr := unmarshalLarge(frames(text, size), got, least)
	if (wantErr == nil) != (gotErr == nil) {
		t.Fatalf("frames of %d, fields from %d bytes: %v, the parser says %v", size, least, gotErr, wantErr)
	}
	if wantErr == nil && !proto.Equal(want, got) {
		t.Fatalf("frames of %d, fields from %d bytes\n%s", size, least, cmp.Diff(want, got, protocmp.Transform()))
	}
}

// generation writes a StreamRequest with this in its generation, contents one with this
// in a user message, and block the content of one block.
func generation(fields ...[]byte) []byte { return field(1, fields...) }

func contents(blocks ...[]byte) []byte {
	return generation(field(2, field(2, field(1, blocks...))))
}

func block(fields ...[]byte) []byte { return field(1, fields...) }

// field writes a field of bytes.
func field(number protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), bytes.Join(parts, nil))
}

func number(n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), v)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// TestUnmarshalLargeAsParser: what the encoding allows and no client writes.
func TestUnmarshalLargeAsParser(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 200)
	data, uri, mime := field(1, long), field(2, long), field(3, []byte("image/png"))
	image, text := field(4, data, mime), field(1, field(1, long))
	group := join(protowire.AppendTag(nil, 99, protowire.StartGroupType), number(1, 7), field(2, long),
		protowire.AppendTag(nil, 99, protowire.EndGroupType))
	cases := map[string][]byte{
		"a message in two parts is merged":         join(generation(field(1, []byte("p/m"))), generation(field(2, field(1, long))), generation(field(1, long))),
		"a repeated field goes on":                 join(contents(block(text)), contents(block(image), block(text))),
		"the last of a oneof counts":               contents(block(text, image), block(image, text), block(image, text, image)),
		"a oneof of the same kind is merged":       contents(block(field(4, data), field(4, mime))),
		"data replaces a URL and the other way":    contents(block(field(4, data, uri)), block(field(4, uri, data)), block(field(4, data, uri), field(4, data))),
		"empty data replaces data":                 contents(block(field(4, data, field(1)))),
		"unknown fields are kept":                  join(field(500, long), generation(field(500, long), number(501, 1)), number(502, 1<<40)),
		"unknown numbers stay as they are spelled": join([]byte("\xb8\x3e\x81\x80\x00"), generation(field(1, long))),
		"a group is skipped":                       join(group, generation(group, field(1, []byte("p/m")), field(2, field(1, long)))),
		"a group without its end":                  join(generation(field(1, long)), group[:len(group)-2]),
		"an end without its group":                 join(generation(field(1, long)), group[len(group)-2:]),
		"an unknown kind":                          join(generation(field(1, long)), []byte{1<<3 | 6, 1}),
		"field number zero":                        join(generation(field(1, long)), []byte{2, 1, 1}),
		"a field number that is too large":         join(generation(field(1, long)), protowire.AppendVarint(nil, 1<<32|2), []byte{0}),
		"a number where a message belongs":         join(number(1, 5), generation(number(2, 7), field(1, long))),
		"a fixed number where bytes belong":        contents(block(field(4, protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), 7), uri))),
		"a message where a number belongs":         generation(field(3, field(4, long))),
		"packed where one number belongs":          generation(field(3, field(3, []byte{1, 2, 3}), data)),
		"text that is not UTF-8":                   contents(block(field(1, field(1, long, []byte{0xff})))),
		"a length that goes past its message":      generation(field(2, []byte{0x0a, 0xff, 0x01}, long[:100]), field(1, long)),
		"a length of 64 bits":                      generation(protowire.AppendVarint([]byte{0x0a}, 1<<63), long),
		"a number that never ends":                 join(generation(field(1, long)), bytes.Repeat([]byte{0x80}, 30)),
		"a number that ends in the next message":   generation(field(2, long[:100], []byte{0x80}), []byte{0x01}, long),
	}
	example := &llmdv1.StreamRequest{}
	if err := proto.Unmarshal(contents(block(image)), example); err != nil || len(example.Generation.Context.Messages[0].GetUser().Content[0].GetImage().GetData()) != len(long) {
		t.Fatalf("the cases are not of this contract: %v, %v", example, err)
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 3, 64, len(text)} {
				for _, least := range []uint64{0, 1, 50, 150, 1 << 20} {
					asParser(t, text, size, least, &llmdv1.StreamRequest{})
				}
			}
		})
	}
}

// TestUnmarshalLargeScalars: messages of other packages, which reflection takes too,
// have what this contract has not: packed numbers, maps, messages within themselves.
func TestUnmarshalLargeScalars(t *testing.T) {
	packed := bytes.Repeat(protowire.AppendVarint(nil, 300), 100)
	file := join(field(1, []byte("a.proto")), field(10, packed), number(10, 5), field(11, packed[:50]), field(4, field(1, []byte("M")), field(3, field(1, packed))))
	values, err := proto.Marshal(&structpb.Struct{Fields: map[string]*structpb.Value{
		"a": structpb.NewStringValue(strings.Repeat("x", 100)), "b": structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{structpb.NewNumberValue(1)}}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, least := range []uint64{0, 1, 50, 1000} {
		asParser(t, file, 7, least, &descriptorpb.FileDescriptorProto{})
		asParser(t, join(values, values), 7, least, &structpb.Struct{})
	}
}

// TestUnmarshalMany: a message may have very many parts, but not any number of them, wherever
// they are: those of 64 MiB would take gigabytes.
func TestUnmarshalMany(t *testing.T) {
	many := func(n int, part ...byte) []byte { return bytes.Repeat(part, n) }
	const empty, most = 0, 10_000
	for name, wrap := range map[string]func(n int) []byte{
		"messages": func(n int) []byte { return generation(field(2, many(n-2, 2<<3|2, empty))) },
		"contents": func(n int) []byte { return contents(many(n-4, 1<<3|2, empty)) },
		"tools":    func(n int) []byte { return generation(field(2, many(n-2, 3<<3|2, empty))) },
		"texts":    func(n int) []byte { return generation(field(3, many(n-2, 5<<3|2, empty))) },
		"labels":   func(n int) []byte { return generation(many((n-1)/2, 7<<3|2, 2, 1<<3|2, empty)) },
		"not ours": func(n int) []byte { return many(n, 99<<3&0x7f|2|0x80, 99>>4, empty) },
	} {
		for n, refused := range map[int]bool{most - 1: false, most + 10: true} {
			text := wrap(n)
			in := frames(text, 16<<10)
			r := &largeReader{in: in.Reader(), least: 1000, left: most}
			err := r.message((&llmdv1.StreamRequest{}).ProtoReflect(), len(text), 100)
			if refused != errors.Is(err, errMany) || !refused && err != nil {
				t.Errorf("%d %s: %v", n, name, err)
			}
		}
	}
	text := generation(field(2, many(2*mostValues, 2<<3|2, empty)))
	if err := newCodec().Unmarshal(frames(text, 16<<10), &llmdv1.StreamRequest{}); !errors.Is(err, errMany) {
		t.Errorf("%d messages: %v", 2*mostValues, err)
	}
}

// TestUnmarshalLargeDepth: messages within messages end where the parser ends.
func TestUnmarshalLargeDepth(t *testing.T) {
	deep := func(levels int) []byte {
		// From the inside out, backwards.
		var text []byte
		for range levels {
			n := protowire.AppendVarint(nil, uint64(len(text)))
			slices.Reverse(n)
			text = append(append(text, n...), 6<<3|2)
			n = protowire.AppendVarint(nil, uint64(len(text)))
			slices.Reverse(n)
			text = append(append(text, n...), 1<<3|2)
		}
		slices.Reverse(text)
		return text
	}
	for _, levels := range []int{100, 4999, 5000, 5001, 100_000} {
		for _, least := range []uint64{0, 1000, 1 << 20} {
			got := unmarshalLarge(frames(deep(levels), 16<<10), &structpb.ListValue{}, least)
			want := proto.Unmarshal(deep(levels), &structpb.ListValue{})
			if (got == nil) != (want == nil) {
				t.Errorf("%d levels, fields from %d bytes: %v, the parser says %v", levels, least, got, want)
			}
		}
	}
}

// FuzzUnmarshalLarge: what is read is what the parser reads, and so is what is not.
func FuzzUnmarshalLarge(f *testing.F) {
	text, err := proto.Marshal(conversation(60))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, uint8(3), uint8(20))
	f.Add(join(text, text), uint8(3), uint8(0))
	f.Add([]byte("\x0a\x02\x0a\x00\x0a\x03\x0a\x01a"), uint8(1), uint8(0))
	f.Add(contents(block(field(4, field(1, []byte("png"))), field(1, field(1, []byte("x"))))), uint8(2), uint8(1))
	f.Fuzz(func(t *testing.T, text []byte, size, least uint8) {
		asParser(t, text, int(size)+1, uint64(least), &llmdv1.StreamRequest{})
		asParser(t, text, int(size)+1, uint64(least), &descriptorpb.FileDescriptorProto{})
	})
}

package server

import (
	"errors"
	"io"

	"google.golang.org/grpc/encoding"
	// It registers the codec that this one stands before.
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/llmd-dev/llmd/internal/stack"
)

const (
	// largeMessage is from where a message is not read as one piece, in bytes.
	largeMessage = 1 << 20
	// largeField is from where a field of such a message is read by itself.
	largeField = 64 << 10
)

// codec is grpc-go's codec of Protocol Buffers, but for what costs memory in
// requests.
//
// grpc-go holds a message in the frames it came in, copies it into one piece, and
// the parser then copies every field out of that: a request with 40 MiB of images
// takes 120. Here large fields are copied from the frames straight to where they
// belong, and the parser gets the rest.
//
// Requests are parsed on a goroutine of their own, see package stack.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(protocodec.Name)} }

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) (err error) {
	stack.Aside(func() {
		if m, ok := v.(proto.Message); ok && data.Len() >= largeMessage {
			err = unmarshalLarge(data, m, largeField)
			return
		}
		err = c.CodecV2.Unmarshal(data, v)
	})
	return err
}

// unmarshalLarge reads fields of at least so many bytes by themselves.
func unmarshalLarge(data mem.BufferSlice, m proto.Message, least uint64) error {
	r := data.Reader()
	defer func() { _ = r.Close() }()
	proto.Reset(m)
	return (&largeReader{in: r, least: least}).message(m.ProtoReflect(), data.Len())
}

// largeReader reads a message from its frames.
type largeReader struct {
	in    *mem.Reader
	least uint64
}

var errWire = errors.New("server: cannot parse a message of Protocol Buffers")

// message reads n bytes into m. Large messages in it are read in the same way, large
// bytes are copied once, and runs of other fields are left to the parser: it merges
// them into what is there, which is what a sequence of fields means.
func (r *largeReader) message(m protoreflect.Message, n int) error {
	var run []byte
	fields := m.Descriptor().Fields()
	for n > 0 {
		tag, size, err := r.varint()
		if n -= size; err != nil {
			return err
		}
		number, kind := protowire.DecodeTag(tag)
		if kind != protowire.BytesType {
			run = protowire.AppendVarint(run, tag)
			if run, size, err = r.scalar(run, kind); err != nil {
				return err
			}
			n -= size
			continue
		}
		length, size, err := r.varint()
		if n -= size; err != nil || length > uint64(max(n, 0)) {
			return errWire
		}
		n -= int(length)
		field := fields.ByNumber(number)
		if length < r.least || field == nil || !readsAlone(field) {
			run = protowire.AppendVarint(protowire.AppendVarint(run, tag), length)
			if run, err = r.bytes(run, int(length)); err != nil {
				return err
			}
			continue
		}
		if err := merge(m, run); err != nil {
			return err
		}
		run = run[:0]
		if err := r.large(m, field, int(length)); err != nil {
			return err
		}
	}
	if n < 0 {
		return errWire
	}
	return merge(m, run)
}

func merge(m protoreflect.Message, run []byte) error {
	if len(run) == 0 {
		return nil
	}
	return proto.UnmarshalOptions{Merge: true}.Unmarshal(run, m.Interface())
}

// readsAlone: a large value of the field is worth more than the parser's copy.
func readsAlone(f protoreflect.FieldDescriptor) bool {
	return f.Kind() == protoreflect.MessageKind && !f.IsMap() || f.Kind() == protoreflect.BytesKind && !f.IsList()
}

// large reads one large value.
func (r *largeReader) large(m protoreflect.Message, f protoreflect.FieldDescriptor, n int) error {
	switch {
	case f.Kind() == protoreflect.BytesKind:
		b, err := r.bytes(make([]byte, 0, n), n)
		if err == nil {
			m.Set(f, protoreflect.ValueOfBytes(b))
		}
		return err
	case f.IsList():
		return r.message(m.Mutable(f).List().AppendMutable().Message(), n)
	}
	return r.message(m.Mutable(f).Message(), n)
}

// bytes appends the next n bytes to dst.
func (r *largeReader) bytes(dst []byte, n int) ([]byte, error) {
	at := len(dst)
	if cap(dst)-at < n {
		dst = append(make([]byte, 0, at+n+at/2), dst...)
	}
	dst = dst[:at+n]
	if _, err := io.ReadFull(r.in, dst[at:]); err != nil {
		return nil, errWire
	}
	return dst, nil
}

// scalar appends the next value of a fixed kind. Groups are not of this contract.
func (r *largeReader) scalar(dst []byte, kind protowire.Type) ([]byte, int, error) {
	size := 0
	switch kind {
	case protowire.VarintType:
		v, n, err := r.varint()
		return protowire.AppendVarint(dst, v), n, err
	case protowire.Fixed32Type:
		size = 4
	case protowire.Fixed64Type:
		size = 8
	case protowire.BytesType, protowire.StartGroupType, protowire.EndGroupType:
		return nil, 0, errWire
	default:
		return nil, 0, errWire
	}
	dst, err := r.bytes(dst, size)
	return dst, size, err
}

// varint reads a number and says how many bytes it took.
func (r *largeReader) varint() (uint64, int, error) {
	var buf [10]byte
	for i := range buf {
		b, err := r.in.ReadByte()
		if err != nil {
			return 0, 0, errWire
		}
		if buf[i] = b; b < 0x80 {
			v, n := protowire.ConsumeVarint(buf[:i+1])
			if n < 0 {
				return 0, 0, errWire
			}
			return v, n, nil
		}
	}
	return 0, 0, errWire
}

package server

import (
	"errors"
	"fmt"
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
	// longRun times that is from where small fields go to the parser before the rest of
	// them has been read.
	longRun = 4
	// mostValues is how many messages and texts a large message may have within it. Of an
	// answer with tool calls there are twenty.
	mostValues = 1 << 20
)

// codec is grpc-go's codec of Protocol Buffers, but for what costs memory in
// requests.
//
// grpc-go holds a message in the frames it came in, copies it into one piece, and
// the parser then copies every field out of that: a request with 40 MiB of images
// takes 120. Here large fields are copied from the frames straight to where they
// belong, and the parser gets the rest.
//
// And a message of very many tiny parts, each of which takes fifty times its size in
// memory, is refused before all of them are parsed.
//
// Where there are many goroutines, requests are parsed on one of their own, see package
// stack.
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
	return (&largeReader{in: r, least: least, left: mostValues}).message(m.ProtoReflect(), data.Len(), protowire.DefaultRecursionLimit)
}

// largeReader reads a message from its frames.
type largeReader struct {
	in    *mem.Reader
	least uint64
	left  int // values that may come yet
}

var (
	errMany  = fmt.Errorf("server: more than %d messages and texts in one request", mostValues)
	errWire  = errors.New("server: cannot parse a message of Protocol Buffers")
	errDepth = errors.New("server: too many messages within messages")
)

// message reads n bytes into m, which may be so many messages deep. Large messages in
// it are read in the same way, large bytes are copied once, and runs of other fields
// are left to the parser: it merges them into what is there, which is what a sequence
// of fields means.
func (r *largeReader) message(m protoreflect.Message, n, depth int) error {
	if depth <= 0 {
		return errDepth
	}
	var run []byte
	fields := m.Descriptor().Fields()
	for n > 0 {
		begun := len(run)
		number, length, err := r.head(&run, n)
		if err != nil {
			return err
		}
		if n -= len(run) - begun + length; n < 0 {
			return errWire
		}
		field := fields.ByNumber(number)
		if uint64(length) < r.least || field == nil || !readsAlone(field) {
			if run, err = r.bytes(run, length); err != nil {
				return err
			}
			if uint64(len(run)) >= longRun*r.least {
				if err := r.merge(m, run, depth); err != nil {
					return err
				}
				run = run[:0]
			}
			continue
		}
		if err := r.merge(m, run[:begun], depth); err != nil {
			return err
		}
		run = run[:0]
		if err := r.large(m, field, length, depth); err != nil {
			return err
		}
	}
	return r.merge(m, run, depth)
}

func (r *largeReader) merge(m protoreflect.Message, run []byte, depth int) error {
	if len(run) == 0 {
		return nil
	}
	r.count(m.Descriptor(), run, depth)
	if r.left < 0 {
		return errMany
	}
	return proto.UnmarshalOptions{Merge: true, RecursionLimit: depth}.Unmarshal(run, m.Interface())
}

// count takes the values in a run of fields from those that are left. What cannot be read
// is the parser's to refuse.
func (r *largeReader) count(d protoreflect.MessageDescriptor, run []byte, depth int) {
	for len(run) > 0 && r.left >= 0 && depth > 0 {
		number, kind, n := protowire.ConsumeTag(run)
		if n < 0 {
			return
		}
		if kind != protowire.BytesType {
			if _, _, n = protowire.ConsumeField(run); n < 0 {
				return
			}
			run = run[n:]
			continue
		}
		value, m := protowire.ConsumeBytes(run[n:])
		if m < 0 {
			return
		}
		run = run[n+m:]
		r.left--
		if f := d.Fields().ByNumber(number); f != nil && f.Message() != nil {
			r.count(f.Message(), value, depth-1)
		}
	}
}

// readsAlone: a large value of the field is worth more than the parser's copy.
func readsAlone(f protoreflect.FieldDescriptor) bool {
	return f.Kind() == protoreflect.MessageKind && !f.IsMap() || f.Kind() == protoreflect.BytesKind && !f.IsList()
}

// large reads one large value.
func (r *largeReader) large(m protoreflect.Message, f protoreflect.FieldDescriptor, n, depth int) error {
	switch {
	case f.Kind() == protoreflect.BytesKind:
		b, err := r.bytes(make([]byte, 0, n), n)
		if err == nil {
			m.Set(f, protoreflect.ValueOfBytes(b))
		}
		return err
	case f.IsList():
		return r.message(m.Mutable(f).List().AppendMutable().Message(), n, depth-1)
	}
	return r.message(m.Mutable(f).Message(), n, depth-1)
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

// head appends the next field to run, but for the bytes that it ends with: so many of
// what has a length, none of a number. n bytes of the message are left. From what this
// contract does not have (groups, unknown kinds) on, all of them go to the parser.
func (r *largeReader) head(run *[]byte, n int) (number protowire.Number, length int, err error) {
	begun := len(*run)
	tag, err := r.varint(run)
	if err != nil {
		return 0, 0, err
	}
	number, kind := protowire.DecodeTag(tag)
	switch kind {
	case protowire.BytesType:
		size, err := r.varint(run)
		if err != nil || size > uint64(n) {
			return 0, 0, errWire
		}
		return number, int(size), nil
	case protowire.VarintType:
		_, err := r.varint(run)
		return 0, 0, err
	case protowire.Fixed32Type:
		*run, err = r.bytes(*run, 4)
		return 0, 0, err
	case protowire.Fixed64Type:
		*run, err = r.bytes(*run, 8)
		return 0, 0, err
	case protowire.StartGroupType, protowire.EndGroupType:
	}
	*run, err = r.bytes(*run, max(n-(len(*run)-begun), 0))
	return 0, 0, err
}

// varint reads a number and appends it to run as it was written.
func (r *largeReader) varint(run *[]byte) (uint64, error) {
	for begun := len(*run); len(*run) < begun+10; {
		b, err := r.in.ReadByte()
		if err != nil {
			return 0, errWire
		}
		*run = append(*run, b)
		if b < 0x80 {
			v, n := protowire.ConsumeVarint((*run)[begun:])
			if n < 0 {
				return 0, errWire
			}
			return v, nil
		}
	}
	return 0, errWire
}

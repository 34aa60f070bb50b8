package service

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// digestPiece is how much of a request is written out at once to be hashed, in bytes.
const digestPiece = 64 << 10

// digest tells a repeated request from a reused id.
func digest(req *llmdv1.StreamRequest) [32]byte {
	if req.GetRequestId() == "" {
		return [32]byte{}
	}
	d := digester{sha256.New()}
	d.message(req.ProtoReflect())
	return [32]byte(d.Sum(nil))
}

// digester hashes a message without a copy of it: with 40 MiB of images that would
// double what a request takes. Equal messages have equal digests, also where fields
// were set in another order.
type digester struct{ hash.Hash }

func (d digester) message(m protoreflect.Message) {
	if proto.Size(m.Interface()) <= digestPiece {
		// Marshalling fails for invalid UTF-8 alone, which gRPC has refused already.
		text, _ := proto.MarshalOptions{Deterministic: true}.Marshal(m.Interface())
		d.number(0)
		d.bytes(text)
		return
	}
	d.number(1)
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); m.Has(f) {
			d.number(int(f.Number()))
			d.field(m, f)
		}
	}
	d.number(0)
	d.bytes(m.GetUnknown())
}

func (d digester) field(m protoreflect.Message, f protoreflect.FieldDescriptor) {
	switch {
	case f.IsList() && f.Kind() == protoreflect.MessageKind:
		list := m.Get(f).List()
		d.number(list.Len())
		for i := range list.Len() {
			d.message(list.Get(i).Message())
		}
	case !f.IsList() && !f.IsMap() && f.Kind() == protoreflect.MessageKind:
		d.message(m.Get(f).Message())
	case !f.IsList() && f.Kind() == protoreflect.BytesKind:
		d.bytes(m.Get(f).Bytes())
	default:
		one := m.New()
		one.Set(f, m.Get(f))
		text, _ := proto.MarshalOptions{Deterministic: true}.Marshal(one.Interface())
		d.bytes(text)
	}
}

// bytes hashes b so that where it ends is part of the digest.
func (d digester) bytes(b []byte) {
	d.number(len(b))
	_, _ = d.Write(b) // a hash takes everything
}

func (d digester) number(n int) {
	_, _ = d.Write(binary.AppendUvarint(nil, uint64(n)))
}

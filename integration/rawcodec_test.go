package integration

import (
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// rawMessage is bytes sent as they are, for messages that no proper client sends.
type rawMessage []byte

type rawProto struct{}

func rawCodec() grpc.CallOption { return grpc.ForceCodecV2(rawProto{}) }

func (rawProto) Name() string { return "proto" }

func (rawProto) Marshal(v any) (mem.BufferSlice, error) {
	raw, ok := v.(rawMessage)
	if !ok {
		return nil, fmt.Errorf("%T is not raw", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(raw)}, nil
}

func (rawProto) Unmarshal(data mem.BufferSlice, v any) error {
	return proto.Unmarshal(data.Materialize(), v.(proto.Message))
}

var _ encoding.CodecV2 = rawProto{}

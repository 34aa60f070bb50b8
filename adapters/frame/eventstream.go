package frame

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream/eventstreamapi"
)

// A message is: total length, length of the headers, CRC of these eight bytes;
// the headers; the payload; CRC of everything before. Numbers are 4 bytes, big
// endian. https://smithy.io/2.0/aws/amazon-eventstream.html
const (
	preludeSize    = 12
	preludeCRCAt   = 8
	minMessageSize = preludeSize + 4
	// maxHeaders is far above the handful that messages have. The AWS decoder compares
	// each header with all before it, so that a message full of them would take hours.
	maxHeaders = 64
)

// eventStreamParser reads AWS event-stream messages. It collects the bytes of a
// message itself, to check the length before it stores anything, and leaves the
// message to the AWS decoder.
type eventStreamParser struct {
	in      *body
	decoder *eventstream.Decoder
	offset  int64 // of the message
	message []byte
	payload []byte // the decoder's copy, reused
}

func (p *eventStreamParser) next() (Frame, error) {
	if !p.in.more() {
		return Frame{}, p.in.err // between two messages
	}
	p.message = p.message[:0]
	p.offset = p.in.offset
	if err := p.collect(preludeSize); err != nil {
		return Frame{}, err
	}
	size, err := p.messageSize()
	if err != nil {
		return Frame{}, err
	}
	if err := p.collect(size); err != nil {
		return Frame{}, err
	}
	return p.decode()
}

// collect reads until message holds size bytes. It grows with the bytes that
// come: the length a message claims costs nothing yet.
func (p *eventStreamParser) collect(size int) error {
	for len(p.message) < size {
		if !p.in.more() {
			return p.in.truncated(p.offset)
		}
		n := min(size-len(p.message), len(p.in.window))
		p.message = append(p.message, p.in.window[:n]...)
		p.in.skip(n)
	}
	return nil
}

// messageSize reads the prelude. The checksum comes first: a length from a
// damaged prelude means nothing.
func (p *eventStreamParser) messageSize() (int, error) {
	total := int64(binary.BigEndian.Uint32(p.message))
	headers := int64(binary.BigEndian.Uint32(p.message[4:]))
	want := binary.BigEndian.Uint32(p.message[preludeCRCAt:])
	switch {
	case crc32.ChecksumIEEE(p.message[:preludeCRCAt]) != want:
		return 0, p.in.corrupt(p.offset, "prelude checksum does not match")
	case total < minMessageSize:
		return 0, p.in.corrupt(p.offset, "message length is below 16")
	case headers > total-minMessageSize:
		return 0, p.in.corrupt(p.offset, "headers are longer than the message")
	case total > int64(p.in.max):
		return 0, p.in.tooLarge(p.offset)
	}
	return int(total), nil
}

func (p *eventStreamParser) decode() (Frame, error) {
	headers := p.message[preludeSize:][:binary.BigEndian.Uint32(p.message[4:])]
	if crowded(headers) {
		return Frame{}, p.in.corrupt(p.offset, "too many headers")
	}
	m, err := p.decoder.Decode(bytes.NewReader(p.message), p.payload)
	if err != nil {
		reason := "malformed headers"
		if errors.As(err, new(eventstream.ChecksumError)) {
			reason = "message checksum does not match"
		}
		return Frame{}, p.in.corrupt(p.offset, reason)
	}
	if m.Payload != nil {
		p.payload = m.Payload
	}
	f, reason := toFrame(m)
	if reason != "" {
		return Frame{}, p.in.corrupt(p.offset, reason)
	}
	f.Offset = p.offset
	return f, nil
}

// crowded says whether there are more than maxHeaders. What is malformed is left to the
// decoder. A header is: length of its name, the name, its type, the value.
func crowded(headers []byte) bool {
	for range maxHeaders {
		if len(headers) == 0 {
			return false
		}
		name := 1 + int(headers[0])
		if len(headers) < name+1 {
			return false
		}
		size := valueSize(headers[name], headers[name+1:])
		if headers = headers[name+1:]; size < 0 || size > len(headers) {
			return false
		}
		headers = headers[size:]
	}
	return len(headers) > 0
}

// valueSize is how long a value of a type is; -1 = there is no such type.
func valueSize(kind byte, value []byte) int {
	const bytesType, stringType = 6, 7
	switch kind {
	case bytesType, stringType:
		if len(value) < 2 {
			return -1
		}
		return 2 + int(binary.BigEndian.Uint16(value))
	}
	// true, false, byte, short, integer, long, -, -, timestamp, UUID
	sizes := [...]int{0, 0, 1, 2, 4, 8, -1, -1, 8, 16}
	if int(kind) >= len(sizes) {
		return -1
	}
	return sizes[kind]
}

// toFrame reads the headers that say what a message is. An event has to have a
// name; a failure without one is a failure all the same.
func toFrame(m eventstream.Message) (f Frame, reason string) {
	f.Data = m.Payload
	switch header(m, eventstreamapi.MessageTypeHeader) {
	case eventstreamapi.EventMessageType:
		f.Event = header(m, eventstreamapi.EventTypeHeader)
		if f.Event == "" {
			return Frame{}, "event without :event-type"
		}
	case eventstreamapi.ExceptionMessageType:
		f.Exception = true
		f.Event = header(m, eventstreamapi.ExceptionTypeHeader)
	case eventstreamapi.ErrorMessageType:
		f.Exception = true
		f.Event = header(m, eventstreamapi.ErrorCodeHeader)
		if len(f.Data) == 0 {
			f.Data = errorPayload(header(m, eventstreamapi.ErrorMessageHeader))
		}
	default:
		return Frame{}, "missing or unknown :message-type"
	}
	return f, ""
}

// errorPayload gives a message of type error, which has its words in a header
// and no payload, the shape of an exception's payload: {"message": "..."}.
func errorPayload(words string) []byte {
	b, err := json.Marshal(struct {
		Message string `json:"message"`
	}{words})
	if err != nil {
		return nil // cannot happen: a string always encodes
	}
	return b
}

// header returns the value of a header, or "" if there is none of type string.
func header(m eventstream.Message, name string) string {
	v, _ := m.Headers.Get(name).(eventstream.StringValue)
	return string(v)
}

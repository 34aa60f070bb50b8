package frame

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// message encodes a message with the AWS encoder; headers are name, value, ...
func message(t testing.TB, payload string, headers ...string) []byte {
	t.Helper()
	m := eventstream.Message{Payload: []byte(payload)}
	for pair := range slices.Chunk(headers, 2) {
		m.Headers.Set(pair[0], eventstream.StringValue(pair[1]))
	}
	var b bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func event(t testing.TB, name, payload string) []byte {
	t.Helper()
	return message(t, payload, ":message-type", "event", ":event-type", name)
}

// seal puts right checksums on a message built by hand.
func seal(total, headers uint32, rest []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, total)
	b = binary.BigEndian.AppendUint32(b, headers)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(b, rest...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func corruptMessage(offset int64, index int, reason string) error {
	return &CorruptError{Offset: offset, Index: index, Reason: reason}
}

func TestEventStream(t *testing.T) {
	first := event(t, "messageStart", `{"role":"assistant"}`)
	size := int64(len(first))
	after := func(b []byte) []byte { return slices.Concat(first, b) }
	frames := func(f ...Frame) []Frame { return append([]Frame{ev(0, "messageStart", `{"role":"assistant"}`)}, f...) }
	exception := func(name, data string) Frame {
		return Frame{Event: name, Data: []byte(data), Offset: size, Exception: true}
	}

	cases := []struct {
		name string
		body []byte
		want []Frame
		err  error
	}{
		{"empty body", nil, nil, io.EOF},
		{"two events", after(event(t, "messageStop", "{}")), frames(ev(size, "messageStop", "{}")), io.EOF},
		{"no payload", after(event(t, "messageStop", "")), frames(Frame{Event: "messageStop", Offset: size}), io.EOF},
		{
			"exception", after(message(t, `{"message":"slow down"}`, ":message-type", "exception", ":exception-type", "throttlingException")),
			frames(exception("throttlingException", `{"message":"slow down"}`)), io.EOF,
		},
		{"exception without a name", after(message(t, "{}", ":message-type", "exception")), frames(exception("", "{}")), io.EOF},
		{
			"error", after(message(t, "", ":message-type", "error", ":error-code", "InternalError", ":error-message", `it "broke"`)),
			frames(exception("InternalError", `{"message":"it \"broke\""}`)), io.EOF,
		},
		{"bare document", []byte(`{"message":"no"}`), []Frame{ev(0, "", `{"message":"no"}`)}, io.EOF},

		{"no message type", after(message(t, "{}", ":event-type", "a")), frames(), corruptMessage(size, 1, "missing or unknown :message-type")},
		{"unknown message type", after(message(t, "{}", ":message-type", "x")), frames(), corruptMessage(size, 1, "missing or unknown :message-type")},
		{"no event type", after(message(t, "{}", ":message-type", "event")), frames(), corruptMessage(size, 1, "event without :event-type")},
		{"no headers", seal(16, 0, nil), nil, corruptMessage(0, 0, "missing or unknown :message-type")},
		{"length below 16", seal(15, 0, nil), nil, corruptMessage(0, 0, "message length is below 16")},
		{"length zero", seal(0, 0, nil), nil, corruptMessage(0, 0, "message length is below 16")},
		{"headers too long", seal(17, 2, []byte{0}), nil, corruptMessage(0, 0, "headers are longer than the message")},
		{"headers far too long", seal(17, 0xffffffff, []byte{0}), nil, corruptMessage(0, 0, "headers are longer than the message")},
		{"unknown header type", seal(19, 3, []byte{1, 'a', 99}), nil, corruptMessage(0, 0, "malformed headers")},
		{"header cut in its value", seal(21, 5, []byte{1, 'a', 7, 0, 9}), nil, corruptMessage(0, 0, "malformed headers")},
		{"header cut in its name", seal(18, 2, []byte{5, 'a'}), nil, corruptMessage(0, 0, "malformed headers")},
		{"text", []byte("<html>bad gateway</html>"), nil, corruptMessage(0, 0, "prelude checksum does not match")},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			check(t, readAll(t, EventStream, bytes.NewReader(c.body), 0), c.want, c.err)
		})
	}
}

// The bytes of an event, written out by the format's description, so that the
// AWS encoder is not the only witness.
func TestEventStreamByHand(t *testing.T) {
	headers := "\x0d:message-type\x07\x00\x05event\x0b:event-type\x07\x00\x04ping"
	body := seal(uint32(16+len(headers)+2), uint32(len(headers)), []byte(headers+"{}"))
	if got, want := hex.EncodeToString(body[:8]), "0000003b00000029"; got != want {
		t.Fatalf("prelude %s, want %s", got, want)
	}
	check(t, readAll(t, EventStream, bytes.NewReader(body), 0), []Frame{ev(0, "ping", "{}")}, io.EOF)
}

// Any damaged byte is found, and no frame comes of the damaged message.
func TestEventStreamDamage(t *testing.T) {
	first := event(t, "messageStart", `{"role":"assistant"}`)
	body := slices.Concat(first, event(t, "messageStop", "{}"))
	for i := range body {
		damaged := bytes.Clone(body)
		damaged[i] ^= 0x10
		message, at := 0, i
		if i >= len(first) {
			message, at = 1, i-len(first)
		}
		want := corruptMessage(int64(message*len(first)), message, "message checksum does not match")
		if at < preludeSize {
			want = corruptMessage(int64(message*len(first)), message, "prelude checksum does not match")
		}
		got := readAll(t, EventStream, bytes.NewReader(damaged), 0)
		headerDamage := said(corruptMessage(int64(message*len(first)), message, "malformed headers"))
		if got.Err != said(want) && (at < preludeSize || got.Err != headerDamage) {
			t.Errorf("byte %d: got %s, want %v", i, got.Err, want)
		}
		if len(got.Frames) != message {
			t.Errorf("byte %d: %d frames, want %d", i, len(got.Frames), message)
		}
	}
}

func TestEventStreamLimit(t *testing.T) {
	body := event(t, "a", "{}")
	check(t, readAll(t, EventStream, bytes.NewReader(body), len(body)), []Frame{ev(0, "a", "{}")}, io.EOF)
	check(t, readAll(t, EventStream, bytes.NewReader(body), len(body)-1), nil, &TooLargeError{Limit: len(body) - 1})

	// The length alone decides: the message itself never comes.
	huge := seal(0x7fffffff, 0, nil)[:preludeSize]
	check(t, readAll(t, EventStream, bytes.NewReader(huge), 0), nil, &TooLargeError{Limit: DefaultMaxFrame})
}

// A message that claims the whole limit and never comes costs only what came.
func TestEventStreamClaimedLength(t *testing.T) {
	claim := seal(DefaultMaxFrame, 0, nil)
	in := &body{r: bytes.NewReader(claim), max: DefaultMaxFrame}
	p := &eventStreamParser{in: in, decoder: eventstream.NewDecoder()}
	if _, err := p.next(); said(err) != said(truncatedAt(0, 0)) {
		t.Errorf("got %v", err)
	}
	if cap(p.message) > maxReadSize {
		t.Errorf("%d bytes stored for a message of which %d came", cap(p.message), len(claim))
	}
}

func TestEventStreamReadError(t *testing.T) {
	body := event(t, "a", "{}")
	broken := func(n int) io.Reader {
		return io.MultiReader(bytes.NewReader(body[:n]), iotest.ErrReader(errBroken))
	}
	cut := &TruncatedError{Err: errBroken}
	check(t, readAll(t, EventStream, broken(0), 0), nil, errBroken)
	check(t, readAll(t, EventStream, broken(5), 0), nil, cut)
	check(t, readAll(t, EventStream, broken(len(body)-1), 0), nil, cut)
	check(t, readAll(t, EventStream, broken(len(body)), 0), []Frame{ev(0, "a", "{}")}, errBroken)
}

// Headers may be of any of the ten types, and those that matter have to be strings.
func TestEventStreamHeaderTypes(t *testing.T) {
	var headers string
	for kind, value := range []string{
		"", "", "\x01", "\x00\x01", "\x00\x00\x00\x01", "\x00\x00\x00\x00\x00\x00\x00\x01", "\x00\x02ab", "\x00\x02ab",
		"\x00\x00\x00\x00\x00\x00\x00\x01", "0123456789abcdef",
	} {
		headers += "\x01" + string(rune('a'+kind)) + string(rune(kind)) + value
	}
	headers += "\x0d:message-type\x07\x00\x05event\x0b:event-type\x07\x00\x04ping"
	body := seal(uint32(16+len(headers)+2), uint32(len(headers)), []byte(headers+"{}"))
	check(t, readAll(t, EventStream, bytes.NewReader(body), 0), []Frame{ev(0, "ping", "{}")}, io.EOF)

	headers = "\x0d:message-type\x06\x00\x05event"
	body = seal(uint32(16+len(headers)), uint32(len(headers)), []byte(headers))
	check(t, readAll(t, EventStream, bytes.NewReader(body), 0), nil, corruptMessage(0, 0, "missing or unknown :message-type"))
}

// A message full of headers is refused before they are compared with each other.
func TestEventStreamManyHeaders(t *testing.T) {
	many := func(n int) []byte {
		headers := "\x0d:message-type\x07\x00\x05event\x0b:event-type\x07\x00\x04ping"
		var b bytes.Buffer
		b.WriteString(headers)
		for i := range n - 2 {
			b.Write([]byte{3, byte(i >> 16), byte(i >> 8), byte(i), 0})
		}
		return seal(uint32(16+b.Len()), uint32(b.Len()), b.Bytes())
	}
	check(t, readAll(t, EventStream, bytes.NewReader(many(maxHeaders)), 0), []Frame{{Event: "ping"}}, io.EOF)
	check(t, readAll(t, EventStream, bytes.NewReader(many(maxHeaders+1)), 0), nil, corruptMessage(0, 0, "too many headers"))
	check(t, readAll(t, EventStream, bytes.NewReader(many(3_000_000)), 0), nil, corruptMessage(0, 0, "too many headers"))
}

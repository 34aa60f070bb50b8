package frame

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// sample is a body for the tests that hold for every body.
type sample struct {
	name string
	kind Kind
	body []byte
}

func samples(t testing.TB) []sample {
	t.Helper()
	var all []sample
	for _, c := range slices.Concat(sseCases, jsonCases) {
		all = append(all, sample{c.name, SSE, []byte(c.body)})
	}
	good := slices.Concat(event(t, "a", `{"x":1}`), message(t, "", ":message-type", "error", ":error-code", "b"), event(t, "c", ""))
	damaged := bytes.Clone(good)
	damaged[len(good)-1] ^= 1
	return append(all,
		sample{"event stream", EventStream, good},
		sample{"event stream, damaged", EventStream, damaged},
		sample{"event stream, cut", EventStream, good[:len(good)-3]},
		sample{"event stream, headers only", EventStream, message(t, "{}")},
		sample{"event stream, document", EventStream, []byte(`{"a":[]} `)})
}

// ways are different Reads of the same bytes.
func ways(body []byte) map[string]io.Reader {
	whole := func() io.Reader { return bytes.NewReader(body) }
	return map[string]io.Reader{
		"one byte":           iotest.OneByteReader(whole()),
		"half":               iotest.HalfReader(whole()),
		"spoiled":            spoiler{iotest.HalfReader(whole())},
		"data with EOF":      iotest.DataErrReader(whole()),
		"one byte, with EOF": iotest.DataErrReader(iotest.OneByteReader(whole())),
	}
}

// However the bytes are cut, the frames and the end are the same.
func TestChunking(t *testing.T) {
	for _, s := range samples(t) {
		for _, limit := range []int{0, 1, 7, 60} {
			t.Run(fmt.Sprintf("%s/%d", s.name, limit), func(t *testing.T) {
				want := readAll(t, s.kind, bytes.NewReader(s.body), limit)
				for way, r := range ways(s.body) {
					if diff := differ(want, readAll(t, s.kind, r, limit)); diff != "" {
						t.Errorf("%s: (-whole +%s)\n%s", way, way, diff)
					}
				}
				for at := range len(s.body) + 1 {
					if diff := differ(want, readAll(t, s.kind, cutAt(s.body, at, io.EOF), limit)); diff != "" {
						t.Errorf("cut at %d: (-whole +cut)\n%s", at, diff)
					}
				}
			})
		}
	}
}

// onlyThese fails the test if it is read again after its bytes.
type onlyThese struct {
	t *testing.T
	r io.Reader
}

func (o onlyThese) Read(p []byte) (int, error) {
	n, err := o.r.Read(p)
	if err != nil {
		o.t.Fatal("read again although a whole frame was there")
	}
	return n, err
}

// A frame is given out when its last byte has come: no Read follows, which
// would block until the provider says the next thing.
func TestNoReadAhead(t *testing.T) {
	cases := []struct {
		name   string
		kind   Kind
		body   string
		frames int
	}{
		{"LF", SSE, "data: {}\n\n", 1},
		{"CR", SSE, "data: {}\r\r", 1},
		{"CRLF, cut before the last LF", SSE, "data: {}\r\n\r", 1},
		{"CRLF", SSE, "data: {}\r\n\r\n", 1},
		{"several in one read", SSE, "data: {}\n\n: c\n\nevent: x\ndata: []\n\ndata: {\"a\":1}\n\n", 3},
		{"part of the next one", SSE, "data: {}\n\ndata: {", 1},
		{"array element", JSON, `[{"a":1}`, 1},
		{"array elements", JSON, `[{"a":1},{},[]`, 3},
		{"bare document", SSE, `{"error":{}}`, 1},
		{"message", EventStream, string(event(t, "a", "{}")), 1},
		{"messages", EventStream, string(event(t, "a", "{}")) + string(event(t, "b", "")), 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(c.body), iotest.OneByteReader(strings.NewReader(c.body))} {
				reader := NewReader(c.kind, onlyThese{t, r}, 0)
				for range c.frames {
					if _, err := reader.Next(); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// The end of an array is its bracket, not the end of the body.
func TestArrayEndNeedsNoRead(t *testing.T) {
	reader := NewReader(JSON, onlyThese{t, strings.NewReader("[{}]")}, 0)
	if _, err := reader.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Next(); err != io.EOF {
		t.Errorf("got %v, want io.EOF", err)
	}
}

// truncate checks a body cut at every byte against what want says of the cut.
func truncate(t *testing.T, kind Kind, body string, want func(at int) ([]Frame, error)) {
	t.Helper()
	for at := range len(body) + 1 {
		frames, err := want(at)
		check(t, readAll(t, kind, strings.NewReader(body[:at]), 0), frames, err)
		if t.Failed() {
			t.Fatalf("cut at %d: %q", at, body[:at])
		}
	}
}

func TestTruncatedSSE(t *testing.T) {
	const head, middle = "event: ", "\ndata: "
	var body strings.Builder
	var whole []Frame
	var ends []int
	for _, e := range [][2]string{{"one", `{"a":1}`}, {"two", `["b",{}]`}, {"three", "{}"}} {
		whole = append(whole, ev(int64(body.Len()), e[0], e[1]))
		body.WriteString(head + e[0] + middle + e[1] + "\n\n")
		ends = append(ends, body.Len())
	}
	truncate(t, SSE, body.String(), func(at int) ([]Frame, error) {
		done, _ := slices.BinarySearch(ends, at+1)
		frames := slices.Clone(whole[:done])
		if done == len(whole) {
			return frames, io.EOF
		}
		next := whole[done]
		before := int(next.Offset) + len(head) + len(next.Event) + len(middle)
		if at > before {
			next.Data = next.Data[:min(at-before, len(next.Data))]
			frames = append(frames, cut(next))
		}
		return frames, io.EOF
	})
}

func TestTruncatedJSONArray(t *testing.T) {
	elements := []string{`{"a":"]}\""}`, `{}`, `{"b":[1,{"c":null}]}`}
	body := "[" + strings.Join(elements, "\n,") + "]"
	truncate(t, JSON, body, func(at int) ([]Frame, error) {
		var frames []Frame
		offset := 1
		for _, e := range elements {
			switch {
			case at >= offset+len(e):
				frames = append(frames, ev(int64(offset), "", e))
			case at > offset:
				frames = append(frames, cut(ev(int64(offset), "", body[offset:at])))
			}
			offset += len(e) + 2
		}
		if at == 0 || at == len(body) {
			return frames, io.EOF
		}
		return frames, truncatedAt(int64(at), len(frames))
	})
}

func TestTruncatedEventStream(t *testing.T) {
	var body []byte
	var whole []Frame
	for _, name := range []string{"one", "two", "three"} {
		whole = append(whole, ev(int64(len(body)), name, `{"a":1}`))
		body = append(body, event(t, name, `{"a":1}`)...)
	}
	truncate(t, EventStream, string(body), func(at int) ([]Frame, error) {
		done := 0
		for done+1 < len(whole) && at >= int(whole[done+1].Offset) {
			done++
		}
		if at == len(body) {
			return whole, io.EOF
		}
		if at == int(whole[done].Offset) {
			return slices.Clone(whole[:done]), io.EOF
		}
		return slices.Clone(whole[:done]), truncatedAt(whole[done].Offset, done)
	})
}

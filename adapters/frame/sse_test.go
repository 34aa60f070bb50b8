package frame

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// textCase is a body of kind SSE or JSON, which are cut alike.
type textCase struct {
	name string
	body string
	want []Frame
	err  error // nil means io.EOF
}

func ev(offset int64, event, data string) Frame {
	return Frame{Event: event, Data: []byte(data), Offset: offset}
}

func cut(f Frame) Frame {
	f.Unterminated = true
	return f
}

var sseCases = []textCase{
	{name: "empty body", body: ""},
	{name: "blank lines only", body: "\n\r\r\n\n"},
	{name: "one event", body: "data: {\"a\":1}\n\n", want: []Frame{ev(0, "", `{"a":1}`)}},
	{name: "name and data", body: "event: ping\ndata: {}\n\n", want: []Frame{ev(0, "ping", "{}")}},
	{name: "name after data", body: "data: {}\nevent: ping\n\n", want: []Frame{ev(0, "ping", "{}")}},
	{name: "the last name counts", body: "event: a\nevent: b\ndata: {}\n\n", want: []Frame{ev(0, "b", "{}")}},
	{name: "an empty name resets", body: "event: a\nevent\ndata: {}\n\n", want: []Frame{ev(0, "", "{}")}},
	{
		name: "names do not carry over", body: "event: a\ndata: {}\n\ndata: []\n\n",
		want: []Frame{ev(0, "a", "{}"), ev(19, "", "[]")},
	},
	{
		name: "name without data is dropped with its name", body: "event: a\n\ndata: {}\n\n",
		want: []Frame{ev(10, "", "{}")},
	},

	{name: "CR", body: "event: a\rdata: {}\r\rdata: []\r\r", want: []Frame{ev(0, "a", "{}"), ev(19, "", "[]")}},
	{name: "CRLF", body: "event: a\r\ndata: {}\r\n\r\ndata: []\r\n\r\n", want: []Frame{ev(0, "a", "{}"), ev(22, "", "[]")}},
	{name: "mixed line ends", body: "event: a\r\ndata: {\ndata: }\r\ndata: []\n\r", want: []Frame{ev(0, "a", "{\n}\n[]")}},
	{name: "LF CR are two ends", body: "data: {}\n\rdata: []\n\n", want: []Frame{ev(0, "", "{}"), ev(10, "", "[]")}},
	{name: "CR LF LF", body: "data: {}\r\n\n", want: []Frame{ev(0, "", "{}")}},
	{name: "CR CR LF", body: "data: {}\r\r\ndata: []\n\n", want: []Frame{ev(0, "", "{}"), ev(11, "", "[]")}},

	{name: "no space after the colon", body: "event:a\ndata:{}\n\n", want: []Frame{ev(0, "a", "{}")}},
	{name: "only one space is dropped", body: "event:  a\ndata:  {}\n\n", want: []Frame{ev(0, " a", " {}")}},
	{name: "a tab is not dropped", body: "data:\t{}\n\n", want: []Frame{ev(0, "", "\t{}")}},
	{name: "value with colons", body: "event: a:b\ndata: {\"u\":\"x: y\"}\n\n", want: []Frame{ev(0, "a:b", `{"u":"x: y"}`)}},
	{name: "trailing space is data", body: "data: {} \n\n", want: []Frame{ev(0, "", "{} ")}},

	{name: "data lines are joined", body: "data: {\ndata: \"a\":1\ndata: }\n\n", want: []Frame{ev(0, "", "{\n\"a\":1\n}")}},
	{name: "first data line empty", body: "data:\ndata: {}\n\n", want: []Frame{ev(0, "", "\n{}")}},
	{name: "data without a colon", body: "data\ndata: {}\ndata\n\n", want: []Frame{ev(0, "", "\n{}\n")}},

	{
		name: "comments", body: ": hello\n:\n::\ndata: {}\n: inside\ndata: []\n\n: bye\n\n",
		want: []Frame{ev(13, "", "{}\n[]")},
	},
	{name: "comment that looks like a field", body: ":data: {}\n\n"},
	{name: "unknown fields", body: "id: 1\nretry: 5\nfoo: bar\nfoo\ndata: {}\nid\n\n", want: []Frame{ev(28, "", "{}")}},
	{
		name: "near names", body: "dat: {}\ndatas: {}\nDATA: {}\nevents: a\n data: {}\ndata : {}\nevent : a\n\ndata: []\n\n",
		want: []Frame{ev(68, "", "[]")},
	},
	{name: "a bare JSON line between events", body: "data: {}\n\n{\"a\":1}\n\n", want: []Frame{ev(0, "", "{}"), ev(10, "", `{"a":1}`)}},
	{
		name: "bare JSON of several lines", body: "data: {}\r\n\r\n{\r\n  \"error\": {\r\n\t\"a\": [\r\n{\r\n}\r\n]\r\n  }\r\n}\r\n",
		want: []Frame{ev(0, "", "{}"), cut(ev(12, "", "{\n  \"error\": {\n\t\"a\": [\n{\n}\n]\n  }\n}"))},
	},
	{
		name: "bare JSON ends with its last bracket", body: ": x\n\n{\n \"a\":\"}\\\"\"\n}\n{\n}\n\ndata: {}\n\n",
		want: []Frame{ev(5, "", "{\n \"a\":\"}\\\"\"\n}"), ev(25, "", "{}")},
	},
	{name: "bare JSON that is cut by an event", body: ": x\n\n{\n \"a\"\nevent: b\n \"c\"\n\n", want: []Frame{ev(5, "b", "{\n \"a\"\n \"c\"")}},
	{name: "bare JSON that is cut in a string", body: ": x\n\n{ \"a\n \"b\"}\n\n", want: []Frame{ev(5, "", "{ \"a")}},
	{name: "bare JSON that is cut by data", body: ": x\n\n{\ndata: {\n }\n\n", want: []Frame{ev(5, "", "{\n{")}},
	{name: "a bare JSON line in an event is an unknown field", body: "data: {}\n{\"a\":1}\n\n", want: []Frame{ev(0, "", "{}")}},
	{name: "an error field", body: "data: {}\n\nerror: {\"a\":1}\n\n", want: []Frame{ev(0, "", "{}"), ev(10, "error", `{"a":1}`)}},
	{name: "an error field at the end", body: "data: {}\n\nerror: {\"a\":1}", want: []Frame{ev(0, "", "{}"), cut(ev(10, "error", `{"a":1}`))}},
	{name: "an error field of plain words", body: "error: x\n\ndata: {}\n\n", want: []Frame{ev(10, "", "{}")}},
	{name: "an error field in an event", body: "data: {}\nerror: {\"a\":1}\n\n", want: []Frame{ev(0, "", "{}")}},

	{name: "byte order mark", body: "\xef\xbb\xbfdata: {}\n\n", want: []Frame{ev(3, "", "{}")}},
	{
		name: "second byte order mark is part of a name", body: "\xef\xbb\xbf\xef\xbb\xbfdata: {}\n\ndata: []\n\n",
		want: []Frame{ev(16, "", "[]")},
	},
	{name: "late byte order mark", body: "\n\xef\xbb\xbfdata: {}\n\n", err: ErrNoEvents},
	{name: "half a byte order mark", body: "\xef\xbbdata: {}\ndata: []\n\n", want: []Frame{ev(11, "", "[]")}},
	{name: "half a byte order mark, then a line end", body: "\xef\ndata: []\n\n", want: []Frame{ev(2, "", "[]")}},
	{name: "only a byte order mark", body: "\xef\xbb\xbf"},
	{name: "byte order mark cut", body: "\xef\xbb"},
	{name: "blanks before the first line hide it", body: "  data: {}\ndata: []\n\n", want: []Frame{ev(11, "", "[]")}},
	{name: "blank lines before the first line", body: " \n\t\r\n\r\ndata: {}\n\n", want: []Frame{ev(7, "", "{}")}},

	{
		name: "data that is no JSON is skipped", body: "data: ping\n\nevent: a\ndata: \"x\"\n\ndata: 1\n\ndata: null\n\ndata: {}\n\n",
		want: []Frame{ev(53, "", "{}")},
	},
	{name: "empty data is skipped", body: "data\n\ndata:\n\ndata: \n\ndata:\ndata:\n\n"},
	{name: "DONE is a frame", body: "data: [DONE]\n\n", want: []Frame{ev(0, "", "[DONE]")}},
	{name: "white space before JSON", body: "data:  \t\ndata: [1]\n\n", want: []Frame{ev(0, "", " \t\n[1]")}},
	{name: "bytes pass unchanged", body: "data: {\"\xff\x00\u2028é\"}\n\n", want: []Frame{ev(0, "", "{\"\xff\x00\u2028é\"}")}},

	{name: "pending at the end", body: "event: a\ndata: {}\n", want: []Frame{cut(ev(0, "a", "{}"))}},
	{name: "pending at the end, CRLF", body: "event: a\r\ndata: {}\r\n", want: []Frame{cut(ev(0, "a", "{}"))}},
	{name: "last line without its end", body: "data: {}\n\ndata: {\"a", want: []Frame{ev(0, "", "{}"), cut(ev(10, "", `{"a`))}},
	{name: "last line is a bare name", body: "data: {}\ndata", want: []Frame{cut(ev(0, "", "{}\n"))}},
	{name: "last line is half a name", body: "data: {}\ndat", want: []Frame{cut(ev(0, "", "{}"))}},
	{name: "last line is half a comment", body: "data: {}\n: x", want: []Frame{cut(ev(0, "", "{}"))}},
	{name: "cut in the event name", body: "data: {}\nevent: mess", want: []Frame{cut(ev(0, "mess", "{}"))}},
	{name: "cut before the data", body: "data: {}\n\nevent: a\ndata: ", want: []Frame{ev(0, "", "{}")}},
	{name: "cut in data that is skipped", body: "data: pin"},
	{name: "cut in the first name", body: "even"},

	{name: "a page", body: "\n<!DOCTYPE html>\n<html>\n</html>\n", err: ErrNoEvents},
	{name: "a page in one line", body: "<html><body>Sign in</body></html>", err: ErrNoEvents},
	{name: "an indented page", body: "  <html>", err: ErrNoEvents},
	{name: "a word", body: "Busy\n", err: ErrNoEvents},
	{name: "a page behind a comment", body: ": hello\n\n<html></html>\n"},
	{name: "a page behind an event", body: "data: {}\n\n<html></html>\n", want: []Frame{ev(0, "", "{}")}},
}

func TestSSE(t *testing.T) {
	for _, c := range sseCases {
		for _, kind := range []Kind{SSE, JSON} {
			t.Run(c.name, func(t *testing.T) { checkText(t, kind, c) })
		}
	}
}

func checkText(t *testing.T, kind Kind, c textCase) {
	t.Helper()
	end := c.err
	if end == nil {
		end = io.EOF
	}
	check(t, readAll(t, kind, strings.NewReader(c.body), 0), c.want, end)
}

// A broken read gives the pending event first, like the end of the body.
func TestSSEReadError(t *testing.T) {
	broken := func(offset int64, index int) error {
		return &TruncatedError{Offset: offset, Index: index, Err: errBroken}
	}
	cases := []textCase{
		{name: "at once", body: "", err: errBroken},
		{name: "in white space", body: "\n \n", err: errBroken},
		{name: "between events", body: "data: {}\n\n", want: []Frame{ev(0, "", "{}")}, err: errBroken},
		{name: "in a comment", body: "data: {}\n\n: keep", want: []Frame{ev(0, "", "{}")}, err: errBroken},
		{name: "pending", body: "data: {}\n", want: []Frame{cut(ev(0, "", "{}"))}, err: errBroken},
		{name: "pending without line end", body: "event: a\ndata: {\"x", want: []Frame{cut(ev(0, "a", `{"x`))}, err: errBroken},
		{name: "before the data", body: "data: {}\n\nevent: a\n", want: []Frame{ev(0, "", "{}")}, err: broken(10, 1)},
		{name: "in the first name", body: "data: {}\n\nda", want: []Frame{ev(0, "", "{}")}, err: broken(10, 1)},
		{name: "in a second name", body: "event: a\nda", err: broken(0, 0)},
		{name: "in skipped data", body: "data: pin", err: broken(0, 0)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := io.MultiReader(strings.NewReader(c.body), iotest.ErrReader(errBroken))
			check(t, readAll(t, SSE, r, 0), c.want, c.err)
		})
	}
	if !errors.Is(broken(0, 0), errBroken) {
		t.Error("TruncatedError hides its cause")
	}
}

func TestSSELimit(t *testing.T) {
	large := func(limit int, offset int64, index int) error {
		return &TooLargeError{Limit: limit, Offset: offset, Index: index}
	}
	long := `{"a":"` + strings.Repeat("x", 3<<20) + `"}`
	cases := []struct {
		name, body string
		max        int
		want       []Frame
		err        error
	}{
		{"just fits", "data: {\"a\":1}\n\n", 7, []Frame{ev(0, "", `{"a":1}`)}, io.EOF},
		{"one over", "data: {\"a\":1}\n\n", 6, nil, large(6, 0, 0)},
		{"the join counts", "data: {\ndata: }\n\n", 2, nil, large(2, 0, 0)},
		{"the join counts at the end", "data: {\ndata", 1, nil, large(1, 0, 0)},
		{"the name counts", "data: {}\n\nevent: abcde\ndata: {}\n\n", 6, []Frame{ev(0, "", "{}")}, large(6, 10, 1)},
		{"a replaced name does not", "event: abcdef\nevent: a\ndata: {\"a\"}\n\n", 6, []Frame{ev(0, "a", `{"a"}`)}, io.EOF},
		{"comments do not", ": 0123456789\ndata: {}\n\n", 2, []Frame{ev(13, "", "{}")}, io.EOF},
		{"unknown fields do not", "id: 0123456789\ndata: {}\n\n", 2, []Frame{ev(15, "", "{}")}, io.EOF},
		{"white space in front does not", "          \n\n\n\ndata: {}\n\n", 2, []Frame{ev(14, "", "{}")}, io.EOF},
		{"several MiB by default", "data: " + long + "\n\n", 0, []Frame{ev(0, "", long)}, io.EOF},
		{"several MiB refused", "data: " + long + "\n\n", 1 << 20, nil, large(1<<20, 0, 0)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			check(t, readAll(t, SSE, strings.NewReader(c.body), c.max), c.want, c.err)
		})
	}
}

// Without a limit of its own a reader stops at 16 MiB and stores no more.
func TestDefaultLimit(t *testing.T) {
	r := io.MultiReader(strings.NewReader("data: {\""), zeros{})
	_, err := NewReader(SSE, r, -1).Next()
	if want := (&TooLargeError{Limit: 16 << 20}); said(err) != said(want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

// zeros is an endless body without line ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A Read that gives nothing and no error is repeated, but not forever.
func TestNoProgress(t *testing.T) {
	check(t, readAll(t, SSE, stuck{}, 0), nil, io.ErrNoProgress)
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

package frame

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// corruptAt and truncatedAt are the ends of a JSON body.
func corruptAt(offset int64, index int) error {
	return &CorruptError{Offset: offset, Index: index, Reason: "unexpected byte between the elements of a JSON array"}
}

func truncatedAt(offset int64, index int) error {
	return &TruncatedError{Offset: offset, Index: index, Err: io.ErrUnexpectedEOF}
}

var jsonCases = []textCase{
	{name: "empty array", body: "[]"},
	{name: "empty array, spaced", body: " [ \n] \n"},
	{name: "one element", body: `[{"a":1}]`, want: []Frame{ev(1, "", `{"a":1}`)}},
	{
		name: "Google's layout", body: "[{\n  \"a\": 1\n}\n,\r\n{\n  \"b\": 2\n}\n]\n",
		want: []Frame{ev(1, "", "{\n  \"a\": 1\n}"), ev(17, "", "{\n  \"b\": 2\n}")},
	},
	{name: "nested", body: `[{"a":[{"b":{}}]},[[],{}]]`, want: []Frame{ev(1, "", `{"a":[{"b":{}}]}`), ev(18, "", `[[],{}]`)}},
	{name: "brackets in strings", body: `[{"a":"]}[{,"},{"}]":"x"}]`, want: []Frame{ev(1, "", `{"a":"]}[{,"}`), ev(15, "", `{"}]":"x"}`)}},
	{
		name: "quotes in strings", body: `[{"a":"\"}"},{"b":"\\"},{"c":"\\\"]"}]`,
		want: []Frame{ev(1, "", `{"a":"\"}"}`), ev(13, "", `{"b":"\\"}`), ev(24, "", `{"c":"\\\"]"}`)},
	},
	{
		name: "separators are tolerated", body: "[,{} {}{},,\t{}, ]",
		want: []Frame{ev(2, "", "{}"), ev(5, "", "{}"), ev(7, "", "{}"), ev(12, "", "{}")},
	},
	{name: "after the array nothing is read", body: `[{}]x{"a`, want: []Frame{ev(1, "", "{}")}},
	{name: "byte order mark", body: "\xef\xbb\xbf[{}]", want: []Frame{ev(4, "", "{}")}},

	{name: "cut after the bracket", body: "[", err: truncatedAt(1, 0)},
	{name: "cut after an element", body: "[{}", want: []Frame{ev(1, "", "{}")}, err: truncatedAt(3, 1)},
	{name: "cut after a comma", body: "[{}, ", want: []Frame{ev(1, "", "{}")}, err: truncatedAt(5, 1)},
	{name: "cut in an element", body: `[{},{"a":"}`, want: []Frame{ev(1, "", "{}"), cut(ev(4, "", `{"a":"}`))}, err: truncatedAt(11, 2)},
	{name: "cut behind a backslash", body: `[{"a":"\`, want: []Frame{cut(ev(1, "", `{"a":"\`))}, err: truncatedAt(8, 1)},

	{name: "scalar element", body: `[{},"a"]`, want: []Frame{ev(1, "", "{}")}, err: corruptAt(4, 1)},
	{name: "stray brace", body: `[{}}]`, want: []Frame{ev(1, "", "{}")}, err: corruptAt(3, 1)},
	{name: "no JSON at all", body: `[DONE]`, err: corruptAt(1, 0)},
	{name: "array, then events", body: "[{}\n\ndata: {}\n\n", want: []Frame{ev(1, "", "{}")}, err: corruptAt(5, 1)},

	{name: "bare document", body: `{"error":{"code":401}}`, want: []Frame{ev(0, "", `{"error":{"code":401}}`)}},
	{name: "bare document, spaced", body: "\r\n \t{\n\"a\": \"}\"\n}\n\n", want: []Frame{ev(4, "", "{\n\"a\": \"}\"\n}")}},
	{name: "bare document behind a byte order mark", body: "\xef\xbb\xbf {}", want: []Frame{ev(4, "", "{}")}},
	{name: "bare document cut", body: `{"a":{}`, want: []Frame{cut(ev(0, "", `{"a":{}`))}, err: truncatedAt(7, 1)},
	{name: "array without its bracket", body: "{\"a\":1}\n,{}]", want: []Frame{ev(0, "", `{"a":1}`), ev(9, "", "{}")}},
	{name: "one document a line", body: "{\"a\":1}\n{}\n", want: []Frame{ev(0, "", `{"a":1}`), ev(8, "", "{}")}},
	{name: "document, then events", body: "{}\n\ndata: {}\n\n", want: []Frame{ev(0, "", "{}")}, err: corruptAt(4, 1)},
}

func TestJSON(t *testing.T) {
	for _, c := range jsonCases {
		for _, kind := range []Kind{SSE, JSON} {
			t.Run(c.name, func(t *testing.T) { checkText(t, kind, c) })
		}
	}
}

// A read error comes as it is: what it cut has been given out.
func TestJSONReadError(t *testing.T) {
	cases := []textCase{
		{name: "in the array", body: "[{},", want: []Frame{ev(1, "", "{}")}},
		{name: "in an element", body: `[{"a`, want: []Frame{cut(ev(1, "", `{"a`))}},
		{name: "in a bare document", body: `{"a`, want: []Frame{cut(ev(0, "", `{"a`))}},
		{name: "after a bare document", body: "{}\n", want: []Frame{ev(0, "", "{}")}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := io.MultiReader(strings.NewReader(c.body), iotest.ErrReader(errBroken))
			check(t, readAll(t, JSON, r, 0), c.want, errBroken)
		})
	}
}

func TestJSONLimit(t *testing.T) {
	cases := []struct {
		name, body string
		max        int
		want       []Frame
		err        error
	}{
		{"just fits", `[{"a":1}, {}]`, 7, []Frame{ev(1, "", `{"a":1}`), ev(10, "", "{}")}, io.EOF},
		{"one over", `[{}, {"a":1}]`, 6, []Frame{ev(1, "", "{}")}, &TooLargeError{Limit: 6, Offset: 5, Index: 1}},
		{"bare document", `{"a":1}`, 6, nil, &TooLargeError{Limit: 6}},
		{"cut, but too large already", `{"a":1`, 5, nil, &TooLargeError{Limit: 5}},
		{"white space does not count", "[          \n{}          ]", 2, []Frame{ev(12, "", "{}")}, io.EOF},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			check(t, readAll(t, JSON, strings.NewReader(c.body), c.max), c.want, c.err)
		})
	}
}

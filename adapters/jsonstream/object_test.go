package jsonstream_test

import (
	"errors"
	"testing"

	"github.com/llmd-dev/llmd/adapters/jsonstream"
)

func TestObject(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{`{}`, ""},
		{" \t\r\n{ \"a\" : [ 1 , true ] } ", ""},
		{`{"a":1,"a":2}`, ""},
		{`{"a":"\ud83d x"}`, ""},
		{"{\"a\":\"\ufffd\ufeff\"}", ""},
		{``, "jsonstream: empty text at byte 0"},
		{`  `, "jsonstream: empty text at byte 2"},
		{`[]`, "jsonstream: not a JSON object at byte 0"},
		{`null`, "jsonstream: not a JSON object at byte 0"},
		{"\ufeff{}", "jsonstream: begins with a byte order mark at byte 0"},
		{`{}{}`, "jsonstream: text after the end of the object at byte 2"},
		{`{"a":1`, "jsonstream: cut off before the end of the object at byte 6"},
		{`{"a":"\u00`, "jsonstream: cut off inside a string at byte 10"},
		{"{\"a\":\"\xe2\x82", "jsonstream: cut off inside a string at byte 8"},
		{"{\"a\":\"x\n\"}", "jsonstream: unescaped control character in a string at byte 7"},
		{`{"a":"\d"}`, "jsonstream: invalid escape in a string at byte 6"},
		{`{"a":"\u12"}`, "jsonstream: invalid escape in a string at byte 6"},
		{"{\"\xff\":1}", "jsonstream: invalid UTF-8 in a string at byte 2"},
		{"{\"a\":\xff}", "jsonstream: expected a value at byte 5"},
	}
	for _, tt := range tests {
		err := jsonstream.Object([]byte(tt.in))
		switch {
		case err == nil && tt.want == "":
			continue
		case err == nil || err.Error() != tt.want:
			t.Errorf("%q: got %v, want %q", tt.in, err, tt.want)
		}
		if syntax := (*jsonstream.SyntaxError)(nil); !errors.As(err, &syntax) {
			t.Errorf("%q: %T is no *SyntaxError", tt.in, err)
		}
	}
}

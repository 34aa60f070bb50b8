package jsonwire

import (
	"strings"
	"testing"
)

// keep reads a frame of strings in objects, of which "piece" differs.
func keep(r *Repeat, data string) {
	c := NewCursor([]byte(data))
	for c.Begin('{'); c.More('}'); {
		if string(c.Key()) == "piece" {
			c.Piece()
		} else {
			c.Skip()
		}
	}
	r.Keep(&c)
}

func TestRepeat(t *testing.T) {
	const before = `{"a":1,"piece":"one","b":"two"}`
	for in, want := range map[string]string{
		before:                               "one",
		`{"a":1,"piece":"","b":"two"}`:       "",
		`{"a":1,"piece":"\"é\n","b":"two"}`:  "\"é\n",
		`{"a":1,"piece":"\ud83d","b":"two"}`: "\xed\xa0\xbd", // half of a pair, as Text reads it
	} {
		var r Repeat
		keep(&r, before)
		if got, ok := r.Piece([]byte(in)); !ok || got != want {
			t.Errorf("%s: %q, %v", in, got, ok)
		}
	}
	for _, in := range []string{
		"", `{`, `{"a":1,"piece":`, `{"a":1,"piece":,"b":"two"}`, `{"a":1,"piece":"one,"b":"two"}`, `{"a":1,"piece":one","b":"two"}`,
		`{"a":1,"piece":null,"b":"two"}`, `{"a":1,"piece":1,"b":"two"}`, `{"a":1,"piece":"\x","b":"two"}`, "{\"a\":1,\"piece\":\"\n\",\"b\":\"two\"}",
		`{"a":1,"piece":"one","c":"d","b":"two"}`, `{"a":1,"piece":"one"x,"b":"two"}`, `{"a":2,"piece":"one","b":"two"}`, `{"a":1,"piece":"one","b":"two"} `,
	} {
		var r Repeat
		keep(&r, before)
		if got, ok := r.Piece([]byte(in)); ok {
			t.Errorf("%s: repeats, with %q", in, got)
		}
	}
}

// TestRepeatKeeps: only a whole frame with one piece repeats, and only a small one is kept.
func TestRepeatKeeps(t *testing.T) {
	for _, in := range []string{
		`{"piece":"a","piece":"b"}`, `{"piece":""}`, `{"piece":null}`, `{"b":1}`, `{"piece":"a"`, `{"piece":"a"}}`,
		`{"piece":"a","b":"` + strings.Repeat("x", maxAround) + `"}`,
	} {
		var r Repeat
		keep(&r, `{"piece":"a"}`)
		keep(&r, in)
		if _, ok := r.Piece([]byte(in)); ok {
			t.Errorf("%.40s: is kept", in)
		}
	}
	var r Repeat
	long := `{"piece":"` + strings.Repeat("x", 10*maxAround) + `"}`
	keep(&r, long)
	if got, ok := r.Piece([]byte(`{"piece":"a"}`)); !ok || got != "a" || cap(r.around) > maxAround {
		t.Errorf("%q, %v, %d bytes are kept", got, ok, cap(r.around))
	}
	r.Forget()
	if r.known {
		t.Error("it is not forgotten")
	}
}

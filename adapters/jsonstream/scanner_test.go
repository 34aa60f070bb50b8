package jsonstream_test

import (
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters/jsonstream"
)

// TestDeltas shows what is held back, and for how long.
func TestDeltas(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		fragments []string
		deltas    []string
		tail      string
	}{
		{"nothing to hold", []string{`{"a`, `":1`, `}`}, []string{`{"a`, `":1`, `}`}, ""},
		{"white space", []string{" ", "\n{", "}\n"}, []string{" ", "\n{", "}\n"}, ""},
		{"escape", []string{`{"a":"\`, `n`, `"}`}, []string{`{"a":"`, `\n`, `"}`}, ""},
		{"unicode escape", []string{`{"a":"\u`, `00`, `e`, `9"}`}, []string{`{"a":"`, ``, ``, `\u00e9"}`}, ""},
		{"no escape after all", []string{`{"a":"\`, `d\u1`, `2x"}`}, []string{`{"a":"`, `\\d`, `\\u12x"}`}, ""},
		{"surrogate pair", []string{`{"a":"\ud83d`, `\`, `ude0`, `0"}`}, []string{`{"a":"`, ``, ``, `\ud83d\ude00"}`}, ""},
		{"high half alone", []string{`{"a":"\ud83d`, `\`, `n"}`}, []string{`{"a":"`, ``, `\ufffd\n"}`}, ""},
		{"high half before the quote", []string{`{"a":"\ud83d`, `"`, `}`}, []string{`{"a":"`, `\ufffd"`, `}`}, ""},
		{"utf-8", []string{"{\"a\":\"\xf0", "\x9f\x98", "\x80\"}"}, []string{`{"a":"`, ``, `😀"}`}, ""},
		{"utf-8 broken", []string{"{\"a\":\"\xf0\x9f", "x\"}"}, []string{`{"a":"`, "\ufffd\ufffdx\"}"}, ""},
		{"control character", []string{"{\"a\":\"x\n", "\ty\"}"}, []string{`{"a":"x\n`, `\ty"}`}, ""},
		{"cut escape", []string{`{"a":"x\u00`}, []string{`{"a":"x`}, `\u00`},
		{"cut pair", []string{`{"a":"\ud83d\ud`}, []string{`{"a":"`}, `\ud83d\ud`},
		{"cut utf-8", []string{"{\"a\":\"\xe2\x82"}, []string{`{"a":"`}, "\ufffd"},
		{"utf-8 after a fault", []string{"hé\xe2", "\x82", "\xac\xff\x01\\x"}, []string{"hé", "", "€\ufffd\x01\\x"}, ""},
		{"utf-8 cut after a fault", []string{"h\xe2"}, []string{"h"}, "\ufffd"},
		{"fault in the middle", []string{`{"a":1 b`, `:"\q"}`}, []string{`{"a":1 b`, `:"\q"}`}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var s jsonstream.Scanner
			total := 0
			for i, f := range tt.fragments {
				delta := s.Write([]byte(f))
				if delta != tt.deltas[i] {
					t.Errorf("fragment %d: delta %q, want %q", i, delta, tt.deltas[i])
				}
				if total += len(delta); s.Len() != total {
					t.Errorf("fragment %d: Len is %d, want %d", i, s.Len(), total)
				}
			}
			if r := s.Finish(); r.Tail != tt.tail || s.Len() != total+len(tt.tail) {
				t.Errorf("tail %q, Len %d; want %q, %d", r.Tail, s.Len(), tt.tail, total+len(tt.tail))
			}
		})
	}
}

// TestPrefixOnTheWay follows the pair through one text, byte by byte where it matters.
func TestPrefixOnTheWay(t *testing.T) {
	t.Parallel()
	steps := []struct {
		fragment string
		valid    int
		closing  string
	}{
		{``, 0, `{}`},
		{` `, 0, `{}`},
		{`{`, 2, `}`},
		{`"k`, 2, `}`},
		{`":`, 2, `}`},
		{`[`, 7, `]}`},
		{`1`, 7, `]}`},
		{`2`, 7, `]}`},
		{`,`, 9, `]}`},
		{`{`, 11, `}]}`},
		{`}`, 12, `]}`},
		{`,"`, 14, `"]}`},
		{`x\`, 15, `"]}`},
		{`"`, 17, `"]}`},
		{`"`, 18, `]}`},
		{`]`, 19, `}`},
		{`,"l":nul`, 19, `}`},
		{`l`, 28, `}`},
		{`}`, 29, ``},
		{` `, 29, ``},
		{`x`, 29, ``},
		{`{"y":"`, 29, ``},
	}
	var s jsonstream.Scanner
	for i, st := range steps {
		s.Write([]byte(st.fragment))
		if valid, closing := s.Prefix(); valid != st.valid || closing != st.closing {
			t.Errorf("step %d (%q): %d %q, want %d %q", i, st.fragment, valid, closing, st.valid, st.closing)
		}
	}
}

func TestErrorsSayWhyAndDoNotQuote(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{`{"secret":"s3cr3t`, "cut off inside a string at byte 17"},
		{`{"secret`, "cut off inside a string at byte 8"},
		{`{"secret":1`, "cut off before the end of the object at byte 11"},
		{`["s3cr3t"]`, "not a JSON object at byte 0"},
		{"\ufeff{}", "begins with a byte order mark at byte 0"},
		{"\uf123{}", "not a JSON object at byte 0"},
		{`{secret:1}`, "expected a key in double quotes at byte 1"},
		{`{"secret" 1}`, "expected a colon after the key at byte 10"},
		{`{"secret":s3cr3t}`, "expected a value at byte 10"},
		{`{"secret":1 "b":2}`, "expected a comma or a closing bracket at byte 12"},
		{`{"secret":trusted}`, "malformed literal at byte 13"},
		{`{"secret":01}`, "malformed number at byte 11"},
		{`{}s3cr3t`, "text after the end of the object at byte 2"},
	}
	for _, tt := range tests {
		got := jsonstream.Repair([]byte(tt.in)).Error
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.in, got, tt.want)
		}
	}
}

// nest is a chain of n containers, the root included.
func nest(n int) string {
	return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + "}"
}

func TestDepth(t *testing.T) {
	t.Parallel()
	deepest := nest(jsonstream.MaxDepth)
	if r := jsonstream.Repair([]byte(deepest)); r.Error != "" || r.JSON != deepest {
		t.Errorf("%d levels: %+v", jsonstream.MaxDepth, r)
	}
	if err := jsonstream.Object([]byte(deepest)); err != nil {
		t.Errorf("%d levels: %v", jsonstream.MaxDepth, err)
	}

	over := nest(jsonstream.MaxDepth + 1)
	var s jsonstream.Scanner
	if delta := s.Write([]byte(over)); delta != over {
		t.Errorf("over the limit the text is changed: %q", delta)
	}
	wantValid, wantClosing := len(`{"a":`)+127, strings.Repeat("]", 127)+"}"
	if valid, closing := s.Prefix(); valid != wantValid || closing != wantClosing {
		t.Errorf("prefix %d %q, want %d %q", valid, closing, wantValid, wantClosing)
	}
	if r := s.Finish(); r.JSON != deepest || r.Error != "nested deeper than 128 levels at byte 132" {
		t.Errorf("got %+v", r)
	}
	if err := jsonstream.Object([]byte(over)); err == nil {
		t.Error("Object lets too deep a text through")
	}
}

// sized is an object of n bytes, all but 8 of them in one string.
func sized(n int) string { return `{"a":"` + strings.Repeat("x", n-8) + `"}` }

func TestSize(t *testing.T) {
	t.Parallel()
	largest := sized(jsonstream.MaxBytes)
	if r := jsonstream.Repair([]byte(largest)); r.Error != "" || r.JSON != largest {
		t.Errorf("the largest text fails: %s", r.Error)
	}
	if err := jsonstream.Object([]byte(largest)); err != nil {
		t.Errorf("the largest text fails: %v", err)
	}
	if err := jsonstream.Object([]byte(largest + " ")); err == nil {
		t.Error("Object lets too large a text through")
	}

	const wantError = "larger than 1 MiB at byte 1048576"
	tests := []struct {
		name, in string
		valid    int
		closing  string
	}{
		{"closing bracket", sized(1<<20 + 1), 1 << 20, `}`},
		{"closing quote", sized(1<<20 + 2), 1 << 20, `"}`},
		{"inside a string", sized(3 << 20), 1 << 20, `"}`},
		{"inside a key", `{"a":1,"` + strings.Repeat("k", 2<<20), 6, `}`},
		{"white space after", largest + "\n", 1 << 20, ``},
		{"white space before", strings.Repeat(" ", 1<<20) + `{}`, 0, `{}`},
	}
	for _, tt := range tests {
		for _, size := range []int{1000, 4096, 1 << 20, 4 << 20} {
			var s jsonstream.Scanner
			got := feed(&s, []byte(tt.in), func() int { return size })
			if valid, closing := s.Prefix(); valid != tt.valid || closing != tt.closing {
				t.Errorf("%s: prefix %d %q, want %d %q", tt.name, valid, closing, tt.valid, tt.closing)
			}
			r := s.Finish()
			if got+r.Tail != tt.in || r.JSON != tt.in[:tt.valid]+tt.closing {
				t.Errorf("%s: %d bytes forwarded, JSON of %d", tt.name, len(got), len(r.JSON))
			}
			if r.Error != wantError {
				t.Errorf("%s: error %q, want %q", tt.name, r.Error, wantError)
			}
		}
	}
}

// TestSizeCountsMended: six bytes for each control character, and none split at the limit.
func TestSizeCountsMended(t *testing.T) {
	t.Parallel()
	in := []byte(`{"a":"` + strings.Repeat("\x01", 200_000) + `"}`)
	r := jsonstream.Repair(in)
	const fit = (1<<20 - 6) / 6
	want := `{"a":"` + strings.Repeat(`\u0001`, fit) + `"}`
	if r.JSON != want || !r.Repaired || r.Error == "" {
		t.Errorf("JSON of %d bytes, want %d; repaired %t, error %q", len(r.JSON), len(want), r.Repaired, r.Error)
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, written, full string
		delta               string
		extends             bool
		json                string
	}{
		{"extends", `{"q":`, `{"q":"a"}`, `"a"}`, true, `{"q":"a"}`},
		{"equal", `{"q":"a"}`, `{"q":"a"}`, ``, true, `{"q":"a"}`},
		{"all of it", ``, `{"q":"a"}`, `{"q":"a"}`, true, `{"q":"a"}`},
		{"mended before", "{\"q\":\"\n", "{\"q\":\"\n\n\"}", `\n"}`, true, `{"q":"\n\n"}`},
		{"held before", `{"q":"\ud83d`, `{"q":"\ud83d\ude00"}`, `\ud83d\ude00"}`, true, `{"q":"\ud83d\ude00"}`},
		{"shorter", `{"q":"a"}`, `{"q":`, ``, false, `{"q":"a"}`},
		{"other", `{"q":"a"}`, `{"q":"b"}`, ``, false, `{"q":"a"}`},
		{"mended is not raw", "{\"q\":\"\n", `{"q":"\n"}`, ``, false, `{"q":"\n"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var s jsonstream.Scanner
			s.Write([]byte(tt.written))
			delta, extends := s.Replace([]byte(tt.full))
			if delta != tt.delta || extends != tt.extends {
				t.Errorf("got %q, %t; want %q, %t", delta, extends, tt.delta, tt.extends)
			}
			if r := s.Finish(); r.JSON != tt.json {
				t.Errorf("JSON %q, want %q", r.JSON, tt.json)
			}
		})
	}
}

// TestInputIsNotKept: the caller may use its buffer again.
func TestInputIsNotKept(t *testing.T) {
	t.Parallel()
	var s jsonstream.Scanner
	buf := []byte(`{"a":"x`)
	s.Write(buf)
	clear(buf)
	s.Write([]byte(`"}`))
	whole := []byte("{\"a\":\"\n\"}")
	repaired := jsonstream.Repair(whole)
	if string(whole) != "{\"a\":\"\n\"}" {
		t.Error("Repair wrote to its input")
	}
	clear(whole)
	if r := s.Finish(); r.JSON != `{"a":"x"}` || repaired.JSON != `{"a":"\n"}` {
		t.Errorf("got %q and %q", r.JSON, repaired.JSON)
	}
}

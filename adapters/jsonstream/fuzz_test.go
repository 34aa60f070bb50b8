package jsonstream_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llmd-dev/llmd/adapters/jsonstream"
)

// FuzzScanner feeds any bytes in any fragments.
func FuzzScanner(f *testing.F) {
	for i, r := range rows {
		f.Add([]byte(r.in), uint64(i))
	}
	f.Add([]byte(nest(jsonstream.MaxDepth+1)), uint64(0))
	f.Fuzz(func(t *testing.T, in []byte, cuts uint64) {
		if len(in) > 2048 {
			t.Skip("every prefix is parsed, which is quadratic")
		}
		whole := jsonstream.Repair(in)
		checkResult(t, in, whole)

		// Two bits of cuts choose each fragment's size.
		var s jsonstream.Scanner
		w := watch{t: t}
		for rest := in; len(rest) > 0; cuts = cuts>>2 | cuts<<62 {
			n := min(1+int(cuts&3), len(rest))
			w.after(&s, s.Write(rest[:n]))
			rest = rest[n:]
		}
		got := s.Finish()
		w.after(&s, got.Tail)
		if got.Error == "" && got.Tail != "" {
			t.Errorf("%q: tail %q without an error", in, got.Tail)
		}
		if forwarded := w.forwarded.String(); got.Error == "" && forwarded != got.JSON && strings.TrimSpace(forwarded) != "" {
			t.Errorf("%q: deltas %q differ from %q", in, forwarded, got.JSON)
		} else if !got.Repaired && utf8.Valid(in) && forwarded != string(in) {
			t.Errorf("%q: forwarded as %q though nothing was mended", in, forwarded)
		}
		if got.Tail = ""; got != whole {
			t.Errorf("%q: got %+v in fragments, %+v whole", in, got, whole)
		}
		if again := s.Finish(); again != got {
			t.Errorf("%q: a second Finish gives %+v after %+v", in, again, got)
		}
	})
}

// checkResult holds a result against encoding/json.
func checkResult(t *testing.T, in []byte, r jsonstream.Result) {
	t.Helper()
	if !isObject(r.JSON) || !utf8.ValidString(r.JSON) {
		t.Fatalf("%q: JSON %q is no object", in, r.JSON)
	}
	blank := strings.Trim(string(in), " \t\r\n") == ""
	good := isObject(string(in)) && utf8.Valid(in) && len(in) <= jsonstream.MaxBytes && depth(in) <= jsonstream.MaxDepth
	if err := jsonstream.Object(in); (err == nil) != good {
		t.Errorf("%q: Object says %v", in, err)
	}
	if good && r.Error != "" {
		t.Errorf("%q: error %q for a good object", in, r.Error)
	}
	if good && !r.Repaired && r.JSON != string(in) {
		t.Errorf("%q: changed to %q", in, r.JSON)
	}
	if r.Error == "" && !r.Repaired && !good && !blank {
		t.Errorf("%q: no error", in)
	}
	if r.Error == "" && jsonstream.Object([]byte(r.JSON)) != nil {
		t.Errorf("%q: the result %q is no good object", in, r.JSON)
	}
	// What has been mended needs no mending.
	if again := jsonstream.Repair([]byte(r.JSON)); (again != jsonstream.Result{JSON: r.JSON}) && len(r.JSON) <= jsonstream.MaxBytes {
		t.Errorf("%q: a second repair gives %+v", r.JSON, again)
	}
}

// depth is how deep a valid text nests.
func depth(in []byte) int {
	dec := json.NewDecoder(strings.NewReader(string(in)))
	deepest, now := 0, 0
	for {
		tok, err := dec.Token()
		if err != nil {
			return deepest
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			now++
			deepest = max(deepest, now)
		case json.Delim('}'), json.Delim(']'):
			now--
		}
	}
}

package jsonwire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWriterKeepsOrderAndRawBytes(t *testing.T) {
	var w Writer
	w.BeginObject()
	w.Member("b", "<a&b>\u2028\x01\xff\"\\\n")
	w.Key("raw")
	w.Raw(`{ "z" : 1.0, "a": 1e2 }`)
	w.Key("list")
	w.BeginArray()
	w.Int(-1)
	w.Float(0.1)
	w.Bool(true)
	w.Null()
	w.BeginObject()
	w.EndObject()
	w.Base64("data:x;base64,", []byte{0xfb, 0xff})
	w.EndArray()
	w.MemberIf("none", "")
	w.EndObject()
	want := `{"b":"<a&b>` + "\u2028" + `\u0001` + "\uFFFD" + `\"\\\n","raw":{ "z" : 1.0, "a": 1e2 },"list":[-1,0.1,true,null,{},"data:x;base64,+/8="]}`
	if got := string(w.Bytes()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !json.Valid(w.Bytes()) {
		t.Error("not valid JSON")
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		`"plain"`:             "plain",
		`null`:                "",
		`"a\"\\\/\b\f\n\r\t"`: "a\"\\/\b\f\n\r\t",
		`"\u00e9\u20AC"`:      "é€",
		`"\ud83d\ude00"`:      "😀",
		`"é😀"`:                "é😀",
		`"x\ud83d"`:           "x\xed\xa0\xbd",
		`"\ude00y"`:           "\xed\xb8\x80y",
		`"\ud83d\u0041"`:      "\xed\xa0\xbdA",
		"\"bad \xff byte\"":   "bad \uFFFD byte",
	} {
		var got Text
		if err := json.Unmarshal([]byte(in), &got); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", in, got, err, want)
		}
	}
	var got Text
	if err := json.Unmarshal([]byte(`12`), &got); err == nil {
		t.Error("a number was read as text")
	}
}

func TestJoiner(t *testing.T) {
	high, low := "\xed\xa0\xbd", "\xed\xb8\x80"
	for name, c := range map[string]struct {
		in   []string
		want []string // the last one is Flush
	}{
		"valid":              {[]string{"a", "é"}, []string{"a", "é", ""}},
		"pair over two":      {[]string{"x" + high, low + "y"}, []string{"x", "😀y", ""}},
		"pair in one":        {[]string{high + low}, []string{"😀", ""}},
		"lone high":          {[]string{high, "a"}, []string{"", "\uFFFDa", ""}},
		"lone high at end":   {[]string{high}, []string{"", "\uFFFD"}},
		"lone low":           {[]string{low}, []string{"\uFFFD", ""}},
		"code point in two":  {[]string{"\xe2\x82", "\xac"}, []string{"", "€", ""}},
		"piece at the end":   {[]string{"a\xe2\x82"}, []string{"a", "\uFFFD\uFFFD"}},
		"bad byte":           {[]string{"a\xffb"}, []string{"a\uFFFDb", ""}},
		"high, half of low":  {[]string{high + "\xed", "\xb8\x80"}, []string{"", "😀", ""}},
		"high, another char": {[]string{high + "\xc3", "\xa9"}, []string{"", "\uFFFDé", ""}},
	} {
		var j Joiner
		for i, in := range c.in {
			if got := j.Next(in); got != c.want[i] {
				t.Errorf("%s: part %d is %q, want %q", name, i, got, c.want[i])
			}
		}
		if got := j.Flush(); got != c.want[len(c.in)] {
			t.Errorf("%s: flush is %q, want %q", name, got, c.want[len(c.in)])
		}
	}
}

func FuzzJoiner(f *testing.F) {
	f.Add("a\xed\xa0\xbd\xed\xb8\x80é", 2)
	f.Fuzz(func(t *testing.T, s string, cut int) {
		cut = max(0, min(cut, len(s)))
		var j Joiner
		got := j.Next(s[:cut]) + j.Next(s[cut:]) + j.Flush()
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not valid UTF-8", got)
		}
		if want := Clean(s); got != want {
			t.Fatalf("cut at %d gives %q, whole %q", cut, got, want)
		}
	})
}

func TestMerge(t *testing.T) {
	for _, c := range []struct{ base, over, want string }{
		{`{"a": 1.0,"b":{"x":1}}`, `{}`, `{"a":1.0,"b":{"x":1}}`},
		{`{"a":1,"b":{"x": 1.50,"y":2}}`, `{"b":{"y":3,"z": [1, 2]},"c":"n"}`, `{"a":1,"b":{"x":1.50,"y":3,"z":[1, 2]},"c":"n"}`},
		{`{"a":1,"b":2}`, `{"a":null,"q":null}`, `{"b":2}`},
		{`{"a":{"x":1}}`, `{"a":[1]}`, `{"a":[1]}`},
	} {
		got, err := Merge([]byte(c.base), []byte(c.over))
		if err != nil || string(got) != c.want {
			t.Errorf("%s over %s: got %s, %v, want %s", c.over, c.base, got, err, c.want)
		}
	}
	for _, bad := range []string{``, `[`, `[]`, `{"a":}`, `{"a":1`, `{} x`, `1`} {
		if _, err := Merge([]byte(`{}`), []byte(bad)); err == nil {
			t.Errorf("%q was merged", bad)
		}
	}
}

// TestUnmarshalAgrees: both readers give the same, and faults are encoding/json's.
func TestUnmarshalAgrees(t *testing.T) {
	type inner struct {
		Text  Text
		Raw   json.RawMessage
		Index *int `json:"index"`
	}
	type frame struct {
		ID     string
		Inner  *inner
		List   []inner
		Number int
	}
	for _, in := range []string{
		`{"id":"a","inner":{"text":"x\ud83d","raw":{ "b" : 1.0 },"index":3},"list":[{"text":null},{}],"unknown":[1,{"a":null}]}`,
		`{"ID":"a","iD":"b","number":null,"inner":null}`,
		`{"id":5,"number":7}`, `{"number":"7"}`, `{"id":"a"`, `[]`, `null`, ``, "{\"id\":\"\xff\"}", `{"number":1.5}`, `{} x`,
	} {
		var got, want frame
		gotErr, wantErr := Unmarshal([]byte(in), &got), json.Unmarshal([]byte(in), &want)
		if (gotErr == nil) != (wantErr == nil) {
			t.Errorf("%s: %v, encoding/json says %v", in, gotErr, wantErr)
		}
		g, _ := json.Marshal(got)
		w, _ := json.Marshal(want)
		if !bytes.Equal(g, w) {
			t.Errorf("%s: read as %s, encoding/json as %s", in, g, w)
		}
	}
}

// plainString is AppendString, a rune at a time.
func plainString(s string) string {
	out := []byte{'"'}
	for _, r := range s { // what is no UTF-8 is U+FFFD
		switch {
		case r == '"', r == '\\':
			out = append(out, '\\', byte(r))
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\r':
			out = append(out, `\r`...)
		case r == '\t':
			out = append(out, `\t`...)
		case r < ' ':
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return string(append(out, '"'))
}

// TestAppendString puts every byte at every place of a word.
func TestAppendString(t *testing.T) {
	for b := range 256 {
		for at := range 20 {
			s := []byte("the words of a text.")
			s[at] = byte(b)
			if got, want := string(AppendString(nil, string(s))), plainString(string(s)); got != want {
				t.Fatalf("%q: %s, want %s", s, got, want)
			}
			s[(at+5)%20] = byte(255 - b)
			if got, want := string(AppendString(nil, string(s))), plainString(string(s)); got != want {
				t.Fatalf("%q: %s, want %s", s, got, want)
			}
		}
	}
}

func FuzzAppendString(f *testing.F) {
	f.Add("plain words\x00\"é\xff\\ \U0001F600")
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := string(AppendString(nil, s)), plainString(s); got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	})
}

func BenchmarkAppendString(b *testing.B) {
	for name, s := range map[string]string{
		"ascii":   strings.Repeat("A few words of a text that is long.\n", 2000),
		"accents": strings.Repeat("Où sont passées les clés de l'été ?\n", 2000),
		"han":     strings.Repeat("一段很长的文字里的几个词。", 2000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			var dst []byte
			for b.Loop() {
				dst = AppendString(dst[:0], s)
			}
		})
	}
}

package jsonwire

import (
	"bytes"
	stdjson "encoding/json"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// point is read by a Cursor and, for comparison, by Unmarshal.
type point struct {
	Name  Text   `json:"name"`
	Index int    `json:"index"`
	Tags  []Text `json:"tags"`
}

// readPoint reads the usual point: the fast way of a decoder in small.
func readPoint(data []byte) (p point, ok bool) {
	c := NewCursor(data)
	for c.Begin('{'); c.More('}'); {
		switch string(c.Key()) {
		case "name":
			p.Name = Text(c.Text())
		case "index":
			p.Index = c.Int()
		case "tags":
			p.Tags = []Text{}
			for c.Begin('['); c.More(']'); {
				p.Tags = append(p.Tags, Text(c.Text()))
			}
		case "extra":
			c.Skip()
		default:
			c.Fail()
		}
	}
	return p, c.Whole()
}

func TestCursor(t *testing.T) {
	for _, in := range []string{
		`{}`, ` { "name" : "a" , "index" : 7 } `, `{"name":null,"tags":[]}`, `{"tags":["a","\u00e9\ud83d\ude00","\ud83d"]}`,
		`{"extra":{"a":[1,-0.5e+3,true,false,null,{"\n":""}]},"index":0}`, "{\"name\":\"\xff\\/\"}", `{"index":999999999}`,
	} {
		got, ok := readPoint([]byte(in))
		if !ok {
			t.Errorf("%s: not read", in)
		}
		samePoint(t, in, got)
	}
	for _, in := range []string{
		``, `{`, `{}x`, `{} {}`, `[]`, `null`, `{"name":"a"`, `{"name":"a",}`, `{"tags":["a",]`, `{"tags":["a",]}`, `{,}`, `{"name" "a"}`, `{"name":'a'}`,
		`{"name":"a` + "\n" + `"}`, `{"name":"\x"}`, `{"name":"\u12g4"}`, `{"name":"\u12"}`, `{"name":"\`, `{"name":5}`, `{"name":nul}`,
		`{"index":-1}`, `{"index":1.5}`, `{"index":1e3}`, `{"index":01}`, `{"index":1234567890}`, `{"index":}`, `{"other":1}`, `{"na\u006de":"a"}`,
		`{"extra":01}`, `{"extra":-}`, `{"extra":1.}`, `{"extra":1e}`, `{"extra":tru}`, `{"extra":[1 2]}`, `{"extra":{"a"}}`, `{"extra":{1:2}}`,
	} {
		if got, ok := readPoint([]byte(in)); ok {
			t.Errorf("%s: read as %+v", in, got)
		}
	}
}

// Known gives the known string only where it is the one that was read.
func TestCursorKnown(t *testing.T) {
	for _, c := range []struct{ in, known, want string }{
		{`"id-1"`, "id-1", "id-1"}, {`"id-2"`, "id-1", "id-2"}, {`"a\\nb"`, `a\\nb`, `a\nb`}, {`null`, "id-1", ""}, {`"é"`, "é", "é"},
	} {
		cur := NewCursor([]byte(c.in))
		if got := cur.Known(c.known); got != c.want || !cur.Whole() {
			t.Errorf("%s, known %q: %q, want %q", c.in, c.known, got, c.want)
		}
	}
	frame, known := []byte(`{"name":"chatcmpl-1","index":3}`), "chatcmpl-1"
	if n := testing.AllocsPerRun(100, func() {
		c := NewCursor(frame)
		for c.Begin('{'); c.More('}'); {
			if string(c.Key()) == "name" {
				c.Known(known)
			} else {
				c.Int()
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations for what is known", n)
	}
}

func samePoint(t *testing.T, in string, got point) {
	t.Helper()
	var want point
	if err := Unmarshal([]byte(in), &want); err != nil {
		t.Errorf("%s: read, but Unmarshal says %v", in, err)
	}
	g, _ := stdjson.Marshal(got)
	w, _ := stdjson.Marshal(want)
	if !bytes.Equal(g, w) {
		t.Errorf("%s: read as %s, Unmarshal reads %s", in, g, w)
	}
}

// FuzzCursor: what a Cursor takes is JSON, and means the same to Unmarshal.
func FuzzCursor(f *testing.F) {
	f.Add(`{"name":"a\ud83d\ude00","index":12,"tags":["x",null],"extra":{"a":[1.5e-3,{}]}}`)
	f.Add(`{"name":"a","name":null,"index":1,"index":2}`)
	f.Fuzz(func(t *testing.T, in string) {
		whole := NewCursor([]byte(in))
		whole.Skip()
		if whole.Whole() && !valid(in) {
			t.Errorf("%q is no JSON and was skipped", in)
		}
		if got, ok := readPoint([]byte(in)); ok {
			samePoint(t, in, got)
		}
	})
}

func valid(in string) bool {
	return jsontext.Value(in).IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// BenchmarkCursor reads a small frame by a cursor and by reflection.
func BenchmarkCursor(b *testing.B) {
	data := []byte(`{"index":7,"name":"a few words of text","tags":["a","b"],"extra":{"created":1893456000,"list":[null,true]}}`)
	b.Run("cursor", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := readPoint(data); !ok {
				b.Fatal("not read")
			}
		}
	})
	b.Run("reflection", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var p point
			if err := Unmarshal(data, &p); err != nil {
				b.Fatal(err)
			}
		}
	})
}

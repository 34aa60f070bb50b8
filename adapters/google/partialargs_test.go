package google

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// argument is one partialArg as JSON.
func argument(path, value string, more bool) string {
	p, _ := json.Marshal(path)
	s := `{"jsonPath":` + string(p) + `,` + value
	if more {
		s += `,"willContinue":true`
	}
	return s + `}`
}

func str(s string) string { return `"stringValue":"` + s + `"` }

// streamed decodes a call whose arguments come in these pieces.
func streamed(t *testing.T, pieces ...string) (fragments []string, text string, b adaptertest.Block) {
	t.Helper()
	frames := []string{say(`{"functionCall":{"name":"f","willContinue":true},"thoughtSignature":"QUI="}`)}
	for _, p := range pieces {
		frames = append(frames, say(`{"functionCall":{"partialArgs":[`+p+`],"willContinue":true}}`))
	}
	frames = append(frames, say(`{"functionCall":{}}`), stopFrame)
	got, err := parts(t, NewVertex(), frames...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range got {
		if p.Kind == adapters.PartArguments {
			fragments = append(fragments, p.Text)
		}
	}
	a := adaptertest.Fold(got)
	if len(a.Blocks) != 1 || !a.Blocks[0].Ended || a.Blocks[0].Signature != "QUI=" || a.Blocks[0].Name != "f" {
		t.Fatalf("blocks are %+v", a.Blocks)
	}
	return fragments, a.Blocks[0].Text, a.Blocks[0]
}

func TestStreamedArguments(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []string
		want   string
	}{
		{"none", nil, ``},
		{"all kinds", []string{
			argument("$.s", str("x"), false), argument("$.n", `"numberValue":0.50`, false), argument("$.b", `"boolValue":false`, false),
			argument("$.z", `"nullValue":"NULL_VALUE"`, false), argument("$.y", `"nullValue":null`, false),
		}, `{"s":"x","n":0.50,"b":false,"z":null,"y":null}`},
		{"a string in pieces", []string{
			argument("$.s", str(`a\"`), true), argument("$.s", str(`\n\u0001é`), true), argument("$.s", str(``), false), argument("$.t", str("u"), false),
		}, "{\"s\":\"a\\\"\\n\\u0001é\",\"t\":\"u\"}"},
		{"a string that another value ends", []string{argument("$.s", str("a"), true), argument("$.t", `"boolValue":true`, false)}, `{"s":"a","t":true}`},
		{"halves of a surrogate pair", []string{argument("$.s", str(`\ud83d`), true), argument("$.s", str(`\ude00`), false)}, `{"s":"\ud83d\ude00"}`},
		{"nested", []string{
			argument("$.a[0].k", str("1"), false), argument("$.a[0].l[0]", `"numberValue":1`, false), argument("$.a[0].l[1]", `"numberValue":2`, false),
			argument("$.a[1].k", str("2"), false), argument("$.b.c.d", `"boolValue":true`, false), argument("$.b.e", str(""), false), argument("$.f", str(""), false),
		}, `{"a":[{"k":"1","l":[1,2]},{"k":"2"}],"b":{"c":{"d":true},"e":""},"f":""}`},
		{"arrays of arrays", []string{argument("$.a[0][0]", `"numberValue":1`, false), argument("$.a[1][0]", `"numberValue":2`, false)}, `{"a":[[1],[2]]}`},
		{"keys of all kinds", []string{argument(`$['a.b']`, str("1"), false), argument(`$["c[0]"]["d\u0022"]`, str("2"), false), argument("$.user-name", str("3"), false)}, `{"a.b":"1","c[0]":{"d\"":"2"},"user-name":"3"}`},
		{"a place without a value", []string{argument("$.a", `"x":1`, true), argument("$.a", str("v"), false)}, `{"a":"v"}`},
		// What cannot be said by adding text is left open, so that the call counts as cut.
		{"back to a closed object", []string{argument("$.a.x", str("1"), false), argument("$.b", str("2"), false), argument("$.a.y", str("3"), false)}, `{"a":{"x":"1"},"b":"2"`},
		{"the same key again", []string{argument("$.a", str("1"), false), argument("$.a", str("2"), false), argument("$.b", str("3"), false)}, `{"a":"1"`},
		{"a gap in an array", []string{argument("$.a[0]", str("1"), false), argument("$.a[2]", str("2"), false)}, `{"a":["1"`},
		{"an array that was an object", []string{argument("$.a.b", str("1"), false), argument("$.a[0]", str("2"), false)}, `{"a":{"b":"1"`},
		{"not a path", []string{argument("a", str("1"), false)}, `{`},
		{"as deep as may be", []string{argument("$"+strings.Repeat(".a", 128), str("1"), false)}, strings.Repeat(`{"a":`, 128) + `"1"` + strings.Repeat("}", 128)},
		// One frame has room for millions of levels, each of which would take hundreds of bytes.
		{"too deep", []string{argument("$.a", str("1"), false), argument("$"+strings.Repeat(".a", 129), str("1"), false)}, `{"a":"1"`},
		{"the root", []string{argument("$", str("1"), false)}, `{`},
	} {
		fragments, text, _ := streamed(t, c.pieces...)
		if text != c.want {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
		if valid := json.Valid([]byte(text)); valid != (strings.HasSuffix(c.want, "}") && c.want != "") {
			t.Errorf("%s: valid is %v", c.name, valid)
		}
		if len(fragments) > len(c.pieces)+1 {
			t.Errorf("%s: %d fragments", c.name, len(fragments))
		}
	}
}

func TestStreamedCalls(t *testing.T) {
	got, err := parts(t, NewVertex(),
		say(`{"functionCall":{"name":"f","args":{},"willContinue":true}}`),
		say(`{"functionCall":{"id":"late","partialArgs":[`+argument("$.a", str("1"), true)+`],"willContinue":true}}`),
		// The next call begins though this one was not said to end.
		say(`{"functionCall":{"name":"g","willContinue":true}}`),
		say(`{"functionCall":{"args":{"whole": 1}}}`),
		// Text may come while a call is open.
		say(`{"functionCall":{"name":"h","willContinue":true}},{"text":"t"}`),
		say(`{"functionCall":{"partialArgs":[`+argument("$.b", str("2"), false)+`]}}`),
		say(`{"text":"u"}`), stopFrame,
	)
	if err != nil {
		t.Fatal(err)
	}
	a := adaptertest.Fold(got)
	var lines []string
	for _, b := range a.Blocks {
		lines = append(lines, b.Kind+" "+b.ID+" "+b.Name+" "+b.Text)
	}
	want := "tool_call late f {\"a\":\"1\"}\ntool_call  g {\"whole\": 1}\ntool_call  h {\"b\":\"2\"}\ntext   tu"
	if s := strings.Join(lines, "\n"); s != want {
		t.Errorf("got\n%s\nwant\n%s", s, want)
	}
}

// TestRepeatedNames: a piece may say the name again; what begins the next call has no
// arguments yet.
func TestRepeatedNames(t *testing.T) {
	got, err := parts(t, NewVertex(),
		say(`{"functionCall":{"name":"f","willContinue":true}}`),
		say(`{"functionCall":{"name":"f","partialArgs":[`+argument("$.a", str("1"), true)+`],"willContinue":true}}`),
		say(`{"functionCall":{"name":"f","partialArgs":[`+argument("$.a", str("2"), false)+`],"willContinue":true}}`),
		say(`{"functionCall":{"name":"f","willContinue":true}}`),
		say(`{"functionCall":{"name":"f","partialArgs":[`+argument("$.a", str("3"), false)+`]}}`),
		say(`{"functionCall":{"name":"f","partialArgs":[`+argument("$.a", str("4"), false)+`]}}`), stopFrame)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, b := range adaptertest.Fold(got).Blocks {
		all = append(all, b.Text)
	}
	if want := `{"a":"12"} {"a":"3"} {"a":"4"}`; strings.Join(all, " ") != want {
		t.Errorf("got %s, want %s", all, want)
	}
}

// TestCutCall: a call that the end of the body cuts is not closed.
func TestCutCall(t *testing.T) {
	got, err := parts(t, NewVertex(), say(`{"functionCall":{"name":"f","partialArgs":[`+argument("$.a", str("1"), true)+`],"willContinue":true}}`))
	a := adaptertest.Fold(got)
	if err != adapters.ErrTruncated || a.Blocks[0].Ended || a.Blocks[0].Text != `{"a":"1` {
		t.Errorf("%v, %+v", err, a.Blocks[0])
	}
}

func TestParsePathRejects(t *testing.T) {
	for _, bad := range []string{"", "a", "$.", "$..a", "$[", "$[x]", "$[-1]", "$['a'", "$['a]", "$[]", "$x", `$["\q"]`} {
		if p, ok := parsePath(bad); ok {
			t.Errorf("%q is read as %v", bad, p)
		}
	}
}

// BenchmarkStreamedArguments shows that time grows with the text alone.
func BenchmarkStreamedArguments(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(map[int]string{1000: "1k", 10000: "10k"}[n], func(b *testing.B) {
			piece := say(`{"functionCall":{"partialArgs":[` + argument("$.a[0].text", str("some words "), true) + `],"willContinue":true}}`)
			b.SetBytes(int64(n * len(piece)))
			for b.Loop() {
				d := NewVertex().NewDecoder(nil)
				var sink adapters.Sink
				_ = d.Decode(frame.Frame{Data: []byte(say(`{"functionCall":{"name":"f","willContinue":true}}`))}, &sink)
				for range n {
					sink.Reset()
					_ = d.Decode(frame.Frame{Data: []byte(piece)}, &sink)
				}
			}
		})
	}
}

// FuzzPath: a path that is read is the path of what was written.
func FuzzPath(f *testing.F) {
	f.Add("a", "b.c")
	f.Fuzz(func(t *testing.T, a, b string) {
		a, b = jsonwire.Clean(a), jsonwire.Clean(b)
		if a == "" || strings.ContainsAny(a, ".[") || strings.ContainsAny(b, "'\\\"\n") {
			return
		}
		got, ok := parsePath("$." + a + "['" + b + "']")
		if !ok || len(got) != 2 || got[0] != (step{a, -1}) || got[1] != (step{b, -1}) {
			t.Errorf("%q, %q: %v", a, b, got)
		}
	})
}

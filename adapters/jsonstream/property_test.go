package jsonstream_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llmd-dev/llmd/adapters/jsonstream"
)

// mark is a place where the prefix may end: bytes of the document, and what closes them. It
// counts once seen bytes have arrived, one more than end for a number.
type mark struct {
	end, seen int
	closing   string
}

// writer makes a random document and notes, while it writes, every place where the prefix may
// end. It knows nothing of parsing, so it is an independent witness for the scanner.
type writer struct {
	*rand.Rand
	text    strings.Builder
	closers string // innermost first
	marks   []mark
	chars   int // budget
}

func document(seed uint64, chars int) *writer {
	w := &writer{Rand: rand.New(rand.NewPCG(seed, 7)), chars: chars}
	w.space()
	w.object()
	w.space()
	return w
}

func (w *writer) put(s string) { w.text.WriteString(s) }

func (w *writer) mark(closing string) {
	w.marks = append(w.marks, mark{w.text.Len(), w.text.Len(), closing})
}

func (w *writer) pick(from ...string) string { return from[w.IntN(len(from))] }

func (w *writer) space() {
	for w.IntN(8) == 0 {
		w.put(w.pick(" ", "\n", "\t", "\r"))
	}
}

func (w *writer) object() { w.container("{", "}", true) }

func (w *writer) container(opener, closer string, keys bool) {
	w.put(opener)
	outer := w.closers
	w.closers = closer + outer
	w.mark(w.closers)
	w.space()
	for i := range w.IntN(6) {
		if i > 0 {
			w.put(",")
			w.space()
		}
		if keys {
			// The number keeps keys apart; it comes last so that a cut key is not another's.
			w.put(`"` + w.pick("", "k", "é", `\"`, `\u00e9`, `\ud83d\ude00`, "😀") + fmt.Sprint(i) + `"`)
			w.space()
			w.put(":")
			w.space()
		}
		w.value()
		w.space()
	}
	w.closers = outer
	w.put(closer)
	w.mark(w.closers)
}

func (w *writer) value() {
	switch k := w.IntN(9); {
	case k < 2 && len(w.closers) < 12 && w.text.Len() < w.chars:
		w.object()
	case k < 3 && len(w.closers) < 12 && w.text.Len() < w.chars:
		w.container("[", "]", false)
	case k < 5:
		w.put(w.pick("true", "false", "null"))
		w.mark(w.closers)
	case k < 7:
		w.put(w.pick("0", "-0", "7", "-12", "9007199254740993", "12345678901234567890", "1.0", "0.5",
			"-3.25", "1e5", "1E+10", "2.50e-07", "1e400"))
		w.mark(w.closers)
		w.marks[len(w.marks)-1].seen++
	default:
		w.string()
	}
}

func (w *writer) string() {
	w.put(`"`)
	w.mark(`"` + w.closers)
	for range w.IntN(12) {
		w.put(w.pick("a", "Z", " ", "/", "{", "]", ",", ":", "1", "'", "\x7f", `\"`, `\\`, `\/`, `\b`, `\f`, `\n`, `\r`, `\t`,
			`\u0000`, `\u00E9`, `\u2028`, `\ud7ff`, `\uE000`, `\ufffd`, `\ud83d\ude00`, `\uDBFF\uDFFF`,
			"é", "€", "\u2028", "😀", "\ufffd", "\ufeff"))
		w.mark(`"` + w.closers)
	}
	w.put(`"`)
	w.mark(w.closers)
}

// want is the mark in force after n bytes.
func (w *writer) want(n int) mark {
	best := mark{closing: "{}"}
	for _, m := range w.marks {
		if m.seen <= n {
			best = m
		}
	}
	return best
}

// closings are what contract 1.22 allows: nothing is put in but the end.
var closings = regexp.MustCompile(`^(\{\}|"?[\]}]*)$`)

// watch checks after each fragment what must hold for any bytes whatsoever.
type watch struct {
	t         testing.TB
	forwarded strings.Builder
	valid     int
}

func (w *watch) after(s *jsonstream.Scanner, delta string) {
	w.t.Helper()
	w.forwarded.WriteString(delta)
	valid, closing := s.Prefix()
	text := w.forwarded.String()
	if !utf8.ValidString(delta) {
		w.t.Fatalf("delta %q is not UTF-8", delta)
	}
	if s.Len() != len(text) || valid < w.valid || valid > len(text) || !closings.MatchString(closing) {
		w.t.Fatalf("after %q: Len %d, prefix %d %q, was %d", text, s.Len(), valid, closing, w.valid)
	}
	w.valid = valid
	if got := text[:valid] + closing; !isObject(got) {
		w.t.Fatalf("after %q: %q is no object", text, got)
	}
}

func isObject(s string) bool {
	return json.Valid([]byte(s)) && strings.HasPrefix(strings.TrimLeft(s, " \t\r\n"), "{")
}

// feed writes text in fragments of the sizes that next gives and returns what was forwarded.
func feed(s *jsonstream.Scanner, text []byte, next func() int) string {
	var b strings.Builder
	for len(text) > 0 {
		n := min(next(), len(text))
		b.WriteString(s.Write(text[:n]))
		text = text[n:]
	}
	return b.String()
}

// isPart says whether part is what could be shown of whole while it was being written.
func isPart(part, whole any) bool {
	switch p := part.(type) {
	case string:
		w, ok := whole.(string)
		return ok && strings.HasPrefix(w, p)
	case []any:
		w, ok := whole.([]any)
		if !ok || len(p) > len(w) {
			return false
		}
		for i := range p {
			if i < len(p)-1 && !equal(p[i], w[i]) || !isPart(p[i], w[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		w, ok := whole.(map[string]any)
		open := 0
		for k := range p {
			if _, has := w[k]; !has || !isPart(p[k], w[k]) {
				return false
			}
			if !equal(p[k], w[k]) {
				open++
			}
		}
		return ok && open <= 1 // only the last value is open
	default:
		return part == whole
	}
}

func equal(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

func parse(t testing.TB, text string) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

// TestEveryPrefix compares the pair after every byte of random documents with the writer's.
func TestEveryPrefix(t *testing.T) {
	t.Parallel()
	docs, prefixes := 2000, 0
	if testing.Short() {
		docs = 200
	}
	for seed := range docs {
		doc := document(uint64(seed), 200)
		text := doc.text.String()
		truth := parse(t, text)
		var s jsonstream.Scanner
		w := watch{t: t}
		for i := range len(text) {
			w.after(&s, s.Write([]byte{text[i]}))
			prefixes++
			valid, closing := s.Prefix()
			if m := doc.want(i + 1); valid != m.end || closing != m.closing {
				t.Fatalf("after %q: prefix %d %q, want %d %q", text[:i+1], valid, closing, m.end, m.closing)
			}
			// The writer is right, too: what it marks is part of the document.
			if got := text[:valid] + closing; seed%8 == 0 && !isPart(parse(t, got), truth) {
				t.Fatalf("after %q: %q shows what is not in %q", text[:i+1], got, text)
			}
		}
		if r := s.Finish(); (r != jsonstream.Result{JSON: text}) || w.forwarded.String() != text {
			t.Fatalf("%q: got %+v", text, r)
		}
	}
	t.Logf("%d prefixes of %d documents", prefixes, docs)
}

// TestAnyFragments: the pair and the result do not depend on how the text was cut.
func TestAnyFragments(t *testing.T) {
	t.Parallel()
	for seed := range 1000 {
		doc := document(uint64(seed), 400)
		text := doc.text.String()
		cut := text[:doc.IntN(len(text)+1)] // a broken connection
		var s jsonstream.Scanner
		w := watch{t: t}
		for at := 0; at < len(cut); {
			n := min(1+doc.IntN(9), len(cut)-at)
			w.after(&s, s.Write([]byte(cut[at:at+n])))
			at += n
			if valid, closing := s.Prefix(); valid != doc.want(at).end || closing != doc.want(at).closing {
				t.Fatalf("after %q: prefix %d %q", cut[:at], valid, closing)
			}
		}
		m, r := doc.want(len(cut)), s.Finish()
		whole := len(strings.TrimRight(text, " \t\r\n")) <= len(cut)
		blank := strings.TrimSpace(cut) == ""
		want := cut[:m.end] + m.closing
		if whole {
			want = cut
		}
		if r.JSON != want || r.Repaired || (r.Error == "") != (whole || blank) {
			t.Fatalf("%q: got %+v, want %q", cut, r, want)
		}
	}
}

package frame

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzSSE checks that cutting changes nothing, and that a reader of the whole
// text, written after the WHATWG's own words, finds the same events.
func FuzzSSE(f *testing.F) {
	for _, c := range sseCases {
		f.Add([]byte(c.body), uint16(len(c.body)/2), uint16(0))
		f.Add([]byte(c.body), uint16(len(c.body)-len(c.body)/3), uint16(5))
	}
	f.Fuzz(func(t *testing.T, body []byte, at, limit uint16) {
		sameHoweverCut(t, SSE, body, at, limit)
		first := strings.TrimLeft(strings.TrimPrefix(string(body), byteOrderMark), " \t\r\n")
		if strings.HasPrefix(first, "{") || strings.HasPrefix(first, "[") {
			return
		}
		got := readAll(t, SSE, bytes.NewReader(body), 0)
		for i := range got.Frames {
			got.Frames[i].Offset = 0
		}
		end := io.EOF
		if noEvents(string(body)) && strings.HasSuffix(got.Err, ErrNoEvents.Error()) {
			end = ErrNoEvents
		}
		check(t, got, wholeText(string(body)), end)
	})
}

// noEvents says whether no line is one of an event stream.
func noEvents(body string) bool {
	for line := range strings.FieldsFuncSeq(body, func(c rune) bool { return c == '\r' || c == '\n' }) {
		switch name, _, _ := strings.Cut(line, ":"); {
		case line[0] == '{', slices.Contains([]string{"", "data", "event", "error", "id", "retry"}, name):
			return false
		}
	}
	return true
}

// wholeText reads events the simple way: all lines first.
func wholeText(body string) []Frame {
	body = strings.TrimPrefix(body, byteOrderMark)
	body = strings.ReplaceAll(body, "\r\n", "\n")
	body = strings.ReplaceAll(body, "\r", "\n")
	lines := strings.Split(body, "\n")

	var frames []Frame
	var event string
	var data []string
	bare := false
	dispatch := func(unterminated bool) {
		text := strings.Join(data, "\n")
		if value := strings.TrimLeft(text, " \t\r\n"); strings.HasPrefix(value, "{") || strings.HasPrefix(value, "[") {
			frames = append(frames, Frame{Event: event, Data: []byte(text), Unterminated: unterminated})
		}
		event, data, bare = "", nil, false
	}
	for i, line := range lines {
		if line == "" {
			if i < len(lines)-1 {
				dispatch(false)
			}
			continue
		}
		if bare && strings.IndexAny(line, " \t\"{}[],") == 0 && unfinished(strings.Join(data, "\n")) {
			data = append(data, line)
			continue
		}
		if line[0] == '{' {
			if len(data) == 0 {
				data, bare = []string{line}, true
			}
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimPrefix(value, " "); name {
		case "error":
			if len(data) == 0 {
				event, data = "error", []string{value}
			}
		case "event":
			event = value
		case "data":
			data, bare = append(data, value), false
		}
	}
	dispatch(true)
	return frames
}

// unfinished says whether brackets are open behind text, and no string.
func unfinished(text string) bool {
	stringOrBracket := regexp.MustCompile(`(?s)"(\\.|[^"\\])*("|\\?$)|[][{}]`)
	depth := 0
	for _, token := range stringOrBracket.FindAllString(text, -1) {
		switch token[0] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return false
			}
		case '"':
			if len(token) == 1 || !strings.HasSuffix(token, `"`) || regexp.MustCompile(`(?s)^"(\\.|[^"\\])*$`).MatchString(token) {
				return false
			}
		}
	}
	return depth > 0
}

// FuzzJSONArray checks that cutting changes nothing, and that the elements of a
// valid array are those encoding/json finds.
func FuzzJSONArray(f *testing.F) {
	for _, c := range jsonCases {
		f.Add([]byte(c.body), uint16(len(c.body)/2), uint16(0))
		f.Add([]byte(c.body), uint16(len(c.body)-len(c.body)/3), uint16(5))
	}
	f.Fuzz(func(t *testing.T, body []byte, at, limit uint16) {
		sameHoweverCut(t, JSON, body, at, limit)
		var elements []json.RawMessage
		if json.Unmarshal(body, &elements) != nil || elements == nil {
			return
		}
		if slices.ContainsFunc(elements, func(e json.RawMessage) bool { return !beginsJSON(e) }) {
			return
		}
		var want []Frame
		for _, e := range elements {
			want = append(want, Frame{Data: e})
		}
		got := readAll(t, JSON, bytes.NewReader(body), 0)
		for i, f := range got.Frames {
			if !bytes.HasPrefix(body[f.Offset:], f.Data) {
				t.Errorf("frame %d is not at %d", i, f.Offset)
			}
			got.Frames[i].Offset = 0
		}
		check(t, got, want, io.EOF)
	})
}

// FuzzEventStream checks that cutting changes nothing.
func FuzzEventStream(f *testing.F) {
	for _, s := range samples(f) {
		if s.kind == EventStream {
			f.Add(s.body, uint16(len(s.body)/2), uint16(0))
			f.Add(s.body, uint16(13), uint16(80))
		}
	}
	f.Add(seal(19, 3, []byte{1, 'a', 99}), uint16(14), uint16(0))
	f.Add(seal(0x7fffffff, 0, nil), uint16(3), uint16(0))
	f.Fuzz(func(t *testing.T, body []byte, at, limit uint16) {
		sameHoweverCut(t, EventStream, body, at, limit)
	})
}

func sameHoweverCut(t *testing.T, kind Kind, body []byte, at, limit uint16) {
	t.Helper()
	want := readAll(t, kind, bytes.NewReader(body), int(limit))
	got := map[string]result{
		"one byte": readAll(t, kind, iotest.OneByteReader(bytes.NewReader(body)), int(limit)),
		"with EOF": readAll(t, kind, iotest.DataErrReader(bytes.NewReader(body)), int(limit)),
		"cut":      readAll(t, kind, cutAt(body, min(int(at), len(body)), io.EOF), int(limit)),
	}
	for way, g := range got {
		if diff := differ(want, g); diff != "" {
			t.Errorf("(-whole +%s)\n%s", way, diff)
		}
	}
}

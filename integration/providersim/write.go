package providersim

import (
	"bytes"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// stream is a body of server-sent events.
type stream struct{ bytes.Buffer }

// event writes one event; without a name it is data alone.
func (s *stream) event(name string, fill func(w *jsonwire.Writer)) {
	if name != "" {
		s.WriteString("event: " + name + "\n")
	}
	s.WriteString("data: ")
	// A line end inside JSON begins a new line of data.
	s.Write(bytes.ReplaceAll(obj(fill), []byte("\n"), []byte("\ndata: ")))
	s.WriteString("\n\n")
}

// obj writes one JSON object.
func obj(fill func(w *jsonwire.Writer)) []byte {
	var w jsonwire.Writer
	w.BeginObject()
	fill(&w)
	w.EndObject()
	return w.Bytes()
}

// in writes a member that is an object.
func in(w *jsonwire.Writer, key string, fill func()) {
	w.Key(key)
	w.BeginObject()
	fill()
	w.EndObject()
}

func integer(w *jsonwire.Writer, key string, n int) {
	w.Key(key)
	w.Int(int64(n))
}

// tokens counts as providers do, roughly.
func tokens(s string) int { return len(s)/4 + 1 }

func (a *reply) tokens() int {
	n := 0
	for _, p := range a.pieces {
		n += tokens(p.text + p.args)
	}
	return n
}

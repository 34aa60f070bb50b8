package jsonstream

// Shape follows a JSON text far enough to know whether its outermost object or array
// is closed, for deciding what a fragment belongs to. It checks nothing; that is the
// [Scanner]'s business. The zero value is ready.
type Shape struct {
	depth             int
	inString, escaped bool
	closed            bool
}

// Feed takes the next fragment.
func (s *Shape) Feed(text string) {
	for i := range len(text) {
		switch c := text[i]; {
		case s.escaped:
			s.escaped = false
		case s.inString:
			s.escaped = c == '\\'
			s.inString = c != '"'
		case c == '"':
			s.inString = true
		case c == '{' || c == '[':
			s.depth++
			s.closed = false
		case c == '}' || c == ']':
			s.depth--
			s.closed = s.depth == 0
		}
	}
}

// Closed says whether what was opened first is closed.
func (s *Shape) Closed() bool { return s.closed }

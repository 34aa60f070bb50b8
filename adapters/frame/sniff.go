package frame

import "github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

// byteOrderMark may open a text body, once.
const byteOrderMark = "\xef\xbb\xbf"

// sniffer chooses the parser of a body by its first bytes.
type sniffer struct {
	kind   Kind
	in     *body
	chosen parser
}

func (s *sniffer) next() (Frame, error) {
	if s.chosen == nil {
		if s.kind == EventStream {
			s.chosen = s.binary()
		} else {
			s.chosen = s.text()
		}
	}
	if s.chosen == nil {
		return Frame{}, s.in.err // the body ended before it said anything
	}
	return s.chosen.next()
}

func (s *sniffer) binary() parser {
	switch {
	case !s.in.more():
		return nil
	case s.in.window[0] == '{':
		return &jsonParser{in: s.in, bare: true}
	default:
		return &eventStreamParser{in: s.in, decoder: eventstream.NewDecoder()}
	}
}

// text drops white space before the first other byte. To server-sent events
// that white space is blank lines, which do nothing, or the start of a line that
// no field name matches; so nothing has to be read twice.
func (s *sniffer) text() parser {
	if s.brokenMark() {
		return &sseParser{in: s.in, state: ignoredRest}
	}
	state := lineStart
	for s.in.more() {
		switch s.in.window[0] {
		case '{':
			return &jsonParser{in: s.in, bare: true}
		case '[':
			s.in.skip(1)
			return &jsonParser{in: s.in}
		case '\r', '\n':
			state = lineStart
		case ' ', '\t':
			state = ignoredRest
		default:
			return &sseParser{in: s.in, state: state, other: state == ignoredRest}
		}
		s.in.skip(1)
	}
	return nil
}

// brokenMark drops a byte order mark, which may come in pieces. It reports true
// if it dropped the beginning of one that then went on as something else.
func (s *sniffer) brokenMark() bool {
	for i := range len(byteOrderMark) {
		if !s.in.more() || s.in.window[0] != byteOrderMark[i] {
			return i > 0
		}
		s.in.skip(1)
	}
	return false
}

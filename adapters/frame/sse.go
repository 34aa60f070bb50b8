package frame

import (
	"bytes"
	"io"
)

// sseState is where in a line the parser stands. A line may come in any number
// of reads, so the state is all there is: no line is ever stored as such.
type sseState int

const (
	lineStart   sseState = iota // before the first byte of a line
	fieldName                   // in a name that may still be "data" or "event"
	fieldSpace                  // behind the colon, where one space is dropped
	fieldValue                  // in a value that is kept
	ignoredRest                 // in a comment or a field that is not kept
)

// maxFieldName is the length of the longest field name that matters.
const maxFieldName = len("event")

// sseParser reads server-sent events.
type sseParser struct {
	in      *body
	state   sseState
	afterCR bool // the last line ended in CR: an LF now belongs to it

	field      [maxFieldName]byte
	fieldLen   int
	lineOffset int64 // of the line whose name is being read

	// The event so far.
	offset  int64 // of its first line, if open
	open    bool  // a "data" or "event" line was seen
	hasData bool  // a "data" line was seen
	isData  bool  // the value being read is data, else it is the event name
	data    []byte
	event   []byte
	bare    *nesting // of data that began without a field, until it is whole

	lastEvent string

	// said: a line was one of an event stream; other: one was none.
	said, other bool
}

func (p *sseParser) next() (Frame, error) {
	for p.in.more() {
		switch p.state {
		case lineStart:
			if f, ok := p.usual(); ok {
				return f, nil
			}
			blank, err := p.beginLine()
			if err != nil {
				return Frame{}, err
			}
			if blank {
				if f, ok := p.dispatch(); ok {
					return f, nil
				}
			}
		case fieldName:
			if err := p.readName(); err != nil {
				return Frame{}, err
			}
		case fieldSpace:
			if p.in.window[0] == ' ' {
				p.in.skip(1)
			}
			p.state = fieldValue
		case fieldValue:
			if err := p.readValue(); err != nil {
				return Frame{}, err
			}
		case ignoredRest:
			p.in.skip(lineLength(p.in.window))
			p.endLine()
		}
	}
	return p.finish()
}

// usual gives out the event that window begins with, if all of it is there and it is
// a data line, with or without an event line before it, as nearly all are. Then its
// data needs no copy, and finding line ends is all there is to do. Anything else is
// left to the states above. The caller stands at the start of a line.
func (p *sseParser) usual() (Frame, bool) {
	if p.open || p.afterCR {
		return Frame{}, false
	}
	rest := p.in.window
	var name []byte
	if after, ok := bytes.CutPrefix(rest, []byte("event: ")); ok {
		name, rest = cutLine(after)
	}
	after, ok := bytes.CutPrefix(rest, []byte("data:"))
	if !ok {
		return Frame{}, false
	}
	data, rest := cutLine(after)
	blank, rest := cutLine(rest)
	if rest == nil || len(blank) > 0 {
		return Frame{}, false
	}
	data = bytes.TrimPrefix(data, []byte{' '})
	if !beginsJSON(data) || len(data)+len(name) > p.in.max {
		return Frame{}, false
	}
	f := Frame{Data: data, Event: p.name(name), Offset: p.in.offset}
	p.in.skip(len(p.in.window) - len(rest))
	return f, true
}

// cutLine cuts off a line that ends with LF or CR LF; rest is nil if it does not.
func cutLine(b []byte) (line, rest []byte) {
	before, after, ok := bytes.Cut(b, []byte{'\n'})
	if !ok {
		return nil, nil
	}
	line = bytes.TrimSuffix(before, []byte{'\r'})
	if bytes.IndexByte(line, '\r') >= 0 {
		return nil, nil
	}
	return line, after
}

// name is an event's name: they repeat, so that one string serves a run of equal
// ones.
func (p *sseParser) name(event []byte) string {
	if string(event) != p.lastEvent {
		p.lastEvent = string(event)
	}
	return p.lastEvent
}

// beginLine looks at the first byte of a line and reports whether the line is
// blank, which ends an event. A CR does so at once: whether an LF follows is
// left to the next call, as waiting for it could take the whole stream's pause.
func (p *sseParser) beginLine() (blank bool, err error) {
	c := p.in.window[0]
	if p.afterCR {
		p.afterCR = false
		if c == '\n' {
			p.in.skip(1)
			return false, nil
		}
	}
	if p.bare.goesOn(c) {
		p.state = fieldValue
		p.isData = true
		return false, p.keep([]byte{'\n'})
	}
	switch c {
	case '\r', '\n':
		p.endLine()
		return true, nil
	case ':':
		p.said = true
		p.state = ignoredRest
	case '{':
		// No field begins like this: bare JSON, as some hosts end a stream with when
		// they fail, and Google over several lines.
		// https://github.com/maximhq/bifrost/pull/5262
		p.lineOffset = p.in.offset
		p.state = fieldValue
		if p.hasData {
			p.state = ignoredRest
			break
		}
		p.openEvent()
		p.isData, p.hasData = true, true
		p.bare = &nesting{}
	default:
		p.lineOffset = p.in.offset
		p.fieldLen = 0
		p.state = fieldName
	}
	return false, nil
}

// goesOn says whether a line that begins with c goes on with a value that is not whole.
// No field of an event stream begins so.
func (n *nesting) goesOn(c byte) bool {
	if n == nil || n.inString {
		return false
	}
	switch c {
	case ' ', '\t', '"', '{', '}', '[', ']', ',':
		return true
	}
	return false
}

// endLine consumes the line end that window begins with. Without one, the line
// goes on in the next read.
func (p *sseParser) endLine() {
	if len(p.in.window) == 0 {
		return
	}
	p.afterCR = p.in.window[0] == '\r'
	p.in.skip(1)
	p.state = lineStart
}

// readName takes one byte of a field name. A line without a colon is a name
// with an empty value.
func (p *sseParser) readName() error {
	switch c := p.in.window[0]; {
	case c == ':':
		p.in.skip(1)
		return p.beginValue()
	case c == '\r' || c == '\n':
		err := p.beginValue()
		p.endLine()
		return err
	case p.fieldLen == maxFieldName:
		p.other = true
		p.state = ignoredRest
	default:
		p.field[p.fieldLen] = c
		p.fieldLen++
		p.in.skip(1)
	}
	return nil
}

// beginValue acts on a complete field name. A second data line is joined to the
// first by LF; a second name replaces the first.
func (p *sseParser) beginValue() error {
	p.state = fieldSpace
	switch string(p.field[:p.fieldLen]) {
	case "data":
		p.openEvent()
		p.bare = nil
		p.isData = true
		if p.hasData {
			return p.keep([]byte{'\n'})
		}
		p.hasData = true
	case "error":
		// llama.cpp says "error: {...}" where it fails in mid-stream.
		if p.hasData {
			p.state = ignoredRest
			break
		}
		p.openEvent()
		p.event = append(p.event[:0], "error"...)
		p.isData, p.hasData = true, true
	case "event":
		p.openEvent()
		p.isData = false
		p.event = p.event[:0]
	case "id", "retry":
		p.said = true
		p.state = ignoredRest
	default:
		p.other = true
		p.state = ignoredRest
	}
	return nil
}

func (p *sseParser) openEvent() {
	p.said = true
	if !p.open {
		p.open = true
		p.offset = p.lineOffset
	}
}

func (p *sseParser) readValue() error {
	n := lineLength(p.in.window)
	if err := p.keep(p.in.window[:n]); err != nil {
		return err
	}
	p.in.skip(n)
	p.endLine()
	return nil
}

// ended says whether a value ends in b, which goes on with it.
func (n *nesting) ended(b []byte) bool {
	if n == nil {
		return false
	}
	n.scan(b)
	return n.depth == 0
}

// keep adds b to the value being read, within the limit of the frame.
func (p *sseParser) keep(b []byte) error {
	if len(b) > p.in.max-len(p.data)-len(p.event) {
		return p.in.tooLarge(p.offset)
	}
	if p.isData {
		p.data = append(p.data, b...)
		if p.bare.ended(b) {
			p.bare = nil
		}
	} else {
		p.event = append(p.event, b...)
	}
	return nil
}

// dispatch ends the event and makes it a frame, if it is one. The frame's data
// stays in p.data's memory, which nothing writes to before the next call.
func (p *sseParser) dispatch() (Frame, bool) {
	f := Frame{Data: p.data, Offset: p.offset}
	isFrame := beginsJSON(p.data)
	if isFrame {
		f.Event = p.name(p.event)
	}
	p.open, p.hasData, p.bare = false, false, nil
	p.data, p.event = p.data[:0], p.event[:0]
	return f, isFrame
}

// finish is called at the end of the body, first with an event that may be
// pending, then without.
func (p *sseParser) finish() (Frame, error) {
	cutOffset, cut := p.offset, p.open
	page := p.other // not by a name that was cut
	if p.state == fieldName {
		// The last line has no end: "data" may stand there as a whole name.
		if !cut {
			cutOffset, cut = p.lineOffset, true
		}
		if err := p.beginValue(); err != nil {
			return Frame{}, err
		}
	}
	p.state = lineStart
	if f, ok := p.dispatch(); ok {
		f.Unterminated = true
		return f, nil
	}
	switch {
	case cut && p.in.err != io.EOF:
		return Frame{}, p.in.truncated(cutOffset)
	case page && !p.said && p.in.index == 0 && p.in.err == io.EOF:
		return Frame{}, ErrNoEvents
	}
	return Frame{}, p.in.err
}

// lineLength returns how many bytes of b come before a line end.
func lineLength(b []byte) int {
	for i, c := range b {
		if c == '\n' || c == '\r' {
			return i
		}
	}
	return len(b)
}

// beginsJSON reports whether data may be the JSON a decoder expects.
func beginsJSON(data []byte) bool {
	for _, c := range data {
		switch c {
		case ' ', '\t', '\n', '\r':
		default:
			return c == '{' || c == '['
		}
	}
	return false
}

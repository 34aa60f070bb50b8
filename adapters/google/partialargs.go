package google

import (
	"slices"
	"strconv"

	"github.com/llmd-dev/llmd/adapters"
)

// streamedCall is a function call of which more will come.
type streamedCall struct {
	block    int
	id, name string // as far as they are known
	args     argsBuilder
}

// functionCall reads a call, or a piece of one: the first has the name, the last
// lacks "willContinue" and may be empty.
func (d *decoder) functionCall(p *part, sink *adapters.Sink) {
	f := p.FunctionCall
	if d.call == nil && *p == (part{FunctionCall: f}) && f.isEmpty() {
		return
	}
	id, name := string(f.ID), string(f.Name)
	if d.call == nil || name != "" && !d.call.repeatedBy(f) {
		d.endCall(sink)
		d.endText(sink)
		d.call = &streamedCall{block: d.open(), id: id, name: name}
		sink.ToolCall(d.call.block, id, name, "")
	} else if id != "" && d.call.id == "" {
		d.call.id = id
		sink.ToolCall(d.call.block, id, "", "")
	}
	c := d.call
	d.sign(c.block, p, sink)
	if filled(f.Args) && len(c.args.open) == 0 {
		sink.Arguments(c.block, adapters.WholeInput(f.Args))
		c.args.stuck = true // pieces could only say it again
	}
	for i := range f.PartialArgs {
		c.args.add(&f.PartialArgs[i])
	}
	if !f.WillContinue {
		d.endCall(sink)
		return
	}
	c.flush(sink)
}

// repeatedBy says whether a piece with a name goes on with the call and only says again whose
// it is. What begins a call has no arguments yet.
// https://github.com/google/adk-python/blob/main/src/google/adk/utils/streaming_utils.py
func (c *streamedCall) repeatedBy(f *functionCall) bool {
	if string(f.Name) != c.name {
		return false
	}
	if f.ID == "" {
		return len(f.PartialArgs) > 0
	}
	return string(f.ID) == c.id
}

func (f *functionCall) isEmpty() bool {
	return f.ID == "" && f.Name == "" && len(f.Args) == 0 && len(f.PartialArgs) == 0 && !f.WillContinue
}

func (c *streamedCall) flush(sink *adapters.Sink) {
	if s := c.args.take(); s != "" {
		sink.Arguments(c.block, s)
	}
}

// endCall ends the call that is open.
func (d *decoder) endCall(sink *adapters.Sink) {
	if d.call == nil {
		return
	}
	d.call.args.close()
	d.call.flush(sink)
	sink.End(d.call.block)
	d.call = nil
}

// argsBuilder turns pairs of a JSON path and a value into the text of one object,
// which only ever grows: the pairs come in the order in which the model writes.
//
// Should one go back to what is closed already, the text is left as it is and
// never closed; a caller then sees arguments that were cut.
type argsBuilder struct {
	out   []byte
	open  []container // from the outermost
	inStr []step      // the path of a string that goes on, nil if there is none
	stuck bool
}

// container is an open object or array.
type container struct {
	at    step // its place in the one around it
	array bool
	n     int             // members so far
	keys  map[string]bool // of an object
}

// take returns the text since the last call.
func (b *argsBuilder) take() string {
	s := string(b.out)
	b.out = b.out[:0]
	return s
}

// add appends a value, or a piece of a string.
func (b *argsBuilder) add(a *partialArg) {
	if b.stuck {
		return
	}
	if len(b.open) == 0 {
		b.push(container{at: step{index: -1}})
	}
	path, ok := parsePath(a.JSONPath)
	if !ok {
		b.stuck = true
		return
	}
	if b.inStr != nil && slices.Equal(b.inStr, path) {
		b.piece(a)
		return
	}
	value, ok := a.scalar()
	if !ok {
		return // a place without a value says nothing
	}
	b.closeString()
	was := len(b.out)
	if !b.place(path) {
		b.out, b.stuck = b.out[:was], true
		return
	}
	if a.StringValue != nil {
		b.out = append(b.out, '"')
		b.inStr = path
		b.piece(a)
		return
	}
	b.out = append(b.out, value...)
}

// piece goes on with the open string.
func (b *argsBuilder) piece(a *partialArg) {
	if a.StringValue != nil {
		b.out = appendEscaped(b.out, string(*a.StringValue))
	}
	if !a.WillContinue {
		b.closeString()
	}
}

func (b *argsBuilder) closeString() {
	if b.inStr != nil {
		b.out = append(b.out, '"')
		b.inStr = nil
	}
}

// scalar is the text of a value that is no string; false if there is no value.
func (a *partialArg) scalar() (string, bool) {
	switch {
	case a.StringValue != nil:
		return "", true
	case len(a.NumberValue) > 0 && string(a.NumberValue) != "null":
		return string(a.NumberValue), true
	case a.BoolValue != nil:
		return strconv.FormatBool(*a.BoolValue), true
	case len(a.NullValue) > 0:
		return "null", true
	}
	return "", false
}

// place closes and opens containers until a value can stand at path, and writes
// what stands before it. False: that place is gone.
func (b *argsBuilder) place(path []step) bool {
	if len(path) == 0 {
		return false
	}
	depth := 1 // containers on the way to path that are open
	for depth < len(b.open) && depth < len(path) && b.open[depth].at == path[depth-1] {
		depth++
	}
	for len(b.open) > depth {
		b.pop()
	}
	for i := depth; i < len(path); i++ {
		if !b.member(path[i-1]) {
			return false
		}
		b.push(container{at: path[i-1], array: path[i].index >= 0})
	}
	return b.member(path[len(path)-1])
}

// member begins the next member of the innermost container.
func (b *argsBuilder) member(s step) bool {
	c := &b.open[len(b.open)-1]
	if c.array != (s.index >= 0) || c.array && s.index != c.n || c.keys[s.key] {
		return false
	}
	if c.n > 0 {
		b.out = append(b.out, ',')
	}
	c.n++
	if c.array {
		return true
	}
	if c.keys == nil {
		c.keys = map[string]bool{}
	}
	c.keys[s.key] = true
	b.out = append(b.out, '"')
	b.out = appendEscaped(b.out, s.key)
	b.out = append(b.out, '"', ':')
	return true
}

func (b *argsBuilder) push(c container) {
	b.open = append(b.open, c)
	if c.array {
		b.out = append(b.out, '[')
	} else {
		b.out = append(b.out, '{')
	}
}

func (b *argsBuilder) pop() {
	last := len(b.open) - 1
	if b.open[last].array {
		b.out = append(b.out, ']')
	} else {
		b.out = append(b.out, '}')
	}
	b.open = b.open[:last]
}

// close ends the text.
func (b *argsBuilder) close() {
	if b.stuck {
		return
	}
	b.closeString()
	for len(b.open) > 0 {
		b.pop()
	}
}

// appendEscaped appends the inside of a JSON string. Halves of surrogate pairs,
// which s may hold as WTF-8, become escapes: the other half may be in the next
// piece.
func appendEscaped(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		case c == 0xED && i+2 < len(s) && s[i+1] >= 0xA0:
			r := 0xD000 | rune(s[i+1]&0x3F)<<6 | rune(s[i+2]&0x3F)
			dst = append(dst, '\\', 'u', hex[r>>12], hex[r>>8&0xf], hex[r>>4&0xf], hex[r&0xf])
			i += 2
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

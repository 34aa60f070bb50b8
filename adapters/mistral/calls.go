package mistral

import (
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonstream"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// toolCall is a call that is being read.
type toolCall struct {
	block    int
	id, name string
	shape    jsonstream.Shape // of its arguments
	told     bool             // there are some
	empty    bool             // "{}" came and was not told: it may be a placeholder
	quoted   strings.Builder  // arguments that came as a string in a string
	counted  int              // bytes of these, as [calls.kept] counts them
	open     bool             // it is one of [calls.open]
}

// calls matches pieces to calls. Mistral sends a call in one piece; what stands
// between may send it in several, leave out the numbers, or give them all number 0.
type calls struct {
	list    []*toolCall
	byIndex map[jsonwire.Number]*toolCall
	byID    map[string]*toolCall
	// open are those that something came for since they were last settled.
	open []*toolCall
	kept int // bytes of ids, and of what is not told yet
}

// delta reads one entry of tool_calls. newBlock gives the number of a new block.
func (cs *calls) delta(d *callDelta, newBlock func() int, sink *adapters.Sink) {
	if d.ID == "null" {
		d.ID = "" // the client libraries' word for none
	}
	c := cs.find(d)
	isNew := c == nil
	if isNew && d.ID == "" && d.Function.Name == "" && d.Function.Arguments == "" {
		return // such as null
	}
	if isNew {
		c = &toolCall{block: newBlock()}
		cs.list = append(cs.list, c)
	}
	cs.register(c, d, isNew)
	filled := isNew
	if c.id == "" && d.ID != "" {
		c.id, filled = string(d.ID), true
	}
	if c.name == "" && d.Function.Name != "" {
		c.name, filled = string(d.Function.Name), true
	}
	if filled {
		sink.ToolCall(c.block, c.id, c.name, "")
	}
	if !c.open {
		c.open = true
		cs.open = append(cs.open, c)
	}
	c.add(string(d.Function.Arguments), sink)
	cs.count(c)
}

// count counts what is kept of a call and not told yet.
func (cs *calls) count(c *toolCall) {
	cs.kept += c.quoted.Len() - c.counted
	c.counted = c.quoted.Len()
}

// add takes a fragment of the arguments. Without any, they are an empty object.
func (c *toolCall) add(fragment string, sink *adapters.Sink) {
	switch trimmed := strings.TrimSpace(fragment); {
	case fragment == "":
		return
	case c.quoted.Len() > 0 || !c.told && strings.HasPrefix(trimmed, `"`):
		c.empty = false // it was in the place of these
		c.quoted.WriteString(fragment)
		return
	case !c.told && trimmed == "{}":
		c.empty = true
		return
	case c.empty && !strings.HasPrefix(trimmed, "{"):
		fragment = "{}" + fragment
	}
	c.empty = false
	c.tell(fragment, sink)
}

func (c *toolCall) tell(fragment string, sink *adapters.Sink) {
	c.told = true
	c.shape.Feed(fragment)
	sink.Arguments(c.block, fragment)
}

// settle decides what was held back, as the answer is whole. Only calls that something came
// for are looked at: an answer may have a marker with each call.
func (cs *calls) settle(sink *adapters.Sink) {
	cs.unquote(adapters.InnerObject, sink)
	for _, c := range cs.open {
		if c.empty {
			c.empty = false
			c.tell("{}", sink)
		}
		c.open = false
	}
	cs.open = cs.open[:0]
}

// unquote decides what arguments in quotes are, once they are whole or cut: inner reads
// them.
func (cs *calls) unquote(inner func(string) string, sink *adapters.Sink) {
	for _, c := range cs.open {
		if c.quoted.Len() > 0 {
			c.tell(inner(c.quoted.String()), sink)
			c.quoted.Reset()
			cs.count(c)
		}
	}
}

// whole says whether the arguments so far are one object.
func (c *toolCall) whole() bool { return c.empty || c.shape.Closed() }

// find is the call that a piece belongs to; nil if it begins a new one. The number
// counts more than the id, which gateways change on the way.
func (cs *calls) find(d *callDelta) *toolCall {
	if len(cs.list) == 0 {
		return nil
	}
	last := cs.list[len(cs.list)-1]
	var c *toolCall
	switch {
	case d.Index != nil:
		c = cs.byIndex[*d.Index]
	case d.ID != "":
		c = cs.byID[string(d.ID)]
		if c == nil && last.id == "" && d.Function.Name == "" {
			c = last // the id comes late
		}
	default:
		c = last
	}
	if c == nil || c.followedBy(d) {
		return nil
	}
	return c
}

// followedBy says whether a piece that has the call's number, or none, begins the
// next call all the same. Such a piece names a tool. Without number and id that
// is enough, unless the name is only said again; else it must come with another id,
// or with arguments of its own when those so far are whole, and not in their place.
func (c *toolCall) followedBy(d *callDelta) bool {
	name := string(d.Function.Name)
	if name == "" || c.name == "" {
		return false
	}
	if d.Index == nil && d.ID == "" {
		return d.second || name != c.name || c.whole()
	}
	otherID := d.ID != "" && c.id != "" && string(d.ID) != c.id
	fresh := strings.HasPrefix(strings.TrimSpace(string(d.Function.Arguments)), "{")
	return d.second && otherID || c.whole() && fresh && (otherID || d.ID == "" && !(c.empty && name == c.name))
}

// register remembers by what the call is found again.
func (cs *calls) register(c *toolCall, d *callDelta, isNew bool) {
	if cs.byIndex == nil {
		cs.byIndex, cs.byID = map[jsonwire.Number]*toolCall{}, map[string]*toolCall{}
	}
	if d.Index != nil && (isNew || cs.byIndex[*d.Index] == nil) {
		cs.byIndex[*d.Index] = c
	}
	if d.ID != "" && (isNew || cs.byID[string(d.ID)] == nil) {
		cs.byID[string(d.ID)] = c
		cs.kept += adapters.HeldValue + len(d.ID)
	}
}

package openaichat

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
	indexed  bool // the host numbers it
	opened   bool // told to the sink

	arguments strings.Builder  // what was told to the sink
	shape     jsonstream.Shape // of it
	emptyOnly bool             // "{}" came and was not told: it may be a placeholder
	held      string           // a fragment that may be the whole text anew
	anew      bool             // each fragment is the whole text so far
	quoted    strings.Builder  // arguments that came as a string in a string

	unsettled bool // it is one of [calls.open]

	custom bool // the tool is a custom one
	input  adapters.CustomInput

	format    string // of the signature
	signature []byte // not told yet
	// next is how a further call of the same name may have begun, under this one's
	// number: its arguments tell.
	next callDelta
	// counted is how much of it [calls.kept] counts.
	counted int
}

// calls matches fragments to calls. Hosts number them; some do not, give the id
// again with each fragment, change it on the way, or give the same number to all.
type calls struct {
	list    []*toolCall
	byIndex map[jsonwire.Number]*toolCall
	byID    map[string]*toolCall
	// waiting is a call that is not opened yet: its id or name may still come.
	waiting *toolCall
	// open are those that something came for since they were last settled.
	open []*toolCall
	kept int // bytes of what is not told yet, or remembered
}

// legacyIndex stands for the one function_call of the time before tools.
const legacyIndex = jsonwire.Number(-1)

// find is the call that a delta belongs to; nil if it begins a new one.
func (cs *calls) find(d *callDelta) *toolCall {
	var last *toolCall
	if n := len(cs.list); n > 0 {
		last = cs.list[n-1]
	}
	var c *toolCall
	switch {
	case d.Index != nil && cs.byIndex[*d.Index] != nil:
		// The number counts more than the id, which gateways change on the way.
		c = cs.byIndex[*d.Index]
	case d.ID != "" && cs.byID[string(d.ID)] != nil:
		if c = cs.byID[string(d.ID)]; d.Index != nil && c.indexed {
			return nil
		}
		return c
	case last == nil:
		return nil
	case d.Index != nil:
		// A call may begin without its number, never go on with another one.
		if last.indexed || d.ID != "" || d.Function.Name != "" {
			return nil
		}
		c = last
	case d.ID != "":
		// The id may come late, then for the call that has none.
		if last.id != "" || d.Function.Name != "" && last.name != "" {
			return nil
		}
		c = last
	default:
		c = last
	}
	if c.followedBy(d) {
		return nil
	}
	return c
}

// followedBy: a host that gives one number to all calls, or none, begins the next
// one with a new name or id and new arguments, after those of the last are whole.
func (c *toolCall) followedBy(d *callDelta) bool {
	name, arguments := string(d.Function.Name), strings.TrimSpace(string(d.Function.Arguments))
	if d.Index == nil && name != "" && c.name != "" && (name != c.name || d.second) {
		return true
	}
	if !c.whole() {
		return false
	}
	id := string(d.ID)
	another := id != "" && c.id != "" && id != c.id
	if arguments == "" && another && name != "" {
		if name != c.name {
			return true
		}
		// Or a gateway that gives each chunk a new id, and says the name again.
		c.next = *d
		return false
	}
	if !strings.HasPrefix(arguments, "{") {
		return false
	}
	if id == "" && c.next.ID != "" {
		d.ID, d.Function.Name = c.next.ID, c.next.Function.Name
		return true
	}
	if id != "" && c.id != "" {
		return another
	}
	return name != "" && !c.repeatedBy(arguments)
}

// whole says whether the arguments so far are one object.
func (c *toolCall) whole() bool { return c.emptyOnly || c.held == "" && c.shape.Closed() }

// repeatedBy says whether arguments are those so far, said again.
func (c *toolCall) repeatedBy(arguments string) bool {
	return c.emptyOnly || strings.HasPrefix(arguments, c.arguments.String())
}

// delta reads one entry of tool_calls. newBlock gives the number of a new block.
func (cs *calls) delta(d *callDelta, newBlock func() int, sink *adapters.Sink) {
	if d.Custom != nil && *d.Custom == (customDelta{}) && d.Type != "custom" {
		d.Custom = nil // an empty field beside those of another kind of call
	}
	if !d.says() {
		return
	}
	if d.Custom != nil && d.Function.Name == "" {
		d.Function.Name = d.Custom.Name
	}
	c := cs.find(d)
	if c == nil {
		if d.ID == "" && d.Function == (functionDelta{}) && d.Custom == nil && !d.signed() {
			return // nothing is called yet: https://github.com/BerriAI/litellm/issues/17425
		}
		cs.openWaiting(sink)
		c = &toolCall{block: newBlock()}
		cs.list = append(cs.list, c)
		cs.waiting = c
		cs.register(c, d, true)
	} else {
		cs.register(c, d, false)
	}
	if !c.unsettled {
		c.unsettled = true
		cs.open = append(cs.open, c)
	}
	filled := false
	if c.id == "" && d.ID != "" {
		c.takeID(string(d.ID))
		filled = true
	}
	if c.name == "" && d.Function.Name != "" {
		c.name, filled = string(d.Function.Name), true
	}
	switch {
	case d.Extra.raw != nil:
		c.format, c.signature = formatExtra, d.Extra.raw
	case d.Signature != "":
		c.format, c.signature = formatThought, []byte(d.Signature)
	}
	switch {
	case c.opened && filled:
		sink.ToolCall(c.block, c.id, c.name, "")
	case !c.opened && (c.id != "" && c.name != "" || d.Function.Arguments != "" || d.Custom != nil && d.Custom.Input != ""):
		cs.openWaiting(sink)
	}
	c.sign(sink)
	if d.Custom == nil {
		c.add(string(d.Function.Arguments), sink)
		cs.count(c)
		return
	}
	c.custom = true
	if d.Custom.Input != "" {
		c.tell(c.input.Add(string(d.Custom.Input)), sink)
	}
}

// count counts what is kept of a call and not told yet.
func (cs *calls) count(c *toolCall) {
	kept := len(c.held) + c.quoted.Len() + len(c.next.ID) + len(c.next.Function.Name)
	cs.kept += kept - c.counted
	c.counted = kept
}

// register remembers by what the call is found again.
func (cs *calls) register(c *toolCall, d *callDelta, isNew bool) {
	if cs.byIndex == nil {
		cs.byIndex, cs.byID = map[jsonwire.Number]*toolCall{}, map[string]*toolCall{}
	}
	if d.Index != nil && (isNew || !c.indexed) {
		cs.byIndex[*d.Index] = c
		c.indexed = true
	}
	// The first id stays the call's own, a later one finds it all the same.
	if d.ID != "" && (isNew || cs.byID[string(d.ID)] == nil) {
		cs.byID[string(d.ID)] = c
		cs.kept += adapters.HeldValue + len(d.ID)
	}
}

// openWaiting tells of the call that waited for its id and name. It must be
// before any later block opens, so that blocks keep their order.
func (cs *calls) openWaiting(sink *adapters.Sink) {
	c := cs.waiting
	if c == nil {
		return
	}
	cs.waiting = nil
	c.opened = true
	sink.ToolCall(c.block, c.id, c.name, "")
	c.sign(sink)
}

// maxOwnID is how long the contract lets an id be.
const maxOwnID = 512

// takeID takes the id. LiteLLM puts Gemini's signatures into it, which are longer than
// an id may be; then they are the call's signature.
// https://github.com/BerriAI/litellm/pull/16895
func (c *toolCall) takeID(id string) {
	c.id = id
	if n := strings.Index(id, signedID); n > 0 && len(id) > maxOwnID {
		c.id, c.format, c.signature = id[:n], formatCallID, []byte(id[n:])
	}
}

const signedID = "__thought__"

// sign tells the signature, once there is a call that it belongs to.
func (c *toolCall) sign(sink *adapters.Sink) {
	if c.opened && c.signature != nil {
		sink.Signature(c.block, c.format, c.signature)
		c.signature = nil
	}
}

// settle decides what is open in calls, at the end of the answer: inner reads arguments in
// quotes, which are whole or cut.
func (cs *calls) settle(inner func(string) string, sink *adapters.Sink) {
	cs.openWaiting(sink)
	for _, c := range cs.open {
		if c.quoted.Len() > 0 {
			c.tell(inner(c.quoted.String()), sink)
			c.quoted.Reset()
		}
		c.settle(sink)
		cs.count(c)
	}
}

// end settles calls that are whole. Only those that something came for are looked at: an
// answer may have a marker with each call.
func (cs *calls) end(sink *adapters.Sink) {
	cs.settle(adapters.InnerObject, sink)
	for _, c := range cs.open {
		if c.custom {
			c.tell(c.input.End(), sink)
		}
		c.unsettled = false
	}
	cs.open = cs.open[:0]
}

// add takes a fragment of the arguments.
//
// Some hosts send the whole text so far with each fragment. A fragment that begins
// with all that came before may be that, or a nested object with the same key; it
// is held back until the next fragment, or the end, tells which. Only fragments
// longer than all before are compared, so this costs no more than reading them.
func (c *toolCall) add(fragment string, sink *adapters.Sink) {
	if fragment == "" {
		return
	}
	if c.quoted.Len() > 0 || c.arguments.Len() == 0 && strings.HasPrefix(strings.TrimSpace(fragment), `"`) {
		c.emptyOnly = false // it was in the place of these
		c.quoted.WriteString(fragment)
		return
	}
	if c.arguments.Len() == 0 {
		if strings.TrimSpace(fragment) == "{}" {
			// Whole, or where others send an empty string: the end tells.
			c.emptyOnly = true
			return
		}
		if c.emptyOnly && !strings.HasPrefix(strings.TrimSpace(fragment), "{") {
			fragment = "{}" + fragment
		}
		c.emptyOnly = false
	}
	if held := c.held; held != "" {
		c.held = ""
		if c.anew = strings.HasPrefix(fragment, held); c.anew {
			held = held[c.arguments.Len():]
		}
		c.tell(held, sink)
	}
	switch repeats := c.arguments.Len() > 0 && strings.HasPrefix(fragment, c.arguments.String()); {
	case repeats && c.anew:
		c.tell(fragment[c.arguments.Len():], sink)
	case repeats:
		c.held = fragment
	default:
		c.tell(fragment, sink)
	}
}

// tell passes a fragment on and remembers it.
func (c *toolCall) tell(fragment string, sink *adapters.Sink) {
	if fragment == "" {
		return
	}
	c.arguments.WriteString(fragment)
	c.shape.Feed(fragment)
	sink.Arguments(c.block, fragment)
}

// settle decides about what was held back: the reading that gives one object wins,
// appending before repeating.
func (c *toolCall) settle(sink *adapters.Sink) {
	if c.emptyOnly {
		c.emptyOnly = false
		c.tell("{}", sink)
	}
	held := c.held
	if held == "" {
		return
	}
	c.held = ""
	if jsonstream.Object([]byte(c.arguments.String()+held)) != nil && jsonstream.Object([]byte(held)) == nil {
		held = held[c.arguments.Len():]
	}
	c.tell(held, sink)
}

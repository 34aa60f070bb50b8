package openairesponses

import "github.com/llmd-dev/llmd/adapters/jsonwire"

// The events of which a long answer mostly consists.
const (
	textDelta      = "response.output_text.delta"
	summaryDelta   = "response.reasoning_summary_text.delta"
	thoughtDelta   = "response.reasoning_text.delta"
	argumentsDelta = "response.function_call_arguments.delta"
)

// usual is the memory of the usual frame: a piece of text, of thinking or of one
// call's arguments. A long answer is thousands of them, so they are read by a cursor,
// into the same event as any other frame, for a fraction of the cost and without
// allocations beside the piece itself. Each has a number of its own, and often
// padding (obfuscation), so none repeats the one before.
type usual struct {
	event event
	index jsonwire.Number
}

// read reads a frame if it is a usual one. Names that are not known here and values
// other than the usual ones make it nil: then [event] is the judge of what they mean. Of
// a name said twice the last one counts, as there. What was read is valid until the next
// call.
func (u *usual) read(data []byte) *event {
	e, lastID := &u.event, u.event.ItemID
	*e = event{}
	c := jsonwire.NewCursor(data)
	for c.Begin('{'); c.More('}'); {
		switch string(c.Key()) {
		case "type":
			e.Type = usualType(&c)
		case "item_id":
			e.ItemID = usualID(&c, lastID)
		case "output_index":
			u.index = jsonwire.Number(c.Int())
			e.OutputIndex = &u.index
		case "content_index":
			e.ContentIndex = jsonwire.Number(c.Int())
		case "summary_index":
			e.SummaryIndex = jsonwire.Number(c.Int())
		case "delta":
			e.Delta = looseText(c.Text())
		case "sequence_number", "logprobs", "obfuscation":
			c.Skip() // no field of event
		default:
			c.Fail()
		}
	}
	if !c.Whole() || e.Type == "" {
		return nil
	}
	return e
}

// usualType reads the type of a usual event without allocating it anew.
func usualType(c *jsonwire.Cursor) string {
	switch string(c.Word()) {
	case textDelta:
		return textDelta
	case summaryDelta:
		return summaryDelta
	case thoughtDelta:
		return thoughtDelta
	case argumentsDelta:
		return argumentsDelta
	}
	c.Fail()
	return ""
}

// usualID reads an id, which is mostly that of the event before. One with escapes fails:
// [jsonwire.Cursor.Known] would read it as a [jsonwire.Text], which it is not.
func usualID(c *jsonwire.Cursor, last string) string {
	id := c.Word()
	if string(id) == last {
		return last
	}
	return string(id)
}

package anthropic

import "github.com/llmd-dev/llmd/adapters/jsonwire"

const (
	deltaEvent = "content_block_delta"
	stopEvent  = "content_block_stop"
	endEvent   = "message_stop"
)

// usualEvent: the event is one that [event.readUsual] reads; empty = it may be.
func usualEvent(name string) bool {
	return name == deltaEvent || name == stopEvent || name == endEvent || name == ""
}

// readUsual reads a frame if it is a usual one: a piece of text, of thinking or of a
// call's input, or an end. A long answer is thousands of them, so they are read by a
// cursor into the same event as any other frame, for a tenth of the cost and without
// allocations beside the piece itself. Whatever else it meets makes it false, and
// the frame is read again by the rules of [event].
func (e *event) readUsual(data []byte) bool {
	c := jsonwire.NewCursor(data)
	for c.Begin('{'); c.More('}'); {
		switch string(c.Key()) {
		case "type":
			e.Type = usualType(&c, deltaEvent, stopEvent, endEvent)
		case "index":
			e.Index = c.Int()
		case "delta":
			e.Delta.readUsual(&c)
		default:
			return false
		}
	}
	return c.Whole() && e.Type != ""
}

func (d *delta) readUsual(c *jsonwire.Cursor) {
	for c.Begin('{'); c.More('}'); {
		switch string(c.Key()) {
		case "type":
			d.Type = usualType(c, "text_delta", "thinking_delta", "input_json_delta")
		case "text":
			d.Text = jsonwire.Text(c.Text())
		case "thinking":
			d.Thinking = jsonwire.Text(c.Text())
		case "partial_json":
			d.PartialJSON = jsonwire.Text(c.Text())
		default:
			c.Fail()
		}
	}
}

// usualType reads one of these words without allocating it anew.
func usualType(c *jsonwire.Cursor, words ...string) string {
	read := c.Word()
	for _, word := range words {
		if string(read) == word {
			return word
		}
	}
	c.Fail()
	return ""
}

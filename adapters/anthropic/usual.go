package anthropic

import "github.com/llmd-dev/llmd/adapters/jsonwire"

const deltaEvent = "content_block_delta"

// readUsual reads a frame if it is the usual one: a piece of text, of thinking or of
// a call's input. A long answer is thousands of them, so they are read by a cursor
// into the same event as any other frame, for a tenth of the cost and without
// allocations beside the piece itself. Whatever else it meets makes it false, and
// the frame is read again by the rules of [event].
func (e *event) readUsual(data []byte) bool {
	c := jsonwire.NewCursor(data)
	for c.Begin('{'); c.More('}'); {
		switch string(c.Key()) {
		case "type":
			if e.Type = c.Known(deltaEvent); e.Type != deltaEvent {
				return false
			}
		case "index":
			e.Index = c.Int()
		case "delta":
			e.Delta.readUsual(&c)
		default:
			return false
		}
	}
	return c.Whole() && e.Type == deltaEvent
}

func (d *delta) readUsual(c *jsonwire.Cursor) {
	for c.Begin('{'); c.More('}'); {
		switch string(c.Key()) {
		case "type":
			d.Type = usualType(c)
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

// usualType reads the type of a delta without allocating it anew.
func usualType(c *jsonwire.Cursor) string {
	const text, thinking, input = "text_delta", "thinking_delta", "input_json_delta"
	switch word := c.Word(); string(word) {
	case text:
		return text
	case thinking:
		return thinking
	case input:
		return input
	}
	c.Fail()
	return ""
}

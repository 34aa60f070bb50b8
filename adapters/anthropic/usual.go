package anthropic

import (
	"bytes"
	"encoding/json"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

const (
	startEvent      = "message_start"
	blockStartEvent = "content_block_start"
	deltaEvent      = "content_block_delta"
	stopEvent       = "content_block_stop"
	lastDeltaEvent  = "message_delta"
	endEvent        = "message_stop"
)

// usualEvent: the event is one that [usual.read] may read; empty = it may be.
func usualEvent(name string) bool {
	switch name {
	case startEvent, blockStartEvent, deltaEvent, stopEvent, lastDeltaEvent, endEvent, "":
		return true
	}
	return false
}

// usual reads the usual frames of one answer.
type usual struct {
	event  event
	repeat jsonwire.Repeat
	piece  *jsonwire.Text // the string of event in which a frame may differ from the one before
}

// read reads a frame if it is a usual one: a piece of text, of thinking or of a
// call's input, or a beginning or an end. A long answer is thousands of the former, and
// the rest is most of what a short one costs, so they are read by a cursor into the
// same event as any other frame, for a tenth of the cost and without allocations beside
// the piece itself. Whatever else it meets makes it nil, and the frame is read again
// by the rules of [event]. What was read is valid until the next call.
func (u *usual) read(data []byte) *event {
	e := &u.event
	if text, ok := u.repeat.Piece(data); ok {
		*u.piece = jsonwire.Text(text)
		return e
	}
	*e = event{}
	u.repeat.Forget()
	c := jsonwire.NewCursor(data)
	for c.Begin('{'); c.More('}'); {
		switch string(c.Key()) {
		case "type":
			e.Type = usualWord(&c, startEvent, blockStartEvent, deltaEvent, stopEvent, lastDeltaEvent, endEvent)
		case "index":
			e.Index = jsonwire.Number(c.Int())
		case "delta":
			u.readDelta(&c)
		case "message":
			e.Message = readMessage(&c, e.Message)
		case "content_block":
			e.ContentBlock = bytes.Clone(c.Raw()) // it may be kept, the frame is not
		case "usage":
			e.Usage = readUsage(&c, e.Usage)
		case "context_management":
			c.Skip() // no member of event
		default:
			return nil
		}
	}
	if !c.Whole() || e.Type == "" {
		return nil
	}
	if e.Type == deltaEvent {
		u.repeat.Keep(&c)
	}
	return e
}

// text reads a piece of the answer to where it belongs.
func (u *usual) text(c *jsonwire.Cursor, to *jsonwire.Text) {
	switch text := jsonwire.Text(c.Piece()); {
	case text != "":
		*to, u.piece = text, to
	case *to != "":
		c.Fail() // it was said before
	}
}

func (u *usual) readDelta(c *jsonwire.Cursor) {
	d := &u.event.Delta
	for c.Begin('{'); c.More('}'); {
		switch string(c.Key()) {
		case "type":
			d.Type = usualWord(c, "text_delta", "thinking_delta", "input_json_delta")
		case "text":
			u.text(c, &d.Text)
		case "thinking":
			u.text(c, &d.Thinking)
		case "partial_json":
			u.text(c, &d.PartialJSON)
		case "stop_reason":
			d.StopReason = usualWord(c, "end_turn", "tool_use", "max_tokens", "stop_sequence")
		case "stop_details":
			nothing(c)
		case "stop_sequence", "container":
			c.Skip() // no member of delta
		default:
			c.Fail()
		}
	}
}

// readMessage reads the message of an answer that is only beginning. before is the
// message that the frame had already: of two the plain way knows what to make.
func readMessage(c *jsonwire.Cursor, before *message) *message {
	if before != nil {
		c.Fail()
	}
	m := &message{}
	for c.Begin('{'); c.More('}'); {
		switch string(c.Key()) {
		case "id":
			m.ID = string(c.Word())
		case "model":
			m.Model = string(c.Word())
		case "content":
			m.Content = []json.RawMessage{}
			for c.Begin('['); c.More(']'); {
				c.Fail()
			}
		case "usage":
			m.Usage = readUsage(c, m.Usage)
		case "stop_reason", "stop_details":
			nothing(c)
		case "input_transformations":
			m.Transformations = []transformation{}
			for c.Begin('['); c.More(']'); {
				c.Fail()
			}
		case "type", "role", "stop_sequence", "container", "context_management":
			c.Skip() // no member of message
		default:
			c.Fail()
		}
	}
	return m
}

// readUsage reads plain counts of tokens; what was billed is not usual.
func readUsage(c *jsonwire.Cursor, before *usage) *usage {
	if before != nil {
		c.Fail()
	}
	u := &usage{}
	for c.Begin('{'); c.More('}'); {
		switch string(c.Key()) {
		case "input_tokens":
			u.Input.readUsual(c)
		case "output_tokens":
			u.Output.readUsual(c)
		case "cache_read_input_tokens":
			u.CacheRead.readUsual(c)
		case "cache_creation_input_tokens":
			u.CacheWrite.readUsual(c)
		case "cache_creation":
			u.readCacheCreation(c)
		case "server_tool_use", "service_tier", "inference_geo":
			c.Skip() // no member of usage
		default:
			c.Fail()
		}
	}
	return u
}

func (u *usage) readCacheCreation(c *jsonwire.Cursor) {
	for c.Begin('{'); c.More('}'); {
		switch string(c.Key()) {
		case "ephemeral_1h_input_tokens":
			u.CacheCreation.OneHour.readUsual(c)
		case "ephemeral_5m_input_tokens":
			c.Skip() // no member of usage
		default:
			c.Fail()
		}
	}
}

func (c *count) readUsual(in *jsonwire.Cursor) { *c = count{n: int32(in.Int()), set: true} }

// readUsual reads a block of text, thinking or a call as it begins.
func (s *startedBlock) readUsual(data []byte) bool {
	c := jsonwire.NewCursor(data)
	for c.Begin('{'); c.More('}'); {
		switch string(c.Key()) {
		case "type":
			s.Type = usualWord(&c, "text", "thinking", "tool_use")
		case "text":
			s.Text = jsonwire.Text(c.Text())
		case "thinking":
			s.Thinking = jsonwire.Text(c.Text())
		case "signature":
			s.Signature = string(c.Word())
		case "id":
			s.ID = string(c.Word())
		case "name":
			s.Name = string(c.Word())
		case "input":
			s.Input = bytes.Clone(c.Raw())
		case "citations":
			nothing(&c)
		default:
			return false
		}
	}
	return c.Whole() && s.Type != ""
}

// nothing is the only value that is usual where others would say something.
func nothing(c *jsonwire.Cursor) {
	if !c.Null() {
		c.Fail()
	}
}

// usualWord reads one of these words without allocating it anew.
func usualWord(c *jsonwire.Cursor, words ...string) string {
	read := c.Word()
	for _, word := range words {
		if string(read) == word {
			return word
		}
	}
	c.Fail()
	return ""
}

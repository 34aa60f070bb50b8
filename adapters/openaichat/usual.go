package openaichat

import "github.com/llmd-dev/llmd/adapters/jsonwire"

// usual is the memory of the usual frame: one choice whose delta is a piece of text,
// of thinking or of one call's arguments. A long answer is thousands of them, so they
// are read by a cursor, into the same chunk as any other frame, for a tenth of the
// cost and without allocations beside the piece itself. The usage at the end is one of
// them, for the sake of short answers.
type usual struct {
	repeat jsonwire.Repeat
	piece  *string // the string of chunk in which a frame may differ from the one before

	chunk   chunk
	choices [1]choice
	delta   delta
	calls   [1]callDelta
	index   jsonwire.Number
}

// read reads a frame if it is a usual one. Names that are not known here, names said
// twice where that could matter, and values other than the usual ones make it nil:
// then [chunk] is the judge of what they mean. d knows the words that repeat. What was
// read is valid until the next call.
func (u *usual) read(data []byte, d *decoder) *chunk {
	if text, ok := u.repeat.Piece(data); ok {
		*u.piece = text
		return &u.chunk
	}
	out := &u.chunk
	*out = chunk{}
	c := jsonwire.NewCursor(data)
	for c.Begin('{'); c.More('}'); {
		switch string(c.Key()) {
		case "id":
			out.ID = jsonwire.Word(c.Known(d.responseID))
		case "model":
			out.Model = jsonwire.Word(c.Known(d.model))
		case "service_tier":
			out.ServiceTier = jsonwire.Word(c.Known(d.tier))
		case "object":
			out.Object = jsonwire.Word(c.Known("chat.completion.chunk"))
		case "choices":
			u.readChoices(&c, out)
		case "usage":
			out.Usage = readUsage(&c, out.Usage)
		case "x_groq", "citations", "search_results", "error", "type", "base_resp":
			nothing(&c)
		case "created", "system_fingerprint", "obfuscation", "provider", "p":
			c.Skip() // no field of chunk
		default:
			c.Fail()
		}
	}
	u.repeat.Keep(&c)
	if !c.Whole() {
		return nil
	}
	return out
}

// text reads a piece of the answer to where it belongs.
func (u *usual) text(c *jsonwire.Cursor, to *string) {
	switch text := c.Piece(); {
	case text != "":
		*to, u.piece = text, to
	case *to != "":
		c.Fail() // it was said before
	}
}

// nothing is the only value that is usual where others would say something.
func nothing(c *jsonwire.Cursor) {
	if !c.Null() {
		c.Fail()
	}
}

func (u *usual) readChoices(c *jsonwire.Cursor, out *chunk) {
	if out.Choices != nil {
		c.Fail()
	}
	out.Choices = u.choices[:0]
	for c.Begin('['); c.More(']'); {
		if len(out.Choices) > 0 {
			c.Fail()
			return
		}
		out.Choices = u.choices[:]
		u.readChoice(c)
	}
}

func (u *usual) readChoice(c *jsonwire.Cursor) {
	ch := &u.choices[0]
	*ch = choice{}
	for c.Begin('{'); c.More('}'); {
		switch string(c.Key()) {
		case "index":
			ch.Index = jsonwire.Number(c.Int())
		case "delta":
			if ch.Delta != nil {
				c.Fail()
			}
			ch.Delta = &u.delta
			u.readDelta(c)
		case "finish_reason":
			ch.FinishReason = jsonwire.Word(c.Text())
		case "message", "usage", "error":
			nothing(c)
		case "logprobs", "native_finish_reason", "content_filter_results", "text", "seed", "stop_reason", "token_ids":
			c.Skip() // no field of choice
		default:
			c.Fail()
		}
	}
}

func (u *usual) readDelta(c *jsonwire.Cursor) {
	u.delta = delta{}
	for c.Begin('{'); c.More('}'); {
		switch string(c.Key()) {
		case "content":
			u.text(c, &u.delta.Content.text)
		case "reasoning_content":
			u.text(c, &u.delta.ReasoningContent.text)
		case "reasoning":
			u.text(c, &u.delta.Reasoning.text)
		case "tool_calls":
			u.readCalls(c)
		case "refusal", "reasoning_text", "reasoning_details", "reasoning_opaque", "thinking_blocks", "function_call", "annotations", "images", "executed_tools", "audio", "extra_content":
			nothing(c)
		case "role", "channel", "token_id":
			c.Skip() // no field of delta
		default:
			c.Fail()
		}
	}
}

func (u *usual) readCalls(c *jsonwire.Cursor) {
	if u.delta.ToolCalls != nil {
		c.Fail()
	}
	if c.Null() {
		return
	}
	u.delta.ToolCalls = u.calls[:0]
	for c.Begin('['); c.More(']'); {
		if len(u.delta.ToolCalls) > 0 {
			c.Fail()
			return
		}
		u.delta.ToolCalls = u.calls[:]
		u.readCall(c)
	}
}

func (u *usual) readCall(c *jsonwire.Cursor) {
	call := &u.calls[0]
	*call = callDelta{}
	for c.Begin('{'); c.More('}'); {
		switch string(c.Key()) {
		case "index":
			u.index = jsonwire.Number(c.Int())
			call.Index = &u.index
		case "id":
			call.ID = jsonwire.Word(c.Text())
		case "function":
			u.readFunction(c, &call.Function)
		case "type":
			call.Type = jsonwire.Word(c.Text())
		case "extra_content":
			nothing(c)
		default:
			c.Fail()
		}
	}
}

func (u *usual) readFunction(c *jsonwire.Cursor, f *functionDelta) {
	for c.Begin('{'); c.More('}'); {
		switch string(c.Key()) {
		case "name":
			f.Name = jsonwire.Word(c.Text())
		case "arguments":
			u.text(c, (*string)(&f.Arguments))
		default:
			c.Fail()
		}
	}
}

// readUsage reads plain counts of tokens; what was billed is not usual. before is the
// usage that the frame had already: of two the plain way knows what to make.
func readUsage(c *jsonwire.Cursor, before *usage) *usage {
	if before != nil {
		c.Fail()
	}
	if c.Null() {
		return nil
	}
	u := &usage{}
	for c.Begin('{'); c.More('}'); {
		switch string(c.Key()) {
		case "prompt_tokens":
			u.Prompt = new(jsonwire.Number(c.Int()))
		case "completion_tokens":
			u.Completion = new(jsonwire.Number(c.Int()))
		case "total_tokens":
			u.Total = jsonwire.Number(c.Int())
		case "prompt_cache_hit_tokens":
			u.CacheHit = jsonwire.Number(c.Int())
		case "cached_tokens":
			u.Cached = jsonwire.Number(c.Int())
		case "prompt_tokens_details":
			u.readPromptDetails(c)
		case "completion_tokens_details":
			u.readCompletionDetails(c)
		case "prompt_cache_miss_tokens":
			c.Skip() // no field of usage
		default:
			c.Fail()
		}
	}
	return u
}

func (u *usage) readPromptDetails(c *jsonwire.Cursor) {
	d := &u.PromptDetails
	if c.Null() {
		d.Cached, d.CacheWrite, d.CacheCreation = 0, 0, 0
		return
	}
	for c.Begin('{'); c.More('}'); {
		switch string(c.Key()) {
		case "cached_tokens":
			d.Cached = jsonwire.Number(c.Int())
		case "cache_write_tokens":
			d.CacheWrite = jsonwire.Number(c.Int())
		case "audio_tokens", "text_tokens", "image_tokens", "video_tokens":
			c.Skip() // no field of usage
		default:
			c.Fail()
		}
	}
}

func (u *usage) readCompletionDetails(c *jsonwire.Cursor) {
	if c.Null() {
		u.CompletionDetails.Reasoning = nil
		return
	}
	for c.Begin('{'); c.More('}'); {
		switch string(c.Key()) {
		case "reasoning_tokens":
			u.CompletionDetails.Reasoning = new(jsonwire.Number(c.Int()))
		case "audio_tokens", "text_tokens", "image_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens":
			c.Skip() // no field of usage
		default:
			c.Fail()
		}
	}
}

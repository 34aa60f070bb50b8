package providersim

import (
	"encoding/json"
	"slices"
)

func chatCallShape(r *request, bad report) {
	for i, c := range r.calls {
		v := r.messages[c.msg].value
		if r.messages[c.msg].role != "assistant" {
			bad(c.path, "'tool_calls' is only allowed for role 'assistant'")
		}
		if kind := v.get("tool_calls").items[i-firstCall(r.calls, c.msg)].get("type"); kind.set() && kind.str() == "custom" {
			continue
		}
		if !c.args.is(text) {
			bad(c.path+".function.arguments", "Invalid type for 'arguments': expected a string.")
		}
	}
}

// firstCall is the place of a message's first call in the list of all.
func firstCall(calls []call, msg int) int {
	return slices.IndexFunc(calls, func(c call) bool { return c.msg == msg })
}

func chatCallIDs(r *request, bad report) {
	for _, c := range r.calls {
		switch id := c.id.str(); {
		case id == "":
			bad(c.path+".id", "Missing required parameter: 'id'.")
		case dialectOf(r.model) == openAI && len(id) > 40:
			bad(c.path+".id", "Invalid 'id': string too long. Expected a string with maximum length 40, but got a string with length %d instead.", len(id))
		}
	}
}

func chatCallNames(r *request, bad report) {
	for _, c := range r.calls {
		if name := c.name.str(); c.name != nil && !matches(name, 64, "_-.") {
			bad(c.path+".function.name", "Invalid 'name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.")
		}
	}
}

// chatArguments: OpenAI takes any text back. Others parse it, for the prompt or for
// the API behind them.
func chatArguments(r *request, bad report) {
	if dialectOf(r.model) == openAI {
		return
	}
	for _, c := range r.calls {
		if c.args.is(text) && !json.Valid([]byte(c.args.str())) {
			bad(c.path+".function.arguments", "the arguments are not JSON")
		}
	}
}

func chatAnswered(r *request, bad report) {
	for _, c := range r.calls {
		answered := false
		for i := c.msg + 1; i < len(r.messages) && r.messages[i].role == "tool"; i++ {
			answered = answered || r.messages[i].value.get("tool_call_id").str() == c.id.str()
		}
		if !answered {
			bad(c.path, "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", c.id.str())
		}
	}
}

// chatFollows: a tool message stands behind the answer that has its call, with
// nothing but other tool messages between.
func chatFollows(r *request, bad report) {
	for _, res := range r.results {
		i := res.msg - 1
		for i >= 0 && r.messages[i].role == "tool" {
			i--
		}
		if i < 0 || !slices.ContainsFunc(r.callsInMessage(i), func(c call) bool { return c.id.str() == res.id.str() }) {
			bad(res.path, "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.")
		}
	}
}

func chatOnce(r *request, bad report) {
	for i := 1; i < len(r.results); i++ {
		for k := i - 1; k >= 0 && r.results[i].msg-r.results[k].msg == i-k; k-- {
			if r.results[i].id.str() == r.results[k].id.str() {
				bad(r.results[i].path, "Duplicate value for 'tool_call_id' of '%s'.", r.results[i].id.str())
			}
		}
	}
}

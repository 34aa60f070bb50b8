package providersim

import (
	"encoding/base64"
	"slices"
	"strings"
)

func googleCallShape(r *request, bad report) {
	for _, c := range r.calls {
		switch {
		case c.name.str() == "":
			bad(c.path, "* GenerateContentRequest.%s.function_call.name: Name cannot be empty.", c.path)
		case c.args.set() && !c.args.is(object):
			bad(c.path, "Invalid value at '%s.function_call.args' (type.googleapis.com/google.protobuf.Struct)", c.path)
		case r.messages[c.msg].role != "model":
			bad(c.path, "a function call must be the model's")
		}
	}
}

// googleCallIDs: with Gemini 3 ids came, and Claude behind Vertex has its own rule.
func googleCallIDs(r *request, bad report) {
	seen := map[string]bool{}
	for _, c := range r.calls {
		id := c.id.str()
		if id == "" {
			continue
		}
		if !matches(id, 64, "_-") {
			bad(c.path, "the id %q of a function call is not allowed", id)
		}
		if seen[id] {
			bad(c.path, "the id %q of a function call was used before", id)
		}
		seen[id] = true
	}
}

func googleCallPosition(r *request, bad report) {
	for _, c := range r.calls {
		if c.first && (c.msg == 0 || r.messages[c.msg-1].role == "model") {
			bad(c.path, "Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
		}
	}
}

func (r *request) responsesIn(msg int) []result {
	return slices.DeleteFunc(slices.Clone(r.results), func(res result) bool { return res.msg != msg })
}

func googleResponsePosition(r *request, bad report) {
	for _, res := range r.results {
		if res.msg == 0 || len(r.callsInMessage(res.msg-1)) == 0 {
			bad(res.path, "Please ensure that function response turn comes immediately after a function call turn.")
		}
	}
}

func googleResponseCount(r *request, bad report) {
	for i, m := range r.messages {
		calls := len(r.callsInMessage(i))
		if calls > 0 && i+1 < len(r.messages) && len(r.responsesIn(i+1)) != calls {
			bad(m.path, "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
		}
		if calls > 0 && i+1 == len(r.messages) {
			bad(m.path, "Please ensure that multiturn requests ends with a user role or a function response.")
		}
	}
}

// googleResponseOrder: responses are matched by id where there is one, else by name
// and order.
func googleResponseOrder(r *request, bad report) {
	for i := range r.messages {
		calls := r.callsInMessage(i)
		for k, res := range r.responsesIn(i + 1) {
			if k >= len(calls) {
				break
			}
			want := calls[k]
			if id := res.id.str(); id != "" {
				n := slices.IndexFunc(calls, func(c call) bool { return c.id.str() == id })
				if n < 0 {
					bad(res.path, "no function call has the id %q", id)
					continue
				}
				want = calls[n]
			}
			if res.value.get("name").str() != want.name.str() {
				bad(res.path, "Please ensure that the function response name %q is that of its function call %q.", res.value.get("name").str(), want.name.str())
			}
		}
	}
}

func googleResponseShape(r *request, bad report) {
	for _, res := range r.results {
		switch {
		case res.value.get("name").str() == "":
			bad(res.path, "* GenerateContentRequest.%s.function_response.name: Name cannot be empty.", res.path)
		case !res.value.get("response").is(object):
			bad(res.path, "Invalid value at '%s.function_response.response' (type.googleapis.com/google.protobuf.Struct)", res.path)
		case r.messages[res.msg].role == "model":
			bad(res.path, "a function response must be the user's")
		}
	}
}

// bypass is what Google documents for calls that another model made.
const bypass = "skip_thought_signature_validator"

func googleSignatureBytes(r *request, bad report) {
	r.eachPart(func(p part) {
		s := p.value.field("thoughtSignature")
		if !s.set() || s.str() == bypass {
			return
		}
		plain := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s.str(), "="))
		if _, err := base64.RawStdEncoding.DecodeString(plain); err != nil || plain == "" {
			bad(p.path, "Invalid value at '%s.thought_signature' (TYPE_BYTES), Base64 decoding failed", p.path)
		}
	})
}

// googleFirstCall: in the current turn, which began with the user's last words, the
// first call of each step must have its signature.
func googleFirstCall(r *request, bad report) {
	if !gemini3(r.model) {
		return
	}
	began := -1
	for i, m := range r.messages {
		if m.role != "model" && len(r.responsesIn(i)) == 0 {
			began = i
		}
	}
	for _, m := range r.messages[began+1:] {
		for _, p := range m.parts {
			if p.kind != "functionCall" {
				continue
			}
			if p.value.field("thoughtSignature").str() == "" {
				bad(p.path, "Function call `%s` in the %d. content block is missing a `thought_signature`.", p.value.field("functionCall").get("name").str(), m.at)
			}
			break
		}
	}
}

func googleBypass(r *request, bad report) {
	for _, m := range r.messages {
		calls := 0
		for _, p := range m.parts {
			if p.value.field("thoughtSignature").str() == bypass && (p.kind != "functionCall" || calls > 0) {
				bad(p.path, "Thought signature is not valid.")
			}
			if p.kind == "functionCall" {
				calls++
			}
		}
	}
}

// signedBy is what a signature on a part is bound to.
func signedBy(p part) (what, said string) {
	if p.kind == "functionCall" {
		c := p.value.field("functionCall")
		return "call", c.get("name").str() + "\x00" + string(rawOf(c.get("args")))
	}
	if p.value.get("thought").truth() {
		return "thought", p.value.get("text").str()
	}
	return "text", p.value.get("text").str()
}

func rawOf(v *value) []byte {
	if v == nil {
		return []byte("{}")
	}
	return v.raw
}

func googleSigned(r *request, bad report) {
	r.eachPart(func(p part) {
		s := p.value.field("thoughtSignature").str()
		if s == "" || s == bypass {
			return
		}
		if what, said := signedBy(p); !r.signed(s, what, said) {
			bad(p.path, "Thought signature is not valid.")
		}
	})
}

func (r *request) declarations() (all []*value, paths []string) {
	for i, t := range r.body.get("tools").list() {
		for k, d := range t.field("functionDeclarations").list() {
			all, paths = append(all, d), append(paths, at(at("tools", i)+".functionDeclarations", k))
		}
	}
	return all, paths
}

func googleToolNames(r *request, bad report) {
	all, _ := r.declarations()
	toolNames(all, "tools", func(d *value) *value { return d.get("name") }, bad, "_-.:", 128)
	for i, d := range all {
		if name := d.get("name").str(); name != "" && !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", rune(name[0])) {
			bad(at("tools", i), "Invalid function name. Must start with a letter or an underscore.")
		}
	}
}

// googleToolSchema: "parameters" is Google's own kind of schema and knows these
// keywords alone; "parametersJsonSchema" takes JSON Schema.
func googleToolSchema(r *request, bad report) {
	const known = "type format title description nullable enum maxItems minItems properties required minProperties maxProperties " +
		"minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum"
	all, paths := r.declarations()
	for i, d := range all {
		own, standard := d.get("parameters"), d.field("parametersJsonSchema")
		switch {
		case own.set() && standard.set():
			bad(paths[i], "parameters and parameters_json_schema are mutually exclusive")
		case standard.set():
			schemaType(standard, bad, paths[i])
		}
		eachSchema(own, paths[i]+".parameters", func(s *value, path string) {
			for _, m := range s.members {
				if !slices.ContainsFunc(strings.Fields(known), func(k string) bool { return m.name == k || m.name == snake(k) }) {
					bad(path, "Invalid JSON payload received. Unknown name %q at '%s': Cannot find field.", m.name, path)
				}
			}
		})
	}
}

func googleToolConfig(r *request, bad report) {
	c := r.body.field("toolConfig").field("functionCallingConfig")
	mode := strings.ToUpper(c.get("mode").str())
	all, _ := r.declarations()
	allowed := c.field("allowedFunctionNames").list()
	switch {
	case !c.set():
	case !slices.Contains([]string{"", "AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED"}, mode):
		bad("toolConfig", "Invalid value at 'tool_config.function_calling_config.mode'")
	case len(allowed) > 0 && mode != "ANY" && mode != "VALIDATED":
		bad("toolConfig", "Function calling mode must be ANY when allowed_function_names is set.")
	case mode == "ANY" && len(all) == 0:
		bad("toolConfig", "Function calling config is set without function_declarations.")
	}
	for _, a := range allowed {
		if !slices.ContainsFunc(all, func(d *value) bool { return d.get("name").str() == a.str() }) {
			bad("toolConfig", "allowed_function_names names %q, which is not declared", a.str())
		}
	}
}

func (r *request) thinkingConfig(name string) *value {
	return r.generation("thinkingConfig").field(name)
}

func googleThinkingOneOf(r *request, bad report) {
	if r.thinkingConfig("thinkingLevel").set() && r.thinkingConfig("thinkingBudget").set() {
		bad("generationConfig.thinkingConfig", "You can only set only one of thinking budget and thinking level.")
	}
}

func googleLevel(r *request, bad report) {
	level := r.thinkingConfig("thinkingLevel")
	switch {
	case !level.set():
	case !gemini3(r.model) && !strings.Contains(r.model, "gemma-4"):
		bad("generationConfig.thinkingConfig.thinkingLevel", "Thinking level is not supported for this model.")
	case !slices.Contains([]string{"MINIMAL", "LOW", "MEDIUM", "HIGH"}, strings.ToUpper(level.str())):
		bad("generationConfig.thinkingConfig.thinkingLevel", "Invalid value %q", level.str())
	}
}

func googleBudget(r *request, bad report) {
	budget := r.thinkingConfig("thinkingBudget")
	if !budget.set() || budget.num() == -1 {
		return
	}
	least, most, off := 0.0, 32768.0, true
	switch {
	case strings.Contains(r.model, "2.5-pro"):
		least, off = 128, false
	case strings.Contains(r.model, "2.5-flash-lite"):
		least, most = 512, 24576
	case strings.Contains(r.model, "2.5-flash"):
		most = 24576
	}
	if n := budget.num(); n > most || n < least && (n != 0 || !off) {
		bad("generationConfig.thinkingConfig.thinkingBudget", "The thinking budget %v is invalid. Please choose a value between %v and %v.", n, least, most)
	}
}

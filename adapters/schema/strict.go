package schema

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// NoParameters is the schema of a tool that takes none.
const NoParameters = `{"type":"object","properties":{}}`

// Strict is the schema in strict form. Text that is in that form already comes back
// as it is. The error is a [*Error].
func Strict(text string, rules Rules) (string, error) {
	if rules.References {
		text = hoisted(text)
	}
	c := &converter{text: text, rules: rules}
	if err := c.node([]byte(text), 0, "", false); err != nil {
		return "", err
	}
	return c.spliced(), nil
}

// Holds says whether a schema is in strict form.
func Holds(text string, rules Rules) bool {
	strict, err := Strict(text, rules)
	return err == nil && strict == text
}

// Typed is a schema that says that it is one of an object and nothing else, as APIs
// demand of parameters: "schema must be a JSON Schema of 'type: \"object\"'". The
// caller's other bytes stay as they are.
func Typed(text string) string {
	members, err := jsonwire.Members([]byte(text))
	_, rest, found := strings.Cut(text, "{")
	if err != nil || !found {
		return text
	}
	for _, m := range members {
		if m.Key == "type" {
			return only(text, m)
		}
	}
	if len(members) == 0 {
		return NoParameters
	}
	return `{"type":"object",` + rest
}

// only puts "object" in the place of a list of types that has it.
func only(text string, types jsonwire.Member) string {
	var names []string
	if json.Unmarshal(types.Value, &names) != nil || !slices.Contains(names, "object") {
		return text
	}
	return text[:types.At] + `"object"` + text[types.At+len(types.Value):]
}

// converter finds what must be spliced into a schema.
type converter struct {
	text   string
	rules  Rules
	splice []splice
	// definitions are the places of those in the root; nil = not looked for yet.
	definitions map[string]bool
}

// defines says whether a reference names the root or one of its definitions: "reference can
// only point to definitions defined at the top level of the schema",
// https://github.com/langchain-ai/langchainjs/pull/8389.
func (c *converter) defines(ref []byte) bool {
	if c.definitions == nil {
		c.definitions = map[string]bool{"#": true}
		members, _ := jsonwire.Members([]byte(c.text)) // it is an object by now
		for _, key := range []string{"$defs", "definitions"} {
			all, _ := jsonwire.Members(valueOf(members, key)) // none if it is no object
			for _, d := range all {
				c.definitions["#/"+key+"/"+escape(d.Key)] = true
			}
		}
	}
	var place string
	return json.Unmarshal(ref, &place) == nil && c.definitions[place]
}

// splice is text that is put in at an offset.
type splice struct {
	at   int
	text string
}

func (c *converter) insert(at int, text string) { c.splice = append(c.splice, splice{at, text}) }

// spliced is the schema with what was found. Splices at one place keep their order.
func (c *converter) spliced() string {
	if len(c.splice) == 0 {
		return c.text
	}
	slices.SortStableFunc(c.splice, func(a, b splice) int { return a.at - b.at })
	var b strings.Builder
	done := 0
	for _, s := range c.splice {
		b.WriteString(c.text[done:s.at])
		b.WriteString(s.text)
		done = s.at
	}
	b.WriteString(c.text[done:])
	return b.String()
}

// node converts one schema and all within it. text is the schema, which begins at
// offset at; inUnion: it stands in "anyOf".
func (c *converter) node(text []byte, at int, path string, inUnion bool) error {
	n, err := parse(text, at, path)
	if err != nil {
		return err
	}
	if fault := n.check(&c.rules, inUnion); fault != nil {
		return fault
	}
	if m := n.get("$ref"); m != nil && !c.defines(m.Value) {
		return n.fault(m.Key, "does not name a definition of the root")
	}
	if n.object {
		if err := c.object(n); err != nil {
			return err
		}
	}
	for _, m := range n.members {
		if err := c.inside(n, m); err != nil {
			return err
		}
	}
	return nil
}

// inside converts the schemas that a keyword holds.
func (c *converter) inside(n *node, m jsonwire.Member) error {
	at, path := n.at+m.At, n.path+"/"+escape(m.Key)
	switch m.Key {
	case "items":
		return c.node(m.Value, at, path, false)
	case "anyOf":
		alternatives, err := jsonwire.Elements(m.Value)
		if err != nil || len(alternatives) == 0 {
			return n.fault(m.Key, "holds no alternatives")
		}
		for i, a := range alternatives {
			if err := c.node(a.Value, at+a.At, path+"/"+strconv.Itoa(i), true); err != nil {
				return err
			}
		}
	case "properties", "$defs", "definitions":
		schemas, err := jsonwire.Members(m.Value)
		if err != nil {
			return n.fault(m.Key, "holds no schemas")
		}
		for _, s := range schemas {
			if err := c.node(s.Value, at+s.At, path+"/"+escape(s.Key), false); err != nil {
				return err
			}
		}
	}
	return nil
}

// object makes all properties required, lets those be null that were not, and allows
// no others.
func (c *converter) object(n *node) error {
	properties, required, err := n.properties()
	if err != nil {
		return err
	}
	var missing []byte
	for _, p := range properties {
		if slices.Contains(required, p.Key) {
			continue
		}
		if len(required) > 0 || len(missing) > 0 {
			missing = append(missing, ',')
		}
		missing = jsonwire.AppendString(missing, p.Key)
		if !nullable(p.Value) {
			c.insert(p.At, `{"anyOf":[`)
			c.insert(p.At+len(p.Value), `,{"type":"null"}]}`)
		}
	}
	var tail []string
	if n.at == 0 && n.path == "" && n.get("properties") == nil {
		tail = append(tail, `"properties":{}`)
	}
	if m := n.get("required"); m == nil {
		tail = append(tail, `"required":[`+string(missing)+`]`)
	} else if len(missing) > 0 {
		c.insert(n.at+m.At+len(m.Value)-1, string(missing))
	}
	if n.get("additionalProperties") == nil {
		tail = append(tail, `"additionalProperties":false`)
	}
	if len(tail) > 0 {
		c.insert(n.end, ","+strings.Join(tail, ","))
	}
	return nil
}

// nullable says whether null fits a schema that has passed the checks.
func nullable(text []byte) bool {
	n, err := parse(text, 0, "")
	if err != nil {
		return false
	}
	if n.get("type") != nil && !slices.Contains(n.types, "null") {
		return false
	}
	if m := n.get("const"); m != nil && string(m.Value) != "null" {
		return false
	}
	isNull := func(m jsonwire.Member) bool { return string(m.Value) == "null" }
	if m := n.get("enum"); m != nil {
		if values, err := jsonwire.Elements(m.Value); err != nil || !slices.ContainsFunc(values, isNull) {
			return false
		}
	}
	if m := n.get("anyOf"); m != nil {
		alternatives, err := jsonwire.Elements(m.Value)
		return err == nil && slices.ContainsFunc(alternatives, func(a jsonwire.Member) bool { return nullable(a.Value) })
	}
	return n.get("$ref") == nil // what that names is not looked up
}

// escape makes a name a part of a JSON pointer (RFC 6901).
func escape(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

var errNoList = errors.New("schema: not a list of names")

// names reads a list of strings.
func names(list json.RawMessage) ([]string, error) {
	var out []string
	if len(list) == 0 || list[0] != '[' || json.Unmarshal(list, &out) != nil {
		return nil, errNoList
	}
	return out, nil
}

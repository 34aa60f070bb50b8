package fauxserver

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

const (
	// maxDepth is where objects are left empty: schemas may be recursive.
	maxDepth = 12
	// optionalDepth is the depth below which only required members are written.
	optionalDepth = 4
	// maxItems limits arrays.
	maxItems = 16
	// maxValues limits all values together: arrays of arrays multiply. maxBytes limits what
	// they are, and maxRead what is read of schemas to make them: a schema asks for any
	// length, and its parts may be read for many values.
	maxValues = 2000
	maxBytes  = 256 << 10
	maxRead   = 8 << 20
	// usualNumber is the number written where a schema allows it.
	usualNumber = 3
)

// schema is the part of JSON Schema that shapes a value. "pattern" and what relates
// several members are not read: the model is a plausible one, not a solver.
// https://json-schema.org/draft/2020-12/json-schema-validation
type schema struct {
	Type       types             `json:"type"`
	Enum       []json.RawMessage `json:"enum"`
	Const      json.RawMessage   `json:"const"`
	Properties json.RawMessage   `json:"properties"`
	Required   []string          `json:"required"`
	Items      json.RawMessage   `json:"items"`
	MinItems   int               `json:"minItems"`
	Format     string            `json:"format"`
	MinLength  int               `json:"minLength"`
	MaxLength  *int              `json:"maxLength"`
	Minimum    *float64          `json:"minimum"`
	Maximum    *float64          `json:"maximum"`
	Above      json.RawMessage   `json:"exclusiveMinimum"` // a number; a bool in draft 4
	Below      json.RawMessage   `json:"exclusiveMaximum"`
	MultipleOf float64           `json:"multipleOf"`
	AllOf      []json.RawMessage `json:"allOf"`
	AnyOf      []json.RawMessage `json:"anyOf"`
	OneOf      []json.RawMessage `json:"oneOf"`
	Ref        string            `json:"$ref"`
}

// types is one type or several.
type types []string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *types) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*t = types{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(t))
}

// argumentsFor makes the arguments of a tool call: always an object.
func argumentsFor(parameters json.RawMessage, userText string, variant int) string {
	if text := valueOf(parameters, userText, variant); text[0] == '{' {
		return text
	}
	return "{}"
}

// valueOf makes a value that a schema allows, as JSON text. The user's text lends
// it words; variant makes the values of calls in one answer differ.
func valueOf(root json.RawMessage, userText string, variant int) string {
	if len(root) == 0 {
		return "{}"
	}
	m := maker{root: root, userText: userText, variant: variant}
	m.value(root, "", 0)
	return string(m.w.Bytes())
}

type maker struct {
	w        jsonwire.Writer
	root     json.RawMessage
	userText string
	variant  int
	values   int // so far
	read     int // bytes of schemas so far
}

// room is how many bytes may yet be written.
func (m *maker) room() int { return max(0, maxBytes-len(m.w.Bytes())) }

// value writes a value for the schema of the member with this name.
func (m *maker) value(raw json.RawMessage, name string, depth int) {
	m.values++
	m.read += len(raw)
	if m.values > maxValues || m.read > maxRead || m.room() == 0 {
		m.w.Null()
		return
	}
	s := m.whole(raw, depth)
	switch kind := s.kind(); {
	case len(s.Const) > 0:
		m.w.RawBytes(s.Const)
	case len(s.Enum) > 0:
		m.w.RawBytes(s.Enum[m.variant%len(s.Enum)])
	case kind == "object":
		m.object(s, depth)
	case kind == "array":
		m.array(s, name, depth)
	case kind == "string":
		m.w.String(fit(m.textFor(name, s.Format), s, m.room()))
	case kind == "integer":
		m.w.Int(s.integer())
	case kind == "number":
		m.w.Float(s.number())
	case kind == "boolean":
		m.w.Bool(true)
	default:
		m.w.Null()
	}
}

// whole is a schema with what it refers to and combines laid over it. What
// cannot be read allows everything.
func (m *maker) whole(raw json.RawMessage, depth int) *schema {
	s := parse(raw)
	for range maxDepth {
		var over []json.RawMessage
		switch {
		case s.Ref != "" && depth < maxDepth:
			over = []json.RawMessage{m.resolve(s.Ref)}
		case len(s.AllOf) > 0:
			over = s.AllOf
		case len(s.AnyOf) > 0:
			over = s.AnyOf[:1]
		case len(s.OneOf) > 0:
			over = s.OneOf[:1]
		default:
			return s
		}
		raw = m.combine(raw, over)
		s = parse(raw)
	}
	return s
}

func parse(raw json.RawMessage) *schema {
	var s schema
	if json.Unmarshal(raw, &s) != nil {
		return &schema{}
	}
	return &s
}

// combine lays schemas over one whose own references to them are dropped.
func (m *maker) combine(base json.RawMessage, over []json.RawMessage) json.RawMessage {
	base, err := jsonwire.Merge(base, []byte(`{"$ref":null,"allOf":null,"anyOf":null,"oneOf":null}`))
	if err != nil {
		return nil
	}
	for _, o := range over {
		if m.read += len(base) + len(o); m.read > maxRead {
			break
		}
		if merged, err := jsonwire.Merge(base, o); err == nil {
			base = merged
		}
	}
	return base
}

// resolve finds a reference within the schema: "#/$defs/city".
func (m *maker) resolve(ref string) json.RawMessage {
	at := m.root
	if m.read += len(at); m.read > maxRead {
		return nil
	}
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	for part := range strings.SplitSeq(strings.Trim(pointer, "/"), "/") {
		if part == "" {
			continue
		}
		// https://www.rfc-editor.org/rfc/rfc6901
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		at = member(at, part)
	}
	return at
}

func member(object json.RawMessage, key string) json.RawMessage {
	members, _ := jsonwire.Members(object) // no object has no members
	for _, m := range members {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// kind is the type to write.
func (s *schema) kind() string {
	for _, t := range s.Type {
		if t != "null" {
			return t
		}
	}
	switch {
	case len(s.Type) > 0:
		return "null"
	case len(s.Properties) > 0:
		return "object"
	case len(s.Items) > 0:
		return "array"
	}
	return "string"
}

func (m *maker) object(s *schema, depth int) {
	required := map[string]bool{}
	for _, r := range s.Required {
		required[r] = true
	}
	m.w.BeginObject()
	members, _ := jsonwire.Members(s.Properties) // no object has no members
	for _, p := range members {
		if depth < optionalDepth || required[p.Key] && depth < maxDepth {
			m.w.Key(p.Key)
			m.value(p.Value, p.Key, depth+1)
		}
	}
	m.w.EndObject()
}

func (m *maker) array(s *schema, name string, depth int) {
	n := min(max(1, s.MinItems), maxItems)
	if depth >= optionalDepth {
		n = min(s.MinItems, maxItems)
	}
	m.w.BeginArray()
	for range n {
		m.value(s.Items, strings.TrimSuffix(name, "s"), depth+1)
	}
	m.w.EndArray()
}

// bounds are the limits of a number; an open one is not itself allowed.
type bounds struct {
	low, high         float64
	lowOpen, highOpen bool
}

func (s *schema) bounds() bounds {
	b := bounds{low: math.Inf(-1), high: math.Inf(1)}
	if s.Minimum != nil {
		b.low = *s.Minimum
	}
	if s.Maximum != nil {
		b.high = *s.Maximum
	}
	var x float64
	if json.Unmarshal(s.Above, &x) == nil && x >= b.low {
		b.low, b.lowOpen = x, true
	}
	if json.Unmarshal(s.Below, &x) == nil && x <= b.high {
		b.high, b.highOpen = x, true
	}
	return b
}

// number is usualNumber or what the schema allows that is nearest to it.
func (s *schema) number() float64 {
	b := s.bounds()
	v := min(max(usualNumber, b.low), b.high)
	if step := s.MultipleOf; step > 0 {
		return s.multiple(step)
	}
	if v == b.low && b.lowOpen || v == b.high && b.highOpen {
		switch {
		case math.IsInf(b.high, 1):
			return v + 1
		case math.IsInf(b.low, -1):
			return v - 1
		}
		return (b.low + b.high) / 2
	}
	return v
}

// multiple is number in steps; integers are multiples of one.
func (s *schema) multiple(step float64) float64 {
	b := s.bounds()
	v := math.Ceil(min(max(usualNumber, b.low), b.high)/step) * step
	if v == b.low && b.lowOpen {
		v += step
	}
	if v > b.high || v == b.high && b.highOpen {
		v -= step
	}
	return v
}

func (s *schema) integer() int64 {
	return int64(s.multiple(max(1, s.MultipleOf)))
}

package providersim

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// kind is the kind of a JSON value.
type kind uint8

const (
	absent kind = iota
	null
	boolean
	number
	text
	array
	object
)

// value is one JSON value with its exact text. Rules ask for members that may not
// be there, so all methods work on nil, which is a value that is absent.
type value struct {
	kind    kind
	raw     []byte
	members []member
	items   []*value
}

type member struct {
	name  string
	value *value
}

var errNotJSON = errors.New("providersim: not JSON")

// parse reads one JSON value.
func parse(body []byte) (*value, error) {
	if !json.Valid(body) {
		return nil, errNotJSON
	}
	p := parser{in: body}
	return p.value(), nil
}

// parser reads JSON that is known to be valid.
type parser struct {
	in []byte
	at int
}

func (p *parser) space() {
	for p.at < len(p.in) && strings.IndexByte(" \t\r\n", p.in[p.at]) >= 0 {
		p.at++
	}
}

func (p *parser) value() *value {
	p.space()
	from := p.at
	v := &value{}
	switch p.in[p.at] {
	case '{':
		v.kind = object
		p.list('}', func() {
			name := p.value().str()
			p.space()
			p.at++ // the colon
			v.members = append(v.members, member{name, p.value()})
		})
	case '[':
		v.kind = array
		p.list(']', func() { v.items = append(v.items, p.value()) })
	case '"':
		v.kind = text
		for p.at++; p.in[p.at] != '"'; p.at++ {
			if p.in[p.at] == '\\' {
				p.at++
			}
		}
		p.at++
	default:
		v.kind = scalar(p.in[p.at])
		for p.at < len(p.in) && strings.IndexByte(" \t\r\n,]}", p.in[p.at]) < 0 {
			p.at++
		}
	}
	v.raw = p.in[from:p.at]
	return v
}

func scalar(first byte) kind {
	switch first {
	case 'n':
		return null
	case 't', 'f':
		return boolean
	}
	return number
}

// list reads what stands between brackets.
func (p *parser) list(end byte, each func()) {
	p.at++
	for p.space(); p.in[p.at] != end; p.space() {
		if p.in[p.at] == ',' {
			p.at++
			continue
		}
		each()
	}
	p.at++
}

func (v *value) is(k kind) bool { return v != nil && v.kind == k }

// set says whether a value is there and is not null.
func (v *value) set() bool { return v != nil && v.kind != null }

// get is the member at the end of a path of names; nil if there is none.
func (v *value) get(path ...string) *value {
	for _, name := range path {
		if v == nil {
			return nil
		}
		var next *value
		for _, m := range v.members {
			if m.name == name {
				next = m.value
				break
			}
		}
		v = next
	}
	return v
}

// str is the text of a string, and empty for anything else.
func (v *value) str() string {
	if !v.is(text) {
		return ""
	}
	if inner := v.raw[1 : len(v.raw)-1]; !strings.ContainsRune(string(inner), '\\') {
		return string(inner)
	}
	var s string
	_ = json.Unmarshal(v.raw, &s) // valid as it was parsed
	return s
}

// num is a number, and 0 for anything else.
func (v *value) num() float64 {
	if !v.is(number) {
		return 0
	}
	f, _ := strconv.ParseFloat(string(v.raw), 64)
	return f
}

// whole says whether a value is an integer.
func (v *value) whole() bool {
	f := v.num()
	return v.is(number) && f == float64(int64(f))
}

func (v *value) truth() bool { return v.is(boolean) && v.raw[0] == 't' }

// list is the items of an array.
func (v *value) list() []*value {
	if v == nil {
		return nil
	}
	return v.items
}

// one is the name and value of the only member of an object.
func (v *value) one() (string, *value) {
	if v == nil || len(v.members) != 1 {
		return "", nil
	}
	return v.members[0].name, v.members[0].value
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

package jsonwire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Member is one member of an object, its value as raw text.
type Member struct {
	Key   string
	Value json.RawMessage
}

// Members splits one JSON object into its members, in order; values alias text.
func Members(text []byte) ([]Member, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	t, err := d.Token()
	if err != nil {
		return nil, fmt.Errorf("jsonwire: %w", err)
	}
	if t != json.Delim('{') {
		return nil, errors.New("jsonwire: not an object")
	}
	var ms []Member
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("jsonwire: %w", err)
		}
		key, ok := k.(string)
		if !ok {
			return nil, errors.New("jsonwire: not an object")
		}
		// The value lies between the colon and where the decoder stands after it.
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, fmt.Errorf("jsonwire: %w", err)
		}
		end := d.InputOffset()
		ms = append(ms, Member{Key: key, Value: text[end-int64(len(v)) : end : end]})
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("jsonwire: %w", err)
	}
	if d.More() {
		return nil, errors.New("jsonwire: text after the object")
	}
	return ms, nil
}

// Merge lays the object over onto the object base: members that are objects in
// both are merged likewise, all others of over replace those of base in their
// place, and new ones are added at the end in over's order. A null in over removes
// the member. Everything else keeps its bytes.
func Merge(base, over []byte) ([]byte, error) {
	bm, err := Members(base)
	if err != nil {
		return nil, err
	}
	om, err := Members(over)
	if err != nil {
		return nil, err
	}
	for _, o := range om {
		if bm, err = lay(bm, o); err != nil {
			return nil, err
		}
	}
	var w Writer
	w.BeginObject()
	for _, m := range bm {
		w.Key(m.Key)
		w.RawBytes(m.Value)
	}
	w.EndObject()
	return w.Bytes(), nil
}

func lay(base []Member, o Member) ([]Member, error) {
	remove := string(o.Value) == "null"
	for i, b := range base {
		if b.Key != o.Key {
			continue
		}
		if remove {
			return append(base[:i:i], base[i+1:]...), nil
		}
		if b.Value[0] == '{' && o.Value[0] == '{' {
			v, err := Merge(b.Value, o.Value)
			if err != nil {
				return nil, err
			}
			o.Value = v
		}
		base[i].Value = o.Value
		return base, nil
	}
	if remove {
		return base, nil
	}
	return append(base, o), nil
}

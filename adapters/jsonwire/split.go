package jsonwire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Member is one member of an object, its value as raw text.
type Member struct {
	Key   string
	Value json.RawMessage
	// At is where the value begins in the text that was split.
	At int
}

// Members splits one JSON object into its members, in order; values alias text.
func Members(text []byte) ([]Member, error) {
	if len(text) == 0 { // the usual value of an option
		return nil, io.ErrUnexpectedEOF
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := begin(d, '{', "jsonwire: not an object"); err != nil {
		return nil, err
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
		m, err := next(d, text)
		if err != nil {
			return nil, err
		}
		m.Key = key
		ms = append(ms, m)
	}
	if err := end(d); err != nil {
		return nil, err
	}
	return ms, nil
}

// Elements splits one JSON array; the members have no keys, and values alias text.
func Elements(text []byte) ([]Member, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if err := begin(d, '[', "jsonwire: not an array"); err != nil {
		return nil, err
	}
	var es []Member
	for d.More() {
		e, err := next(d, text)
		if err != nil {
			return nil, err
		}
		es = append(es, e)
	}
	if err := end(d); err != nil {
		return nil, err
	}
	return es, nil
}

func begin(d *json.Decoder, delim json.Delim, otherwise string) error {
	t, err := d.Token()
	if err != nil {
		return fmt.Errorf("jsonwire: %w", err)
	}
	if t != delim {
		return errors.New(otherwise)
	}
	return nil
}

// next reads a value, which ends where the decoder stands after it.
func next(d *json.Decoder, text []byte) (Member, error) {
	var v json.RawMessage
	if err := d.Decode(&v); err != nil {
		return Member{}, fmt.Errorf("jsonwire: %w", err)
	}
	end := int(d.InputOffset())
	return Member{Value: text[end-len(v) : end : end], At: end - len(v)}, nil
}

func end(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("jsonwire: %w", err)
	}
	if d.More() {
		return errors.New("jsonwire: text after the value")
	}
	return nil
}

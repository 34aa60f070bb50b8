package jsonwire

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

package transform

// PassNames lists the parts of the hand-off, in order.
func PassNames() []string {
	var names []string
	for _, p := range passes() {
		names = append(names, p.name)
	}
	return names
}

// ApplyWithout is [Apply] with one part left out.
func ApplyWithout(name string) func(Input) (*Result, error) {
	return func(in Input) (*Result, error) {
		h := newHandoff(in)
		for _, p := range passes() {
			if p.name == name {
				continue
			}
			if err := p.apply(h); err != nil {
				return nil, err
			}
		}
		return h.finish()
	}
}

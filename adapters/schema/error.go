package schema

import "fmt"

// Error means that a schema has no strict form.
type Error struct {
	// Keyword is the keyword that is in the way, or the one that is missing; empty
	// for a schema that is no object.
	Keyword string
	// Path is where, as a JSON pointer; empty = the root.
	Path string
	// Detail is what is wrong, for people. It does not quote the schema.
	Detail string
}

func (f *Error) Error() string {
	place := "at the root"
	if f.Path != "" {
		place = fmt.Sprintf("at %q", f.Path)
	}
	if f.Keyword == "" {
		return fmt.Sprintf("schema: %s %s", place, f.Detail)
	}
	return fmt.Sprintf("schema: keyword %q %s %s", f.Keyword, place, f.Detail)
}

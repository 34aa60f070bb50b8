package toolcheck

import (
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxSchema is the largest schema in bytes that is compiled: compiling takes
	// time by the square of the number of subschemas.
	maxSchema = 64 << 10
	// maxDepth is how deeply schemas and arguments may be nested.
	maxDepth = 200
)

// schemaURL is what a schema is called while it is compiled.
const schemaURL = "llmd:schema"

// noFiles keeps a schema's $ref from reading files or the network.
type noFiles struct{}

// Load implements jsonschema.URLLoader.
func (noFiles) Load(string) (any, error) {
	return nil, errors.New("toolcheck: references to other documents are not followed")
}

// compile compiles a schema; "" is none.
func compile(text string) (*jsonschema.Schema, error) {
	switch {
	case text == "":
		return nil, nil //nolint:nilnil // no schema is no error
	case len(text) > maxSchema:
		return nil, ErrLimit
	}
	if _, err := survey(text); err != nil {
		return nil, &SchemaError{Message: err.Error()}
	}
	doc, err := decode(text)
	if err != nil {
		return nil, &SchemaError{Message: err.Error()}
	}
	schema, err := compileAs(jsonschema.Draft2020, doc)
	if _, bad := errors.AsType[*jsonschema.SchemaValidationError](err); bad {
		// Generators of schemas often leave out which draft theirs is of: tuples as a
		// list under "items" are of draft 7, a true "exclusiveMinimum" is of draft 4.
		for _, older := range []*jsonschema.Draft{jsonschema.Draft7, jsonschema.Draft4} {
			if schema, err := compileAs(older, doc); err == nil {
				return schema, nil
			}
		}
	}
	if err != nil {
		return nil, fault(err)
	}
	return schema, nil
}

// compileAs compiles a schema, of this draft unless it names its own.
func compileAs(draft *jsonschema.Draft, doc any) (*jsonschema.Schema, error) {
	k := jsonschema.NewCompiler()
	k.DefaultDraft(draft)
	k.UseLoader(noFiles{})
	k.UseRegexpEngine(lazyPattern)
	if err := k.AddResource(schemaURL, doc); err != nil {
		return nil, errUnreadable
	}
	return k.Compile(schemaURL)
}

var errUnreadable = errors.New("toolcheck: the schema cannot be read")

// fault says why a schema does not compile.
func fault(err error) *SchemaError {
	if errors.Is(err, errUnreadable) {
		return &SchemaError{Message: "it cannot be read"}
	}
	if bad, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if invalid, ok := errors.AsType[*jsonschema.ValidationError](bad.Err); ok {
			for len(invalid.Causes) > 0 {
				invalid = invalid.Causes[0]
			}
			return &SchemaError{Pointer: pointer(invalid.InstanceLocation), Message: plain(invalid.ErrorKind)}
		}
	}
	if _, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return &SchemaError{Message: "it refers to another document"}
	}
	return &SchemaError{Message: "it does not compile"}
}

// decode reads a text that has been surveyed.
func decode(text string) (any, error) {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, errNotJSON
	}
	return v, nil
}

package service

import (
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/llmd-dev/llmd/adapters/jsonstream"
)

// schema wants the JSON text of one JSON Schema that providers can be given.
func (c *checker) schema(field, text string) {
	if err := jsonstream.Object([]byte(text)); err != nil {
		c.add(field, reasonInvalid, "must be the JSON text of one object: %s", strings.TrimPrefix(err.Error(), "jsonstream: "))
		return
	}
	if err := compiles(text); err != nil {
		c.add(field, reasonInvalid, "is no JSON Schema: %s", err.Error())
	}
}

// noFiles keeps a schema's $ref from reading files or the network.
type noFiles struct{}

func (noFiles) Load(string) (any, error) {
	return nil, errors.New("references to other documents are not followed")
}

// compiles checks a schema against its own meta-schema. Its error names the place
// by JSON pointer and does not quote the schema.
func compiles(text string) error {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return errors.New("it cannot be read")
	}
	const url = "llmd:schema"
	k := jsonschema.NewCompiler()
	k.UseLoader(noFiles{})
	if err := k.AddResource(url, doc); err != nil {
		return errors.New("it cannot be read")
	}
	if _, err = k.Compile(url); err == nil {
		return nil
	}
	var bad *jsonschema.SchemaValidationError
	var invalid *jsonschema.ValidationError
	if errors.As(err, &bad) && errors.As(bad.Err, &invalid) {
		for len(invalid.Causes) > 0 {
			invalid = invalid.Causes[0]
		}
		return errors.New("at /" + strings.Join(invalid.InstanceLocation, "/"))
	}
	return errors.New("it does not compile")
}

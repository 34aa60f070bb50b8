package service

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonstream"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/toolcheck"
)

// maxSchemaWork bounds the work on the schemas of one request, in bytes squared:
// what compiling takes. It is enough for a thousand tools of 4 KiB each. Schemas
// beyond it are left to the provider.
const maxSchemaWork = 4 * (64 << 10) * (64 << 10)

// parameters wants a schema of objects: arguments are nothing else, and no provider
// takes another.
func (c *checker) parameters(field, text string) {
	c.schema(field, text)
	var root map[string]json.RawMessage // in a struct "Type" would be "type", too
	if json.Unmarshal([]byte(text), &root) != nil || root["type"] == nil {
		return
	}
	var name string
	var names []string
	if json.Unmarshal(root["type"], &names) != nil && json.Unmarshal(root["type"], &name) == nil {
		names = []string{name}
	}
	if !slices.Contains(names, "object") {
		c.add(field, reasonInvalid, `must be a schema of "type": "object", as arguments are one`)
	}
}

// schema wants the JSON text of one JSON Schema that providers can be given.
func (c *checker) schema(field, text string) {
	if err := jsonstream.Object([]byte(text)); err != nil {
		c.add(field, reasonInvalid, "must be the JSON text of one object: %s", strings.TrimPrefix(err.Error(), "jsonstream: "))
		return
	}
	if c.schemaWork += len(text) * len(text); c.schemaWork > maxSchemaWork {
		return
	}
	_, err := c.schemas.Compile(&llmdv1.Tool{ParametersJsonSchema: text})
	if fault, ok := errors.AsType[*toolcheck.SchemaError](err); ok {
		c.add(field, reasonInvalid, "is no JSON Schema: %s", strings.TrimPrefix(fault.Error(), "toolcheck: schema: "))
	}
}

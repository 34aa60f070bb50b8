package service

import (
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonstream"
)

// maxSchemaWork bounds the work on the schemas of one request, in bytes squared:
// what compiling takes. It is enough for a thousand tools of 4 KiB each. Schemas
// beyond it are left to the provider.
const maxSchemaWork = 4 * (64 << 10) * (64 << 10)

// schema wants the JSON text of one JSON Schema that providers can be given.
func (c *checker) schema(field, text string) {
	if err := jsonstream.Object([]byte(text)); err != nil {
		c.add(field, reasonInvalid, "must be the JSON text of one object: %s", strings.TrimPrefix(err.Error(), "jsonstream: "))
		return
	}
	if c.schemaWork += len(text) * len(text); c.schemaWork > maxSchemaWork {
		return
	}
	if err := c.schemas.Schema(text); err != nil {
		c.add(field, reasonInvalid, "is no JSON Schema: %s", err.Error())
	}
}

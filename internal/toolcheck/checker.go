package toolcheck

import (
	"errors"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

const (
	// maxSchema is the largest schema in bytes that is compiled: compiling takes
	// time by the square of the number of subschemas.
	maxSchema = 64 << 10
	// maxDepth is how deeply schemas and arguments may be nested.
	maxDepth = 200
	// cacheBytes bounds the texts of the schemas in the cache. Compiled, they take
	// some fifty times as much.
	cacheBytes = 512 << 10
)

// Checker checks schemas and arguments. It is safe for concurrent use; make one
// with [New].
type Checker struct {
	mu sync.Mutex
	// Two generations: when the young one has grown to half of the limit it takes
	// the place of the old one. Entries in use come back to the young one.
	young, old map[string]*entry
	youngBytes int
}

// entry is what became of a schema.
type entry struct {
	schema *jsonschema.Schema
	err    error
}

// New makes a Checker with an empty cache.
func New() *Checker { return &Checker{young: map[string]*entry{}} }

// Schema says what is wrong with a schema. The error names the place by JSON
// pointer where there is one, and does not quote the schema.
func (c *Checker) Schema(text string) error {
	return c.compiled(text).err
}

// Check says how the arguments of a call do not fit the parameters of the tool, by
// path and at most 20. There is nothing to say for a tool without a usable schema.
func (c *Checker) Check(tool *llmdv1.Tool, argumentsJSON string) []Problem {
	if argumentsJSON == "" {
		argumentsJSON = "{}"
	}
	looks, err := survey(argumentsJSON)
	switch {
	case err != nil:
		return []Problem{{Path: root, Message: err.Error()}}
	case looks.kind != "object":
		return []Problem{{Path: root, Message: "expected object, got " + looks.kind}}
	}
	schema := c.compiled(tool.GetParametersJsonSchema()).schema
	if schema == nil || !affordable(schema, looks) {
		return nil
	}
	arguments, err := jsonschema.UnmarshalJSON(strings.NewReader(argumentsJSON))
	if err != nil {
		return []Problem{{Path: root, Message: "it is not JSON"}}
	}
	failure, ok := errors.AsType[*jsonschema.ValidationError](schema.Validate(arguments))
	if !ok {
		return nil
	}
	return problems(failure, argumentsJSON)
}

// compiled compiles a schema, or finds it in the cache.
func (c *Checker) compiled(text string) *entry {
	if text == "" || len(text) > maxSchema {
		return &entry{}
	}
	if e := c.known(text); e != nil {
		return e
	}
	e := &entry{}
	e.schema, e.err = compile(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(text, e)
	return e
}

func (c *Checker) known(text string) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.young[text]; e != nil {
		return e
	}
	e := c.old[text]
	if e != nil {
		c.keep(text, e)
	}
	return e
}

// keep adds to the young generation. The caller holds the lock.
func (c *Checker) keep(text string, e *entry) {
	if c.young[text] != nil {
		return
	}
	if c.youngBytes+len(text) > cacheBytes/2 {
		c.old, c.young, c.youngBytes = c.young, map[string]*entry{}, 0
	}
	// The text may be a part of a request that is far larger.
	c.young[strings.Clone(text)] = e
	c.youngBytes += len(text)
}

// schemaURL is what a schema is called while it is compiled.
const schemaURL = "llmd:schema"

// noFiles keeps a schema's $ref from reading files or the network.
type noFiles struct{}

// Load implements jsonschema.URLLoader.
func (noFiles) Load(string) (any, error) {
	return nil, errors.New("toolcheck: references to other documents are not followed")
}

func compile(text string) (*jsonschema.Schema, error) {
	if _, err := survey(text); err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, errors.New("it is not JSON")
	}
	k := jsonschema.NewCompiler()
	k.UseLoader(noFiles{})
	k.UseRegexpEngine(lazyPattern)
	if err := k.AddResource(schemaURL, doc); err != nil {
		return nil, errors.New("it cannot be read")
	}
	schema, err := k.Compile(schemaURL)
	if err == nil {
		return schema, nil
	}
	if bad, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if invalid, ok := errors.AsType[*jsonschema.ValidationError](bad.Err); ok {
			for len(invalid.Causes) > 0 {
				invalid = invalid.Causes[0]
			}
			return nil, errors.New("at /" + strings.Join(invalid.InstanceLocation, "/"))
		}
	}
	if _, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return nil, errors.New("it refers to another document")
	}
	return nil, errors.New("it does not compile")
}

package toolcheck

import (
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// cacheBytes bounds the texts of the schemas in a cache. Compiled, they take some
// fifty times as much.
const cacheBytes = 512 << 10

// Cache keeps compiled schemas by their text, for programs that get their tools with
// each request, as servers do. It holds at most 512 KiB of texts, and forgets what
// has not been used for longest. The zero Cache is ready to use.
type Cache struct {
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

// Compile is [Compile], with the schema from the cache if it is there.
func (c *Cache) Compile(tool *llmdv1.Tool) (*Tool, error) {
	e := c.compiled(tool.GetParametersJsonSchema())
	if e.err != nil {
		return nil, e.err
	}
	return newTool(tool, e.schema), nil
}

func (c *Cache) compiled(text string) *entry {
	if text == "" || len(text) > maxSchema {
		schema, err := compile(text)
		return &entry{schema, err}
	}
	if e := c.known(text); e != nil {
		return e
	}
	schema, err := compile(text)
	e := &entry{schema, err}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(text, e)
	return e
}

func (c *Cache) known(text string) *entry {
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
func (c *Cache) keep(text string, e *entry) {
	if c.young[text] != nil {
		return
	}
	if c.young == nil || c.youngBytes+len(text) > cacheBytes/2 {
		c.old, c.young, c.youngBytes = c.young, map[string]*entry{}, 0
	}
	// The text may be a part of a request that is far larger.
	c.young[strings.Clone(text)] = e
	c.youngBytes += len(text)
}

package schema

import (
	"strconv"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// Closed is a schema whose objects say that they have no other properties than those
// that they name, which some APIs demand of the schema of an answer. What follows it
// follows the caller's schema too. The error is a [*Error]: an object that wants
// others. Whatever else a provider may not take is left to it.
//
//   - https://docs.anthropic.com/en/docs/build-with-claude/structured-outputs#json-schema-limitations
//   - https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html
func Closed(text string) (string, error) {
	c := &converter{text: text}
	if err := c.closeNode([]byte(text), 0, ""); err != nil {
		return "", err
	}
	return c.spliced(), nil
}

// closeNode closes an object and those within it. Alternatives of "oneOf" and parts of
// "allOf" are left alone: closed they would no longer mean the same together.
func (c *converter) closeNode(text []byte, at int, path string) error {
	n, _ := parse(text, at, path)
	if n == nil {
		return nil // no schema that could be closed, such as true
	}
	switch m := n.get("additionalProperties"); {
	case !n.object:
	case m == nil:
		c.insert(n.end, `,"additionalProperties":false`)
	case string(m.Value) != "false":
		return n.fault(m.Key, "is not false")
	}
	for _, m := range n.members {
		place := n.path + "/" + escape(m.Key)
		var err error
		switch m.Key {
		case "items":
			err = c.closeNode(m.Value, n.at+m.At, place)
		case "anyOf":
			list, _ := jsonwire.Elements(m.Value) // none if it is no list
			for i := range list {
				list[i].Key = strconv.Itoa(i)
			}
			err = c.closeAll(list, n.at+m.At, place)
		case "properties", "$defs", "definitions":
			list, _ := jsonwire.Members(m.Value)
			err = c.closeAll(list, n.at+m.At, place)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *converter) closeAll(list []jsonwire.Member, at int, path string) error {
	for _, m := range list {
		if err := c.closeNode(m.Value, at+m.At, path+"/"+escape(m.Key)); err != nil {
			return err
		}
	}
	return nil
}

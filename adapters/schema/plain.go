package schema

import "github.com/llmd-dev/llmd/adapters/jsonwire"

// plain says that a schema needs no other words, as most of them do not. It reads the
// text once; what it does not know is left to the fitter, which splits it anew at each
// level.
func (d Draft) plain(text string) bool {
	if d.Moonshot || d.Grammar {
		return false // there is more to look at
	}
	c := jsonwire.NewCursor([]byte(text))
	d.plainSchema(&c)
	return c.Whole()
}

func (d Draft) plainSchema(c *jsonwire.Cursor) {
	if truth(c) {
		c.Skip() // all or nothing
		return
	}
	list, items := false, false
	for c.Begin('{'); c.More('}'); {
		switch string(c.Key()) {
		case "properties", "$defs", "dependentSchemas":
			d.plainMap(c)
		case "pattern":
			if d.Regular || d.Bare {
				has := featuresOf(c.Text())
				failIf(c, d.Regular && has&(lookaround|dialect) != 0 || d.Bare && has&bare != 0)
			} else {
				c.Skip()
			}
		case "patternProperties":
			failIf(c, d.Regular || d.Bare)
			d.plainMap(c)
		case "definitions":
			failIf(c, d.Defs)
			d.plainMap(c)
		case "items":
			items = true
			d.plainSchema(c)
		case "additionalItems", "unevaluatedItems", "contains", "additionalProperties", "unevaluatedProperties",
			"propertyNames", "not", "if", "then", "else":
			d.plainSchema(c)
		case "prefixItems", "anyOf", "oneOf", "allOf":
			for c.Begin('['); c.More(']'); {
				d.plainSchema(c)
			}
		case "type":
			list = plainType(c) || list
		case "required", "exclusiveMinimum", "exclusiveMaximum":
			failIf(c, truth(c))
			c.Skip()
		case "$id", "$recursiveAnchor", "$recursiveRef":
			failIf(c, d.Latest)
			c.Skip()
		case "$ref":
			failIf(c, d.Defs)
			c.Skip()
		case "dependencies":
			c.Fail() // a list or a schema
		default:
			c.Skip()
		}
	}
	failIf(c, d.Items && list && !items)
}

func (d Draft) plainMap(c *jsonwire.Cursor) {
	for c.Begin('{'); c.More('}'); {
		c.Key()
		d.plainSchema(c)
	}
}

// plainType reads a type, or a list of one, and says whether it is one of an array.
func plainType(c *jsonwire.Cursor) (list bool) {
	if c.Next() != '[' {
		return plainWord(c)
	}
	for c.Begin('['); c.More(']'); {
		list = plainWord(c) || list
	}
	return list
}

func plainWord(c *jsonwire.Cursor) (list bool) {
	word := string(c.Word())
	failIf(c, word == "any")
	return word == "array"
}

func truth(c *jsonwire.Cursor) bool { return c.Next() == 't' || c.Next() == 'f' }

func failIf(c *jsonwire.Cursor, strange bool) {
	if strange {
		c.Fail()
	}
}

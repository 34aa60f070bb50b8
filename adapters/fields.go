package adapters

import (
	"errors"
	"fmt"
	"slices"

	"github.com/llmd-dev/llmd/adapters/jsonstream"
	"github.com/llmd-dev/llmd/adapters/media"
	"github.com/llmd-dev/llmd/adapters/schema"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Unsupported is the error for an explicit option that cannot be carried; field
// stands below "generation.".
func Unsupported(capability, field, detail string) error {
	return &CapabilityError{Capability: capability, Field: "generation." + field, Detail: detail}
}

// ToolField names a tool in the caller's list, of which only one may be exposed.
func (c *Call) ToolField(t *llmdv1.Tool) string {
	return fmt.Sprintf("generation.context.tools[%d]", slices.IndexFunc(c.Generation.GetContext().GetTools(),
		func(own *llmdv1.Tool) bool { return own.GetName() == t.GetName() }))
}

// BlockField names a content block of a message after the hand-off, at the place where
// the caller wrote it. kind is "user", "assistant" or "tool_result".
func (c *Call) BlockField(message int, kind string, block int) string {
	return fmt.Sprintf("generation.context.messages[%d].%s.content[%d]", c.Origin(message), kind, block)
}

// Origin is the place in the caller's history of a message after the hand-off, which
// drops messages and puts some in. One that it changed is not known again, but the
// user's are all there: it is the one with as many of the user's behind it.
func (c *Call) Origin(message int) int {
	history, own := c.Context.GetMessages(), c.Generation.GetContext().GetMessages()
	m := history[message]
	if i := slices.Index(own, m); i >= 0 {
		return i
	}
	if m.GetUser() == nil {
		return max(0, min(message, len(own)-1))
	}
	later := 0
	for _, n := range history[message+1:] {
		if n.GetUser() != nil {
			later++
		}
	}
	for i, n := range slices.Backward(own) {
		if n.GetUser() == nil {
			continue
		}
		if later == 0 {
			return i
		}
		later--
	}
	return message
}

// Image reads an image of a block that [Call.BlockField] named.
func (c *Call) Image(in *llmdv1.ImageContent, blockField string, takes media.Takes) (media.Image, error) {
	img, err := media.Read(in, takes)
	wrong, ok := errors.AsType[*media.Error](err)
	if !ok {
		return img, err
	}
	return img, &FieldError{Field: blockField + ".image." + wrong.Field, Detail: wrong.Detail}
}

// OutputSchema is the schema that the answer is to have; empty = the caller gave none.
func (c *Call) OutputSchema() (string, error) {
	text := c.Generation.GetConfig().GetOutputJsonSchema()
	if text != "" && jsonstream.Object([]byte(text)) != nil {
		return "", &FieldError{Field: "generation.config.output_json_schema", Detail: notObject}
	}
	return text, nil
}

// ClosedOutputSchema is OutputSchema for APIs that demand that every object in it says
// that it has no other properties.
func (c *Call) ClosedOutputSchema() (string, error) {
	text, err := c.OutputSchema()
	if text == "" || err != nil {
		return "", err
	}
	if text, err = schema.Closed(text); err != nil {
		return "", Unsupported("output_json_schema", "config.output_json_schema", err.Error())
	}
	return text, nil
}

const notObject = "not one JSON object"

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
	p := c.Origin(message).Place(block)
	return fmt.Sprintf("generation.context.messages[%d].%s.content[%d]", p.Message, kind, p.Block)
}

// Origin is where a message after the hand-off comes from; behind the last one, the
// end of the caller's history.
func (c *Call) Origin(message int) Origin {
	switch {
	case message >= len(c.Context.GetMessages()):
		return Origin{Message: len(c.Generation.GetContext().GetMessages())}
	case c.Origins == nil:
		return Origin{Message: message}
	}
	return c.Origins[message]
}

// Place is where a block stands in the caller's history.
type Place struct{ Message, Block int }

// Origin is where a message that is sent comes from. The hand-off drops messages and
// blocks, puts some in and joins turns.
type Origin struct {
	// Message is the caller's or, for one that was put in, the one it stands before;
	// of joined turns, the first.
	Message int
	// Blocks has the place of each block; nil = where it is in the message.
	Blocks []Place
}

// Place is where a block comes from.
func (o Origin) Place(block int) Place {
	if block < len(o.Blocks) {
		return o.Blocks[block]
	}
	return Place{o.Message, block}
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

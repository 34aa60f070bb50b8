package toolcheck

import (
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// ErrLimit says that a schema or arguments cannot be judged with bounded time and
// memory. They may be right or wrong.
var ErrLimit = errors.New("toolcheck: too large to be checked")

// Tool checks the calls of one tool.
type Tool struct {
	name string
	// schema is nil where any object will do.
	schema *jsonschema.Schema
	// strict: null may stand for a property that was left out.
	strict bool
}

// Compile reads the schema of a tool's parameters. A tool without one takes any
// object. The error is a [*SchemaError] or [ErrLimit].
func Compile(tool *llmdv1.Tool) (*Tool, error) {
	schema, err := compile(tool.GetParametersJsonSchema())
	if err != nil {
		return nil, err
	}
	return newTool(tool, schema), nil
}

func newTool(tool *llmdv1.Tool, schema *jsonschema.Schema) *Tool {
	return &Tool{name: tool.GetName(), schema: schema, strict: nullsMeanNothing(tool.GetStrict())}
}

// nullsMeanNothing: under these modes a provider may have been given a schema in
// which optional properties are required and may be null.
func nullsMeanNothing(m llmdv1.StrictMode) bool {
	return m == llmdv1.StrictMode_STRICT_MODE_PREFER || m == llmdv1.StrictMode_STRICT_MODE_REQUIRE
}

// Check says whether arguments fit the tool. Empty text is taken as an object without
// properties. The error is an [*ArgumentsError] or [ErrLimit].
func (t *Tool) Check(argumentsJSON string) error {
	_, err := t.check(argumentsJSON)
	return err
}

// Arguments gives the arguments to run the tool with: those of the call, byte for
// byte, without the nulls that stand for properties left out in strict mode.
//
// It refuses, besides what [Tool.Check] refuses, calls that were cut off or whose
// arguments were not one JSON object: llmd gives what there was of them as valid JSON,
// but the model did not mean it.
func (t *Tool) Arguments(call *llmdv1.ToolCall) (string, error) {
	switch {
	case call.GetName() != t.name:
		return "", t.refused("is a call of another tool")
	case call.GetIncomplete():
		return "", t.refused("the call was cut off")
	case call.GetArgumentsError() != "":
		return "", t.refused("the arguments were not one JSON object")
	}
	return t.check(call.GetArgumentsJson())
}

func (t *Tool) refused(message string) error {
	return &ArgumentsError{Tool: t.name, Problems: []Problem{{Path: root, Message: message}}}
}

// check gives the arguments back without the nulls that mean nothing.
func (t *Tool) check(arguments string) (string, error) {
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	looks, err := survey(arguments)
	switch {
	case err != nil:
		return "", t.refused(err.Error())
	case looks.kind != "object":
		return "", t.refused("expected object, got " + looks.kind)
	case t.schema == nil:
		return arguments, nil
	}
	nulls := t.strict && looks.nulls > 0
	if !affordable(t.schema, looks, nulls) {
		return "", ErrLimit
	}
	if nulls {
		arguments = string(withoutNulls(t.schema, []byte(arguments), maxInPlace))
	}
	value, err := decode(arguments)
	if err != nil {
		return "", t.refused(err.Error())
	}
	failure, ok := errors.AsType[*jsonschema.ValidationError](t.schema.Validate(value))
	if !ok {
		return arguments, nil
	}
	if p := problems(failure, arguments); len(p) > 0 {
		return "", &ArgumentsError{Tool: t.name, Problems: p}
	}
	return arguments, nil // the failure is the schema's own
}

// SchemaError says that a text is no JSON Schema that can be used. It does not quote
// the schema.
type SchemaError struct {
	// Pointer is the place in the schema (RFC 6901) where one is known; "" is the
	// schema as a whole.
	Pointer string
	// Message is what is wrong, for people.
	Message string
}

func (e *SchemaError) Error() string {
	if e.Pointer != "" {
		return fmt.Sprintf("toolcheck: schema: at %s: %s", e.Pointer, e.Message)
	}
	return "toolcheck: schema: " + e.Message
}

// ArgumentsError says how the arguments of a call do not fit. It does not quote them.
type ArgumentsError struct {
	// Tool is the name of the tool.
	Tool string
	// Problems are in the order of their places: at least one and at most 20.
	Problems []Problem
}

// Error lists all problems, a line each: a model can mend its call by it.
func (e *ArgumentsError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "toolcheck: arguments of tool %q:", e.Tool)
	if len(e.Problems) == 1 {
		return b.String() + " " + e.Problems[0].String()
	}
	for _, p := range e.Problems {
		b.WriteString("\n- " + p.String())
	}
	return b.String()
}

// Package toolcheck checks the arguments of tool calls against the JSON Schema of
// their tool, for Go programs that run tools.
//
// A model's arguments are one JSON object, which llmd sees to, but not always the
// object that the tool wants. So a program that runs tools checks them first, and
// gives the model what is wrong as the result of the call:
//
//	tool, err := toolcheck.Compile(definition) // once
//	...
//	arguments, err := tool.Arguments(call) // for each call
//	if err != nil {
//		return failed(call, err.Error()) // the model mends its call
//	}
//	return run(arguments)
//
// # What is checked
//
// A tool's parameters are described by a JSON Schema (https://json-schema.org): draft
// 2020-12, or the one that its "$schema" names. One that names none and is none of
// draft 2020-12 is taken for one of draft 7 or 4, if it is one. Nothing is coerced: "42"
// is no number.
// What is wrong is named by its place, such as
//
//	filter.tags[2]: expected string, got number
//
// and never by its value: arguments are private, and errors get into logs. Each
// [Problem] has the place as a JSON Pointer (RFC 6901) too.
//
// # Strict tools
//
// In strict mode providers make the model name every property: what the tool calls
// optional may be null instead, though the tool's own schema does not allow null
// there. So for a tool whose strict is PREFER or REQUIRE, a null in the place of an
// optional property counts as left out. [Tool.Check] accepts it, [Tool.Arguments]
// takes it away. Where the schema itself allows null, null is a value and stays.
//
// # Limits
//
// Schemas and arguments come from strangers and from models, so both are kept from
// costing more than they are worth:
//
//   - a schema may have 64 KiB, and it and arguments 200 levels of nesting
//   - a "$ref" to another document is an error; nothing is ever loaded
//   - numbers beyond the range of a double are refused: exact arithmetic with them
//     takes minutes
//   - regular expressions take linear time, as Go's do. Those that Go does not have
//     (look-ahead, back-references) count as matched
//   - judging may take some five million comparisons, half a second; how many it may
//     take is estimated before, because a schema that refers to itself twice can
//     double the work with each level
//
// What goes beyond the last limit, or is larger than 64 KiB, is not judged: the error
// is [ErrLimit], and the caller decides what that means. Everything here is safe for
// concurrent use.
package toolcheck

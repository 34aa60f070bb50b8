// Package toolcheck judges JSON Schemas and the arguments of tool calls by them.
//
// A tool's parameters are described by a JSON Schema (https://json-schema.org). Two
// questions come up: is the schema one at all, which is worth knowing before a
// provider says so less clearly, and do the arguments of a call fit, which a caller
// wants to know before the tool runs. Nothing is coerced: "42" is no number. What is
// wrong is named by its path, such as
//
//	filter.tags[2]: expected string, got number
//
// and never by its value: arguments are private, remarks are logged.
//
// Schemas and arguments come from callers and models, so both are kept from costing
// more than they are worth. Schemas over 64 KiB are not looked at; references to other
// documents are never followed; regular expressions that Go's linear-time engine
// does not have (look-ahead, back-references) count as fulfilled; numbers beyond
// the range of a double are refused, because exact arithmetic with them takes
// minutes; and a schema that refers to itself in so many ways that judging would
// take exponential time is not used for judging. Compiled schemas are kept in a
// bounded cache, because the same tools come with every turn of a conversation.
package toolcheck

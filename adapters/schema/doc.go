// Package schema fits the JSON Schemas of tools for strict mode, in which a provider
// holds a model to a tool's schema.
//
// # The domain
//
// Providers compile a strict schema to a grammar, and a grammar can say less than a
// schema: it cannot leave a property out, and knows no other properties than those
// that are named. So in strict mode every property is required, no others are
// allowed, and what could be left out before may be null instead.
//
//   - https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
//   - https://docs.anthropic.com/en/docs/build-with-claude/structured-outputs#json-schema-limitations
//
// [Strict] makes a schema so. It works on the text: what is added is spliced in, and
// everything else keeps its bytes and its order, which models and prompt caches see.
// What has no strict form is a [Error], which names the keyword and its place.
// [Rules] are what providers differ in.
package schema

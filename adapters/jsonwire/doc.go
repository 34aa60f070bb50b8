// Package jsonwire reads and writes the JSON of wire APIs where encoding/json
// would change bytes.
//
// A [Writer] writes objects in the order of the calls, without HTML escaping, and
// splices raw JSON in byte for byte: tool arguments, schemas and opaque items must
// reach a provider as they came (encoding/json compacts a RawMessage). [Text]
// reads strings without losing halves of surrogate pairs that a provider split
// over two messages, [Word] and [Number] take what hosts write in their place.
// [Members] and [Elements] split a value and keep its bytes, and [Merge] lays a
// caller's options over a finished body.
package jsonwire

// Package config reads llmd's configuration: one YAML file and a few environment
// variables.
//
// A server with a misspelt key is worse than one that does not start, so reading
// is strict: an unknown key, a value of the wrong kind, a name given twice or a
// variable that is not set is a [ParseError] with the file, the line and the key.
// All mistakes of a file are reported at once. Nothing is filled in silently but
// the documented defaults, which [Keys] lists together with every key.
//
// ${NAME} inside a text value is replaced by the environment variable NAME;
// $${ is a literal "${". Anchors, aliases and merge keys of YAML are refused:
// they hide what a line means.
//
// Package internal/catalog reads its built-in providers with the same code, so
// whatever is built in can be written, or overridden, in a user's file.
package config

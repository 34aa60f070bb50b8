// Package clients runs the clients of all languages, the programs below examples/,
// against a running `llmd serve` with the built-in provider, and keeps the matrix of
// docs/clients.md true.
//
// What a client was told, by its output, its exit code and the conversation that it
// saved, is compared with what the script of the answer says. A second server plays
// the golden vectors of proto/vectors as real streams.
//
// The tests run when they are asked for, by `make clients`: the first time they
// install and build for minutes, in the user's cache. A language whose tools are not
// here is skipped, except with CI=true.
package clients

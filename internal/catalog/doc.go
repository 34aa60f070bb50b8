// Package catalog knows the providers and models that llmd can reach.
//
// A provider is a host that serves models; it speaks one of a handful of wire
// APIs. Hosts are data here, never code. In the schema of the configuration file,
// builtin.yaml has the providers that most people use and models/ what they
// serve, which tools/catalogue takes from a public list; hosts.yaml says what
// known hosts do otherwise than the owner of the API they speak. A user's file is
// laid over all of it, key by key, so that anything built in can be changed and
// nothing has to be repeated.
//
// A model is addressed as "provider/model-id". The provider is what stands
// before the first slash, because ids at aggregators hold slashes of their own
// (openrouter/anthropic/claude-sonnet-5).
//
// Flags are resolved in layers, each naming only what it changes: the API's
// defaults, the host, the built-in model, the user's provider entry, the user's
// model entry.
//
// A [Catalog] never changes. A reload makes a new one, and running streams keep
// the models they began with.
package catalog

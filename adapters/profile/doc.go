// Package profile describes models and the hosts that serve them, as data.
//
// A [Model] is one model at one provider, resolved: aliases, defaults and the
// configuration have had their say. Its [Compat] holds what the host does
// otherwise than the wire API's owner. Adapters read both and know no host by
// name; a new host is data in internal/catalog or in a user's configuration.
//
// This is a leaf: it imports the generated messages and nothing else of llmd.
package profile

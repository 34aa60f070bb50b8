// Package security tests llmd from where an attacker stands: on the network, with
// no credentials, with wrong ones and with somebody else's. docs/security.md lists
// which test guards against what.
package security

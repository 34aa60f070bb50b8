package config

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// TLS is how TCP addresses are protected. Unix sockets need none of it.
type TLS struct {
	// CertFile and KeyFile are PEM; both or neither are set. They are read again
	// when they change.
	CertFile, KeyFile string
	// ClientCAFile has the authorities that sign clients' certificates.
	ClientCAFile string
	// RequireClientCert refuses connections without such a certificate.
	RequireClientCert bool
}

// On says whether TCP addresses speak TLS.
func (t TLS) On() bool { return t.CertFile != "" }

// Auth says who may call llmd. Without tokens and identities everybody may.
type Auth struct {
	// Tokens are known by "authorization: Bearer <token>".
	Tokens []Token
	// MTLS are known by their client certificate.
	MTLS []Identity
	// UnixUsers are known by the operating system's user at the other end of a
	// Unix socket.
	UnixUsers []UnixUser
	// UnixSocket is "open" or "required": whether callers on Unix sockets must
	// authenticate, too.
	UnixSocket string
}

// On says whether callers must authenticate.
func (a Auth) On() bool { return len(a.Tokens)+len(a.MTLS)+len(a.UnixUsers) > 0 }

// Grants are what one caller may do.
type Grants struct {
	// Name is the caller's; it is unique among tokens and identities.
	Name string
	// Models and Providers are patterns in which * stands for any text; empty =
	// all. A model must match both lists.
	Models, Providers []string
	// Limits stand in for server.limits.per_caller where they are set.
	Limits CallerLimits
}

// Token is one caller with a bearer token.
type Token struct {
	Grants
	// SHA256 is the digest of the token: the token itself is nowhere in the file.
	SHA256 [32]byte
}

// Identity is one caller with a client certificate, known by one of the two.
type Identity struct {
	Grants
	// URISAN is a URI of the certificate's subject alternative names, such as a
	// SPIFFE id.
	URISAN string
	// CommonName is the subject's.
	CommonName string
}

// UnixUser is one caller on Unix sockets.
type UnixUser struct {
	Grants
	// UID is the numeric user id that the kernel tells.
	UID uint32
}

// Limits bound what llmd takes on. Zero values are no limits.
type Limits struct {
	// ConcurrentCalls is over all callers and connections.
	ConcurrentCalls int
	// RequestBytes is the size of all requests that are being worked on.
	RequestBytes int
	// PerCaller holds for each caller by itself.
	PerCaller CallerLimits
}

// CallerLimits bound one caller. Zero values are no limits, or not set.
type CallerLimits struct {
	ConcurrentCalls   int
	RequestsPerSecond float64
	// Burst is how many requests may come at once; 0 = a second's worth.
	Burst int
}

func tlsKeys(t *TLS) []key {
	return []key{
		{
			name: "cert_file", kind: "path", doc: "The certificate and its chain, PEM. This file and the two below are read again when they change.",
			read: func(v value) { v.text(&t.CertFile) },
		},
		{name: "key_file", kind: "path", doc: "Its private key, PEM.", read: func(v value) { v.text(&t.KeyFile) }},
		{
			name: "client_ca_file", kind: "path", doc: "Authorities that sign certificates of clients, PEM. A certificate that a client shows must be of one of them.",
			read: func(v value) { v.text(&t.ClientCAFile) },
		},
		{
			name: "require_client_cert", kind: "true or false", def: "false", doc: "Refuse connections without a client certificate.",
			read: func(v value) { v.boolean(&t.RequireClientCert) },
		},
	}
}

func (v value) tls(t *TLS) {
	v.object(tlsKeys(t))
	missing := func(key, why string) { v.fail(v.node.Line, joinPath(v.path, key), "is missing%s", why) }
	if v.node.Kind != yaml.MappingNode {
		return
	}
	if t.CertFile == "" && !hasKey(v.node, "cert_file") {
		missing("cert_file", "")
	}
	if t.KeyFile == "" && !hasKey(v.node, "key_file") {
		missing("key_file", "")
	}
	if t.RequireClientCert && t.ClientCAFile == "" {
		missing("client_ca_file", ": require_client_cert needs it")
	}
}

func authKeys(a *Auth) []key {
	return []key{
		{
			name: "tokens", kind: "list of mappings", doc: "Callers with a bearer token, in the metadata authorization: Bearer <token>.",
			read: func(v value) { v.callerTokens(&a.Tokens) }, below: func() []key { return tokenKeys(&Token{}) },
		},
		{
			name: "mtls", kind: "list of mappings", doc: "Callers with a client certificate; server.tls.client_ca_file must be set.",
			read: func(v value) { v.identities(&a.MTLS) }, below: func() []key { return identityKeys(&Identity{}) },
		},
		{
			name: "unix_users", kind: "list of mappings", doc: "Callers on Unix sockets, known by the user id that the kernel tells of their process. On Linux and macOS.",
			read: func(v value) { v.unixUsers(&a.UnixUsers) }, below: func() []key { return unixUserKeys(&UnixUser{}) },
		},
		{
			name: "unix_socket", kind: "one of: open, required", def: "open",
			doc:  "open: whoever may open a Unix socket may call llmd, without limits to models, but for those in unix_users. required: callers there must be in unix_users, or authenticate.",
			read: func(v value) { v.word(&a.UnixSocket, "open", "required") },
		},
	}
}

func tokenKeys(t *Token) []key {
	keys := grantKeys(&t.Grants)
	return append(keys[:1:1], append([]key{{
		name: "sha256", kind: "text", doc: "The SHA-256 of the token, in hexadecimal. Required.",
		read: func(v value) {
			var s string
			if !v.text(&s) {
				return
			}
			digest, err := hex.DecodeString(s)
			if err != nil || len(digest) != len(t.SHA256) {
				// It is not repeated: it may be the token itself.
				v.bad("must be 64 hexadecimal digits, as of: printf %%s \"$TOKEN\" | sha256sum")
				return
			}
			copy(t.SHA256[:], digest)
		},
	}}, keys[1:]...)...)
}

func identityKeys(i *Identity) []key {
	keys := grantKeys(&i.Grants)
	return append(keys[:1:1], append([]key{
		{name: "uri_san", kind: "text", doc: "A URI among the certificate's subject alternative names, such as a SPIFFE id. Either this or common_name.", read: func(v value) { v.text(&i.URISAN) }},
		{name: "common_name", kind: "text", doc: "The common name of the certificate's subject.", read: func(v value) { v.text(&i.CommonName) }},
	}, keys[1:]...)...)
}

func unixUserKeys(u *UnixUser) []key {
	keys := grantKeys(&u.Grants)
	return append(keys[:1:1], append([]key{{
		name: "uid", kind: "whole number", doc: "The numeric user id, as of: id -u. Required.",
		read: func(v value) {
			if n, ok := v.count(0, math.MaxUint32-1); ok {
				u.UID = uint32(n)
			}
		},
	}}, keys[1:]...)...)
}

// grantKeys begin with the name.
func grantKeys(g *Grants) []key {
	return []key{
		{
			name: "name", kind: "text", doc: "Names the caller in logs, and owns the responses that it asks for. Required, unique.",
			read: func(v value) { v.text(&g.Name) },
		},
		{
			name: "models", kind: "list of texts", def: "all",
			doc:  "The models that the caller may use: provider/model-id, in which * stands for any text. Aliases are of no account.",
			read: func(v value) { v.texts(&g.Models) },
		},
		{
			name: "providers", kind: "list of texts", def: "all", doc: "The providers that the caller may use; * stands for any text.",
			read: func(v value) { v.texts(&g.Providers) },
		},
		{
			name: "limits", kind: "mapping", def: "server.limits.per_caller", doc: "The caller's own limits.",
			read: func(v value) { v.object(callerLimitKeys(&g.Limits)) }, below: func() []key { return callerLimitKeys(&CallerLimits{}) },
		},
	}
}

// callerTokens reads the list; names and digests must be unique.
func (v value) callerTokens(target *[]Token) {
	lines := map[[32]byte]int{}
	v.list(func(item value) {
		var t Token
		item.object(tokenKeys(&t))
		if !item.has("name") || !item.has("sha256") {
			return
		}
		if line, ok := lines[t.SHA256]; ok && t.SHA256 != [32]byte{} {
			item.fail(item.node.Line, joinPath(item.path, "sha256"), "given twice; first in line %d", line)
		}
		lines[t.SHA256] = item.node.Line
		*target = append(*target, t)
	})
}

func (v value) identities(target *[]Identity) {
	v.list(func(item value) {
		var i Identity
		item.object(identityKeys(&i))
		if !item.has("name") {
			return
		}
		if (i.URISAN == "") == (i.CommonName == "") {
			item.bad("must have either uri_san or common_name")
			return
		}
		*target = append(*target, i)
	})
}

// unixUsers reads the list; user ids must be unique.
func (v value) unixUsers(target *[]UnixUser) {
	lines := map[uint32]int{}
	v.list(func(item value) {
		var u UnixUser
		item.object(unixUserKeys(&u))
		if !item.has("name") || !item.has("uid") {
			return
		}
		if line, ok := lines[u.UID]; ok {
			item.fail(item.node.Line, joinPath(item.path, "uid"), "given twice; first in line %d", line)
		}
		lines[u.UID] = item.node.Line
		*target = append(*target, u)
	})
}

// has wants a key of a mapping.
func (v value) has(name string) bool {
	if v.node.Kind != yaml.MappingNode {
		return false
	}
	if !hasKey(v.node, name) {
		v.fail(v.node.Line, joinPath(v.path, name), "is missing")
		return false
	}
	return true
}

func limitKeys(l *Limits) []key {
	return []key{
		{
			name: "concurrent_calls", kind: "whole number", def: "no limit",
			doc:  "Calls at a time over all callers and connections. More are refused with UNAVAILABLE, so that clients try another llmd.",
			read: func(v value) { v.limit(&l.ConcurrentCalls) },
		},
		{
			name: "request_bytes", kind: "bytes", def: "1 GiB",
			doc:  "The size of all requests that are being worked on. More are refused with UNAVAILABLE.",
			read: func(v value) { v.size(&l.RequestBytes, 1<<20, math.MaxInt64) },
		},
		{
			name: "per_caller", kind: "mapping", doc: "For each caller by itself. Callers that need not authenticate count as one.",
			read: func(v value) { v.object(callerLimitKeys(&l.PerCaller)) }, below: func() []key { return callerLimitKeys(&CallerLimits{}) },
		},
	}
}

func callerLimitKeys(l *CallerLimits) []key {
	return []key{
		{
			name: "concurrent_calls", kind: "whole number", def: "no limit", doc: "Calls at a time. More are refused with RESOURCE_EXHAUSTED.",
			read: func(v value) { v.limit(&l.ConcurrentCalls) },
		},
		{
			name: "requests_per_second", kind: "decimal", def: "no limit", doc: "Calls a second. More are refused with RESOURCE_EXHAUSTED and the time to wait.",
			read: func(v value) { v.rate(&l.RequestsPerSecond) },
		},
		{
			name: "burst", kind: "whole number", def: "a second's worth", doc: "Calls that may come at once.",
			read: func(v value) { v.limit(&l.Burst) },
		},
	}
}

func (v value) limit(target *int) {
	if n, ok := v.count(1, math.MaxInt32); ok {
		*target = int(n)
	}
}

func (v value) rate(target *float64) {
	const least, most = 0.001, 1e6
	n, err := strconv.ParseFloat(v.node.Value, 64)
	if v.node.Kind != yaml.ScalarNode || err != nil || !(n >= least && n <= most) {
		v.outside(Range{Least: "0.001", Most: "1000000"}, "a number", "")
		return
	}
	*target = n
}

// consistent looks at what several keys of "server" say together.
func (v value) consistent(s *Server) {
	v.responses(s)
	if len(s.Auth.MTLS) > 0 && s.TLS.ClientCAFile == "" {
		v.fail(v.node.Line, joinPath(v.path, "tls.client_ca_file"), "is missing: auth.mtls needs it")
	}
	v.adminApart(s)
	s.Web.consistent(v, s.Listen)
	seen := map[string]bool{}
	for name := range s.Auth.names() {
		if seen[name] && name != "" {
			v.fail(v.node.Line, joinPath(v.path, "auth"), "the name %q is given twice", name)
		}
		seen[name] = true
	}
}

func (a Auth) names() func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range a.Tokens {
			if !yield(a.Tokens[i].Name) {
				return
			}
		}
		for i := range a.MTLS {
			if !yield(a.MTLS[i].Name) {
				return
			}
		}
		for i := range a.UnixUsers {
			if !yield(a.UnixUsers[i].Name) {
				return
			}
		}
	}
}

// Exposed refuses to let other machines in without TLS and authentication, unless
// allow_insecure says so; nil = all is well. The error is a *[ParseError].
func (f *File) Exposed() error {
	s := &f.Server
	if err := f.adminExposed(); err != nil {
		return err
	}
	if s.AllowInsecure || s.TLS.On() && s.Auth.On() {
		return nil
	}
	for i, a := range s.Addresses() {
		if a.Local() {
			continue
		}
		var missing []string
		if !s.TLS.On() {
			missing = append(missing, "server.tls")
		}
		if !s.Auth.On() {
			missing = append(missing, "server.auth")
		}
		file, key := f.Path, "server.listen"
		if i >= len(s.Listen) {
			key = "server.web.listen"
		} else if f.ListenByEnv {
			file, key = "environment", "LLMD_LISTEN"
		}
		return &ParseError{File: file, Key: key, Problem: "other machines can reach " + a.String() + ": set " + strings.Join(missing, " and ") +
			", or server.allow_insecure: true to serve it unprotected"}
	}
	return nil
}

package config

import (
	"net/url"
	"slices"
	"strings"
)

// Web is about the listeners for browsers and for HTTP without gRPC.
type Web struct {
	// Listen are their addresses; none = there is no such listener.
	Listen []Address
	// AllowedOrigins are the pages that browsers may call from, spelt as browsers
	// do: scheme://host, and the port where it is not the scheme's own.
	AllowedOrigins []string
	// AllowedHosts are names, without a port, by which clients may call llmd.
	AllowedHosts []string
}

// On says whether there is such a listener.
func (w Web) On() bool { return len(w.Listen) > 0 }

func webKeys(w *Web) []key {
	return []key{
		{
			name: "listen", kind: "list of addresses", def: "none",
			doc:  "Where llmd speaks gRPC-Web, Connect and JSON: tcp://host:port or unix:///path, none of them one of server.listen. TLS, authentication and limits are those of server.listen.",
			read: func(v value) { v.addresses(&w.Listen) },
		},
		{
			name: "allowed_origins", kind: "list of origins", def: "none",
			doc:  "Pages that browsers may call from, such as https://app.example.com or http://localhost:5173. There are no patterns.",
			read: func(v value) { v.checked(&w.AllowedOrigins, checkOrigin) },
		},
		{
			name: "allowed_hosts", kind: "list of texts", def: "localhost and IP addresses; with auth any name, but on loopback",
			doc:  "Names by which llmd is called, without port, besides localhost and IP addresses.",
			read: func(v value) { v.checked(&w.AllowedHosts, checkHost) },
		},
	}
}

// checked reads a list of texts; check says what is wrong with one, "" if nothing.
func (v value) checked(target *[]string, check func(string) string) {
	v.texts(target)
	if len(v.node.Content) != len(*target) {
		return
	}
	for i, s := range *target {
		if problem := check(s); problem != "" {
			v.fail(v.node.Content[i].Line, v.path, "%q %s", s, problem)
		}
	}
}

func checkOrigin(s string) string {
	u, err := url.Parse(s)
	switch {
	case strings.Contains(s, "*"):
		return "is a pattern: each origin must be written out"
	case err != nil || u.Scheme == "" || u.Host == "":
		return "must be scheme://host or scheme://host:port"
	case u.Scheme+"://"+u.Host != s || strings.ToLower(s) != s:
		return "must be spelt as browsers do: scheme://host in small letters, without a slash at the end"
	case u.Scheme == "https" && u.Port() == "443" || u.Scheme == "http" && u.Port() == "80":
		return "must be spelt as browsers do: without the port, which is the scheme's own"
	case !validPort(u):
		return "has a port that is no number from 1 to 65535"
	}
	return ""
}

func checkHost(s string) string {
	if strings.ToLower(s) != s || strings.ContainsAny(s, "*:/ []@") {
		return "must be a name in small letters, without port or pattern"
	}
	return ""
}

// consistent looks at what several keys of "server" say about the web together.
func (w Web) consistent(v value, other []Address) {
	if !w.On() && (len(w.AllowedOrigins) > 0 || len(w.AllowedHosts) > 0) {
		v.fail(v.node.Line, joinPath(v.path, "web.listen"), "is missing: the rest of server.web is of no use without it")
	}
	for _, a := range w.Listen {
		// Port 0 is any free one.
		if slices.Contains(other, a) && !strings.HasSuffix(a.Address, ":0") {
			v.fail(v.node.Line, joinPath(v.path, "web.listen"), "%s is one of server.listen", a)
		}
	}
}

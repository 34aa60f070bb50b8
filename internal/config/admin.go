package config

import (
	"slices"
	"strings"
)

// Admin is the listener for operators: health, metrics, the log level, what is
// configured. It is off unless it has an address.
type Admin struct {
	// Listen is its address; zero = there is none.
	Listen Address
	// AllowInsecure: other machines may reach it, though it knows no callers.
	AllowInsecure bool
	// AllowedHosts are names by which it may be asked for; addresses and localhost always
	// are.
	AllowedHosts []string
	// Pprof and Channelz open the pages of these names.
	Pprof, Channelz bool
}

// On says whether there is such a listener.
func (a Admin) On() bool { return a.Listen != Address{} }

// Telemetry is what metrics, traces and events are made of. Whether there are any is for
// the OTEL_ variables and [Admin] to say.
type Telemetry struct {
	// GenAI is the edition of OpenTelemetry's GenAI conventions: "v0.1", "v1.41" or
	// "both".
	GenAI string
	// Callers: the names of callers are labels.
	Callers bool
}

func adminKeys(a *Admin) []key {
	return []key{
		{
			name: "listen", kind: "address", def: "off",
			doc: "Where operators find the pages /healthz, /readyz, /metrics, /loglevel, /config: tcp://host:port or unix:///path. " +
				"Off unless written: a port that nobody asked for is one more to be taken, and to be guarded.",
			read: func(v value) { v.address(&a.Listen) },
		},
		{
			name: "allow_insecure", kind: "true or false", def: "false",
			doc:  "Listen where other machines can reach these pages, although they know neither TLS nor callers.",
			read: func(v value) { v.boolean(&a.AllowInsecure) },
		},
		{
			name: "allowed_hosts", kind: "list of names",
			doc:  "Names in the Host header of requests that are answered, besides addresses and localhost: a page in a browser could lead its own name here.",
			read: func(v value) { v.texts(&a.AllowedHosts) },
		},
		{
			name: "pprof", kind: "true or false", def: "false", doc: "Offer Go's profiles at /debug/pprof/.",
			read: func(v value) { v.boolean(&a.Pprof) },
		},
		{
			name: "channelz", kind: "true or false", def: "false", doc: "Offer gRPC's channelz: the service itself, and a summary at /channelz. It shows addresses of clients.",
			read: func(v value) { v.boolean(&a.Channelz) },
		},
	}
}

func telemetryKeys(t *Telemetry) []key {
	return []key{
		{
			name: "gen_ai", kind: "one of: v0.1, v1.41, both", def: "v0.1",
			doc:  "The edition of OpenTelemetry's GenAI conventions whose names metrics, spans and events have.",
			read: func(v value) { v.word(&t.GenAI, "v0.1", "v1.41", "both") },
		},
		{
			name: "callers", kind: "true or false", def: "false", doc: "Make the names of callers labels of the metrics of responses and their cost.",
			read: func(v value) { v.boolean(&t.Callers) },
		},
	}
}

// address reads one address.
func (v value) address(target *Address) {
	var s string
	if !v.text(&s) {
		return
	}
	a, err := ParseAddress(s)
	if err != nil {
		v.bad("%v", err)
		return
	}
	*target = a
}

// adminExposed is Exposed for the admin listener.
func (f *File) adminExposed() error {
	a := &f.Server.Admin
	if !a.On() || a.AllowInsecure || a.Listen.Local() {
		return nil
	}
	return &ParseError{File: f.Path, Key: "server.admin.listen", Problem: "other machines can reach " + a.Listen.String() +
		": it has no TLS and knows no callers; listen on 127.0.0.1, or set server.admin.allow_insecure: true to serve it unprotected"}
}

// adminApart wants the admin listener on an address of its own.
func (v value) adminApart(s *Server) {
	// Of port 0 there are many.
	if s.Admin.On() && !strings.HasSuffix(s.Admin.Listen.Address, ":0") && slices.Contains(s.Addresses(), s.Admin.Listen) {
		v.fail(v.node.Line, joinPath(v.path, "admin.listen"), "is an address of server.listen or server.web.listen, too")
	}
}

package config

import (
	"math"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

func fileKeys(f *File) []key {
	return []key{
		{
			name: "server", kind: "mapping", doc: "How llmd itself listens and behaves.",
			read: func(v value) {
				v.object(serverKeys(&f.Server))
				v.consistent(&f.Server)
			},
			below: func() []key { return serverKeys(&Server{}) },
		},
		{
			name: "providers", kind: "list of mappings",
			doc:  "Hosts of models. A built-in provider is named only to change it; any other id is a new one.",
			read: func(v value) { v.providers(&f.Providers) }, below: func() []key { return providerKeys(&Provider{}) },
		},
	}
}

func serverKeys(s *Server) []key {
	return []key{
		{
			name: "listen", kind: "list of addresses", def: "tcp://127.0.0.1:50051",
			doc:  "Where llmd listens: tcp://host:port or unix:///path. A socket has mode 0660; a folder that it lacks is made, with mode 0750. Other machines reach llmd only if an address says so.",
			read: func(v value) { v.addresses(&s.Listen) },
		},
		{
			name: "max_receive_bytes", kind: "bytes", def: "64 MiB", doc: "The largest request. Images make requests large.",
			read: func(v value) { v.size(&s.MaxReceiveBytes, 64<<10, math.MaxInt32) },
		},
		{
			name: "max_concurrent_streams", kind: "whole number", def: "1000", doc: "Streams at a time on one connection.",
			read: func(v value) {
				if n, ok := v.count(1, math.MaxInt32); ok {
					s.MaxConcurrentStreams = uint32(n)
				}
			},
		},
		{
			name: "max_connection_age", kind: "duration or none", def: "30m where other machines can reach llmd, else none",
			doc:  "After this time, give or take a tenth, a connection is told to go away: clients connect again and find new replicas. Its running streams go on for up to 65 minutes.",
			read: func(v value) { v.age(&s.MaxConnectionAge) },
		},
		{
			name: "drain_timeout", kind: "duration", def: "30s",
			doc:  "How long llmd may take to end after SIGTERM. Streams that still run ten seconds before that, or a third of a time under 30s, end as aborted.",
			read: func(v value) { v.duration(&s.DrainTimeout, 0, time.Hour) },
		},
		{
			name: "reflection", kind: "one of: auto, on, off", def: "auto",
			doc:  "gRPC server reflection, which grpcurl uses. auto: on where every address is local to this machine.",
			read: func(v value) { v.word(&s.Reflection, "auto", "on", "off") },
		},
		{
			name: "partial_store", kind: "on or off", def: "on",
			doc:  "Keep responses for five minutes, for GetResponse and for a repeated request_id. off switches off GetResponse, Attach and StreamOptions.detached.",
			read: func(v value) { v.onOff(&s.PartialStore) },
		},
		{
			name: "responses", kind: "mapping", doc: "Where running and recent responses are known, and how long they outlive a connection.",
			read: func(v value) { v.object(responsesKeys(&s.Responses)) }, below: func() []key { return responsesKeys(&Responses{}) },
		},
		{
			name: "instance", kind: "text", def: "host name and a random suffix", doc: "Names this process in events and logs.",
			read: func(v value) { v.text(&s.Instance) },
		},
		{
			name: "tls", kind: "mapping", doc: "TLS 1.3 for the TCP addresses.",
			read: func(v value) { v.tls(&s.TLS) }, below: func() []key { return tlsKeys(&TLS{}) },
		},
		{
			name: "auth", kind: "mapping", doc: "Who may call llmd. Without tokens, mtls and unix_users everybody may who can reach it.",
			read: func(v value) { v.object(authKeys(&s.Auth)) }, below: func() []key { return authKeys(&Auth{}) },
		},
		{
			name: "web", kind: "mapping", doc: "gRPC-Web, Connect and JSON over HTTP, for browsers and for clients without gRPC. Off unless web.listen names an address.",
			read: func(v value) { v.object(webKeys(&s.Web)) }, below: func() []key { return webKeys(&Web{}) },
		},
		{
			name: "allow_insecure", kind: "true or false", def: "false",
			doc:  "Listen where other machines can reach llmd even without TLS and authentication.",
			read: func(v value) { v.boolean(&s.AllowInsecure) },
		},
		{
			name: "limits", kind: "mapping", doc: "What llmd takes on at a time.",
			read: func(v value) { v.object(limitKeys(&s.Limits)) }, below: func() []key { return limitKeys(&Limits{}) },
		},
		{
			name: "caller_keys", kind: "mapping", doc: "Provider keys that come with a request.",
			read: func(v value) { v.object(callerKeysKeys(&s.CallerKeys)) }, below: func() []key { return callerKeysKeys(&CallerKeys{}) },
		},
		{
			name: "images", kind: "mapping", doc: "Images that a conversation gives by http or https URL: llmd downloads them.",
			read: func(v value) { v.object(imagesKeys(&s.Images)) }, below: func() []key { return imagesKeys(&Images{}) },
		},
		{
			name: "admin", kind: "mapping", doc: "Pages for operators.",
			read: func(v value) { v.object(adminKeys(&s.Admin)) }, below: func() []key { return adminKeys(&Admin{}) },
		},
		{
			name: "telemetry", kind: "mapping", doc: "Names in metrics, traces and events, of which [telemetry.md](telemetry.md) tells.",
			read: func(v value) { v.object(telemetryKeys(&s.Telemetry)) }, below: func() []key { return telemetryKeys(&Telemetry{}) },
		},
		{
			name: "log_format", kind: "one of: text, json", def: "text", doc: "How log lines are written.",
			read: func(v value) { v.word(&s.LogFormat, "text", "json") },
		},
		{
			name: "log_level", kind: "one of: debug, info, warn, error", def: "info", doc: "How much is logged.",
			read: func(v value) { v.word(&s.LogLevel, "debug", "info", "warn", "error") },
		},
	}
}

func callerKeysKeys(c *CallerKeys) []key {
	return []key{{
		name: "allow", kind: "true or false", def: "false",
		doc:  "Accept the metadata llmd-provider-key-<provider id>. Such keys are never logged and never kept.",
		read: func(v value) { v.boolean(&c.Allow) },
	}}
}

// age reads a duration, or none.
func (v value) age(target *time.Duration) {
	if v.isText() && v.node.Value == "none" {
		*target = -1
		return
	}
	v.duration(target, time.Minute, 24*time.Hour)
}

// addresses reads the list, or one address alone.
func (v value) addresses(target *[]Address) {
	var all []Address
	add := func(item value) {
		var s string
		if !item.text(&s) {
			return
		}
		a, err := ParseAddress(s)
		if err != nil {
			item.bad("%v", err)
			return
		}
		if slices.Contains(all, a) {
			item.bad("%q is listed twice", s)
		}
		all = append(all, a)
	}
	if v.isText() {
		add(v)
	} else {
		v.list(add)
	}
	if len(all) == 0 && v.node.Kind == yaml.SequenceNode && len(v.node.Content) == 0 {
		v.bad("must name at least one address")
	}
	*target = all
}

package config

import (
	"net/netip"
	"slices"
	"strings"
)

// Images is about images that a conversation gives by URL.
type Images struct {
	// AllowHosts are opened to downloads although they are not public: names,
	// addresses and networks in CIDR form.
	AllowHosts []string
	// Disabled: nothing is downloaded.
	Disabled bool
}

func imagesKeys(i *Images) []key {
	return []key{
		{
			name: "allow_hosts", kind: "list of hosts and networks",
			doc: "Images may be downloaded from these although they are not on the public Internet, and on any port: names, addresses, or networks such as 10.1.0.0/16. " +
				"The metadata services of clouds stay shut.",
			read: func(v value) { v.hosts(&i.AllowHosts) },
		},
		{
			name: "disabled", kind: "true or false", def: "false",
			doc:  "Download nothing; a conversation with an image by URL is refused, data URLs are not.",
			read: func(v value) { v.boolean(&i.Disabled) },
		},
	}
}

func (v value) hosts(target *[]string) {
	*target = nil
	v.list(func(item value) {
		var s string
		switch {
		case !item.text(&s):
		case !isHost(s) && !isNetwork(s):
			// It is not repeated: a URL in its place may hold a password.
			item.bad("must be a host or a network such as 10.1.0.0/16, without scheme and port")
		case slices.Contains(*target, s):
			item.bad("%q is listed twice", s)
		default:
			*target = append(*target, s)
		}
	})
}

func isNetwork(s string) bool {
	_, err := netip.ParsePrefix(s)
	return err == nil
}

// isHost takes names and addresses; of the latter, IPv6 ones as they are written in
// URLs, too.
func isHost(s string) bool {
	inner, closed := strings.CutSuffix(strings.TrimPrefix(s, "["), "]")
	if a, err := netip.ParseAddr(inner); err == nil {
		return a.Zone() == "" && (inner == s || closed && a.Is6() && len(s) == len(inner)+2)
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(s, "."), ".") {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, func(r rune) bool {
			return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		}) {
			return false
		}
	}
	// What ends in a number is no name.
	last := s[strings.LastIndexByte(s, '.')+1:]
	return strings.Trim(last, "0123456789") != ""
}

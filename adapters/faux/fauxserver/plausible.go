package fauxserver

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// quotedInText is how much of the user's text stands in a made-up text.
const quotedInText = 40

// textFor makes a text for the member with this name. What has a format keeps to
// it; the rest goes by the name, as a model would.
func (m *maker) textFor(name, format string) string {
	if text := formatted(format); text != "" {
		return text
	}
	text := m.byName(strings.ToLower(name))
	if m.variant > 0 {
		text = fmt.Sprintf("%s %d", text, m.variant+1)
	}
	return text
}

// formatted gives an example of a format.
// https://json-schema.org/draft/2020-12/json-schema-validation#name-defined-formats
func formatted(format string) string {
	switch format {
	case "date":
		return "2026-05-04"
	case "time":
		return "09:30:00Z"
	case "date-time":
		return "2026-05-04T09:30:00Z"
	case "duration":
		return "PT15M"
	case "email", "idn-email":
		return "ada@example.com"
	case "hostname", "idn-hostname":
		return "example.com"
	case "uri", "iri", "url":
		return "https://example.com/page"
	case "uuid":
		return "7f3c1f9e-5a1d-4b53-9a51-0c7b0f0f6a11"
	case "ipv4":
		return "192.0.2.1"
	case "ipv6":
		return "2001:db8::1"
	case "regex":
		return "^a+$"
	case "json-pointer":
		return "/a/0"
	}
	return ""
}

func (m *maker) byName(name string) string {
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(name, w) {
				return true
			}
		}
		return false
	}
	user := excerpt(m.userText, quotedInText)
	switch {
	case has("path", "file"):
		return "notes/summary.txt"
	case has("city", "location", "place"):
		return "Zürich"
	case has("country"):
		return "Switzerland"
	case has("url", "link"):
		return "https://example.com/page"
	case has("command", "cmd"):
		return "ls -l notes"
	case has("query", "question", "prompt", "search", "input"):
		return user
	case has("lang"):
		return "en"
	case has("date"):
		return "2026-05-04"
	case has("content", "text", "body", "message", "summary", "description"):
		return "This was asked: \"" + user + "\".\nIt is answered here in a few sentences, " +
			"so that there is something to watch while it is written. That is all there is to say about it."
	case name == "":
		return user
	}
	return "a " + strings.ReplaceAll(name, "_", " ") + " for: " + user
}

// fit makes a text as long as a schema wants it, and no longer than there is room.
func fit(text string, s *schema, room int) string {
	if s.MaxLength != nil {
		text, _ = firstChars(text, max(0, *s.MaxLength))
	}
	if n, want := utf8.RuneCountInString(text), min(s.MinLength, room); n < want {
		text += strings.Repeat(".", want-n)
	}
	return text
}

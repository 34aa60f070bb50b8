package config

import "log/slog"

// redacted stands wherever a secret would be shown.
const redacted = "REDACTED"

// Secret is a text that no log, error or %v shows. Reveal gives the text to the
// one place that sends it.
type Secret struct{ text string }

// NewSecret hides a text.
func NewSecret(text string) Secret { return Secret{text: text} }

// Reveal is the text itself.
func (s Secret) Reveal() string { return s.text }

// IsZero says whether there is no secret.
func (s Secret) IsZero() bool { return s.text == "" }

// Equal compares the texts.
func (s Secret) Equal(other Secret) bool { return s.text == other.text }

// String is "REDACTED", or empty when there is nothing to hide.
func (s Secret) String() string {
	if s.text == "" {
		return ""
	}
	return redacted
}

// GoString is what %#v shows.
func (s Secret) GoString() string { return "config.Secret(" + s.String() + ")" }

// LogValue is what slog shows.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText keeps the secret out of JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

package adapters

import (
	"regexp"
	"strings"
)

// Redacted stands where a secret was.
const Redacted = "REDACTED"

// maxMasked is several times what a message may have, so that a secret that is cut in
// two here lies behind the message's own end.
const maxMasked = 8 << 10

// Providers echo keys in their errors, whole or in part, and gateways echo URLs
// and headers that carry them.
var (
	// prefixedSecret: keys that say by their first letters what they are.
	prefixedSecret = regexp.MustCompile(`\b(?:sk|pk|rk|gsk|csk|xai|hf|r8|nvapi|fw|tgp|pplx|ghp|gho|ghu|ghs|github_pat|glpat)[-_][A-Za-z0-9_*-]{6,}` +
		`|\bAIza[0-9A-Za-z_-]{16,}|\bya29\.[0-9A-Za-z_.-]+|\b(?:AKIA|ASIA)[0-9A-Z]{12,}|\bABSK[0-9A-Za-z+/=]{16,}` +
		`|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?`)
	// schemeSecret: what follows the name of an authentication scheme.
	schemeSecret = regexp.MustCompile(`(?i)\b(bearer|basic)(\s+)([A-Za-z0-9+/_.~=-]{8,})`)
	// assignedSecret: key=..., "api_key": "...", x-api-key: ...
	assignedSecret = regexp.MustCompile(`(?i)\b((?:x-)?(?:goog-)?(?:api[-_]?key|apikey|key|(?:access|auth|security)?[-_]?token|secret|password|signature))(["']?\s*=\s*["']?)([^\s"'&,;<>]{6,})`)
	// spokenSecret: a long token soon after the word "key" or "token".
	spokenSecret = regexp.MustCompile(`(?i)\b((?:api[-_ ]?)?(?:key|token|secret|credential)s?(?:["':=\x60]|\s)+(?:(?:provided|is|was|value|id)[:=]?\s+)?["'\x60]?)([A-Za-z0-9+/_=-]{20,})`)
)

// MaskSecrets replaces what looks like a credential.
// What is longer than any message may be is cut before it is looked at: the text is a
// provider's, and looking costs time.
func MaskSecrets(text string) string {
	if text == "" {
		return ""
	}
	text = cut(text, maxMasked)
	text = prefixedSecret.ReplaceAllString(text, Redacted)
	text = replaceLast(schemeSecret, text, anySecret)
	text = replaceLast(assignedSecret, text, anySecret)
	return replaceLast(spokenSecret, text, looksRandom)
}

func anySecret(string) bool { return true }

// looksRandom tells a token from a long word such as the name of a parameter.
func looksRandom(token string) bool {
	digits := 0
	for i := range len(token) {
		if token[i] >= '0' && token[i] <= '9' {
			digits++
		}
	}
	return digits >= 3
}

// replaceLast replaces the last group of each match if it is a secret.
func replaceLast(re *regexp.Regexp, text string, secret func(string) bool) string {
	var b strings.Builder
	done := 0
	for _, at := range re.FindAllStringSubmatchIndex(text, -1) {
		from, to := at[len(at)-2], at[len(at)-1]
		if !secret(text[from:to]) {
			continue
		}
		b.WriteString(text[done:from])
		b.WriteString(Redacted)
		done = to
	}
	b.WriteString(text[done:])
	return b.String()
}

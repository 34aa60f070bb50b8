package fauxserver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// signingKey is no secret: it only makes signatures that nobody would guess by
// accident, and that are the same everywhere.
const signingKey = "llmd faux provider"

// Sign is the signature that a model gives to its thinking: 64 hexadecimal digits.
func Sign(model, thinking string) string { return mac("thinking", model, thinking) }

// redact is the signature of a redacted block: the hidden text, which a real
// provider would have encrypted, and the proof of its origin.
func redact(model, hidden string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(hidden)) + "." + mac("redacted", model, hidden)
}

func isRedacted(model, signature string) bool {
	text, proof, _ := strings.Cut(signature, ".")
	hidden, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && proof == mac("redacted", model, string(hidden))
}

// mac keeps its parts apart with a byte that no text holds.
func mac(kind, model, text string) string {
	h := hmac.New(sha256.New, []byte(signingKey))
	h.Write([]byte(kind + "\xff" + model + "\xff" + text))
	return hex.EncodeToString(h.Sum(nil))
}

// name makes an id of a request's body and a word, the same every time.
func name(body []byte, word string) string {
	h := sha256.New()
	h.Write(body)
	h.Write([]byte(word))
	return hex.EncodeToString(h.Sum(nil))[:24]
}

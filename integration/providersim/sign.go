package providersim

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// signingKey is no secret: it makes signatures that nobody would guess by accident.
const signingKey = "llmd provider simulator"

// mac binds its parts to each other. A zero byte stands between them, which no text
// of a request holds unescaped.
func mac(parts ...string) []byte {
	h := hmac.New(sha256.New, []byte(signingKey))
	h.Write([]byte(strings.Join(parts, "\x00")))
	return h.Sum(nil)
}

// sign is what a model gives to something it said: base64, as all providers do.
func (r *request) sign(what, said string) string {
	return base64.StdEncoding.EncodeToString(mac(r.api, r.model, what, said))
}

// signed says whether a signature is this model's for what was said.
func (r *request) signed(signature, what, said string) bool {
	return hmac.Equal([]byte(signature), []byte(r.sign(what, said)))
}

// seal hides a text and proves where it comes from, as redacted thinking does.
func (r *request) seal(hidden string) string {
	return base64.StdEncoding.EncodeToString(append(mac(r.api, r.model, "sealed", hidden), hidden...))
}

// sealed says whether this model sealed it.
func (r *request) sealed(box string) bool {
	data, err := base64.StdEncoding.DecodeString(box)
	return err == nil && len(data) > sha256.Size &&
		hmac.Equal(data[:sha256.Size], mac(r.api, r.model, "sealed", string(data[sha256.Size:])))
}

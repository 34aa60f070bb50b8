package media

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// ParseDataURL reads a "data:" URL: its media type, which may be empty, and its
// bytes. Both alphabets of base64 are in use, with and without padding and line ends.
func ParseDataURL(uri string) (kind string, data []byte, ok bool) {
	const scheme = "data:"
	if len(uri) < len(scheme) || !strings.EqualFold(uri[:len(scheme)], scheme) {
		return "", nil, false
	}
	head, payload, ok := strings.Cut(uri[len(scheme):], ",")
	if !ok {
		return "", nil, false
	}
	payload, err := url.PathUnescape(payload)
	if err != nil {
		return "", nil, false
	}
	kind, parameters, _ := strings.Cut(head, ";")
	if p := strings.ToLower(parameters); p != "base64" && !strings.HasSuffix(p, ";base64") {
		return kind, []byte(payload), true
	}
	payload = strings.NewReplacer("-", "+", "_", "/", "\n", "", "\r", "", "\t", "", " ", "").Replace(payload)
	data, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(payload, "="))
	return kind, data, err == nil
}

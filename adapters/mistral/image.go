package mistral

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// picture is an image ready for a data URL.
// https://docs.mistral.ai/capabilities/vision/
type picture struct {
	mime string
	data []byte
}

// newPicture takes an image's bytes, or those of a data URL. Other URLs were
// fetched before; field names the image in errors.
func newPicture(in *llmdv1.ImageContent, field string) (*picture, error) {
	p := &picture{mime: in.GetMimeType(), data: in.GetData()}
	if uri := in.GetUri(); uri != "" {
		mime, data, ok := parseDataURL(uri)
		if !ok {
			return nil, &adapters.FieldError{Field: field + ".uri", Detail: "not a data URL that can be read"}
		}
		p.data = data
		if p.mime == "" {
			p.mime = mime
		}
	}
	if len(p.data) == 0 {
		return nil, &adapters.FieldError{Field: field, Detail: "an image without bytes"}
	}
	// Callers mislabel: the bytes decide.
	if m := sniff(p.data); m != "" {
		p.mime = m
	}
	if !isMediaType(p.mime) {
		return nil, &adapters.FieldError{Field: field + ".mime_type", Detail: "not a media type, and the bytes tell none"}
	}
	return p, nil
}

// sniff tells the formats that Mistral reads; empty = another one.
func sniff(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(b, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(b, []byte("GIF87a")), bytes.HasPrefix(b, []byte("GIF89a")):
		return "image/gif"
	case len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// isMediaType says whether a text can stand in a data URL unescaped.
func isMediaType(s string) bool {
	return strings.Contains(s, "/") && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"\,;`, r)
	})
}

// parseDataURL reads a URL of RFC 2397.
func parseDataURL(uri string) (mime string, data []byte, ok bool) {
	if len(uri) < 5 || !strings.EqualFold(uri[:5], "data:") {
		return "", nil, false
	}
	head, body, ok := strings.Cut(uri[5:], ",")
	if !ok {
		return "", nil, false
	}
	body, err := url.PathUnescape(body)
	if err != nil {
		return "", nil, false
	}
	mime, parameters, _ := strings.Cut(head, ";")
	if parameters != "base64" && !strings.HasSuffix(parameters, ";base64") {
		return mime, []byte(body), true
	}
	// Both alphabets are in use, with and without padding and line ends.
	body = strings.NewReplacer("-", "+", "_", "/", "\n", "", "\r", "").Replace(body)
	data, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(body, "="))
	return mime, data, err == nil
}

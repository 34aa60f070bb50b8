package openairesponses

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// image writes an image as a part of a message or of a function's output.
// https://platform.openai.com/docs/guides/images-vision
func (e *encoder) image(in *llmdv1.ImageContent, field string) error {
	field += ".image"
	data := in.GetData()
	if uri := in.GetUri(); uri != "" {
		var ok bool
		if data, ok = dataURL(uri); !ok {
			return &adapters.FieldError{Field: field + ".uri", Detail: "neither a data URL nor one that was downloaded"}
		}
	}
	if len(data) == 0 {
		return &adapters.FieldError{Field: field, Detail: "an image without bytes"}
	}
	// Providers look at the bytes, and callers mislabel: the bytes decide.
	mime := http.DetectContentType(data)
	if !strings.HasPrefix(mime, "image/") {
		mime = in.GetMimeType()
	}
	if !plainMediaType(mime) {
		return &adapters.FieldError{Field: field + ".mime_type", Detail: "not a media type, and the bytes tell none"}
	}
	w := &e.w
	w.BeginObject()
	w.Member("type", "input_image")
	w.Member("detail", "auto")
	w.Key("image_url")
	w.Base64("data:"+mime+";base64,", data)
	w.EndObject()
	return nil
}

// plainMediaType says whether a text can stand in a data URL, and in JSON, as it is.
func plainMediaType(s string) bool {
	return strings.Contains(s, "/") && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"\,;`, r)
	})
}

// dataURL reads the bytes of a URL of RFC 2397.
func dataURL(uri string) ([]byte, bool) {
	const scheme = "data:"
	if len(uri) < len(scheme) || !strings.EqualFold(uri[:len(scheme)], scheme) {
		return nil, false
	}
	head, payload, ok := strings.Cut(uri[len(scheme):], ",")
	if !ok {
		return nil, false
	}
	payload, err := url.PathUnescape(payload)
	if err != nil {
		return nil, false
	}
	if !strings.HasSuffix(strings.ToLower(head), ";base64") {
		return []byte(payload), true
	}
	payload = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(payload, "= \t\r\n"))
	data, err := base64.RawStdEncoding.DecodeString(payload)
	return data, err == nil
}

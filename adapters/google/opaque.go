package google

import (
	"encoding/base64"
	"mime"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// signatureText is a thought signature as it is sent; empty if there is none that
// the API could have issued. The field is bytes in base64, and anything else is
// an error of the whole request.
func signatureText(s *llmdv1.Signature) string {
	if s.GetFormat() != signatureFormat || !isBase64(s.GetData()) {
		return ""
	}
	return string(s.GetData())
}

// isBase64 says whether text is base64 in either alphabet, with or without
// padding, as Google's JSON takes it.
func isBase64(text []byte) bool {
	body := strings.TrimRight(string(text), "=")
	if body == "" || len(body)%4 == 1 || len(text)-len(body) > 2 {
		return false
	}
	return !strings.ContainsFunc(body, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("+/-_", r)
	})
}

// isMetadata says whether a kind of provider content is something that was said
// about a whole answer; all others are parts.
func isMetadata(kind string) bool { return slices.Contains(metadataKinds(), kind) }

func metadataKinds() []string {
	return []string{"groundingMetadata", "citationMetadata", "urlContextMetadata"}
}

// image writes inlineData, after the caller began its part.
//
// https://ai.google.dev/gemini-api/docs/image-understanding#supported-formats
func (e *encoder) image(m *llmdv1.ImageContent, field string) error {
	data, kind := m.GetData(), m.GetMimeType()
	if uri := m.GetUri(); uri != "" {
		var ok bool
		if data, kind, ok = dataURL(uri, kind); !ok {
			return &adapters.FieldError{Field: field + ".uri", Detail: "not a data URL in base64"}
		}
	}
	switch kind = strings.ToLower(kind); kind {
	case "image/jpg":
		kind = "image/jpeg"
	case "image/png", "image/jpeg", "image/webp", "image/heic", "image/heif":
	default:
		return &adapters.FieldError{Field: field + ".mime_type", Detail: "Gemini reads PNG, JPEG, WEBP, HEIC and HEIF"}
	}
	e.w.Key("inlineData")
	e.w.BeginObject()
	e.w.Member("mimeType", kind)
	e.w.Key("data")
	e.w.Base64("", data)
	e.w.EndObject()
	return nil
}

// dataURL decodes "data:image/png;base64,..."; its type gives way to one that the
// caller named.
func dataURL(uri, kind string) (data []byte, mimeType string, ok bool) {
	head, body, found := strings.Cut(uri, ",")
	head, isData := strings.CutPrefix(head, "data:")
	head, isBase64 := strings.CutSuffix(head, ";base64")
	if !found || !isData || !isBase64 {
		return nil, "", false
	}
	data, err := base64.StdEncoding.DecodeString(body)
	if err != nil {
		return nil, "", false
	}
	if kind == "" {
		kind, _, _ = mime.ParseMediaType(head)
	}
	return data, kind, true
}

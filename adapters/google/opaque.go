package google

import (
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/media"
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

// unsigned is a part, one JSON object, without its signature; false if it has none.
func unsigned(part []byte) ([]byte, bool) {
	members, err := jsonwire.Members(part)
	signature := func(m jsonwire.Member) bool { return m.Key == "thoughtSignature" }
	if err != nil || !slices.ContainsFunc(members, signature) {
		return part, false
	}
	var w jsonwire.Writer
	w.BeginObject()
	for _, m := range members {
		if !signature(m) {
			w.Key(m.Key)
			w.RawBytes(m.Value)
		}
	}
	w.EndObject()
	return w.Bytes(), true
}

// isMetadata says whether a kind of provider content is something that was said
// about a whole answer; all others are parts.
func isMetadata(kind string) bool { return slices.Contains(metadataKinds(), kind) }

func metadataKinds() []string {
	return []string{"groundingMetadata", "citationMetadata", "urlContextMetadata"}
}

// imageTypes are the media types that Gemini reads.
//
// https://ai.google.dev/gemini-api/docs/image-understanding#supported-formats
func imageTypes() []string {
	return []string{"image/png", "image/jpeg", "image/jpg", "image/webp", "image/heic", "image/heif"}
}

// nests says whether an image of a result stands inside its function response, where
// Gemini reads fewer types than elsewhere.
//
// https://ai.google.dev/gemini-api/docs/function-calling#multimodal
func (e *encoder) nests(m *llmdv1.ImageContent) bool {
	if !e.model.nestedImages() {
		return false
	}
	img, err := media.Read(m, media.Takes{Unseen: true})
	return err != nil || !strings.HasPrefix(img.Type, "image/hei")
}

// image writes inlineData, after the caller began its part; field names the block.
func (e *encoder) image(m *llmdv1.ImageContent, field string) error {
	img, err := e.call.Image(m, field, media.Takes{Types: imageTypes(), Unseen: true})
	if err != nil {
		return err
	}
	e.w.Key("inlineData")
	e.w.BeginObject()
	e.w.Member("mimeType", img.Type)
	e.w.Key("data")
	e.w.Base64("", img.Data)
	e.w.EndObject()
	return nil
}

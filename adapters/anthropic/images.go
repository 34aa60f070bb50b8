package anthropic

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// image is an image as it is sent.
type image struct {
	mediaType string
	data      []byte
}

// imageOf reads an image; field is its place in the request.
func imageOf(in *llmdv1.ImageContent, field string) (image, error) {
	field += ".image"
	data := in.GetData()
	if uri := in.GetUri(); uri != "" {
		field += ".uri"
		var ok bool
		if data, ok = dataURL(uri); !ok {
			return image{}, &adapters.FieldError{Field: field, Detail: "neither a data URL nor one that was downloaded"}
		}
	} else {
		field += ".data"
	}
	// What the bytes are decides, not what they are called: the API compares both.
	// https://docs.anthropic.com/en/docs/build-with-claude/vision.
	mediaType := http.DetectContentType(data)
	switch mediaType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return image{mediaType: mediaType, data: data}, nil
	}
	return image{}, &adapters.FieldError{Field: field, Detail: "not a JPEG, PNG, GIF or WebP image"}
}

// dataURL reads the bytes of a "data:" URL.
func dataURL(uri string) ([]byte, bool) {
	const scheme = "data:"
	if len(uri) < len(scheme) || !strings.EqualFold(uri[:len(scheme)], scheme) {
		return nil, false
	}
	meta, payload, ok := strings.Cut(uri[len(scheme):], ",")
	if !ok {
		return nil, false
	}
	payload, err := url.PathUnescape(payload)
	if err != nil {
		return nil, false
	}
	if !strings.HasSuffix(strings.ToLower(meta), ";base64") {
		return []byte(payload), true
	}
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(payload, "= \t\r\n"))
	return data, err == nil
}

// write writes the members of an image block.
func (i image) write(w *jsonwire.Writer) {
	w.Member("type", "image")
	w.Key("source")
	w.BeginObject()
	w.Member("type", "base64")
	w.Member("media_type", i.mediaType)
	w.Key("data")
	w.Base64("", i.data)
	w.EndObject()
}

// blockField names a content block of the conversation that is sent.
func blockField(message int, kind string, content int) string {
	return fmt.Sprintf("generation.context.messages[%d].%s.content[%d]", message, kind, content)
}

package bedrock

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
	format string
	data   []byte
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
	// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ImageBlock.html.
	format, found := strings.CutPrefix(http.DetectContentType(data), "image/")
	switch format {
	case "jpeg", "png", "gif", "webp":
		if found {
			return image{format: format, data: data}, nil
		}
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

func (i image) write(w *jsonwire.Writer) {
	w.Key(imageKind)
	w.BeginObject()
	w.Member("format", i.format)
	w.Key("source")
	w.BeginObject()
	w.Key("bytes")
	w.Base64("", i.data)
	w.EndObject()
	w.EndObject()
}

// blockField names a content block of the conversation that is sent.
func blockField(message int, kind string, content int) string {
	return fmt.Sprintf("generation.context.messages[%d].%s.content[%d]", message, kind, content)
}

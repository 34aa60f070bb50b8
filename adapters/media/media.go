package media

import (
	"cmp"
	"slices"
	"strings"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Image is an image as it is sent.
type Image struct {
	// Type is its media type, such as "image/png".
	Type string
	// Data are its bytes. They are the caller's and must not be changed.
	Data []byte
}

// Format is the type without "image/".
func (i Image) Format() string { return strings.TrimPrefix(i.Type, "image/") }

// Takes says what images an API takes.
type Takes struct {
	// Types are the media types; none = whatever the caller names.
	Types []string
	// Unseen: where the bytes do not tell what they are, the caller's word counts.
	Unseen bool
}

// Error means that an image cannot be sent.
type Error struct {
	// Field is the field of the image that is wrong.
	Field string
	// Detail is for people; it does not quote the image.
	Detail string
}

func (e *Error) Error() string { return "media: " + e.Detail }

// Read reads an image. The error is an [*Error].
func Read(in *llmdv1.ImageContent, takes Takes) (Image, error) {
	img, field := Image{Type: strings.ToLower(in.GetMimeType()), Data: in.GetData()}, "data"
	if uri := in.GetUri(); uri != "" {
		field = "uri"
		kind, data, ok := ParseDataURL(uri)
		if !ok {
			return Image{}, &Error{Field: field, Detail: "neither a data URL nor one that was downloaded"}
		}
		img.Data, img.Type = data, cmp.Or(img.Type, strings.ToLower(kind))
	}
	if len(img.Data) == 0 {
		return Image{}, &Error{Field: field, Detail: "an image without bytes"}
	}
	if img.Type == "image/jpg" {
		img.Type = "image/jpeg"
	}
	switch seen := Sniff(img.Data); {
	case seen != "":
		img.Type = seen
	case takes.Unseen:
		field = "mime_type"
	default:
		img.Type = ""
	}
	switch {
	case len(takes.Types) > 0 && !slices.Contains(takes.Types, img.Type):
		return Image{}, &Error{Field: field, Detail: "not an image of a kind that is taken: " + strings.Join(takes.Types, ", ")}
	case !isMediaType(img.Type):
		return Image{}, &Error{Field: "mime_type", Detail: "not a media type, and the bytes tell none"}
	}
	return img, nil
}

// Sniff tells the kinds of images that are in use with models by their first bytes;
// empty = another one. https://mimesniff.spec.whatwg.org/#image-type-pattern-matching-algorithm
func Sniff(data []byte) string {
	begins := func(prefix string) bool { return len(data) >= len(prefix) && string(data[:len(prefix)]) == prefix }
	switch {
	case begins("\x89PNG\r\n\x1a\n"):
		return "image/png"
	case begins("\xff\xd8\xff"):
		return "image/jpeg"
	case begins("GIF87a"), begins("GIF89a"):
		return "image/gif"
	case begins("RIFF") && len(data) >= 12 && string(data[8:12]) == "WEBP":
		return "image/webp"
	case len(data) >= 12 && string(data[4:8]) == "ftyp":
		return brand(string(data[8:12]))
	}
	return ""
}

// brand is the kind of an HEIF or AVIF container. https://mp4ra.org/registered-types/brands
func brand(name string) string {
	switch name {
	case "avif", "avis":
		return "image/avif"
	case "heic", "heix", "heim", "heis", "hevc", "hevx":
		return "image/heic"
	case "mif1", "msf1":
		return "image/heif"
	}
	return ""
}

// isMediaType says whether a text can stand in a data URL, and in JSON, as it is.
func isMediaType(s string) bool {
	return strings.Contains(s, "/") && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"\,;`, r)
	})
}

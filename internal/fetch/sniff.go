package fetch

import "strings"

// headBytes is how many bytes Sniff needs.
const headBytes = 12

// Sniff is the media type of a PNG, JPEG, GIF or WebP image by its first bytes;
// empty for anything else.
func Sniff(data []byte) string {
	head := string(data[:min(len(data), headBytes)])
	switch {
	case strings.HasPrefix(head, "\x89PNG\r\n\x1a\n"):
		return "image/png"
	case strings.HasPrefix(head, "\xff\xd8\xff"):
		return "image/jpeg"
	case strings.HasPrefix(head, "GIF87a"), strings.HasPrefix(head, "GIF89a"):
		return "image/gif"
	case len(head) == headBytes && head[:4] == "RIFF" && head[8:] == "WEBP":
		return "image/webp"
	}
	return ""
}

// agrees says whether a Content-Type may stand at an image of a sniffed type.
// Stores that know no better say that it is a stream of bytes.
func agrees(contentType, sniffed string) bool {
	declared, _, _ := strings.Cut(contentType, ";")
	switch declared = strings.ToLower(strings.TrimSpace(declared)); declared {
	case "", "application/octet-stream", "binary/octet-stream":
		return true
	case "image/jpg", "image/pjpeg":
		declared = "image/jpeg"
	case "image/x-png":
		declared = "image/png"
	}
	return declared == sniffed
}

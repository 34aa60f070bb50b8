package media

import (
	"errors"
	"testing"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

const png = "\x89PNG\r\n\x1a\nrest"

func data(mime, bytes string) *llmdv1.ImageContent {
	return &llmdv1.ImageContent{MimeType: mime, Source: &llmdv1.ImageContent_Data{Data: []byte(bytes)}}
}

func uri(mime, address string) *llmdv1.ImageContent {
	return &llmdv1.ImageContent{MimeType: mime, Source: &llmdv1.ImageContent_Uri{Uri: address}}
}

func TestRead(t *testing.T) {
	seen := Takes{Types: []string{"image/png", "image/jpeg"}}
	listed := Takes{Types: seen.Types, Unseen: true}
	all := Takes{Unseen: true}
	for name, c := range map[string]struct {
		in          *llmdv1.ImageContent
		takes       Takes
		kind, field string // field of the error
	}{
		"the bytes decide":          {data("image/gif", png), seen, "image/png", ""},
		"without a label":           {data("", png), all, "image/png", ""},
		"not of a kind that counts": {data("image/png", "GIF89a..."), seen, "", "data"},
		"bytes that do not tell":    {data("image/png", "?"), seen, "", "data"},
		"the caller's word":         {data("IMAGE/JPG", "?"), listed, "image/jpeg", ""},
		"the caller's wrong word":   {data("image/tiff", "?"), listed, "", "mime_type"},
		"any word":                  {data("image/tiff", "?"), all, "image/tiff", ""},
		"no word":                   {data("", "?"), all, "", "mime_type"},
		"a word that breaks out":    {data(`image/x;"`, "?"), all, "", "mime_type"},
		"no bytes":                  {data("image/png", ""), all, "", "data"},
		"no source":                 {&llmdv1.ImageContent{}, all, "", "data"},
		"data URL":                  {uri("", "data:image/tiff;base64,Pz8="), all, "image/tiff", ""},
		"its bytes decide":          {uri("", "data:text/plain;base64,iVBORw0KGgo="), seen, "image/png", ""},
		"the label goes before":     {uri("image/tiff", "data:image/bmp;base64,Pz8"), all, "image/tiff", ""},
		"an address":                {uri("", "https://example.com/a.png"), all, "", "uri"},
		"broken base64":             {uri("", "data:image/png;base64,?"), all, "", "uri"},
		"a URL of something else":   {uri("", "data:image/png;base64,Pz8="), seen, "", "uri"},
	} {
		got, err := Read(c.in, c.takes)
		var e *Error
		switch {
		case c.field == "" && (err != nil || got.Type != c.kind):
			t.Errorf("%s: %q, %v, want %q", name, got.Type, err, c.kind)
		case c.field != "" && (!errors.As(err, &e) || e.Field != c.field):
			t.Errorf("%s: %+v, want an error of %q", name, err, c.field)
		}
	}
	if f := (Image{Type: "image/webp"}).Format(); f != "webp" {
		t.Errorf("format %q", f)
	}
}

func TestSniff(t *testing.T) {
	for in, want := range map[string]string{
		png: "image/png", "\xff\xd8\xff\xe0": "image/jpeg", "GIF87a": "image/gif", "GIF89a": "image/gif",
		"RIFF0000WEBPVP8L": "image/webp", "RIFF0000WAVE": "", "\x00\x00\x00\x18ftypheic": "image/heic",
		"\x00\x00\x00\x18ftypavif": "image/avif", "\x00\x00\x00\x18ftypmif1": "image/heif", "\x00\x00\x00\x18ftypmp42": "", "": "", "<svg>": "",
	} {
		if got := Sniff([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestParseDataURL(t *testing.T) {
	for in, want := range map[string][2]string{
		"data:image/png;base64,Pz8_":            {"image/png", "???"},
		"DATA:image/png;Base64,Pz8/":            {"image/png", "???"},
		"data:image/png;base64,Pz%38%2F":        {"image/png", "???"},
		"data:image/png;base64, Pz8\r\n=":       {"image/png", "??"},
		"data:image/png;charset=x;base64,Pz8=":  {"image/png", "??"},
		"data:,a%20b":                           {"", "a b"},
		"data:text/plain;charset=utf-8,a;b%2Cc": {"text/plain", "a;b,c"},
	} {
		kind, got, ok := ParseDataURL(in)
		if !ok || kind != want[0] || string(got) != want[1] {
			t.Errorf("%s: %q %q %v", in, kind, got, ok)
		}
	}
	for _, in := range []string{"", "data", "data:image/png", "http://a", "data:,%zz", "data:;base64,a"} {
		if _, _, ok := ParseDataURL(in); ok {
			t.Errorf("%q was read", in)
		}
	}
}

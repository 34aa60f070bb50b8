package handoff

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

var wordPattern = regexp.MustCompile(`w[0-9a-f]{11}`)

// Word is the word of a text; empty if it has none.
func Word(text string) string { return wordPattern.FindString(text) }

// source makes content. The same seed gives the same.
type source struct{ *rand.Rand }

func (s source) one(n int) bool { return s.IntN(n) == 0 }

func pick[T any](s source, of ...T) T { return of[s.IntN(len(of))] }

func (s source) word() string { return fmt.Sprintf("w%011x", s.Uint64()>>20) }

// text is mostly a sentence, at times something that only a fuzzer or a tool says.
func (s source) text() string {
	switch s.IntN(14) {
	case 0:
		return ""
	case 1:
		return pick(s, " ", "\n\n", "\t", "\u00a0", "\u2003")
	case 2:
		return s.word() + pick(s, "\u0000", "\u200b\ufeff", "\u202e", "e\u0301\u0301\u0301", "\U0010ffff", "\ufffd", "\u2028\u2029", "👨‍👩‍👧‍👦", `\ud83d`)
	case 3:
		return s.word() + pick(s, "</thinking>", "[DONE]", "data: {}\n\n", `{"a": [1, 2`, "\r\n", "(image omitted: model does not support images)")
	default:
		return pick(s, "", "  ") + s.word() + pick(s, " please", " and then?", " 日本語で", "\n", " ")
	}
}

// picture is the bytes of an image of a type, with a tail that is its own.
func (s source) picture(mime string) []byte {
	head := map[string]string{
		"image/png":  "\x89PNG\r\n\x1a\n",
		"image/jpeg": "\xff\xd8\xff\xe0",
		"image/gif":  "GIF89a",
		"image/webp": "RIFF\x10\x00\x00\x00WEBPVP8 ",
	}[mime]
	return binary.BigEndian.AppendUint64([]byte(head), s.Uint64())
}

func (s source) image() *llmdv1.ImageContent {
	mime := pick(s, "image/png", "image/png", "image/jpeg", "image/gif", "image/webp")
	data := s.picture(mime)
	switch s.IntN(8) {
	case 0:
		return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(data)}}
	case 1:
		return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: pick(s, "file:///", "s3://bucket/") + s.word()}}
	}
	return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: data}, MimeType: mime}
}

// ImageNeedle is what a request holds of an image that is sent.
func ImageNeedle(i *llmdv1.ImageContent) string {
	if data := i.GetData(); len(data) > 0 {
		return base64.StdEncoding.EncodeToString(data)
	}
	if _, payload, ok := strings.Cut(i.GetUri(), ";base64,"); ok {
		return payload
	}
	return i.GetUri()
}

func (s source) user() *llmdv1.Message {
	u := &llmdv1.UserMessage{}
	for range 1 + s.IntN(3) {
		if s.one(4) {
			u.Content = append(u.Content, &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: s.image()}})
			continue
		}
		u.Content = append(u.Content, &llmdv1.UserContent{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: s.text()}}})
	}
	return &llmdv1.Message{Message: &llmdv1.Message_User{User: u}}
}

// says is a user's plain question.
func (s source) says() *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: []*llmdv1.UserContent{
		{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: s.word() + " go on"}}},
	}}}}
}

func (s source) result(id, name string) *llmdv1.Message {
	r := &llmdv1.ToolResultMessage{ToolCallId: id, ToolName: pick(s, name, name, ""), IsError: s.one(4)}
	for range s.IntN(3) + s.IntN(2) {
		if s.one(5) {
			r.Content = append(r.Content, &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Image{Image: s.image()}})
			continue
		}
		r.Content = append(r.Content, &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Text{Text: &llmdv1.TextContent{Text: s.text()}}})
	}
	return &llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: r}}
}

// tools are what every conversation has; each takes a text, by which its calls are
// known. That of edit is in draft 4 of JSON Schema, with a tuple, a definition and an
// expression that is JavaScript's, and has alternatives at its top.
func tools() []*llmdv1.Tool {
	const read = `{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"}},"required":["path"]}`
	const edit = `{"type":"object","properties":{"text":{"type":"string"},"at":{"type":"number","minimum":0,"exclusiveMinimum":true},"range":{"type":"array","items":[{"type":"integer"},{"type":"integer"}],"additionalItems":false},"mode":{"$ref":"#/definitions/mode","title":"Mode"},"opts":{"type":"object","properties":{"dry":{"type":"boolean"},"tags":{"type":"array","items":{"type":"string"}}},"required":["dry"]}},"required":["text"],"anyOf":[{"required":["at"]},{"required":["range"]}],"definitions":{"mode":{"type":"string","pattern":"^(?!-)[^\\p{Cc}]+$"}}}`
	const strict = `{"type":"object","properties":{"query":{"type":"string","minLength":1}},"required":["query"],"additionalProperties":false}`
	return []*llmdv1.Tool{
		{Name: "read_file", Description: "Reads a file.", ParametersJsonSchema: read},
		{Name: "edit", ParametersJsonSchema: edit},
		{Name: "search-all", Description: "Searches.", ParametersJsonSchema: strict, Strict: llmdv1.StrictMode_STRICT_MODE_PREFER},
	}
}

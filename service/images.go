package service

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/media"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/fetch"
	"github.com/llmd-dev/llmd/internal/telemetry"
)

// imageRequest is what the preparation of images knows of its request. It travels
// in the request's context, because the engine prepares the conversation anew for
// each model that it tries: all of them get the same downloads.
type imageRequest struct {
	// caller is the conversation as it came, to name places as the caller knows
	// them.
	caller *llmdv1.Context
	batch  *fetch.Batch
	// telemetry counts what is downloaded; nil = nobody looks.
	telemetry *telemetry.Telemetry
}

type imageRequestKey struct{}

// withImages begins the downloads of a request; a nil fetcher downloads nothing.
func withImages(ctx context.Context, f *fetch.Fetcher, t *telemetry.Telemetry, caller *llmdv1.Context) context.Context {
	r := &imageRequest{caller: caller, telemetry: t}
	if f != nil {
		r.batch = f.NewBatch()
	}
	return context.WithValue(ctx, imageRequestKey{}, r)
}

// images makes every image of a conversation bytes with their right media type. It
// is generation.Config.Images: it gets the conversation after the hand-off, so that
// what a model cannot see is never downloaded, and leaves it as it is. Its errors
// are *adapters.FieldError and those of ctx.
func images(ctx context.Context, c *llmdv1.Context) (*llmdv1.Context, error) {
	r, _ := ctx.Value(imageRequestKey{}).(*imageRequest)
	if r == nil {
		r = &imageRequest{}
	}
	var all []sentImage
	eachImage(c, func(message, block int, i *llmdv1.ImageContent) {
		all = append(all, sentImage{message: message, block: block, in: i})
	})
	for i := range all {
		if err := all[i].inline(); err != nil {
			return nil, r.fieldError(c, &all[i], err.Error())
		}
	}
	if err := r.download(ctx, c, all); err != nil {
		return nil, err
	}
	return withBytes(c, all), nil
}

// sentImage is an image of a conversation and what it becomes.
type sentImage struct {
	message, block int
	in             *llmdv1.ImageContent
	data           []byte
	mime           string
}

// eachImage visits the images of a conversation with their places.
func eachImage(c *llmdv1.Context, f func(message, block int, i *llmdv1.ImageContent)) {
	for m, msg := range c.GetMessages() {
		for k, b := range msg.GetUser().GetContent() {
			if i := b.GetImage(); i != nil {
				f(m, k, i)
			}
		}
		for k, b := range msg.GetToolResult().GetContent() {
			if i := b.GetImage(); i != nil {
				f(m, k, i)
			}
		}
	}
}

// remote: the image must be downloaded.
func (s *sentImage) remote() bool {
	scheme, _, _ := strings.Cut(s.in.GetUri(), ":")
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}

// inline reads an image that is in the request itself. What its bytes are decides,
// not what they are called: providers look at the bytes, too.
func (s *sentImage) inline() error {
	s.data = s.in.GetData()
	if s.in.GetUri() != "" {
		if s.remote() {
			return nil
		}
		var ok bool
		if s.data, ok = dataURL(s.in.GetUri()); !ok {
			return errors.New("the base64 of the data URL cannot be read")
		}
	}
	if s.mime = imageType(s.data); s.mime == "" {
		return errors.New("the bytes are no image")
	}
	return nil
}

// imageType is the media type of image bytes, empty if they are none. Which types a
// provider takes is its adapter's business.
func imageType(data []byte) string {
	if t := http.DetectContentType(data); strings.HasPrefix(t, "image/") {
		return t
	}
	return media.Sniff(data)
}

// dataURL reads the bytes of a URL of RFC 2397. It forgives the other alphabet and
// missing padding.
func dataURL(uri string) ([]byte, bool) {
	head, payload, ok := strings.Cut(uri, ",")
	if !ok || !strings.HasPrefix(head, "data:") || !strings.HasSuffix(head, ";base64") {
		return nil, false
	}
	payload, err := url.PathUnescape(payload)
	if err != nil {
		return nil, false
	}
	payload = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(payload, "= \t\r\n"))
	data, err := base64.RawStdEncoding.DecodeString(payload)
	return data, err == nil && len(data) > 0
}

// download gets the images that are given by URL.
func (r *imageRequest) download(ctx context.Context, c *llmdv1.Context, all []sentImage) error {
	var urls []string
	var at []int
	for i := range all {
		if all[i].remote() {
			urls, at = append(urls, all[i].in.GetUri()), append(at, i)
		}
	}
	if len(urls) == 0 {
		return nil
	}
	if r.batch == nil {
		return r.fieldError(c, &all[at[0]], "images are not downloaded here; send the bytes")
	}
	got, err := r.batch.Fetch(ctx, urls)
	r.count(ctx, len(urls), err)
	if failed, ok := errors.AsType[*fetch.Error](err); ok {
		return r.fieldError(c, &all[at[failed.Index]], failed.URL+" "+failed.Problem)
	}
	for i, u := range urls {
		all[at[i]].data, all[at[i]].mime = got[u].Data, got[u].MIME
	}
	return err
}

// count tells telemetry what became of downloads.
func (r *imageRequest) count(ctx context.Context, n int, err error) {
	switch {
	case err == nil:
		r.telemetry.Images(ctx, "ok", n)
	case ctx.Err() != nil:
		r.telemetry.Images(ctx, "cancelled", 1)
	default:
		r.telemetry.Images(ctx, "refused", 1)
	}
}

// withBytes is the conversation with its images as bytes. What needs no change is
// shared; the conversation itself may be the caller's.
func withBytes(c *llmdv1.Context, all []sentImage) *llmdv1.Context {
	var messages []*llmdv1.Message
	last := -1
	for i := range all {
		s := &all[i]
		if s.in.GetUri() == "" && s.in.GetMimeType() == s.mime {
			continue
		}
		if messages == nil {
			messages = slices.Clone(c.GetMessages())
		}
		if s.message != last {
			messages[s.message] = withOwnBlocks(messages[s.message])
			last = s.message
		}
		s.put(messages[s.message])
	}
	if messages == nil {
		return c
	}
	return &llmdv1.Context{SystemPrompt: c.GetSystemPrompt(), Messages: messages, Tools: c.GetTools()}
}

// withOwnBlocks copies a message but for its blocks.
func withOwnBlocks(m *llmdv1.Message) *llmdv1.Message {
	if r := m.GetToolResult(); r != nil {
		return &llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: &llmdv1.ToolResultMessage{
			ToolCallId: r.GetToolCallId(), ToolName: r.GetToolName(), Content: slices.Clone(r.GetContent()), IsError: r.GetIsError(),
			DetailsJson: r.GetDetailsJson(), Usage: r.GetUsage(), CreateTime: r.GetCreateTime(),
		}}}
	}
	u := m.GetUser()
	return &llmdv1.Message{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{
		Content: slices.Clone(u.GetContent()), CreateTime: u.GetCreateTime(),
	}}}
}

// put puts the image's bytes in its place.
func (s *sentImage) put(m *llmdv1.Message) {
	i := &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: s.data}, MimeType: s.mime}
	if r := m.GetToolResult(); r != nil {
		r.Content[s.block] = &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Image{Image: i}}
		return
	}
	m.GetUser().Content[s.block] = &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: i}}
}

// fieldError names an image by its place in the caller's conversation: the hand-off
// moves and merges blocks, but the image itself is the one that came.
func (r *imageRequest) fieldError(prepared *llmdv1.Context, s *sentImage, detail string) error {
	field := ""
	eachImage(r.caller, func(message, block int, i *llmdv1.ImageContent) {
		if i == s.in && field == "" {
			field = imageField(r.caller, message, block)
		}
	})
	if field == "" {
		field = imageField(prepared, s.message, s.block)
		detail += " (counted in the conversation as prepared)"
	}
	if s.in.GetUri() != "" {
		return &adapters.FieldError{Field: field + ".uri", Detail: detail}
	}
	return &adapters.FieldError{Field: field + ".data", Detail: detail}
}

func imageField(c *llmdv1.Context, message, block int) string {
	return fmt.Sprintf("generation.context.messages[%d].%s.content[%d].image", message, messageKind(c.GetMessages()[message]), block)
}

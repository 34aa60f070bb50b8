package transform

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/media"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// What stands where an image was. Models are told apart a missing image from one
// that they overlooked; the URL itself could hold secrets or megabytes.
const (
	userImageOmitted   = "(image omitted: model does not support images)"
	resultImageOmitted = "(tool image omitted: model does not support images)"
	imageSourceOmitted = "(image omitted: unsupported source)"
	imageTypeOmitted   = "(image omitted: unsupported type)"
	imageMoved         = "(image attached after the tool results)"
)

// fitImages replaces images that cannot be sent, and moves those that may not
// stand where they are.
func (h *handoff) fitImages() error {
	for _, t := range h.turns {
		if err := h.fitTurn(t); err != nil {
			return err
		}
	}
	if h.Constraints.Images && !h.Constraints.ErrorResultImages {
		h.moveErrorImages()
	}
	return nil
}

func (h *handoff) fitTurn(t *turn) error {
	var err error
	if u := t.user(); u != nil {
		replaceImages(t, u.GetContent(), t.setUser, userText, func(k int, img *llmdv1.ImageContent) string {
			rule, text := h.misfit(img, userImageOmitted)
			err = cmp.Or(err, h.replaced(t, k, "user", rule))
			return text
		})
	}
	if r := t.result(); r != nil {
		replaceImages(t, r.GetContent(), t.setResult, resultText, func(k int, img *llmdv1.ImageContent) string {
			rule, text := h.misfit(img, resultImageOmitted)
			err = cmp.Or(err, h.replaced(t, k, "tool_result", rule))
			return text
		})
	}
	return err
}

// imageBlock is a block of a message that can hold images.
type imageBlock interface {
	comparable
	GetText() *llmdv1.TextContent
	GetImage() *llmdv1.ImageContent
}

// replaceImages puts the text that instead gives for an image in its place; none
// keeps the image. The same text is not repeated for a run of images, nor after
// one that the caller wrote.
func replaceImages[B imageBlock](t *turn, content []B, set func([]B), text func(string) B,
	instead func(int, *llmdv1.ImageContent) string,
) {
	e := edit[B]{in: content}
	last := ""
	for k, b := range content {
		words := ""
		if img := b.GetImage(); img != nil {
			words = instead(k, img)
		}
		switch words {
		case "":
			e.put(k, b)
			last = b.GetText().GetText()
		case last:
		default:
			e.put(k, text(words))
			last = words
		}
	}
	e.done(t, set)
}

// misfit says by which rule an image cannot be sent and what stands for it; no
// rule = it can. omitted is the text for models without images.
func (h *handoff) misfit(img *llmdv1.ImageContent, omitted string) (rule, text string) {
	switch {
	case !h.Constraints.Images:
		return ruleImagesPlaceholder, omitted
	case !readable(img):
		return ruleImagesSource, imageSourceOmitted
	}
	if kind := mediaType(img); kind != "" && h.Constraints.ImageTypes != nil && !slices.Contains(h.Constraints.ImageTypes, kind) {
		return ruleImagesType, imageTypeOmitted
	}
	return "", ""
}

// replaced reports that an image is replaced by a rule, or refuses by policy.
func (h *handoff) replaced(t *turn, block int, role, rule string) error {
	if rule == "" {
		return nil
	}
	detail := "the model does not take images"
	switch rule {
	case ruleImagesSource:
		detail = "the image is neither bytes, nor an http or https URL, nor a data URL in base64"
	case ruleImagesType:
		detail = "the API does not read images of this type"
	}
	if h.Policy.GetUnsupportedImages() == llmdv1.UnsupportedImages_UNSUPPORTED_IMAGES_REJECT {
		return &adapters.CapabilityError{
			Capability: "images",
			Field:      fmt.Sprintf("%s[%d].%s.content[%d].image", fieldMessages, t.at, role, t.origin(block).Block),
			Detail:     detail,
		}
	}
	h.reportBlock(t, block, downgraded, rule, detail)
	return nil
}

// mediaType is the type of an image: what its bytes tell, else what it is called;
// empty for one that is still to be downloaded and has no name.
func mediaType(img *llmdv1.ImageContent) string {
	data, called := img.GetData(), img.GetMimeType()
	if rest, ok := strings.CutPrefix(img.GetUri(), "data:"); ok {
		mime, payload, _ := strings.Cut(rest, ";base64,")
		called = cmp.Or(called, mime)
		data, _ = base64.StdEncoding.DecodeString(payload[:min(len(payload), sniffed)]) // as far as it can be read
	}
	return cmp.Or(told(data), strings.ToLower(called))
}

// told is the type of an image that its bytes tell; empty = none.
func told(data []byte) string {
	if found := http.DetectContentType(data); strings.HasPrefix(found, "image/") {
		return found
	}
	return media.Sniff(data)
}

// sniffed is how much base64 tells a type: a multiple of four.
const sniffed = 64

// readable says whether an image has bytes, or a URL that llmd can make bytes of.
func readable(img *llmdv1.ImageContent) bool {
	if _, ok := img.GetSource().(*llmdv1.ImageContent_Data); ok {
		return len(img.GetData()) > 0
	}
	uri := img.GetUri()
	if rest, ok := strings.CutPrefix(uri, "data:"); ok {
		// Parameters other than base64 have no meaning for images.
		mime, payload, ok := strings.Cut(rest, ";base64,")
		return ok && !strings.ContainsAny(mime, ";,") && isImage(strings.ToLower(mime), payload)
	}
	scheme, rest, ok := strings.Cut(uri, "://")
	return ok && rest != "" && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// isImage says whether the base64 of a data URL can be read and holds an image: by
// its bytes or, for the kinds that these do not tell, by what it is called.
func isImage(mime, payload string) bool {
	data, err := base64.StdEncoding.DecodeString(payload)
	if err != nil || len(data) == 0 {
		return false
	}
	return told(data) != "" ||
		http.DetectContentType(data) == "application/octet-stream" && (mime == "image/heic" || mime == "image/heif" || mime == "image/avif")
}

// moveErrorImages moves images out of results that are errors, for APIs that
// allow only text there: a user turn after all results of the answer shows them.
func (h *handoff) moveErrorImages() {
	out := make([]*turn, 0, len(h.turns))
	var moved []*llmdv1.UserContent
	var from []adapters.Place
	flush := func(at int) {
		if len(moved) > 0 {
			out = append(out, &turn{at: at, from: from, inserted: true, owned: true, msg: userMessage(&llmdv1.UserMessage{Content: moved})})
			moved, from = nil, nil
		}
	}
	for _, t := range h.turns {
		if t.result() == nil {
			flush(t.at)
		} else if t.result().GetIsError() {
			images, places := h.takeImages(t)
			moved, from = append(moved, images...), append(from, places...)
		}
		out = append(out, t)
	}
	flush(len(h.Context.GetMessages()))
	h.turns = out
}

// takeImages takes the images out of a result and returns them with a heading, and
// where they were; the heading stands for the first one.
func (h *handoff) takeImages(t *turn) ([]*llmdv1.UserContent, []adapters.Place) {
	r := t.result()
	heading := fmt.Sprintf("Images from the error result of tool call %s (%s):", r.GetToolCallId(), r.GetToolName())
	images, from := []*llmdv1.UserContent{userText(heading)}, make([]adapters.Place, 1)
	replaceImages(t, r.GetContent(), t.setResult, resultText, func(k int, img *llmdv1.ImageContent) string {
		h.reportBlock(t, k, rewritten, ruleImagesErrorResult, "shown in a user turn after the results")
		images = append(images, &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: img}})
		from = append(from, t.origin(k))
		return imageMoved
	})
	if len(images) == 1 {
		return nil, nil
	}
	from[0] = from[1]
	return images, from
}

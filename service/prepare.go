package service

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// shownImageBytes is the largest image that PrepareContext shows (contract 1.28).
const shownImageBytes = 64 << 10

// PrepareContext implements llmd.v1.InferenceService.PrepareContext.
func (s *Inference) PrepareContext(ctx context.Context, req *llmdv1.PrepareContextRequest) (*llmdv1.PrepareContextResponse, error) {
	g := req.GetGeneration()
	if err := validateGeneration(g, s.checker()); err != nil {
		return nil, toStatus(err)
	}
	keys, err := s.callerKeys(ctx)
	if err != nil {
		return nil, toStatus(err)
	}
	p, err := s.engine.Plan(withImages(ctx, s.options.Images, s.options.Telemetry, g.GetContext()), g, g.GetModel())
	if err != nil {
		return nil, toStatus(err)
	}
	p = s.engine.Usual(s.owner(ctx), p)
	if err := s.engine.CheckFallbacks(ctx, g); err != nil {
		return nil, toStatus(err)
	}
	method, url, headers, err := s.upstream.Describe(p.Model, keys[p.Model.Provider], p.Request)
	if err != nil {
		return nil, toStatus(err)
	}
	return &llmdv1.PrepareContextResponse{
		Context: shownContext(p.Context), HandoffChanges: p.Changes, Effective: p.Effective,
		Request:     &llmdv1.ProviderRequest{Method: method, Url: url, Headers: headers, BodyJson: shownBody(p.Request.Text())},
		Diagnostics: argumentMismatches(s.schemas, g.GetContext()),
	}, nil
}

// shownContext shows large images as their length and digest.
func shownContext(c *llmdv1.Context) *llmdv1.Context {
	large := false
	eachImage(c, func(_, _ int, i *llmdv1.ImageContent) { large = large || len(i.GetData()) > shownImageBytes })
	if !large {
		return c
	}
	c = proto.CloneOf(c)
	eachImage(c, func(_, _ int, i *llmdv1.ImageContent) {
		if d := i.GetData(); len(d) > shownImageBytes {
			i.Source = &llmdv1.ImageContent_Uri{Uri: digestOf(d)}
		}
	})
	return c
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return fmt.Sprintf("%d bytes, sha256 %s", len(data), hex.EncodeToString(sum[:]))
}

// shownBody shows the base64 of large images in a body as length and digest. All
// else is the exact text.
func shownBody(b jsonwire.Body) string {
	body := b.Text
	if len(b.Large) > 0 {
		body = withDigests(b)
	}
	const least = shownImageBytes / 3 * 4
	var out strings.Builder
	from := 0
	for i := 0; i < len(body); i++ {
		if body[i] != '"' {
			continue
		}
		end := i + 1
		for end < len(body) && body[end] != '"' {
			if body[end] == '\\' {
				end++
			}
			end++
		}
		if end > len(body) {
			break
		}
		prefix, data, ok := imageString(body[i+1:end], least)
		if ok {
			out.Write(body[from : i+1])
			out.WriteString(prefix)
			out.WriteString(digestOf(data))
			from = end
		}
		i = end
	}
	if from == 0 {
		return string(body)
	}
	out.Write(body[from:])
	return out.String()
}

// withDigests puts digests where large images belong.
func withDigests(b jsonwire.Body) []byte {
	var out []byte
	from := 0
	for _, hole := range b.Large {
		out = append(append(out, b.Text[from:hole.At]...), digestOf(hole.Data)...)
		from = hole.At
	}
	return append(out, b.Text[from:]...)
}

// imageString recognises the base64 of an image in a JSON string of at least that
// many bytes, with or without the head of a data URL.
func imageString(s []byte, least int) (prefix string, data []byte, ok bool) {
	if len(s) < least {
		return "", nil, false
	}
	if head, rest, found := bytes.Cut(s[:min(len(s), 64)], []byte(";base64,")); found && bytes.HasPrefix(head, []byte("data:")) {
		at := len(s[:min(len(s), 64)]) - len(rest)
		prefix, s = string(s[:at]), s[at:]
	}
	data = make([]byte, base64.StdEncoding.DecodedLen(len(s)))
	n, err := base64.StdEncoding.Decode(data, s)
	return prefix, data[:n], err == nil && n > shownImageBytes
}

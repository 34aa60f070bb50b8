package providersim

import "slices"

// marker is a cache_control in the order in which the provider reads a request.
type marker struct {
	path  string
	value *value
	on    *value
}

func (r *request) markers() []marker {
	var out []marker
	add := func(path string, on *value) {
		if c := on.get("cache_control"); c.set() {
			out = append(out, marker{path, c, on})
		}
	}
	for i, t := range r.body.get("tools").list() {
		add(at("tools", i), t)
	}
	for i, b := range r.body.get("system").list() {
		add(at("system", i), b)
	}
	r.eachPart(func(p part) { add(p.path, p.value) })
	return out
}

func cacheLimit(r *request, bad report) {
	if n := len(r.markers()); n > 4 {
		bad("", "A maximum of 4 blocks with cache_control may be provided. Found %d.", n)
	}
}

func cachePlace(r *request, bad report) {
	for _, m := range r.markers() {
		switch kind := m.on.get("type").str(); {
		case kind == "thinking" || kind == "redacted_thinking":
			bad(m.path, "%s.cache_control: Extra inputs are not permitted", kind)
		case kind == "text" && m.on.get("text").str() == "":
			bad(m.path, "cache_control cannot be set for empty text blocks")
		case m.value.get("type").str() != "ephemeral":
			bad(m.path, "Input should be 'ephemeral'")
		}
	}
}

func cacheTTL(r *request, bad report) {
	short := false
	for _, m := range r.markers() {
		ttl := m.value.get("ttl")
		switch {
		case ttl.set() && ttl.str() != "5m" && ttl.str() != "1h":
			bad(m.path, "Input should be '5m' or '1h'")
		case ttl.str() == "1h" && short:
			bad(m.path, "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")
		}
		short = short || ttl.str() != "1h"
	}
}

// eachImage runs over the sources of all images, also those in results.
func (r *request) anthropicImages(f func(path string, source *value)) {
	r.eachPart(func(p part) {
		if p.kind == "image" {
			f(p.path, p.value.get("source"))
		}
		if p.kind != "tool_result" {
			return
		}
		for i, b := range p.value.get("content").list() {
			if b.get("type").str() == "image" {
				f(at(p.path+".content", i), b.get("source"))
			}
		}
	})
}

func anthropicImages(r *request, bad report) {
	r.anthropicImages(func(path string, source *value) {
		mediaType := source.get("media_type").str()
		switch kind := source.get("type").str(); {
		case !slices.Contains([]string{"base64", "url", "file"}, kind):
			bad(path, "Input tag '%s' found using 'type' does not match any of the expected tags", kind)
		case kind == "base64" && !slices.Contains([]string{"image/jpeg", "image/png", "image/gif", "image/webp"}, mediaType):
			bad(path+".source.media_type", "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'")
		}
	})
}

func anthropicImageBytes(r *request, bad report) {
	r.anthropicImages(func(path string, source *value) {
		if source.get("type").str() != "base64" {
			return
		}
		is, ok := imageBytes(source.get("data").str())
		switch want := source.get("media_type").str(); {
		case !ok:
			bad(path, "invalid base64 data")
		case is != want:
			bad(path, "The image was specified using the %s media type, but the image appears to be a %s image", want, is)
		}
	})
}

package adapters

import (
	"net/url"
	"strings"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// maxHeaderKey is the longest session id that OpenRouter takes, in bytes; no other
// host names a limit. https://openrouter.ai/docs/api-reference/chat-completion
const maxHeaderKey = 256

// CacheKey is the key that requests share whose prompts begin alike, cut to a number of
// code points; empty where there is none or nothing is to be cached.
func (o *Options) CacheKey(most int) string {
	if o.Retention == llmdv1.CacheRetention_CACHE_RETENTION_NONE {
		return ""
	}
	n := 0
	for i := range o.SessionKey {
		if n == most {
			return o.SessionKey[:i]
		}
		n++
	}
	return o.SessionKey
}

// HeaderKey makes any key fit for a header: the same key gives the same value, and
// keys stay apart.
func HeaderKey(key string) string {
	if strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }) {
		key = url.QueryEscape(key)
	}
	return key[:min(len(key), maxHeaderKey)]
}

package upstream

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
)

// Target is where requests go and what is put on them. It is read-only.
type Target struct {
	// BaseURL is what a request's path is appended to. It may carry a query, which
	// is kept.
	BaseURL string
	// Headers are the configured headers. They win over the adapter's; of two with
	// one name the later wins.
	Headers []Header
	// Credentials go on last; nil = none.
	Credentials Credentials
	// Network is how connections to the target are made.
	Network Network
	// TraceContext: the trace context of a request goes along, if the client knows
	// how.
	TraceContext bool
	// Transport answers instead of the network; nil = the client's. It is for the
	// built-in faux provider.
	Transport http.RoundTripper
}

// Header is one configured header.
type Header struct{ Name, Value string }

// errBaseURL does not quote the URL: a key may stand in it.
var errBaseURL = errors.New("upstream: the provider's base URL is not an http or https URL")

// url joins the base URL and the request's path.
func (t *Target) url(r *adapters.Request) (*url.URL, error) {
	base, baseQuery, _ := strings.Cut(t.BaseURL, "?")
	path, query, _ := strings.Cut(r.Path, "?")
	text := strings.TrimRight(base, "/")
	if path != "" {
		text += "/" + strings.TrimLeft(path, "/")
	}
	// Parsed as one text, so that escapes in the path stay as the adapter wrote
	// them.
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, errBaseURL
	}
	u.RawQuery = strings.Trim(baseQuery+"&"+query, "&")
	return u, nil
}

func method(r *adapters.Request) string { return cmp.Or(r.Method, http.MethodPost) }

// header merges the headers, least important first.
func (c *Client) header(t *Target, r *adapters.Request) http.Header {
	h := http.Header{}
	if c.userAgent != "" {
		h.Set("User-Agent", c.userAgent)
	}
	for name, values := range r.Header {
		h[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	for _, own := range t.Headers {
		name := http.CanonicalHeaderKey(own.Name)
		if given := h.Get(name); given != "" && strings.HasSuffix(name, "-Beta") {
			h.Set(name, joinList(given, own.Value)) // a list of features: both sides' are meant
			continue
		}
		h.Set(name, own.Value)
	}
	return h
}

// joinList joins two comma-separated lists, each item once.
func joinList(a, b string) string {
	var items []string
	for item := range strings.SplitSeq(a+","+b, ",") {
		if item = strings.TrimSpace(item); item != "" && !slices.Contains(items, item) {
			items = append(items, item)
		}
	}
	return strings.Join(items, ",")
}

// Describe shows what [Client.Do] would send, with every secret replaced by
// REDACTED. It asks no one for credentials, and leaves out what is only known when a
// request is sent: Bedrock's X-Amz-Date.
func (c *Client) Describe(t *Target, r *adapters.Request) (verb, address string, headers map[string]string) {
	h := c.header(t, r)
	headers = make(map[string]string, len(h))
	for name, values := range maps.All(h) {
		value := adapters.MaskSecrets(strings.Join(values, ", "))
		if secretName(name) {
			value = adapters.Redacted
		}
		headers[name] = value
	}
	if t.Credentials != nil {
		for _, name := range t.Credentials.Headers() {
			headers[http.CanonicalHeaderKey(name)] = adapters.Redacted
		}
	}
	if u, err := t.url(r); err == nil {
		address = redactURL(u)
	}
	return method(r), address, headers
}

func redactURL(u *url.URL) string {
	shown := *u
	if shown.User != nil {
		shown.User = url.User(adapters.Redacted)
	}
	fields := strings.Split(shown.RawQuery, "&")
	for i, field := range fields {
		name, _, valued := strings.Cut(field, "=")
		if valued && (secretName(name) || strings.EqualFold(name, "key") || strings.EqualFold(name, "sig")) {
			fields[i] = name + "=" + adapters.Redacted
		}
	}
	shown.RawQuery = strings.Join(fields, "&")
	return shown.String()
}

// secretName says whether the name of a header or parameter promises a secret.
func secretName(name string) bool {
	name = strings.ToLower(name)
	// The caller's session_key goes by these names: no one can log in with it.
	if slices.Contains([]string{"session-id", "session_id", "x-session-id", "x-session-affinity"}, name) {
		return false
	}
	for _, word := range []string{
		"authorization", "api-key", "api_key", "apikey", "goog-key", "subscription-key", "access-key", "access_key", "auth-key",
		"token", "secret", "password", "passwd", "credential", "cookie", "signature", "session", "private",
	} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return strings.HasSuffix(name, "-key") || strings.HasSuffix(name, "_key")
}

// requestID finds the provider's id of the request. Ids of what stands in front
// of a provider come last.
func requestID(h http.Header) string {
	const most = 128
	for _, name := range []string{
		"Request-Id", "X-Request-Id", "X-Amzn-Requestid", "X-Amz-Request-Id", "Apim-Request-Id", "X-Ms-Request-Id",
		"X-Goog-Request-Id", "X-Generation-Id", "X-Correlation-Id", "Mistral-Correlation-Id", "Nvcf-Reqid", "X-Trace-Id", "X-Vercel-Id", "Cf-Ray",
	} {
		if id := strings.TrimSpace(h.Get(name)); id != "" && len(id) <= most {
			return id
		}
	}
	return ""
}

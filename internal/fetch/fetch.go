package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// The limits on downloads, from the head table of the host behaviour.
const (
	// MaxImageBytes is the largest image.
	MaxImageBytes = 10 << 20
	// MaxImages is how many images by URL a request may have.
	MaxImages = 20
	// MaxBatchBytes is the most that the images of a request may come to.
	MaxBatchBytes = 32 << 20

	imageTimeout = 15 * time.Second
	batchTimeout = 30 * time.Second
	atOnce       = 4
	maxRedirects = 5
)

// Options say how images are downloaded.
type Options struct {
	// Allow opens hosts and networks that are not public: names, addresses and
	// networks in CIDR form. A name opens every address that it has.
	Allow []string
	// UserAgent is what llmd calls itself.
	UserAgent string
}

// Fetcher downloads images. It is safe for concurrent use and keeps nothing open.
type Fetcher struct {
	guard     *guard
	transport *http.Transport
	userAgent string
	limits    limits
	// lookup and connect reach the network; tests put their own here.
	lookup  func(ctx context.Context, host string) ([]netip.Addr, error)
	connect func(ctx context.Context, host string, to netip.AddrPort) (net.Conn, error)
}

type limits struct {
	imageBytes, batchBytes     int64
	imageTimeout, batchTimeout time.Duration
}

// New makes a Fetcher. It fails for an entry of [Options.Allow] that cannot be
// read.
func New(o Options) (*Fetcher, error) {
	g, err := newGuard(o.Allow)
	if err != nil {
		return nil, err
	}
	f := &Fetcher{
		guard: g, userAgent: o.UserAgent, lookup: lookup,
		limits: limits{imageBytes: MaxImageBytes, batchBytes: MaxBatchBytes, imageTimeout: imageTimeout, batchTimeout: batchTimeout},
	}
	f.connect = f.dialOne
	// Not a clone of the default transport: that one asks the environment for a
	// proxy. Without kept connections, what one caller's URL opened is nothing to
	// the next one.
	f.transport = &http.Transport{
		DialContext: f.dial, DisableKeepAlives: true, DisableCompression: true,
		TLSHandshakeTimeout: imageTimeout, ResponseHeaderTimeout: imageTimeout, MaxResponseHeaderBytes: 64 << 10,
	}
	return f, nil
}

// Fetch downloads one image and tells its media type. It fails with an [*Error],
// or with ctx's own error.
func (f *Fetcher) Fetch(ctx context.Context, rawURL string) (data []byte, mime string, err error) {
	return f.fetch(ctx, rawURL, func(int64) error { return nil })
}

// errSlow ends a download that takes too long.
var errSlow = errors.New("fetch: too slow")

// fetch tells spend of every byte before it is kept.
func (f *Fetcher) fetch(ctx context.Context, rawURL string, spend func(int64) error) ([]byte, string, error) {
	limited, cancel := context.WithTimeoutCause(ctx, f.limits.imageTimeout, errSlow)
	defer cancel()
	u, err := parse(rawURL)
	var data []byte
	var mime string
	if err == nil {
		data, mime, err = f.follow(limited, u, spend)
	}
	if err == nil {
		return data, mime, nil
	}
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	problem, ok := errors.AsType[refusal](err)
	switch {
	case errors.Is(context.Cause(limited), errSlow):
		problem = refusal("took longer than " + f.limits.imageTimeout.String())
	case !ok:
		// The text of other errors has addresses and URLs in it.
		problem = "could not be downloaded"
	}
	return nil, "", &Error{URL: shown(u), Problem: problem.Error()}
}

// follow asks for a URL, and for what it redirects to.
func (f *Fetcher) follow(ctx context.Context, u *url.URL, spend func(int64) error) ([]byte, string, error) {
	for hop := range maxRedirects + 1 {
		resp, err := f.get(ctx, u)
		if err != nil {
			return nil, "", behind(hop, err)
		}
		if !redirects(resp.StatusCode) {
			data, mime, err := f.read(resp, spend)
			_ = resp.Body.Close()
			return data, mime, err
		}
		_ = resp.Body.Close()
		if u, err = next(u, resp.Header.Get("Location")); err != nil {
			return nil, "", err
		}
	}
	return nil, "", refuse("redirects more than %d times", maxRedirects)
}

// behind says of a refusal that it is not about the caller's URL but about one that it
// redirects to.
func behind(hop int, err error) error {
	why, ok := errors.AsType[refusal](err)
	if hop == 0 || !ok {
		return err
	}
	return "redirects to a URL that " + why
}

func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// next is where a redirect leads.
func next(from *url.URL, location string) (*url.URL, error) {
	if location == "" {
		return nil, refuse("redirects to nowhere")
	}
	ref, err := url.Parse(location)
	if err != nil {
		return nil, refuse("redirects to something that is no URL")
	}
	// Once more as a text: what is checked is what would be written.
	to, err := parse(from.ResolveReference(ref).String())
	if err != nil {
		return nil, refuse("redirects to a URL that %s", err)
	}
	if from.Scheme == "https" && to.Scheme == "http" {
		return nil, refuse("redirects from https to http")
	}
	return to, nil
}

// get sends the request alone: the transport has no jar, no proxy and no memory.
func (f *Fetcher) get(ctx context.Context, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(boundTo(ctx), http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, refuse("cannot be read")
	}
	req.Header.Set("Accept", "image/png, image/jpeg, image/gif, image/webp")
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", f.userAgent) // empty = none
	return f.transport.RoundTrip(req)
}

// read takes the image out of an answer.
func (f *Fetcher) read(resp *http.Response, spend func(int64) error) ([]byte, string, error) {
	switch e := resp.Header.Get("Content-Encoding"); {
	case resp.StatusCode != http.StatusOK:
		return nil, "", refuse("answered HTTP %d", resp.StatusCode)
	case e != "" && e != "identity":
		return nil, "", refuse("answered with a compressed body")
	case resp.ContentLength > f.limits.imageBytes:
		return nil, "", f.tooLarge()
	}
	head := make([]byte, headBytes)
	n, err := io.ReadFull(resp.Body, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, "", err
	}
	mime := Sniff(head[:n])
	switch {
	case mime == "":
		return nil, "", refuse("is not a PNG, JPEG, GIF or WebP image")
	case !agrees(resp.Header.Get("Content-Type"), mime):
		return nil, "", refuse("calls itself something else than the %s that it is", mime)
	}
	c := &counter{left: f.limits.imageBytes, spend: spend, tooLarge: f.tooLarge()}
	_, err = io.Copy(c, io.MultiReader(bytes.NewReader(head[:n]), resp.Body))
	return c.data.Bytes(), mime, err
}

func (f *Fetcher) tooLarge() error {
	return refuse("has more than %d bytes", f.limits.imageBytes)
}

// counter keeps bytes up to a limit.
type counter struct {
	data     bytes.Buffer
	left     int64
	spend    func(int64) error
	tooLarge error
}

func (c *counter) Write(p []byte) (int, error) {
	if c.left -= int64(len(p)); c.left < 0 {
		return 0, c.tooLarge
	}
	if err := c.spend(int64(len(p))); err != nil {
		return 0, err
	}
	return c.data.Write(p)
}

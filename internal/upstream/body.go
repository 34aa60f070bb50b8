package upstream

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

var (
	errEncoding = errors.New("upstream: the answer has an unknown content encoding")
	errRefused  = errors.New("upstream: the provider refused the request again and again")
)

// maxResent is how often net/http may send a request again by itself, which it does
// where the provider has not looked at it: when the connection went at that moment
// (twice: once to find that out, once on a new connection), or an HTTP/2 provider
// refused it. Left alone it would try for a minute, behind the back of the retry
// policy.
const maxResent = 2

// sentBody is a request's body. net/http holds a request, and with it the body, until
// the answer is read to its end, which may take an hour; a conversation can have
// megabytes. So the body is let go of as it is sent.
type sentBody struct{ text jsonwire.Body }

// smallBody is up to where a body is not worth being let go of, in bytes.
const smallBody = 2 << 10

// attach makes it the body of a request.
func (s *sentBody) attach(r *http.Request) {
	n := s.text.Len()
	if n == 0 {
		return
	}
	r.ContentLength = n
	if n <= smallBody {
		// net/http sends a body of this type in one packet with the headers; before
		// any other it sends the headers alone.
		text := bytes.Clone(s.text.Bytes())
		setBody(r, func() io.ReadCloser { return io.NopCloser(bytes.NewReader(text)) })
		return
	}
	setBody(r, func() io.ReadCloser { return &bodyReader{s.text.Reader()} })
}

// setBody makes the body of a request, which is sent again maxResent times at most.
func setBody(r *http.Request, open func() io.ReadCloser) {
	resent := 0 // net/http asks from one goroutine at a time
	r.Body = open()
	r.GetBody = func() (io.ReadCloser, error) {
		resent++
		if resent > maxResent {
			return nil, errRefused
		}
		return open(), nil
	}
}

// forget is called when the headers of the answer are here: the request will not be
// sent again.
func (s *sentBody) forget() { s.text = jsonwire.Body{} }

// bodyReader lets go of what it has read to its end.
type bodyReader struct{ in io.Reader }

// Read implements io.Reader.
func (b *bodyReader) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	if err != nil {
		b.in = strings.NewReader("")
	}
	return n, err
}

// Close implements io.Closer.
func (*bodyReader) Close() error { return nil }

// lingerBytes is how much may come behind a whole answer.
const lingerBytes = 16 << 10

// exchange is the life of a request.
type exchange struct {
	cancel context.CancelFunc
	// leave parts it from the context that it was begun with; false = that has ended.
	leave func() bool
	// linger is how long it may last once the answer is whole.
	linger time.Duration
}

func (x *exchange) end() {
	x.leave()
	x.cancel()
}

// source is the body as it comes.
type source struct {
	io.ReadCloser
	ended bool
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.ended = s.ended || err != nil
	return n, err
}

// body reads an answer and undoes its compression.
type body struct {
	raw      source
	exchange *exchange
	read     io.Reader
}

// newBody wraps the body of an answer. It is false, and the body reads as empty,
// if the encoding is not known.
func newBody(answer *http.Response, x *exchange) (*body, bool) {
	b := &body{raw: source{ReadCloser: answer.Body}, exchange: x}
	b.read = &b.raw
	encodings := strings.Split(strings.Join(answer.Header.Values("Content-Encoding"), ","), ",")
	// The last encoding was put on last and comes off first.
	for _, encoding := range slices.Backward(encodings) {
		switch strings.ToLower(strings.TrimSpace(encoding)) {
		case "", "identity":
		case "gzip", "x-gzip":
			b.read = &gzipReader{in: bufio.NewReader(b.read)}
		case "deflate":
			b.read = &deflateReader{in: bufio.NewReader(b.read)}
		default:
			b.read = http.NoBody
			return b, false
		}
	}
	return b, true
}

// ErrCorrupt is how a body ends that is not compressed as its head says.
var ErrCorrupt = errors.New("upstream: the body's compression cannot be read")

// Read reads decoded bytes as soon as there are any.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.read.Read(p)
	if err != nil && b.read != io.Reader(&b.raw) && corrupt(err) {
		err = fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return n, err
}

// corrupt: the bytes came, but are wrong. A cut body ends with io.ErrUnexpectedEOF instead.
func corrupt(err error) bool {
	for _, known := range []error{gzip.ErrHeader, gzip.ErrChecksum, zlib.ErrHeader, zlib.ErrChecksum, zlib.ErrDictionary} {
		if errors.Is(err, known) {
			return true
		}
	}
	_, ok := errors.AsType[flate.CorruptInputError](err)
	return ok
}

// Close ends the exchange at once; it may be called from another goroutine and
// more than once.
func (b *body) Close() error {
	// Without the cancellation, closing might read on to keep the connection.
	b.exchange.end()
	return b.raw.Close()
}

// finish is for the goroutine that reads.
func (b *body) finish() {
	if b.raw.ended || !b.exchange.leave() {
		_ = b.Close()
		return
	}
	go func() {
		late := time.AfterFunc(b.exchange.linger, b.exchange.cancel)
		defer late.Stop()
		_, _ = io.CopyN(io.Discard, &b.raw, lingerBytes)
		_ = b.Close()
	}()
}

// gzipReader is a gzip.Reader that waits for no byte before it is read from, nor
// for a further member before it has given out the last one.
type gzipReader struct {
	in     *bufio.Reader
	member *gzip.Reader
	ended  bool // the member is over
	any    bool // there was a member
}

func (g *gzipReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		if g.member == nil || g.ended {
			if err := g.next(); err != nil {
				return 0, err
			}
		}
		n, err := g.member.Read(p)
		if errors.Is(err, io.EOF) {
			g.ended, err = true, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// next begins the next member. What is no member after a whole one is padding.
func (g *gzipReader) next() error {
	var err error
	if g.member == nil {
		g.member, err = gzip.NewReader(g.in)
	} else {
		err = g.member.Reset(g.in)
	}
	if err != nil {
		if g.any && errors.Is(err, gzip.ErrHeader) {
			return io.EOF
		}
		return err
	}
	g.member.Multistream(false)
	g.ended, g.any = false, true
	return nil
}

// deflateReader reads "deflate", which should be zlib's format and sometimes is
// the bare one.
type deflateReader struct {
	in    *bufio.Reader
	plain io.Reader
}

func (d *deflateReader) Read(p []byte) (int, error) {
	if d.plain == nil {
		head, err := d.in.Peek(2)
		switch {
		case len(head) == 0:
			return 0, err
		case len(head) == 2 && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0:
			if d.plain, err = zlib.NewReader(d.in); err != nil {
				return 0, err
			}
		default:
			d.plain = flate.NewReader(d.in)
		}
	}
	return d.plain.Read(p)
}

package interceptors

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/principal"
)

// caller is one who may call, with what was used up.
type caller struct {
	// principal is nil for all who need not authenticate.
	principal *principal.Principal
	meter     *meter
}

// callers are all who may call. They never change; a reload makes new ones.
type callers struct {
	on bool
	// sockets: calls over Unix sockets need no credentials.
	sockets   bool
	tokens    []token
	byURI     map[string]*caller
	byName    map[string]*caller
	byUID     map[uint32]*caller
	anonymous *caller
}

type token struct {
	digest [sha256.Size]byte
	caller *caller
}

// newCallers makes the table; meterOf finds what a caller has used up so far.
func newCallers(a config.Auth, meterOf func(name string, own config.CallerLimits) *meter) *callers {
	enter := func(g config.Grants) *caller {
		return &caller{
			principal: &principal.Principal{Name: g.Name, Models: g.Models, Providers: g.Providers},
			meter:     meterOf(g.Name, g.Limits),
		}
	}
	c := &callers{
		on: a.On(), sockets: a.UnixSocket != "required", byURI: map[string]*caller{}, byName: map[string]*caller{}, byUID: map[uint32]*caller{},
		anonymous: &caller{meter: meterOf("", config.CallerLimits{})},
	}
	for _, t := range a.Tokens {
		c.tokens = append(c.tokens, token{digest: t.SHA256, caller: enter(t.Grants)})
	}
	for _, i := range a.MTLS {
		if i.URISAN != "" {
			c.byURI[i.URISAN] = enter(i.Grants)
		} else {
			c.byName[i.CommonName] = enter(i.Grants)
		}
	}
	for _, u := range a.UnixUsers {
		c.byUID[u.UID] = enter(u.Grants)
	}
	return c
}

// identify finds who calls. A token, if there is one, decides: a wrong one is never
// made up for by a certificate or an open socket.
func (c *callers) identify(ctx context.Context) (*caller, *refusal) {
	if !c.on {
		return c.anonymous, nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	if values := md.Get("authorization"); len(values) > 0 {
		return c.byToken(values)
	}
	p, _ := peer.FromContext(ctx)
	if leaf := certificate(p); leaf != nil {
		if found := c.byCertificate(leaf); found != nil {
			return found, nil
		}
		return nil, unauthenticated("the client certificate is nobody's who may call")
	}
	if p != nil && p.Addr != nil && p.Addr.Network() == "unix" {
		return c.bySocket(p)
	}
	return nil, unauthenticated("the call has no credentials: a bearer token or a client certificate is needed")
}

// bySocket finds who calls over a Unix socket. The number that the kernel tells is said:
// a container has its own.
func (c *callers) bySocket(p *peer.Peer) (*caller, *refusal) {
	var uid uint32
	known := false
	if user, ok := p.AuthInfo.(interface{ SocketUID() (uint32, bool) }); ok {
		uid, known = user.SocketUID()
	}
	switch {
	case known && c.byUID[uid] != nil:
		return c.byUID[uid], nil
	case c.sockets:
		return c.anonymous, nil
	case known:
		return nil, unauthenticated(fmt.Sprintf("the call has no credentials: over this socket user %d needs a bearer token", uid))
	}
	return nil, unauthenticated("the call has no credentials: over this socket a bearer token is needed")
}

// byToken compares digests, and all of them: the time it takes tells nothing.
func (c *callers) byToken(values []string) (*caller, *refusal) {
	scheme, text, _ := strings.Cut(values[0], " ")
	if len(values) != 1 || !strings.EqualFold(scheme, "bearer") {
		return nil, unauthenticated("the metadata authorization must be one bearer token")
	}
	digest := sha256.Sum256([]byte(strings.TrimSpace(text)))
	var found *caller
	for i := range c.tokens {
		if subtle.ConstantTimeCompare(digest[:], c.tokens[i].digest[:]) == 1 {
			found = c.tokens[i].caller
		}
	}
	if found == nil {
		return nil, unauthenticated("the bearer token is not known")
	}
	return found, nil
}

// certificate is the client's, verified when it connected; nil if it has none, or
// if it has run out since: connections live long.
func certificate(p *peer.Peer) *x509.Certificate {
	if p == nil {
		return nil
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 || len(info.State.VerifiedChains[0]) == 0 {
		return nil
	}
	leaf := info.State.VerifiedChains[0][0]
	if time.Now().After(leaf.NotAfter) {
		return nil
	}
	return leaf
}

func (c *callers) byCertificate(leaf *x509.Certificate) *caller {
	for _, uri := range leaf.URIs {
		if found := c.byURI[uri.String()]; found != nil {
			return found
		}
	}
	return c.byName[leaf.Subject.CommonName]
}

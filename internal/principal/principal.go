// Package principal says who calls. It is a leaf: the interceptor that authenticates
// a caller and the services that ask who it is know this package and not each
// other.
//
// A call without a principal is one that need not authenticate: llmd has no tokens
// and identities, or the call came through a Unix socket that is open.
package principal

import (
	"context"
	"strings"
)

type contextKey struct{}

// Principal is an authenticated caller. It never changes. A nil Principal is a
// caller that need not authenticate; it may use everything.
type Principal struct {
	// Name is unique and owns responses.
	Name string
	// Models and Providers are patterns in which * stands for any text; empty =
	// all. A model must match both lists.
	Models, Providers []string
}

// With puts the caller into the context of its call.
func With(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// From is the caller; nil if it need not authenticate.
func From(ctx context.Context) *Principal {
	p, _ := ctx.Value(contextKey{}).(*Principal)
	return p
}

// Name is the caller's name; empty if it need not authenticate.
func Name(ctx context.Context) string {
	if p := From(ctx); p != nil {
		return p.Name
	}
	return ""
}

// Restricted says whether there may be models that the caller must not use.
func (p *Principal) Restricted() bool { return p != nil && len(p.Models)+len(p.Providers) > 0 }

// MayUse says whether the caller may use a model, by its provider and its own id.
func (p *Principal) MayUse(provider, model string) bool {
	return p.MayReach(provider) && (p == nil || anyMatches(p.Models, provider+"/"+model))
}

// MayReach says whether the caller may use a provider at all.
func (p *Principal) MayReach(provider string) bool {
	return p == nil || anyMatches(p.Providers, provider)
}

func anyMatches(patterns []string, s string) bool {
	for _, pattern := range patterns {
		if matches(pattern, s) {
			return true
		}
	}
	return len(patterns) == 0
}

// matches takes * for any text, slashes included. Each part between stars is found
// at its first place: that leaves the most to those after it.
func matches(pattern, s string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == s
	}
	s, ok := strings.CutPrefix(s, head)
	for ok {
		part, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(s, part)
		}
		_, s, ok = strings.Cut(s, part)
		rest = more
	}
	return false
}

// SocketUser is the operating system's user at the other end of a Unix socket.
type SocketUser struct {
	UID uint32
	// Known is false where the system does not tell.
	Known bool
}

// SocketUID is the user id, where it is known.
func (u SocketUser) SocketUID() (uid uint32, known bool) { return u.UID, u.Known }

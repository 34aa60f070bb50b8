package generation

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

const (
	off     = llmdv1.StrictMode_STRICT_MODE_OFF
	prefer  = llmdv1.StrictMode_STRICT_MODE_PREFER
	require = llmdv1.StrictMode_STRICT_MODE_REQUIRE
)

// tools adds tools a, b, ... of these modes.
func (r *Request) tools(modes ...llmdv1.StrictMode) *Request {
	for i, m := range modes {
		r.Generation.Context.Tools = append(r.Generation.Context.Tools, &llmdv1.Tool{Name: string(rune('a' + i)), Strict: m})
	}
	return r
}

func (r *Request) conversation(owner, id string) *Request {
	r.Owner, r.Generation.ConversationId = owner, id
	return r
}

// TestLoosen: where a provider refuses the schemas of tools, those that need not be
// strict are not any more, once, and without the caller's leave for retries.
func TestLoosen(t *testing.T) {
	refused := reply{status: 400, body: tooLarge}
	attempt := "lab/a PROVIDER_REJECTED_REQUEST"
	for _, c := range []struct {
		name     string
		plays    []reply
		req      *Request
		sent     []string
		reason   string
		attempts []string
	}{
		{
			name: "PREFER", plays: []reply{refused, text("x")}, req: ask("lab/a").tools(prefer, prefer),
			sent: []string{"/a tiny a:PREFER b:PREFER", "/a tiny"}, attempts: []string{attempt},
		},
		{
			name: "REQUIRE stays", plays: []reply{refused, text("x")}, req: ask("lab/a").tools(require, prefer, off),
			sent: []string{"/a tiny a:REQUIRE b:PREFER", "/a tiny a:REQUIRE"}, attempts: []string{attempt},
		},
		{
			name: "once", plays: []reply{refused, refused, text("x")}, req: ask("lab/a").tools(require, prefer),
			sent: []string{"/a tiny a:REQUIRE b:PREFER", "/a tiny a:REQUIRE"}, reason: "PROVIDER_REJECTED_REQUEST",
		},
		{
			name: "nothing to leave out", plays: []reply{refused, text("x")}, req: ask("lab/a").tools(require, off),
			sent: []string{"/a tiny a:REQUIRE"}, reason: "PROVIDER_REJECTED_REQUEST",
		},
		{
			name: "another fault", plays: []reply{status(400), text("x")}, req: ask("lab/a").tools(prefer),
			sent: []string{"/a tiny a:PREFER"}, reason: "PROVIDER_REJECTED_REQUEST",
		},
		{
			name: "retries are counted apart", plays: []reply{status(503), refused, status(503), status(503)}, req: ask("lab/a").tools(prefer).retries(2),
			sent:   []string{"/a tiny a:PREFER", "/a tiny a:PREFER", "/a tiny", "/a tiny"},
			reason: "PROVIDER_OVERLOADED",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, map[string][]reply{"a": c.plays})
				defer l.registry.Close()
				s := l.run(t, c.req)
				if !slices.Equal(l.host.sent, c.sent) {
					t.Errorf("sent %q, want %q", l.host.sent, c.sent)
				}
				if s.reason() != c.reason {
					t.Errorf("reason %q, want %q", s.reason(), c.reason)
				}
				if got := attemptsOf(s.started()); !slices.Equal(got, c.attempts) {
					t.Errorf("attempts %q, want %q", got, c.attempts)
				}
				if c.reason != "" {
					return
				}
				if got := s.started().GetEffective().GetAdjustments(); !slices.Equal(got, []string{looseRemark}) {
					t.Errorf("adjustments %q", got)
				}
				d := s.last().GetDone().GetMessage().GetDiagnostics()
				if len(d) != 1 || d[0].GetCode() != "strict_tools_loosened" {
					t.Errorf("diagnostics %v", d)
				}
			})
		})
	}
}

// TestLoosenedConversation: what was refused in a conversation is not tried again with
// its next turn; it is another's, another owner's and another model's own to find out.
func TestLoosenedConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := reply{status: 400, body: tooLarge}
		l := newLab(t, map[string][]reply{
			"a": {refused, text("1"), text("2"), text("3"), text("4"), refused, text("5"), text("6")}, "b": {text("7")},
		})
		defer l.registry.Close()
		for _, req := range []*Request{
			ask("lab/a").tools(prefer).conversation("me", "c1"), // twice
			ask("lab/a").tools(prefer).conversation("me", "c1"),
			ask("lab/a").tools(prefer).conversation("me", "c2"),
			ask("lab/a").tools(prefer).conversation("you", "c1"),
			ask("lab/a").tools(prefer), // twice, and nothing to know it by
			ask("lab/a").tools(prefer),
			ask("lab/b").tools(prefer).conversation("me", "c1"),
		} {
			if s := l.run(t, req); s.err != nil {
				t.Fatal(s.err)
			}
		}
		strict, loose := "/a tiny a:PREFER", "/a tiny"
		if want := []string{strict, loose, loose, strict, strict, strict, loose, strict, "/b tiny a:PREFER"}; !slices.Equal(l.host.sent, want) {
			t.Errorf("sent %q, want %q", l.host.sent, want)
		}
		// What PrepareContext shows is what would be sent.
		for owner, want := range map[string]string{"me": "tiny", "you": "tiny a:PREFER"} {
			p, err := l.Plan(t.Context(), ask("lab/a").tools(prefer).conversation(owner, "c1").Generation, "lab/a")
			if err != nil {
				t.Fatal(err)
			}
			if got := string(l.Usual(owner, p).Request.Body); got != want {
				t.Errorf("%s would send %q, want %q", owner, got, want)
			}
		}
	})
}

// TestLoosenedIsBounded: conversations without end take no memory without end.
func TestLoosenedIsBounded(t *testing.T) {
	var l loosened
	for i := range 2*maxLoosened + 1 {
		k := loosenedKey{session: sha256.Sum256(fmt.Append(nil, "s", i))}
		l.add(k)
		if !l.has(k) {
			t.Fatalf("%v is not known", k)
		}
	}
	if len(l.all) != maxLoosened {
		t.Errorf("%d are known", len(l.all))
	}
}

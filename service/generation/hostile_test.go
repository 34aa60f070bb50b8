package generation

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// TestHostileWords: what has no bound on the wire makes no event large, and no usage
// is negative.
func TestHostileWords(t *testing.T) {
	huge := strings.Repeat("\u00e9", 3<<20)
	a := newAssembler()
	events := play(a, func(s *adapters.Sink) {
		s.IDs(huge, huge)
		s.ToolCall(0, huge, huge, huge)
		s.Arguments(0, "{}")
		s.ProviderContent(1, huge, []byte("{}"))
		s.Thinking(2, "x")
		s.Signature(2, "f", []byte(huge))
		s.End(2)
		s.Usage(&llmdv1.Usage{InputTokens: math.MaxInt32, CacheReadTokens: math.MaxInt32, CacheWriteTokens: -5, OutputTokens: math.MaxInt32})
	}, func(s *adapters.Sink) { s.Stop(stop, huge) })
	for _, e := range events {
		if n := proto.Size(e); n > 64<<10 {
			t.Errorf("%T has %d bytes", e.GetEvent(), n)
		}
	}
	u := a.message.GetUsage()
	if u.GetTotalTokens() != math.MaxInt32 || u.GetCacheWriteTokens() != 0 {
		t.Errorf("usage %v", u)
	}
}

// TestEndlessBlocks: blocks that say nothing count towards the largest answer.
func TestEndlessBlocks(t *testing.T) {
	a := newAssembler()
	const n = 1000
	for i := range n {
		a.apply([]adapters.Part{{Kind: adapters.PartToolCall, Block: i, Name: "n"}, {Kind: adapters.PartEnd, Block: i}})
	}
	if a.size < n*100 || n*maxAnswerBytes/a.size > 1_000_000 {
		t.Errorf("%d empty blocks count as %d bytes", n, a.size)
	}
}

// TestEndlessSilence: so do blocks that are never shown, what waits for a call's name, and
// last words that contradict the deltas.
func TestEndlessSilence(t *testing.T) {
	const n = 1000
	for name, parts := range map[string]func(i int) []adapters.Part{
		"texts": func(i int) []adapters.Part {
			return []adapters.Part{{Kind: adapters.PartText, Block: i}, {Kind: adapters.PartEnd, Block: i}}
		},
		"calls": func(i int) []adapters.Part { return []adapters.Part{{Kind: adapters.PartToolCall, Block: i}} },
		"arguments": func(int) []adapters.Part {
			return []adapters.Part{{Kind: adapters.PartArguments, Text: strings.Repeat(" ", 100)}}
		},
		"last arguments": func(i int) []adapters.Part {
			return []adapters.Part{
				{Kind: adapters.PartToolCall, Block: i},
				{Kind: adapters.PartArguments, Block: i, Text: "1"},
				{Kind: adapters.PartFinalArguments, Block: i, Text: strings.Repeat("2", 1000)},
			}
		},
	} {
		a := newAssembler()
		for i := range n {
			a.apply(parts(i))
		}
		least := n * 100
		if strings.HasPrefix(name, "last") {
			least = n * 1000
		}
		if len(a.blocks) > 0 || a.size < least {
			t.Errorf("%s: %d are shown, they count as %d bytes", name, len(a.blocks), a.size)
		}
	}
	a := newAssembler()
	a.apply([]adapters.Part{{Kind: adapters.PartText, Text: "1"}, {Kind: adapters.PartFinalText, Text: strings.Repeat("2", 1000)}})
	if a.size < 1000 {
		t.Errorf("a last text of 1000 bytes counts as %d", a.size)
	}
}

// TestEndlessHeldBack: so does what a decoder tells only at the end.
func TestEndlessHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		part := say(fact{Held: strings.Repeat("x", 8<<20)})
		l := newLab(t, map[string][]reply{"a": {ok(say(fact{Text: "x"}), every(time.Millisecond, part))}})
		defer l.registry.Close()
		s := l.run(t, ask("lab/a"))
		if e := s.last().GetError().GetError(); s.reason() != adapters.ReasonProtocolError || !strings.Contains(e.GetMessage(), "64 MiB") {
			t.Errorf("%q: %v", s.reason(), e.GetMessage())
		}
		if s.took > 10*time.Millisecond {
			t.Errorf("it took %v", s.took)
		}
	})
}

// TestLateNames: calls that get their names in any order, or never, are all there, with ids
// of their own even if a provider has taken those that would be next. The names of the first
// come after others have begun, so these stand behind.
func TestLateNames(t *testing.T) {
	a := newAssembler()
	events := play(a, func(s *adapters.Sink) {
		for i := range 4 {
			s.ToolCall(i, "t", "", "")
			s.Arguments(i, "{}")
		}
		s.Text(4, "")
		s.ToolCall(2, "", "c", "")
		s.ToolCall(5, "t_3", "e", "")
		s.Text(6, "")
		s.ToolCall(0, "", "a", "")
	}, func(s *adapters.Sink) { s.Stop(stop, "stop") })
	var got []string
	for _, e := range events {
		if c := e.GetToolCallStart(); c != nil {
			got = append(got, c.GetName()+":"+c.GetId())
		}
	}
	if want := "c:t e:t_3 a:t_4 :t_5 :t_6"; strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}

// TestEchoedCredentials: a provider that repeats the key of a request does not get
// it to the caller, whole or escaped for a URL.
func TestEchoedCredentials(t *testing.T) {
	const key, own = "zq very/secret", "the-callers-own"
	r := &Run{
		engine:  New(Config{Secrets: func(*profile.Model) []string { return []string{key, "", "none"} }}),
		request: &Request{Keys: map[string]string{"p": own}},
		plan:    &Plan{Model: &profile.Model{Provider: "p"}},
	}
	for in, want := range map[string]string{
		"bad key " + key:            "bad key REDACTED",
		"?k=zq+very%2Fsecret&x":     "?k=REDACTED&x",
		own + " and " + key:         "REDACTED and REDACTED",
		"none of these is a secret": "none of these is a secret",
	} {
		got := r.withoutSecrets(&adapters.UpstreamError{Message: in, Type: in, RequestID: in})
		if got.Message != want || got.Type != want || got.RequestID != want {
			t.Errorf("%q became %q, %q, %q", in, got.Message, got.Type, got.RequestID)
		}
	}
}

package transform_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/transform"
)

const rounds = 2000

// forAll calls a check with generated hand-offs that succeed, and sees to it that
// most do.
func forAll(t *testing.T, check func(t *testing.T, in transform.Input, r *transform.Result)) {
	t.Helper()
	ran := 0
	for seed := range uint64(rounds) {
		in := newGenerator(seed).input()
		before := proto.CloneOf(in.Context)
		r, err := transform.Apply(in)
		if !proto.Equal(before, in.Context) {
			t.Fatalf("seed %d: the caller's history was changed", seed)
		}
		if err != nil {
			checkError(t, seed, err)
			continue
		}
		ran++
		check(t, in, r)
		if t.Failed() {
			t.Fatalf("seed %d, to %s, policy {%v}\nin  %v\nout %v\nchanges %v",
				seed, in.Model.Name(), in.Policy, in.Context.GetMessages(), r.Context.GetMessages(), r.Changes)
		}
	}
	if ran < rounds*3/4 {
		t.Errorf("only %d of %d hand-offs succeeded", ran, rounds)
	}
}

// checkError: without strict and REJECT only the end of a history is refused.
func checkError(t *testing.T, seed uint64, err error) {
	t.Helper()
	capability, ok := errors.AsType[*adapters.CapabilityError](err)
	if ok && capability.Capability == "prefill" {
		return
	}
	if _, ok := errors.AsType[*adapters.FieldError](err); !ok {
		t.Fatalf("seed %d: %v", seed, err)
	}
}

func TestDeterministicAndIdempotent(t *testing.T) {
	forAll(t, func(t *testing.T, in transform.Input, r *transform.Result) {
		again := apply(t, in)
		if !proto.Equal(r.Context, again.Context) || !slices.EqualFunc(r.Changes, again.Changes, func(a, b *llmdv1.HandoffChange) bool { return proto.Equal(a, b) }) {
			t.Error("a second run differs")
		}
		sent := proto.CloneOf(r.Context)
		in.Context = sent
		twice := apply(t, in)
		if len(twice.Changes) > 0 {
			t.Errorf("the result is changed again: %v", twice.Changes)
		}
		sameContext(t, r.Context, twice.Context)
	})
}

// Every call is followed at once by its one result, ids are allowed and unique,
// turns alternate where they must.
func TestResultIsWellFormed(t *testing.T) {
	forAll(t, func(t *testing.T, in transform.Input, r *transform.Result) { checkForm(t, in, r.Context) })
}

func checkForm(t *testing.T, in transform.Input, c *llmdv1.Context) {
	t.Helper()
	used := map[string]bool{}
	open := map[string]bool{}
	role := ""
	for i, m := range c.GetMessages() {
		if res := m.GetToolResult(); res != nil {
			if !open[res.GetToolCallId()] {
				t.Errorf("message %d is a result of nothing", i)
			}
			delete(open, res.GetToolCallId())
			if !in.Constraints.ToolErrorFlag && res.GetIsError() {
				t.Errorf("message %d has an error flag", i)
			}
			role = "result"
			continue
		}
		if len(open) > 0 {
			t.Errorf("message %d comes before results of %v", i, open)
		}
		now := "user"
		if a := m.GetAssistant(); a != nil {
			now = "assistant"
			for k, b := range a.GetContent() {
				checkBlock(t, in, fmt.Sprintf("%d.%d", i, k), b)
				if call := b.GetToolCall(); call != nil {
					if used[call.GetId()] || !allowed(in.Constraints.ToolCallIDs, call.GetId()) {
						t.Errorf("message %d: id %q", i, call.GetId())
					}
					used[call.GetId()], open[call.GetId()] = true, true
				}
			}
		}
		if len(m.GetUser().GetContent())+len(m.GetAssistant().GetContent()) == 0 {
			t.Errorf("message %d is empty", i)
		}
		if now == role && in.Constraints.MergeTurns || i == 0 && now == "assistant" && in.Constraints.UserFirst {
			t.Errorf("message %d is out of turn", i)
		}
		role = now
	}
	if len(open) > 0 {
		t.Errorf("no results of %v", open)
	}
}

// checkBlock: nothing opaque reaches another than its issuer.
func checkBlock(t *testing.T, in transform.Input, at string, b *llmdv1.AssistantContent) {
	t.Helper()
	for _, s := range []*llmdv1.Signature{b.GetText().GetSignature(), b.GetThinking().GetSignature(), b.GetToolCall().GetSignature()} {
		bypass := in.Constraints.CallSignature
		if s != nil && (bypass == nil || s != bypass) &&
			(s.GetApi() != in.Model.API || s.GetProvider() != in.Model.Provider || s.GetModel() != in.Model.ID || s.GetEndpoint() != in.Model.Endpoint) {
			t.Errorf("block %s has a signature of %s/%s", at, s.GetProvider(), s.GetModel())
		}
	}
	if th := b.GetThinking(); th != nil && th.GetSignature() == nil && !in.Constraints.UnsignedThinking {
		t.Errorf("block %s is unsigned thinking", at)
	}
	if p := b.GetProviderContent(); p != nil && (p.GetApi() != in.Model.API || !in.Constraints.ProviderContent) {
		t.Errorf("block %s is another provider's", at)
	}
	if b.GetBlock() == nil || b.GetText().GetIncomplete() || b.GetThinking().GetIncomplete() || b.GetToolCall().GetIncomplete() {
		t.Errorf("block %s is unknown or incomplete", at)
	}
}

func allowed(r adapters.IDRule, id string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	switch {
	case r.Alphanumeric && strings.Trim(id, letters) != "", r.WordChars && strings.Trim(id, letters+"_-") != "":
		return false
	}
	return id != "" && (r.MaxLen == 0 || len(id) <= r.MaxLen) && (r.ExactLen == 0 || len(id) == r.ExactLen)
}

// piece is a block of a history with the word to know it by.
type piece struct {
	at, block int32
	kind      string
	word      string
	signature *llmdv1.Signature
}

// pieces lists the blocks that hold something.
func pieces(c *llmdv1.Context) []piece {
	var out []piece
	add := func(i, k int, kind, s string, sig *llmdv1.Signature) {
		_, rest, ok := strings.Cut(s, "<")
		heading := strings.HasPrefix(s, "Images from the error result of tool call") // names the tool again
		if num, _, end := strings.Cut(rest, ">"); ok && end && !heading {
			out = append(out, piece{int32(i), int32(k), kind, "<" + num + ">", sig})
		}
	}
	image := func(i, k int, img *llmdv1.ImageContent) { add(i, k, "image", string(img.GetData())+img.GetUri(), nil) }
	for i, m := range c.GetMessages() {
		for k, b := range m.GetUser().GetContent() {
			add(i, k, "text", b.GetText().GetText(), nil)
			image(i, k, b.GetImage())
		}
		for k, b := range m.GetToolResult().GetContent() {
			add(i, k, "text", b.GetText().GetText(), nil)
			image(i, k, b.GetImage())
		}
		for k, b := range m.GetAssistant().GetContent() {
			add(i, k, "text", b.GetText().GetText(), b.GetText().GetSignature())
			add(i, k, "thinking", b.GetThinking().GetThinking(), b.GetThinking().GetSignature())
			add(i, k, "call", b.GetToolCall().GetName(), b.GetToolCall().GetSignature())
			add(i, k, "own", string(b.GetProviderContent().GetRawJson()), nil)
			if b.GetThinking().GetRedacted() && len(b.GetThinking().GetSignature().GetData()) > 0 {
				add(i, k, "redacted", string(b.GetThinking().GetSignature().GetData()), b.GetThinking().GetSignature())
			}
		}
	}
	return out
}

// What was given is sent as it was, or a change names it; and a change that says
// something was dropped or downgraded is true.
func TestNothingIsLostInSilence(t *testing.T) {
	forAll(t, func(t *testing.T, in transform.Input, r *transform.Result) {
		sent := map[string]piece{}
		for _, p := range pieces(r.Context) {
			sent[p.word] = p
		}
		for _, p := range pieces(in.Context) {
			got, found := sent[p.word]
			fate := fateOf(r.Changes, p)
			switch {
			case fate == dropped && found:
				t.Errorf("%+v was said to be dropped", p)
			case fate == downgraded && p.kind != "call" && found && got.kind == p.kind:
				t.Errorf("%+v was said to be downgraded", p)
			case fate != dropped && fate != downgraded && (!found || got.kind != p.kind):
				t.Errorf("%+v was lost without a word", p)
			case fate == downgraded && p.kind != "image" && !found:
				t.Errorf("%+v was lost, not downgraded", p)
			}
		}
	})
}

// fateOf is the worst that the report says of a piece.
func fateOf(all []*llmdv1.HandoffChange, p piece) llmdv1.HandoffAction {
	worst := llmdv1.HandoffAction_HANDOFF_ACTION_UNSPECIFIED
	for _, c := range all {
		about := c.GetMessageIndex() == p.at && (c.ContentIndex == nil || c.GetContentIndex() == p.block)
		if a := c.GetAction(); about && a != inserted && a > worst {
			worst = a
		}
	}
	return worst
}

// What is said to be inserted or rewritten is there.
func TestReportIsTrue(t *testing.T) {
	forAll(t, func(t *testing.T, in transform.Input, r *transform.Result) {
		count := map[string]int{}
		for _, c := range r.Changes {
			count[c.GetRule()]++
			if n := len(in.Context.GetMessages()); int(c.GetMessageIndex()) > n || int(c.GetMessageIndex()) == n && c.GetAction() != inserted {
				t.Errorf("%v is outside of the history", c)
			}
			if c.GetDetail() == "" || !slices.Contains(transform.Rules(), c.GetRule()) {
				t.Errorf("%v has no detail or no rule", c)
			}
		}
		if got := strings.Count(r.Context.String(), "No result provided"); got != count["tool_result.synthesized"] {
			t.Errorf("%d results were synthesized", got)
		}
		if got := strings.Count(r.Context.String(), "(conversation continues)"); got != count["turn.user_inserted"] {
			t.Errorf("%d user turns were inserted", got)
		}
		if got := strings.Count(r.Context.String(), "skip_thought_signature_validator"); got > count["tool_call.signature_inserted"] {
			t.Errorf("%d signatures were inserted", got)
		}
		names := map[string]string{}
		for _, m := range in.Context.GetMessages() {
			for _, b := range m.GetAssistant().GetContent() {
				names[b.GetToolCall().GetName()] = b.GetToolCall().GetId()
			}
		}
		renamed := 0
		for _, m := range r.Context.GetMessages() {
			for _, b := range m.GetAssistant().GetContent() {
				if c := b.GetToolCall(); c != nil && names[c.GetName()] != c.GetId() {
					renamed++
				}
			}
		}
		if renamed != count["tool_call.id_normalized"] {
			t.Errorf("%d ids were rewritten", renamed)
		}
	})
}

// The law of A, B, A: after B has had the conversation, A gets its own signatures
// back byte for byte.
func TestSignaturesReturnToTheirIssuer(t *testing.T) {
	kept := 0
	forAll(t, func(t *testing.T, in transform.Input, r *transform.Result) {
		sent := map[string]piece{}
		for _, p := range pieces(r.Context) {
			sent[p.word] = p
		}
		for _, p := range pieces(in.Context) {
			s := p.signature
			mine := s.GetApi() == in.Model.API && s.GetProvider() == in.Model.Provider && s.GetModel() == in.Model.ID &&
				s.GetEndpoint() == in.Model.Endpoint
			ends := slices.ContainsFunc(r.Changes, func(c *llmdv1.HandoffChange) bool {
				return c.GetRule() == "thinking.last" && c.GetMessageIndex() == p.at && c.GetContentIndex() == p.block
			})
			if !mine || ends || fateOf(r.Changes, p) == dropped {
				continue
			}
			kept++
			if got := sent[p.word]; !proto.Equal(got.signature, s) || got.kind != p.kind {
				t.Errorf("%+v came back as %+v", p, got)
			}
		}
	})
	if kept < 500 {
		t.Errorf("only %d signatures were seen", kept)
	}
}

func TestEarlierTurnsStayWhenOneIsAdded(t *testing.T) {
	forAll(t, func(t *testing.T, in transform.Input, r *transform.Result) {
		// A user's turn ends what could still change: calls without results, a
		// turn that is joined to the next.
		g := newGenerator(uint64(len(in.Context.GetMessages())))
		if m := in.Context.GetMessages(); m[len(m)-1].GetUser() == nil || len(pieces(conversation(m[len(m)-1]))) == 0 {
			return
		}
		in.Context = proto.CloneOf(in.Context)
		in.Context.Messages = append(in.Context.Messages, answer(claude, calls("call_0"), calls("a.b"), text("<x>")),
			returns("call_0", "<y>"), returns("a.b", "<z>"))
		in.Context.Messages = append(in.Context.Messages, g.exchange()...)
		in.Context.Messages = append(in.Context.Messages, says("<end>"))
		longer := apply(t, in)
		for i, m := range r.Context.GetMessages() {
			if !proto.Equal(m, longer.Context.GetMessages()[i]) {
				t.Errorf("message %d became %v", i, longer.Context.GetMessages()[i])
			}
		}
	})
}

func TestStrictRefusesLossesOnly(t *testing.T) {
	refused := 0
	forAll(t, func(t *testing.T, in transform.Input, r *transform.Result) {
		in.Policy = proto.CloneOf(in.Policy)
		if in.Policy == nil {
			in.Policy = &llmdv1.HandoffPolicy{}
		}
		in.Policy.Strict = true
		var want []*llmdv1.HandoffChange
		for _, c := range r.Changes {
			if c.GetAction() == dropped || c.GetAction() == downgraded {
				want = append(want, c)
			}
		}
		got, err := transform.Apply(in)
		loss, ok := errors.AsType[*transform.LossError](err)
		switch {
		case len(want) == 0 && err != nil:
			t.Errorf("refused: %v", err)
		case len(want) == 0:
			sameContext(t, r.Context, got.Context)
		case !ok:
			t.Errorf("got %v, want a LossError", err)
		default:
			refused++
			sameChanges(t, want, loss.Changes)
		}
	})
	if refused < rounds/10 {
		t.Errorf("only %d refusals", refused)
	}
}

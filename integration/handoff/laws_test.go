package handoff

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/transform"
)

const (
	rewritten  = llmdv1.HandoffAction_HANDOFF_ACTION_REWRITTEN
	downgraded = llmdv1.HandoffAction_HANDOFF_ACTION_DOWNGRADED
	dropped    = llmdv1.HandoffAction_HANDOFF_ACTION_DROPPED
)

// broken is a law that a turn breaks.
type broken struct{ law, why string }

func (b *broken) Error() string { return b.law + ": " + b.why }

func breach(law, format string, args ...any) *broken {
	return &broken{law, fmt.Sprintf(format, args...)}
}

// law is something that must hold of every turn.
type law struct {
	name  string
	check func(*World, Turn, *Prepared) *broken
}

// laws are those that need no other turn.
func laws() []law {
	return []law{
		{"accepted", accepted},
		{"no silent loss", noSilentLoss},
		{"true report", trueReport},
		{"counted", counted},
		{"in its place", inItsPlace},
		{"in order", inOrder},
		{"nothing inserted", nothingInserted},
		{"signatures return", signaturesReturn},
		{"deterministic", deterministic},
		{"idempotent", idempotent},
		{"strict", strictRefusesLosses},
		{"policies", policiesHold},
		{"stable prefix", stablePrefix},
	}
}

// judge prepares a turn and checks all laws. It gives no Prepared for a turn that is
// refused as the law allows.
func judge(w *World, t Turn) (*Prepared, *broken) {
	before := proto.CloneOf(t.Generation)
	p, err := w.Prepare(t)
	if !proto.Equal(before, t.Generation) {
		return nil, breach("caller's history", "it was changed")
	}
	if err != nil {
		if Refused(err) {
			return nil, nil
		}
		return nil, breach("accepted", "llmd refuses: %v", err)
	}
	for _, l := range laws() {
		if b := l.check(w, t, p); b != nil {
			return p, b
		}
	}
	return p, nil
}

func accepted(_ *World, _ Turn, p *Prepared) *broken {
	for _, v := range p.Broken() {
		return breach("accepted", "%v", v)
	}
	return nil
}

// piece is a block of the history that holds something, with what a request holds if
// it is sent.
type piece struct {
	at, block int
	kind      string
	needle    string
	content   *llmdv1.AssistantContent
}

// pieces lists the blocks that can be found again.
func pieces(c *llmdv1.Context) []piece {
	var out []piece
	add := func(at, block int, kind, needle string, content *llmdv1.AssistantContent) {
		if needle != "" {
			out = append(out, piece{at, block, kind, needle, content})
		}
	}
	for i, m := range c.GetMessages() {
		for k, b := range m.GetUser().GetContent() {
			add(i, k, "text", Word(b.GetText().GetText()), nil)
			add(i, k, "image", ImageNeedle(b.GetImage()), nil)
		}
		for k, b := range m.GetToolResult().GetContent() {
			add(i, k, "text", Word(b.GetText().GetText()), nil)
			add(i, k, "image", ImageNeedle(b.GetImage()), nil)
		}
		for k, b := range m.GetAssistant().GetContent() {
			add(i, k, "text", Word(b.GetText().GetText()), b)
			add(i, k, "thinking", Word(b.GetThinking().GetThinking()), b)
			add(i, k, "call", Word(b.GetToolCall().GetArgumentsJson()), b)
			add(i, k, "own", Word(string(b.GetProviderContent().GetRawJson())), b)
			if th := b.GetThinking(); th.GetRedacted() {
				add(i, k, "redacted", string(th.GetSignature().GetData()), b)
			}
		}
	}
	return out
}

// unique leaves out pieces that are there twice: the same request gives the same
// answer, also when the one before was left out.
func unique(all []piece) []piece {
	count := map[string]int{}
	for _, x := range all {
		count[x.needle]++
	}
	return slices.DeleteFunc(all, func(x piece) bool { return count[x.needle] > 1 })
}

// fates are the changes that are about a piece.
func fates(all []*llmdv1.HandoffChange, at, block int) []*llmdv1.HandoffChange {
	var out []*llmdv1.HandoffChange
	for _, c := range all {
		if int(c.GetMessageIndex()) == at && (c.ContentIndex == nil || int(c.GetContentIndex()) == block) {
			out = append(out, c)
		}
	}
	return out
}

func has(all []*llmdv1.HandoffChange, actions ...llmdv1.HandoffAction) bool {
	for _, c := range all {
		for _, a := range actions {
			if c.GetAction() == a {
				return true
			}
		}
	}
	return false
}

// noSilentLoss: what the history holds is in the request or in the report.
func noSilentLoss(_ *World, t Turn, p *Prepared) *broken {
	changes := p.Changes()
	for _, x := range pieces(t.Generation.GetContext()) {
		if !bytes.Contains(p.Body, []byte(x.needle)) && !has(fates(changes, x.at, x.block), dropped, downgraded) {
			return breach("no silent loss", "messages[%d] block %d (%s %s) is neither sent nor reported", x.at, x.block, x.kind, x.needle)
		}
	}
	return nil
}

// trueReport: what is reported has happened.
func trueReport(w *World, t Turn, p *Prepared) *broken {
	all := unique(pieces(t.Generation.GetContext()))
	counts := map[string]int{}
	messages := t.Generation.GetContext().GetMessages()
	for _, c := range p.Changes() {
		counts[c.GetRule()]++
		at := int(c.GetMessageIndex())
		if at > len(messages) || at == len(messages) && c.GetAction() != llmdv1.HandoffAction_HANDOFF_ACTION_INSERTED {
			return breach("true report", "%v is outside of the history", c)
		}
		for _, x := range all {
			if x.at != at || c.ContentIndex != nil && int(c.GetContentIndex()) != x.block {
				continue
			}
			sent := bytes.Contains(p.Body, []byte(x.needle))
			words := strings.HasPrefix(c.GetRule(), "thinking.") || strings.HasPrefix(c.GetRule(), "signature.")
			switch {
			case c.GetAction() == dropped && sent:
				return breach("true report", "%v, and %s is sent", c, x.needle)
			case c.GetAction() == downgraded && words && !sent:
				return breach("true report", "%v, and %s is not sent", c, x.needle)
			case c.GetAction() == downgraded && !words && sent && x.kind != "text":
				return breach("true report", "%v, and %s is sent as it was", c, x.needle)
			}
		}
	}
	synthesized := strings.Count(string(p.Body), "No result provided")
	if synthesized != counts["tool_result.synthesized"] {
		return breach("true report", "%d results are synthesized, %d reported", synthesized, counts["tool_result.synthesized"])
	}
	if n := strings.Count(string(p.Body), "(conversation continues)"); n != counts["turn.user_inserted"] {
		return breach("true report", "%d user turns are inserted, %d reported", n, counts["turn.user_inserted"])
	}
	if n := strings.Count(string(p.Body), "skip_thought_signature_validator"); n != counts["tool_call.signature_inserted"] {
		return breach("true report", "%d signatures are inserted, %d reported", n, counts["tool_call.signature_inserted"])
	}
	if !w.Constraints(t.Model).ToolErrorFlag {
		if n := strings.Count(string(p.Body), "[tool error]"); n != counts["tool_result.error_text"]+synthesized {
			return breach("true report", "%d results say that they failed, %d reported", n, counts["tool_result.error_text"])
		}
	}
	return nil
}

// signaturesReturn: what the target issued goes back to it byte for byte, unless its
// block is reported as gone.
func signaturesReturn(_ *World, t Turn, p *Prepared) *broken {
	changes := p.Changes()
	for i, m := range t.Generation.GetContext().GetMessages() {
		for k, b := range m.GetAssistant().GetContent() {
			for _, s := range []*llmdv1.Signature{b.GetText().GetSignature(), b.GetThinking().GetSignature(), b.GetToolCall().GetSignature()} {
				mine := s.GetApi() == t.Model.API && s.GetProvider() == t.Model.Provider && s.GetModel() == t.Model.ID && s.GetEndpoint() == t.Model.Endpoint
				if !mine || has(fates(changes, i, k), dropped, downgraded) {
					continue
				}
				if s.GetFormat() == "chat.reasoning_field" && t.Model.Compat.RequiresThinkingAsText {
					continue // the name of a field that this host does not want
				}
				if needle := signatureNeedle(s); !bytes.Contains(p.Body, needle) && !slices.ContainsFunc(fates(changes, i, k), unnames) {
					return breach("signatures return", "messages[%d].content[%d]: %s %q is not sent", i, k, s.GetFormat(), needle)
				}
			}
		}
	}
	return nil
}

// unnames says whether a change is by a rule that takes a provider's own reference off,
// because the provider would refuse it there.
func unnames(c *llmdv1.HandoffChange) bool {
	return slices.Contains([]string{"signature.no_issuer", "signature.spoilt", "thinking.empty", "item.duplicate", "item.id_normalized", "reasoning_item.empty"}, c.GetRule())
}

// signatureNeedle is what a request holds of a signature: its bytes, or for references
// the id in them.
func signatureNeedle(s *llmdv1.Signature) []byte {
	var ref struct{ ID string }
	if s.GetFormat() == "openai.message" && json.Unmarshal(s.GetData(), &ref) == nil && ref.ID != "" {
		return []byte(ref.ID)
	}
	return s.GetData()
}

func deterministic(w *World, t Turn, p *Prepared) *broken {
	again, err := w.Prepare(Turn{t.Model, proto.CloneOf(t.Generation)})
	if err != nil || !bytes.Equal(p.Body, again.Body) || !sameChanges(p.Changes(), again.Changes()) {
		return breach("deterministic", "a second run differs (%v)", err)
	}
	return nil
}

func sameChanges(a, b []*llmdv1.HandoffChange) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !proto.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// idempotent: a history that was prepared needs no preparing, and gives the same
// request.
func idempotent(w *World, t Turn, p *Prepared) *broken {
	g := proto.CloneOf(t.Generation)
	g.Context = proto.CloneOf(p.Context)
	again, err := w.Prepare(Turn{t.Model, g})
	switch {
	case err != nil:
		return breach("idempotent", "prepared again: %v", err)
	case len(again.Own) > 0:
		return breach("idempotent", "prepared again: %v", again.Own[0])
	case !bytes.Equal(again.Body, p.Body):
		return breach("idempotent", "prepared again, the request is another one")
	}
	return nil
}

// strictRefusesLosses: strict refuses exactly where the report has a loss.
func strictRefusesLosses(w *World, t Turn, p *Prepared) *broken {
	g := proto.CloneOf(t.Generation)
	if g.Handoff == nil {
		g.Handoff = &llmdv1.HandoffPolicy{}
	}
	g.Handoff.Strict = true
	lossless := func(c *llmdv1.HandoffChange) bool { return c.GetAction() != dropped && c.GetAction() != downgraded }
	want := slices.DeleteFunc(slices.Clone(p.Own), lossless)
	if len(want) == 0 { // what only the adapter sees
		want = slices.DeleteFunc(slices.Clone(p.Adapter), lossless)
	}
	_, err := w.Prepare(Turn{t.Model, g})
	loss, refused := errors.AsType[*transform.LossError](err)
	switch {
	case err != nil && !refused:
		return breach("strict", "%v", err)
	case refused != (len(want) > 0):
		return breach("strict", "refused: %v, with %d losses", refused, len(want))
	case refused && !sameChanges(loss.Changes, want):
		return breach("strict", "the losses are not those of the report")
	}
	return nil
}

func stillAccepted(p *Prepared, err error) *broken {
	if err != nil {
		return nil
	}
	return accepted(nil, Turn{}, p)
}

// policiesHold: each policy does what it says.
func policiesHold(w *World, t Turn, p *Prepared) *broken {
	with := func(set func(*llmdv1.HandoffPolicy)) (*Prepared, error) {
		g := proto.CloneOf(t.Generation)
		if g.Handoff == nil {
			g.Handoff = &llmdv1.HandoffPolicy{}
		}
		set(g.Handoff)
		return w.Prepare(Turn{t.Model, g})
	}
	q, err := with(func(h *llmdv1.HandoffPolicy) { h.ForeignThinking = llmdv1.ForeignThinking_FOREIGN_THINKING_DROP })
	if err == nil {
		for _, c := range q.Own {
			if strings.HasPrefix(c.GetRule(), "thinking.") && c.GetAction() == downgraded {
				return breach("policies", "DROP: %v", c)
			}
		}
	} else if !Refused(err) {
		return breach("policies", "DROP: %v", err)
	}
	q, err = with(func(h *llmdv1.HandoffPolicy) {
		h.BrokenToolGroups = llmdv1.BrokenToolGroups_BROKEN_TOOL_GROUPS_DROP_GROUPS
	})
	if err == nil && bytes.Contains(q.Body, []byte("No result provided")) {
		return breach("policies", "DROP_GROUPS: a result is synthesized")
	}
	if b := stillAccepted(q, err); b != nil {
		return breach("policies", "DROP_GROUPS: %s", b.why)
	}
	_, err = with(func(h *llmdv1.HandoffPolicy) {
		h.UnsupportedImages = llmdv1.UnsupportedImages_UNSUPPORTED_IMAGES_REJECT
	})
	unsupported := false
	for _, c := range p.Own {
		unsupported = unsupported || strings.HasPrefix(c.GetRule(), "images.") && c.GetAction() == downgraded
	}
	if c, ok := errors.AsType[*adapters.CapabilityError](err); unsupported != (ok && c.Capability == "images") {
		return breach("policies", "REJECT: %v, with images that do not fit: %v", err, unsupported)
	}
	q, err = with(func(h *llmdv1.HandoffPolicy) { h.AbortedTurns = llmdv1.AbortedTurns_ABORTED_TURNS_KEEP_COMPLETE_BLOCKS })
	if err != nil && !Refused(err) {
		return breach("policies", "KEEP_COMPLETE_BLOCKS: %v", err)
	}
	if b := stillAccepted(q, err); b != nil {
		return breach("policies", "KEEP_COMPLETE_BLOCKS: %s", b.why)
	}
	if err == nil {
		for _, c := range q.Own {
			if c.GetRule() == "turn.aborted" {
				return breach("policies", "KEEP_COMPLETE_BLOCKS: %v", c)
			}
		}
	}
	return nil
}

var markers = regexp.MustCompile(`,"cache_control":\{[^}]*\}|,\{"cachePoint":\{[^}]*\}\}`)

var onePart = regexp.MustCompile(`"content":\[\{"type":"text","text":("(?:[^"\\]|\\.)*")\}\]([,}])`)

// turnsOf cuts a body into what stands before the conversation and its turns, without
// cache markers. marked: the model is given such.
func turnsOf(body []byte, marked bool) (turns []json.RawMessage, fixed map[string]json.RawMessage) {
	body = markers.ReplaceAll(body, nil)
	if marked {
		// To be marked, a text becomes a list of one part.
		body = onePart.ReplaceAll(body, []byte(`"content":$1$2`))
	}
	if json.Unmarshal(body, &fixed) != nil {
		return nil, nil
	}
	for _, name := range []string{"messages", "input", "contents"} {
		if list, ok := fixed[name]; ok {
			_ = json.Unmarshal(list, &turns)
			delete(fixed, name)
		}
	}
	return turns, fixed
}

// asks says whether a message is a user's who begins with words, after which nothing
// that comes later changes what was said.
func asks(m *llmdv1.Message) bool {
	c := m.GetUser().GetContent()
	return len(c) > 0 && Word(c[0].GetText().GetText()) != ""
}

// answered says whether a history may end behind message k-1 because that is the last
// result of an answer whose calls have one each, and which is sent.
func answered(messages []*llmdv1.Message, k int) bool {
	if messages[k-1].GetToolResult() == nil || k < len(messages) && messages[k].GetToolResult() != nil {
		return false
	}
	open := map[string]int{}
	for k--; k >= 0 && messages[k].GetToolResult() != nil; k-- {
		open[messages[k].GetToolResult().GetToolCallId()]++
	}
	if k < 0 {
		return false
	}
	if stop := messages[k].GetAssistant().GetStopReason(); stop == aborted || stop == failed {
		return false
	}
	for _, c := range messages[k].GetAssistant().GetContent() {
		if c.GetToolCall() != nil {
			open[c.GetToolCall().GetId()]--
		}
	}
	for _, n := range open {
		if n != 0 {
			return false
		}
	}
	return true
}

// stablePrefix: what was sent when the history was shorter begins what is sent now.
// A turn is joined to the last one where the API needs that, and then the report says
// so; words behind results are one turn with them in some APIs.
func stablePrefix(w *World, t Turn, p *Prepared) *broken {
	messages := t.Generation.GetContext().GetMessages()
	last := func(ends func(k int) bool) int {
		k := len(messages) - 1
		for k > 0 && !ends(k) {
			k--
		}
		return k
	}
	if b := prefixOf(w, t, p, last(func(k int) bool { return asks(messages[k-1]) })); b != nil {
		return b
	}
	return prefixOf(w, t, p, last(func(k int) bool { return answered(messages, k) }))
}

// prefixOf compares with the request for the first k messages.
func prefixOf(w *World, t Turn, p *Prepared, k int) *broken {
	if k <= 0 {
		return nil
	}
	g := proto.CloneOf(t.Generation)
	g.Context.Messages = g.Context.Messages[:k]
	joined := g.Context.Messages[k-1].GetToolResult() != nil
	before, err := w.Prepare(Turn{t.Model, g})
	if err != nil {
		if Refused(err) {
			return nil
		}
		return breach("stable prefix", "%v", err)
	}
	if sent := before.Context.GetMessages(); sent[len(sent)-1].GetAssistant() != nil {
		return nil // to be continued, which is about the end
	}
	was, wasFixed := turnsOf(before.Body, t.Model.Compat.CacheControlFormat != "")
	now, nowFixed := turnsOf(p.Body, t.Model.Compat.CacheControlFormat != "")
	for name, v := range wasFixed {
		if name == "thinking" || name == "generationConfig" || name == "additionalModelRequestFields" || name == "max_tokens" || name == "inferenceConfig" {
			continue // how to think depends on where a tool loop stands
		}
		if !bytes.Equal(v, nowFixed[name]) {
			return breach("stable prefix", "%s was %s and is %s", name, v, nowFixed[name])
		}
	}
	for _, c := range p.Changes() {
		joined = joined || int(c.GetMessageIndex()) >= k && c.GetRule() == "turn.merged"
	}
	for i, turn := range was {
		switch {
		case i < len(now) && bytes.Equal(turn, now[i]):
		case i == len(was)-1 && joined && i < len(now) && bytes.HasPrefix(now[i], bytes.TrimRight(turn, "]}")):
		default:
			return breach("stable prefix", "after %d messages turn %d was %s and is %s", k, i, turn, append(now, nil)[min(i, len(now))])
		}
	}
	return nil
}

// counted: every call and every result of the history is there after the hand-off, but
// for those that are reported as dropped, and the results that are reported as made up.
func counted(_ *World, t Turn, p *Prepared) *broken {
	count := func(c *llmdv1.Context, gone func(at, block int) bool) (calls, results int) {
		for i, m := range c.GetMessages() {
			if m.GetToolResult() != nil && !gone(i, -1) {
				results++
			}
			for k, b := range m.GetAssistant().GetContent() {
				if b.GetToolCall() != nil && !gone(i, k) {
					calls++
				}
			}
		}
		return calls, results
	}
	wantCalls, wantResults := count(t.Generation.GetContext(), func(at, block int) bool { return has(fates(p.Own, at, block), dropped) })
	for _, c := range p.Own {
		if c.GetRule() == "tool_result.synthesized" {
			wantResults++
		}
	}
	calls, results := count(p.Context, func(int, int) bool { return false })
	if calls != wantCalls || results != wantResults {
		return breach("counted", "%d calls and %d results are sent, want %d and %d", calls, results, wantCalls, wantResults)
	}
	return nil
}

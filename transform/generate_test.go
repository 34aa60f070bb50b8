package transform_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/transform"
)

// generator makes conversations with every defect that the rules know. Each piece
// of content holds a word of its own, by which a test can find it again.
type generator struct {
	*rand.Rand
	words int
	home  issuer // gives half of the answers
}

func newGenerator(seed uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 0x6c6c6d64))}
}

func (g *generator) one(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }

// word is unique in the conversation, and no word is part of another.
func (g *generator) word() string {
	g.words++
	return fmt.Sprintf("<%d>", g.words)
}

func (g *generator) issuer() issuer {
	if g.home != (issuer{}) && g.one(2) {
		return g.home
	}
	return pick(g, claude, gpt, chat, gemini, mistral, bedrock)
}

func (g *generator) policy() *llmdv1.HandoffPolicy {
	if g.one(3) {
		return nil
	}
	return &llmdv1.HandoffPolicy{
		ForeignThinking:  llmdv1.ForeignThinking(g.Int32N(3)),
		BrokenToolGroups: llmdv1.BrokenToolGroups(g.Int32N(3)),
		AbortedTurns:     llmdv1.AbortedTurns(g.Int32N(3)),
	}
}

func (g *generator) input() transform.Input {
	to := g.issuer()
	g.home = to
	c := limits(to)
	for _, flip := range []*bool{
		&c.Images, &c.ErrorResultImages, &c.MergeTurns, &c.UserFirst, &c.ToolErrorFlag, &c.UnsignedThinking, &c.ProviderContent,
	} {
		if g.one(8) {
			*flip = !*flip
		}
	}
	c.Prefill = !g.one(5)
	return transform.Input{Context: g.conversation(), Model: to.target(), Constraints: c, Policy: g.policy()}
}

func (g *generator) conversation() *llmdv1.Context {
	c := &llmdv1.Context{SystemPrompt: "system", Tools: []*llmdv1.Tool{{Name: "look"}}}
	for range g.IntN(8) {
		switch g.IntN(6) {
		case 0, 1:
			c.Messages = append(c.Messages, g.user())
		case 2:
			c.Messages = append(c.Messages, g.result(g.id()))
		default:
			c.Messages = append(c.Messages, g.exchange()...)
		}
	}
	if !g.one(5) {
		c.Messages = append(c.Messages, says(g.word()))
	}
	if g.one(20) {
		c.Messages = append(c.Messages, &llmdv1.Message{})
	}
	return c
}

// exchange is an answer with results that mostly fit.
func (g *generator) exchange() []*llmdv1.Message {
	m := g.answer()
	out := []*llmdv1.Message{m}
	for _, b := range m.GetAssistant().GetContent() {
		c := b.GetToolCall()
		if c == nil || g.one(6) {
			continue
		}
		out = append(out, g.result(c.GetId()))
		if g.one(8) {
			out = append(out, g.result(pick(g, c.GetId(), g.id())))
		}
	}
	g.Shuffle(len(out)-1, func(i, j int) { out[1+i], out[1+j] = out[1+j], out[1+i] })
	return out
}

func (g *generator) answer() *llmdv1.Message {
	by := g.issuer()
	m := ended(by, pick(g, stop, stop, stop, stop, failed, aborted, llmdv1.StopReason_STOP_REASON_PENDING))
	a := m.GetAssistant()
	for range g.IntN(5) {
		a.Content = append(a.Content, g.block(by))
	}
	return m
}

// providers is a block of a provider's own, at times half of a pair.
func (g *generator) providers(by issuer) *llmdv1.ProviderContent {
	p := &llmdv1.ProviderContent{Api: by.api, Provider: by.provider, Model: by.model, Type: "search", RawJson: []byte(g.word())}
	id := pick(g, "a", "b")
	switch g.IntN(8) {
	case 0, 1:
		p.Type, p.RawJson = "server_tool_use", fmt.Appendf(nil, `{"id":%q}`, id)
	case 2, 3:
		p.Type, p.RawJson = "web_search_tool_result", fmt.Appendf(nil, `{"tool_use_id":%q}`, id)
	case 4:
		p.Type, p.RawJson = "executableCode", []byte(`{"executableCode":{}}`)
	case 5:
		p.Type, p.RawJson = "codeExecutionResult", []byte(`{"codeExecutionResult":{}}`)
	}
	return p
}

func (g *generator) block(by issuer) *llmdv1.AssistantContent {
	switch g.IntN(8) {
	case 0, 1:
		b := signedText(pick(g, g.word(), g.word(), "", " \n"), g.signature(by))
		b.GetText().Incomplete = g.one(15)
		return b
	case 2, 3:
		if g.one(5) {
			return redacted(g.signature(by))
		}
		b := thinking(pick(g, " "+g.word()+"\n", g.word(), "", " "), g.signature(by))
		b.GetThinking().Incomplete = g.one(15)
		return b
	case 4:
		if g.one(8) {
			return &llmdv1.AssistantContent{}
		}
		return own(g.providers(by))
	default:
		c := &llmdv1.ToolCall{Id: g.id(), Name: g.word(), Signature: g.signature(by), Incomplete: g.one(15)}
		c.ArgumentsJson = pick(g, "", "{}", `{"a": 1.0}`, `{ "b":[]}`, "[1]", `{"a":`, "null", "x")
		if g.one(15) {
			c.ArgumentsError = "cut"
		}
		return toolCall(c)
	}
}

// signature is mostly the issuer's, sometimes another's or nobody's.
func (g *generator) signature(by issuer) *llmdv1.Signature {
	switch g.IntN(6) {
	case 0, 1, 2:
		return by.sign(by.format(), "sig"+g.word())
	case 3:
		other := g.issuer()
		return other.sign(other.format(), "sig"+g.word())
	case 4:
		if g.one(3) {
			return &llmdv1.Signature{Data: []byte("sig" + g.word()), Format: by.format()}
		}
		return nil
	default:
		return nil
	}
}

func (g *generator) id() string {
	return pick(g, "call_0", "call_0", "call_1", "a.b", "a_b", "call|fc_1", "", "日", strings.Repeat("x", 70)+pick(g, "1", "2"), "abcDEF123")
}

func (g *generator) user() *llmdv1.Message {
	m := user()
	for range g.IntN(4) {
		m.GetUser().Content = append(m.GetUser().Content, pick(g,
			uText(g.word()), uText(g.word()), uText(""), uText(" "), uImage(g.image()), uImage(g.image()), &llmdv1.UserContent{}))
	}
	return m
}

func (g *generator) result(id string) *llmdv1.Message {
	m := result(id)
	r := m.GetToolResult()
	r.ToolName = pick(g, "", "look")
	r.IsError = g.one(3)
	for range g.IntN(4) {
		r.Content = append(r.Content, pick(g,
			rText(g.word()), rText(g.word()), rText(""), rText(" "), rImage(g.image()), rImage(g.image())))
	}
	return m
}

func (g *generator) image() *llmdv1.ImageContent {
	return pick(g, png(g.word()), png(g.word()), link("https://h/"+g.word()), link("file:///"+g.word()))
}

package handoff

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Walk is one conversation on its way over models.
type Walk struct {
	World *World
	// Context is the history so far.
	Context *llmdv1.Context

	s     source
	home  *profile.Model // has the conversation most of the time, if it has one
	last  *profile.Model
	steps int
}

// NewWalk begins a conversation. The same seed gives the same one.
func NewWalk(w *World, seed uint64) *Walk {
	s := source{rand.New(rand.NewPCG(seed, 0x68616e646f6666))}
	k := &Walk{World: w, s: s, Context: &llmdv1.Context{SystemPrompt: pick(s, "You are "+s.word()+".", ""), Tools: tools()}}
	k.steps = 3 + s.IntN(8)
	if s.one(2) {
		k.home = k.anyModel()
	}
	if s.one(8) {
		k.Context.Messages = append(k.Context.Messages, k.stranger())
	}
	return k
}

func (k *Walk) anyModel() *profile.Model { return k.World.Models[k.s.IntN(len(k.World.Models))] }

// Next makes up what happens before the model's next turn, and gives that turn; false
// ends the walk.
func (k *Walk) Next() (Turn, bool) {
	if k.steps == 0 {
		return Turn{}, false
	}
	k.steps--
	k.results()
	if k.s.one(12) {
		k.Context.Messages = append(k.Context.Messages, k.stranger())
		k.results()
	}
	if k.open() || k.s.one(3) {
		for range 1 + k.s.IntN(8)/7 {
			k.Context.Messages = append(k.Context.Messages, k.s.user())
		}
	}
	if len(k.Context.Messages) == 0 || k.s.one(3) && k.open() {
		k.Context.Messages = append(k.Context.Messages, k.s.says())
	}
	return Turn{Model: k.model(), Generation: k.generation()}, true
}

// open says whether the history ends with an answer, which most models cannot go on
// with.
func (k *Walk) open() bool {
	n := len(k.Context.Messages)
	return n == 0 || k.Context.Messages[n-1].GetAssistant() != nil
}

// model stays with one model for a while, goes home now and then, else anywhere.
func (k *Walk) model() *profile.Model {
	switch {
	case k.last != nil && k.s.one(4):
	case k.home != nil && k.s.one(3):
		k.last = k.home
	default:
		k.last = k.anyModel()
	}
	return k.last
}

func (k *Walk) generation() *llmdv1.Generation {
	g := &llmdv1.Generation{Model: k.last.Name(), Context: proto.CloneOf(k.Context), Handoff: k.policy()}
	if efforts := k.last.SupportedEfforts(); k.last.Reasoning && !k.s.one(4) {
		g.Reasoning = &llmdv1.ReasoningConfig{Effort: pick(k.s, efforts...)}
		if k.last.API == "google-generative-ai" || k.last.API == "google-vertex" {
			g.Reasoning = &llmdv1.ReasoningConfig{Effort: llmdv1.ReasoningEffort_REASONING_EFFORT_LOW} // they cannot all be off
		}
		if strings.Contains(k.last.ID, "gpt-oss") {
			g.Reasoning.Effort = llmdv1.ReasoningEffort_REASONING_EFFORT_HIGH
		}
	}
	return g
}

// policy is the default most of the time.
func (k *Walk) policy() *llmdv1.HandoffPolicy {
	if !k.s.one(4) {
		return nil
	}
	return &llmdv1.HandoffPolicy{
		ForeignThinking:  llmdv1.ForeignThinking(k.s.Int32N(3)),
		BrokenToolGroups: llmdv1.BrokenToolGroups(k.s.Int32N(3)),
		AbortedTurns:     llmdv1.AbortedTurns(k.s.Int32N(3)),
	}
}

// Cut says where the next answer is cut off, as an abort or a broken line does it;
// negative = not at all.
func (k *Walk) Cut() int {
	if !k.s.one(9) {
		return -1
	}
	return k.s.IntN(6000)
}

// Take adds the answer to the history, at times changed by what clients do to it.
func (k *Walk) Take(a *llmdv1.AssistantMessage) {
	switch k.s.IntN(40) {
	case 0: // an older client kept no signatures
		for _, c := range a.GetContent() {
			unsign(c)
		}
	case 1:
		a.StopReason = pick(k.s, llmdv1.StopReason_STOP_REASON_PENDING, llmdv1.StopReason_STOP_REASON_ERROR, llmdv1.StopReason_STOP_REASON_DEFERRED)
	case 2:
		for _, c := range a.GetContent() {
			if call := c.GetToolCall(); call != nil {
				call.Id = k.id()
			}
		}
	case 3: // signatures that lost their issuer on the way
		for _, c := range a.GetContent() {
			for _, s := range []*llmdv1.Signature{c.GetText().GetSignature(), c.GetThinking().GetSignature(), c.GetToolCall().GetSignature()} {
				if s != nil {
					s.Provider = ""
				}
			}
		}
	case 4: // signatures that were spelled otherwise on the way
		spoil(a.GetContent())
	}
	k.Context.Messages = append(k.Context.Messages, &llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: a}})
}

// spoil spells signatures otherwise than their issuer, where the API can tell.
func spoil(content []*llmdv1.AssistantContent) {
	for _, c := range content {
		for _, s := range []*llmdv1.Signature{c.GetText().GetSignature(), c.GetThinking().GetSignature(), c.GetToolCall().GetSignature()} {
			if slices.Contains([]string{"google.thought", "bedrock.redacted", "mistral.thinking"}, s.GetFormat()) {
				s.Data = append(slices.Clone(s.Data), " spoilt"...)
			}
		}
	}
}

func unsign(c *llmdv1.AssistantContent) {
	switch b := c.GetBlock().(type) {
	case *llmdv1.AssistantContent_Text:
		b.Text.Signature = nil
	case *llmdv1.AssistantContent_Thinking:
		b.Thinking.Signature = nil
	case *llmdv1.AssistantContent_ToolCall:
		b.ToolCall.Signature = nil
	}
}

// id is one as some host, or some client, makes it.
func (k *Walk) id() string {
	return pick(k.s, "call_0", "0", "functions.read_file:0", "call_abc|fc_123", "a b", "日本", "tool-1", "abcDEF123",
		strings.Repeat("x", 70)+k.s.word(), "call_"+k.s.word(), "_", k.s.word()+"=="+"/+")
}

// results answers the calls of the last answer: mostly each one once and in order.
func (k *Walk) results() {
	n := len(k.Context.Messages)
	if n == 0 {
		return
	}
	var out []*llmdv1.Message
	for _, c := range k.Context.Messages[n-1].GetAssistant().GetContent() {
		call := c.GetToolCall()
		if call == nil || k.s.one(10) {
			continue
		}
		out = append(out, k.s.result(call.GetId(), call.GetName()))
		if k.s.one(20) {
			out = append(out, k.s.result(pick(k.s, call.GetId(), "nobody", "call_0"), call.GetName()))
		}
	}
	if k.s.one(4) {
		k.s.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	if len(out) > 0 && k.s.one(12) { // the last one comes when everybody has gone on
		late := out[len(out)-1]
		out = append(out[:len(out)-1], k.s.says(), late)
	}
	k.Context.Messages = append(k.Context.Messages, out...)
}

// stranger is an answer of a model that is not of this world, as it is found in
// histories that were made elsewhere.
func (k *Walk) stranger() *llmdv1.Message {
	maker := pick(k.s, [2]string{"anthropic-messages", "elsewhere"}, [2]string{"openai-completions", "elsewhere"}, [2]string{"unheard-of", "x"}, [2]string{"", ""})
	a := &llmdv1.AssistantMessage{Api: maker[0], Provider: maker[1], Model: "m", StopReason: llmdv1.StopReason_STOP_REASON_STOP}
	sign := func(format string) *llmdv1.Signature {
		if k.s.one(2) {
			return nil
		}
		return &llmdv1.Signature{Data: []byte(k.s.word()), Format: format, Api: maker[0], Provider: maker[1], Model: "m"}
	}
	for range k.s.IntN(5) {
		switch k.s.IntN(6) {
		case 0:
			a.Content = append(a.Content, &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: &llmdv1.ThinkingContent{
				Thinking: k.s.text(), Signature: sign("anthropic.thinking"),
			}}})
		case 1:
			a.Content = append(a.Content, &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: &llmdv1.ThinkingContent{
				Redacted: true, Signature: sign("anthropic.redacted_thinking"),
			}}})
		case 2:
			if maker[0] == "" {
				continue // the contract wants to know whose it is
			}
			a.Content = append(a.Content, &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ProviderContent{ProviderContent: &llmdv1.ProviderContent{
				Api: maker[0], Provider: maker[1], Model: "m", Type: "search", RawJson: fmt.Appendf(nil, `{"type":"search","q":%q}`, k.s.word()),
			}}})
		case 3, 4:
			a.Content = append(a.Content, &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: &llmdv1.ToolCall{
				Id: k.id(), Name: pick(k.s, "read_file", "gone", "old.tool", "edit"), ArgumentsJson: k.arguments(), Signature: sign("google.thought"),
			}}})
		default:
			a.Content = append(a.Content, &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{
				Text: k.s.text(), Signature: sign("openai.message"),
			}}})
		}
	}
	if slices.ContainsFunc(a.GetContent(), func(c *llmdv1.AssistantContent) bool { return c.GetToolCall() != nil }) {
		a.StopReason = llmdv1.StopReason_STOP_REASON_TOOL_USE
	}
	return &llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: a}}
}

// arguments are what some model wrote: any spelling of an object, and at times none.
func (k *Walk) arguments() string {
	w := k.s.word()
	return pick(k.s, `{"path":"`+w+`"}`, `{ "path" : "`+w+`", "n": 1.0e+2, "big": 123456789012345678901234567890 }`,
		"{\n\t\"b\": \""+w+"\",\n\t\"a\": [ ]\n}", `{"path":"`+w+`","path":"x"}`, `{"path":"`+w+`\u0000\ud83d\ude00\/"}`, `{"path":"`+w+`","s":"\ud83d"}`,
		`{"`+w+`":{"`+w+`":{}}}`, "", "{}", `{"path":"`+w, `["`+w+`"]`, `"`+w+`"`, "null", `{"text":"`+strings.Repeat(w+` \"x\" <>&\n`, 400)+`"}`)
}

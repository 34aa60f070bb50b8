package openairesponses

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// A change is named by its place in the caller's history, also where the hand-off left
// out messages and blocks before it.
func TestChangesAreAtTheCallersPlaces(t *testing.T) {
	text := func(s string) *llmdv1.AssistantContent {
		return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{Text: s}}}
	}
	answer := func(content ...*llmdv1.AssistantContent) *llmdv1.Message {
		return &llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: &llmdv1.AssistantMessage{Content: content}}}
	}
	empty := &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: &llmdv1.ThinkingContent{
		Thinking: "Hm.", Signature: &llmdv1.Signature{Format: formatReasoning, Data: []byte(`{"type":"reasoning","id":"rs_1","summary":[{"text":"Hm."}]}`)},
	}}}
	last := text("Yes.")
	g := &llmdv1.Generation{Context: &llmdv1.Context{Messages: []*llmdv1.Message{
		user("Hi"), answer(text("cut")), user("Again"), answer(text(" "), empty, last), user("On"),
	}}}
	all := g.GetContext().GetMessages()
	sent := &llmdv1.Context{Messages: []*llmdv1.Message{all[0], all[2], answer(empty, last), all[4]}}
	origins := []adapters.Origin{{Message: 0}, {Message: 2}, {Message: 3, Blocks: []adapters.Place{{Message: 3, Block: 1}, {Message: 3, Block: 2}}}, {Message: 4}}
	r, err := New().Encode(&adapters.Call{Generation: g, Context: sent, Origins: origins, Model: gpt(), Options: &adapters.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	want := &llmdv1.HandoffChange{
		MessageIndex: 3, ContentIndex: proto.Int32(1), Action: llmdv1.HandoffAction_HANDOFF_ACTION_DROPPED, Rule: string(adapters.RuleReasoningEmpty),
	}
	if len(r.Changes) != 1 {
		t.Fatalf("got %v", r.Changes)
	}
	got := proto.CloneOf(r.Changes[0])
	got.Detail = ""
	if !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

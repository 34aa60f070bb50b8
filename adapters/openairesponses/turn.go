package openairesponses

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonstream"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// output is one item of an assistant's turn.
type output struct {
	block   int // its place in the turn
	raw     []byte
	text    *llmdv1.TextContent
	parts   []byte // of a message with citations
	call    *llmdv1.ToolCall
	thought bool // raw is reasoning
	again   bool // an earlier item has its id
}

// turn is an assistant's turn on its way to items.
type turn struct {
	*encoder
	number int
	items  []output
	// own: the target itself gave this answer.
	own bool
	// nameless: reasoning of the turn is missing, so its items go without their
	// ids. By an id the API knows which reasoning belongs to an item, and refuses
	// the item without it.
	nameless bool
	messages int // written so far
}

// assistant writes the items of an answer.
func (e *encoder) assistant(n int, m *llmdv1.AssistantMessage) error {
	model := e.call.Model
	t := &turn{
		encoder: e, number: n,
		own: m.GetApi() == model.API && m.GetProvider() == model.Provider && m.GetModel() == model.ID,
	}
	t.nameless = t.lostReasoning(m)
	for k, b := range m.GetContent() {
		if err := t.collect(k, b); err != nil {
			return err
		}
	}
	t.dropToolItems(m)
	t.dropDuplicates()
	t.dropOrphans()
	t.reportNameless()
	t.reportUnfit()
	for i := range t.items {
		t.write(&t.items[i])
	}
	return nil
}

// lostReasoning says whether the target reasoned before this answer, as its usage tells,
// and nothing of that is left, as with clients that keep words and calls alone. The API
// says "Item 'msg_...' of type 'message' was provided without its required 'reasoning'
// item".
func (t *turn) lostReasoning(m *llmdv1.AssistantMessage) bool {
	return t.own && m.GetUsage().GetReasoningTokens() > 0 && !slices.ContainsFunc(m.GetContent(), func(b *llmdv1.AssistantContent) bool {
		return b.GetThinking() != nil
	})
}

// collect takes one block.
func (t *turn) collect(k int, b *llmdv1.AssistantContent) error {
	switch b := b.GetBlock().(type) {
	case *llmdv1.AssistantContent_Text:
		t.items = append(t.items, output{block: k, text: b.Text})
	case *llmdv1.AssistantContent_ToolCall:
		t.items = append(t.items, output{block: k, call: b.ToolCall})
	case *llmdv1.AssistantContent_Thinking:
		return t.collectReasoning(k, b.Thinking)
	case *llmdv1.AssistantContent_ProviderContent:
		return t.collectRaw(k, b.ProviderContent)
	}
	return nil
}

func (t *turn) collectReasoning(k int, th *llmdv1.ThinkingContent) error {
	s := th.GetSignature()
	if s.GetFormat() != formatReasoning {
		t.nameless = true // unsigned: nothing that the API would take
		return nil
	}
	if jsonstream.Object(s.GetData()) != nil {
		return &adapters.FieldError{
			Field:  t.call.BlockField(t.number, "assistant", k) + ".thinking.signature.data",
			Detail: "not a reasoning item",
		}
	}
	if !readable(s.GetData()) {
		t.nameless = true
		action := adapters.Rewritten
		if th.GetThinking() != "" {
			action = adapters.Dropped // its summary had words
		}
		t.report(k, action, adapters.RuleReasoningEmpty, "a reasoning item without content, which the provider has not kept")
		return nil
	}
	t.items = append(t.items, output{block: k, raw: s.GetData(), thought: true})
	return nil
}

// dropToolItems takes out items of the provider's own tools whose reasoning is not sent.
// Unlike messages and calls they cannot go without their ids: "Item 'ws_...' of type
// 'web_search_call' was provided without its required 'reasoning' item".
func (t *turn) dropToolItems(m *llmdv1.AssistantMessage) {
	foreign := !t.own && m.GetUsage().GetReasoningTokens() > 0 && !slices.ContainsFunc(t.items, func(o output) bool { return o.thought })
	if !t.nameless && !foreign || t.call.Maker() != "openai" {
		return
	}
	t.items = slices.DeleteFunc(t.items, func(o output) bool {
		if o.raw == nil || o.thought || idOf(o.raw) == "" {
			return false
		}
		t.report(o.block, adapters.Dropped, adapters.RuleProviderOrphan, "the reasoning that it belongs to is not sent")
		return true
	})
}

// readable says whether a reasoning item holds the reasoning. One that does not,
// whatever its summary says, is a mere reference to what the provider keeps, and
// with "store": false it keeps nothing: "Item with id 'rs_...' not found". Azure
// sends the encrypted content last, so an answer that was cut lacks it.
func readable(raw []byte) bool {
	var it item
	return adapters.Readable(json.Unmarshal(raw, &it)) && (it.Encrypted != "" || len(it.Content) > 0)
}

func (t *turn) collectRaw(k int, p *llmdv1.ProviderContent) error {
	raw := p.GetRawJson()
	if p.GetType() != kindMessageContent {
		if jsonstream.Object(raw) != nil {
			return &adapters.FieldError{
				Field:  t.call.BlockField(t.number, "assistant", k) + ".provider_content.raw_json",
				Detail: "not one JSON object",
			}
		}
		t.items = append(t.items, output{block: k, raw: raw})
		return nil
	}
	if n := len(t.items); n > 0 && t.items[n-1].text != nil {
		if text, ok := textOf(raw); ok && text == t.items[n-1].text.GetText() {
			t.items[n-1].parts = raw
			return nil
		}
	}
	t.report(k, adapters.Dropped, adapters.RuleContentOrphan, "citations without the text they belong to")
	return nil
}

// textOf is the text that a message's parts make.
func textOf(raw []byte) (text string, ok bool) {
	var parts []part
	if !adapters.Readable(json.Unmarshal(raw, &parts)) || len(parts) == 0 {
		return "", false
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(string(p.Text))
		b.WriteString(string(p.Refusal))
	}
	return jsonwire.Clean(b.String()), true
}

// dropDuplicates sees to it that an id is sent once: a history may hold an answer
// twice, such as the half of one that was tried again, and the API says "Duplicate
// item found with id". Messages and calls do without; of others the second one goes.
func (t *turn) dropDuplicates() {
	t.items = slices.DeleteFunc(t.items, func(o output) bool {
		if o.raw == nil || !t.ids.again(idOf(o.raw)) {
			return false
		}
		t.report(o.block, adapters.Dropped, adapters.RuleItemDuplicate, "an earlier item has the same id")
		return true
	})
	for i := range t.items {
		o := &t.items[i]
		if t.nameless || o.raw != nil || !t.ids.again(t.itemID(o)) {
			continue
		}
		o.again = true
		t.report(o.block, adapters.Rewritten, adapters.RuleItemDuplicate, "sent without its id, which an earlier item has")
	}
}

// idSet remembers the ids that were sent.
type idSet map[string]bool

// again says whether an id was sent before, and remembers it.
func (s idSet) again(id string) bool {
	before := id != "" && s[id]
	s[id] = true
	return before
}

func idOf(raw []byte) string {
	var it item
	_ = json.Unmarshal(raw, &it) // what cannot be read has no id
	return it.ID
}

// itemID is the provider's id that a message or a call would go with.
func (t *turn) itemID(o *output) string {
	if s := o.call.GetSignature(); s.GetFormat() == formatItemID {
		return string(s.GetData())
	}
	if s := o.text.GetSignature(); s.GetFormat() == formatMessage {
		return readMessageRef(s.GetData()).ID
	}
	return ""
}

// dropOrphans takes reasoning off the end of a turn. It led to an item that is not
// there (the answer was cut, or the caller took it out), and the API says "reasoning
// was provided without its required following item".
func (t *turn) dropOrphans() {
	last := len(t.items)
	for last > 0 && t.items[last-1].thought {
		last--
		t.report(t.items[last].block, adapters.Dropped, adapters.RuleReasoningOrphan, "the item that the reasoning led to is not in the turn")
	}
	t.items = t.items[:last]
}

// reportNameless names the items that go without the ids that they came with.
func (t *turn) reportNameless() {
	if !t.nameless {
		return
	}
	for _, o := range t.items {
		if s := o.text.GetSignature(); s.GetFormat() == formatMessage || o.call.GetSignature().GetFormat() == formatItemID {
			t.report(o.block, adapters.Rewritten, adapters.RuleReasoningEmpty, "sent without its id, because its reasoning is not sent")
		}
	}
}

// reportUnfit names the items whose own ids the API would refuse.
func (t *turn) reportUnfit() {
	for _, o := range t.items {
		id := t.itemID(&o)
		switch {
		case id == "" || t.nameless || o.again:
		case o.call != nil && !isCallItem(id) && !t.isCustom(&o):
			t.report(o.block, adapters.Rewritten, adapters.RuleItemID, "sent without its id, which is not one of a function call")
		case o.text != nil && len(id) > maxID:
			t.report(o.block, adapters.Rewritten, adapters.RuleItemID, "sent with a shorter id")
		}
	}
}

// isCallItem says whether the API takes an id for that of a call: it is optional, and
// OpenAI refuses one of another shape.
func isCallItem(id string) bool { return strings.HasPrefix(id, "fc_") && len(id) <= maxID }

// isCustom says whether a call goes back as that of a custom tool: as its id says, and its
// arguments still hold the text.
func (t *turn) isCustom(o *output) bool {
	id := t.itemID(o)
	_, ok := adapters.CustomInputOf(o.call.GetArgumentsJson())
	return ok && strings.HasPrefix(id, "ctc_") && len(id) <= maxID
}

// report notes a change of a block.
func (t *turn) report(k int, action llmdv1.HandoffAction, rule adapters.Rule, detail string) {
	t.changes = append(t.changes, t.call.ChangeBlock(t.number, k, action, rule, detail))
}

func (t *turn) write(o *output) {
	switch {
	case o.raw != nil:
		t.w.RawBytes(o.raw)
	case o.call != nil:
		t.writeCall(o)
	default:
		t.writeMessage(o)
	}
}

func (t *turn) writeMessage(o *output) {
	var ref messageRef
	if s := o.text.GetSignature(); s.GetFormat() == formatMessage {
		ref = readMessageRef(s.GetData())
	}
	w := &t.w
	w.BeginObject()
	w.Member("type", "message")
	if o.again {
		ref.ID = ""
	}
	w.Member("id", t.messageID(ref.ID))
	w.Member("role", "assistant")
	w.Member("status", "completed")
	w.MemberIf("phase", ref.Phase)
	w.Key("content")
	if o.parts != nil {
		w.RawBytes(o.parts)
	} else {
		w.BeginArray()
		w.BeginObject()
		w.Member("type", "output_text")
		w.Member("text", o.text.GetText())
		w.Key("annotations")
		w.Raw("[]")
		w.EndObject()
		w.EndArray()
	}
	w.EndObject()
}

// messageID is the provider's id of a message. One that it would refuse for its
// length is replaced by a short one that stays the same, and a message of another
// model gets one by its place.
func (t *turn) messageID(id string) string {
	t.messages++
	switch {
	case id == "" || t.nameless:
		if t.messages == 1 {
			return fmt.Sprintf("msg_llmd_%d", t.number)
		}
		return fmt.Sprintf("msg_llmd_%d_%d", t.number, t.messages-1)
	case len(id) > maxID:
		sum := sha256.Sum256([]byte(id))
		return "msg_" + new(big.Int).SetBytes(sum[:16]).Text(36)
	}
	return id
}

func (t *turn) writeCall(o *output) {
	c, w := o.call, &t.w
	id, custom := t.itemID(o), t.isCustom(o)
	w.BeginObject()
	if custom {
		t.customs[c.GetId()] = true
		w.Member("type", itemCustom)
	} else {
		w.Member("type", itemCall)
	}
	if (custom || isCallItem(id)) && !t.nameless && !o.again {
		w.Member("id", id)
	}
	w.Member("call_id", c.GetId())
	w.Member("name", c.GetName())
	if t.own {
		w.MemberIf("namespace", c.GetToolNamespace())
	}
	if custom {
		input, _ := adapters.CustomInputOf(c.GetArgumentsJson())
		w.Member("input", input)
	} else {
		w.Member("arguments", cmp.Or(c.GetArgumentsJson(), "{}"))
	}
	w.EndObject()
}

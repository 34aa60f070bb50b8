package transform

import (
	"fmt"
	"slices"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// noResult is the text of a result that was never given.
const noResult = "No result provided"

// group is a turn of the assistant that has calls, with the results that follow
// it directly. Only those can be its: providers want a call's result in the next
// turn, and ids may be used again later.
type group struct {
	assistant *turn
	calls     []int // the places of the calls in the turn
	results   []*turn
	next      int // where an inserted result stands, in the caller's history
}

// pairResults sees to it that each call is followed by exactly one result and
// each result belongs to a call.
func (h *handoff) pairResults() {
	repair := h.synthesize
	if h.Policy.GetBrokenToolGroups() == llmdv1.BrokenToolGroups_BROKEN_TOOL_GROUPS_DROP_GROUPS {
		repair = h.dropBroken
	}
	out := make([]*turn, 0, len(h.turns))
	for i := 0; i < len(h.turns); {
		t := h.turns[i]
		i++
		if t.result() != nil {
			h.dropOrphan(t)
			continue
		}
		calls := callsOf(t.assistant())
		if len(calls) == 0 {
			out = append(out, t)
			continue
		}
		g := group{assistant: t, calls: calls, results: h.turns[i:i], next: len(h.Context.GetMessages())}
		for ; i < len(h.turns); i++ {
			if h.turns[i].result() == nil {
				g.next = h.turns[i].at
				break
			}
			g.results = g.results[:len(g.results)+1]
		}
		out = repair(out, g)
	}
	h.turns = out
	h.forget()
}

// callsOf gives the places of an answer's calls.
func callsOf(m *llmdv1.AssistantMessage) []int {
	var calls []int
	for k, b := range m.GetContent() {
		if b.GetToolCall() != nil {
			calls = append(calls, k)
		}
	}
	return calls
}

func (g *group) call(place int) *llmdv1.ToolCall {
	return g.assistant.assistant().GetContent()[place].GetToolCall()
}

func (h *handoff) dropOrphan(t *turn) {
	h.report(t.at, dropped, ruleResultOrphan, "no call before it has this id")
}

// synthesize keeps the first result of each call and adds those that are missing.
// Calls of one turn that share an id are answered in order.
func (h *handoff) synthesize(out []*turn, g group) []*turn {
	open := make(map[string][]int, len(g.calls)) // calls without result, by id
	for _, place := range g.calls {
		id := g.call(place).GetId()
		open[id] = append(open[id], place)
	}
	out = append(out, g.assistant)
	answered := make(map[int]bool, len(g.calls))
	for _, r := range g.results {
		id := r.result().GetToolCallId()
		places, known := open[id]
		switch {
		case !known:
			h.dropOrphan(r)
		case len(places) == 0:
			h.report(r.at, dropped, ruleResultDuplicate, "its call already has a result")
		default:
			open[id] = places[1:]
			answered[places[0]] = true
			out = append(out, h.answer(&g, r, places[0]))
		}
	}
	for _, place := range g.calls {
		if !answered[place] {
			out = append(out, h.missing(&g, place))
		}
	}
	return out
}

// answer ties a result to its call. The name is the call's where the caller left it
// out or the API would refuse it, because some APIs match results by name.
func (h *handoff) answer(g *group, r *turn, place int) *turn {
	r.call = place
	own, rule := r.result().GetToolName(), nameRule{h.Constraints.ToolNames}
	if name := g.call(place).GetName(); name != own && (own == "" || !rule.allows(own)) {
		r.own()
		r.result().ToolName = name
	}
	return r
}

// missing is the result of a call that has none.
func (h *handoff) missing(g *group, place int) *turn {
	h.report(g.next, inserted, ruleResultSynthesized, fmt.Sprintf(
		"the call of messages[%d].assistant.content[%d] has no result", g.assistant.at, g.assistant.origin(place).Block))
	c := g.call(place)
	return &turn{at: g.next, call: place, inserted: true, owned: true, msg: resultMessage(&llmdv1.ToolResultMessage{
		ToolCallId: c.GetId(),
		ToolName:   c.GetName(),
		Content:    []*llmdv1.ToolResultContent{resultText(noResult)},
		IsError:    true,
	})}
}

// dropBroken keeps a group only if its calls have ids of their own and exactly
// one result each. Results that belong to no call of the group do not break it.
func (h *handoff) dropBroken(out []*turn, g group) []*turn {
	places := make(map[string]int, len(g.calls))
	for _, place := range g.calls {
		places[g.call(place).GetId()] = place
	}
	received := make(map[string]bool, len(g.calls))
	matching := 0
	for _, r := range g.results {
		if id := r.result().GetToolCallId(); belongs(places, id) {
			received[id] = true
			matching++
		}
	}
	if n := len(places); n != len(g.calls) || matching != n || len(received) != n {
		h.gone[g.assistant.at] = true
		h.report(g.assistant.at, dropped, ruleGroupBroken, "its calls do not have one result each")
		for _, r := range g.results {
			h.report(r.at, dropped, ruleGroupBroken, "the calls before it do not have one result each")
		}
		return out
	}
	out = append(out, g.assistant)
	for _, r := range g.results {
		if id := r.result().GetToolCallId(); belongs(places, id) {
			out = append(out, h.answer(&g, r, places[id]))
		} else {
			h.dropOrphan(r)
		}
	}
	return out
}

// forget takes back what was reported of the blocks of turns that go as a whole:
// nothing of them is sent in another form.
func (h *handoff) forget() {
	if len(h.gone) == 0 {
		return
	}
	h.changes = slices.DeleteFunc(h.changes, func(c *llmdv1.HandoffChange) bool {
		return c.ContentIndex != nil && h.gone[int(c.GetMessageIndex())]
	})
}

// belongs says whether a result's id is one of the group's. An empty id matches
// nothing.
func belongs(places map[string]int, id string) bool {
	_, ok := places[id]
	return ok && id != ""
}

package turns

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// tally counts what became of the recordings of one API.
type tally struct {
	requests, exact, reproduced int // of recordings
	skipped                     []string
	looped, answers             int // requests with streamed answers, and those
	needed                      map[string][]string
}

// TestTurns writes every recorded request of a conversation again.
func TestTurns(t *testing.T) {
	for _, f := range folders() {
		t.Run(f.folder, func(t *testing.T) {
			all := load(t, f.folder)
			l := start(t, f.api, f.base, all)
			count := &tally{needed: map[string][]string{}}
			for _, c := range all {
				p := &play{llmd: l, api: c.apiOf(f.api), count: count, answers: map[int]answer{}}
				for _, r := range c {
					t.Run(r.name, func(t *testing.T) { p.turn(t, c, r) })
				}
			}
			count.log(t)
		})
	}
}

// play is one conversation while it is played.
type play struct {
	*llmd
	api     string
	count   *tally
	answers map[int]answer // by turn
}

// answer is what llmd gave out at a turn.
type answer struct {
	at      int // its place in the history
	message *llmdv1.AssistantMessage
}

// turn writes one recorded request again, from itself and from the answers that
// were streamed before, and then streams its answer.
func (p *play) turn(t *testing.T, c conversation, r *recording) {
	g, faults := readTurn(c, r, p.api)
	if len(faults) > 0 {
		t.Fatalf("the test cannot read the request:\n%s", strings.Join(faults, "\n"))
	}
	if _, err := p.prepare(g); status.Code(err) == codes.Unimplemented {
		t.Skipf("llmd does not speak %s yet", p.api)
	}
	p.count.requests++
	if endsInOutput(g) {
		p.count.skipped = append(p.count.skipped, r.name)
		t.Skip("the history ends with the output of a tool that a client runs for the provider (tool search): the contract has no type for it")
	}
	needed := map[string]int{}
	fine := p.reproduce(t, r, "read", g, needed)
	looped, replaced := p.looped(t, g)
	if replaced > 0 {
		fine = p.reproduce(t, r, "looped", looped, needed) && fine
		p.count.looped++
		p.count.answers += replaced
	}
	names := slices.Sorted(maps.Keys(needed))
	for _, n := range names {
		p.count.needed[n] = append(p.count.needed[n], r.name)
	}
	switch {
	case !fine:
	case len(names) == 0:
		p.count.exact++
		t.Logf("the same (%d streamed answers)", replaced)
	default:
		p.count.reproduced++
		t.Logf("the same but for %s (%d streamed answers)", strings.Join(names, ", "), replaced)
	}
	p.answer(t, r, looped)
}

// reproduce compares what llmd would send with what was recorded.
func (p *play) reproduce(t *testing.T, r *recording, how string, g *llmdv1.Generation, needed map[string]int) bool {
	t.Helper()
	got, err := p.prepare(g)
	if err != nil {
		t.Errorf("%s: %v", how, err)
		return false
	}
	// Claude at Vertex AI: the model stands in the address.
	if named := "/publishers/anthropic/models/" + r.Model + ":streamRawPredict"; r.Provider == "google-vertex" && p.api == "anthropic-messages" &&
		!strings.HasSuffix(got.GetRequest().GetUrl(), named) {
		t.Errorf("%s: sent to %s, want it to end with %s", how, got.GetRequest().GetUrl(), named)
	}
	want, err := parse(r.request)
	if err != nil {
		t.Fatal(err)
	}
	sent, err := parse([]byte(got.GetRequest().GetBodyJson()))
	if err != nil {
		t.Fatalf("%s: body_json: %v", how, err)
	}
	c := comparison{recording: r, exact: exactPlaces(), table: toleratedDifferences(), needed: needed}
	c.compare("", "", want, sent)
	for _, d := range c.different {
		t.Errorf("%s: %s", how, d)
	}
	if len(c.different) > 0 {
		for _, h := range got.GetHandoffChanges() {
			t.Logf("%s: hand-off: %v", how, h)
		}
	}
	return len(c.different) == 0
}

// looped is the conversation with the answers that llmd gave out in the place of
// those that were read from the request, and how many there are.
func (p *play) looped(t *testing.T, g *llmdv1.Generation) (*llmdv1.Generation, int) {
	t.Helper()
	g = proto.CloneOf(g)
	messages := g.GetContext().GetMessages()
	for _, a := range p.answers {
		if a.at >= len(messages) || messages[a.at].GetAssistant() == nil {
			t.Errorf("message %d of the request is not the answer to the turn before", a.at)
			continue
		}
		// Ids that llmd made are another conversation's; the results name them.
		ids := map[string]string{}
		given := callIDs(a.message)
		for i, id := range callIDs(messages[a.at].GetAssistant()) {
			if i < len(given) {
				ids[id] = given[i]
			}
		}
		own := outputs(messages[a.at].GetAssistant())
		messages[a.at].GetAssistant().Reset()
		proto.Merge(messages[a.at].GetAssistant(), a.message)
		messages[a.at].GetAssistant().Content = append(messages[a.at].GetAssistant().GetContent(), own...)
		for i := a.at + 1; i < len(messages) && messages[i].GetToolResult() != nil; i++ {
			if id := ids[messages[i].GetToolResult().GetToolCallId()]; id != "" {
				messages[i].GetToolResult().ToolCallId = id
			}
		}
	}
	return g, len(p.answers)
}

// outputs is what follows the answer within one turn: from the first output of a
// tool on that the client runs for the provider. Such outputs have no type in the
// contract.
func outputs(m *llmdv1.AssistantMessage) []*llmdv1.AssistantContent {
	content := m.GetContent()
	first := slices.IndexFunc(content, isOutput)
	if first < 0 {
		return nil
	}
	return content[first:]
}

func isOutput(b *llmdv1.AssistantContent) bool {
	return strings.HasSuffix(b.GetProviderContent().GetType(), "_output")
}

// endsInOutput: llmd continues no turn of the assistant, and such an output can only
// be one.
func endsInOutput(g *llmdv1.Generation) bool {
	m := g.GetContext().GetMessages()
	content := m[len(m)-1].GetAssistant().GetContent()
	return len(content) > 0 && isOutput(content[len(content)-1])
}

func callIDs(m *llmdv1.AssistantMessage) []string {
	var ids []string
	for _, b := range m.GetContent() {
		if c := b.GetToolCall(); c != nil {
			ids = append(ids, c.GetId())
		}
	}
	return ids
}

// answer streams the recorded answer, for the turns that follow. The provider must
// have got the request that PrepareContext shows.
func (p *play) answer(t *testing.T, r *recording, g *llmdv1.Generation) {
	t.Helper()
	if r.Conversation.Turn == r.Conversation.Of {
		return
	}
	m, sent, err := p.stream(r, g)
	if reason := unplayed()[r.name]; err != nil && reason != "" {
		t.Logf("the answer is read from the next request: %s", reason)
		return
	}
	if err != nil {
		t.Errorf("streaming the recorded answer: %v", err)
		return
	}
	if shown, err := p.prepare(g); err != nil || shown.GetRequest().GetBodyJson() != string(sent) {
		t.Errorf("PrepareContext does not show the request that was sent: %v", err)
	}
	p.answers[r.Conversation.Turn] = answer{at: len(g.GetContext().GetMessages()), message: m}
}

// readTurn reads a request. One that refers to the provider's memory instead of
// sending the history gets the history.
func readTurn(c conversation, r *recording, api string) (*llmdv1.Generation, []string) {
	g, faults := readRequest(r, api)
	i := slices.Index(c, r)
	if i == 0 || !strings.Contains(string(r.request), `"previous_response_id"`) {
		return g, faults
	}
	before, more := readTurn(c, c[i-1], api)
	x := &reading{r: r, api: api, g: before, faults: append(faults, more...)}
	response, err := parse(c[i-1].response)
	if err != nil {
		return g, append(x.faults, fmt.Sprintf("the answer to previous_response_id: %v", err))
	}
	responsesItems(x, response.get("output").list())
	for _, m := range g.GetContext().GetMessages() {
		x.add(m)
	}
	g.Context.Messages, g.Context.SystemPrompt = before.GetContext().GetMessages(), before.GetContext().GetSystemPrompt()
	return g, x.faults
}

func (c *tally) log(t *testing.T) {
	t.Logf("%d recorded requests: %d the same, %d the same but for tolerated differences, %d skipped %v; %d of them with %d streamed answers, too",
		c.requests, c.exact, c.reproduced, len(c.skipped), c.skipped, c.looped, c.answers)
	for _, d := range toleratedDifferences() {
		if n := len(c.needed[d.name]); n > 0 {
			t.Logf("tolerated %s (%d): %s", d.name, n, d.why)
		}
	}
}

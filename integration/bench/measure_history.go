package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

const (
	historyTurns = 500
	historyBytes = 2 << 20
	// mostGrowth is what a turn may cost in a conversation four times as long.
	mostGrowth = 1.2
)

// historyModel answers requests that carry a long history.
var historyModel = text(2)

// measureHistory is what a request with a long history of another model's costs, all in
// all: parsing, checks, hand-off, writing and sending. A conversation that is appended to
// turn by turn pays this each time, since these APIs keep nothing; what it pays must be
// in proportion to what is sent.
func (b *bench) measureHistory(ctx context.Context) error {
	t := table{head: []string{"server", "turns", "MB", "ms a request", "µs a turn"}}
	var growth []string
	for _, v := range b.llmds {
		s, err := b.start(ctx, v.name, 1)
		if err != nil {
			return err
		}
		costs := map[int][]float64{}
		for round := range b.rounds + 1 {
			for _, turns := range []int{historyTurns / 4, historyTurns} {
				ms, err := s.historyCost(ctx, turns, b.share(20))
				if err != nil {
					s.stop()
					return fmt.Errorf("%s: %w", v.name, err)
				}
				if round > 0 { // the first one warms up
					costs[turns] = append(costs[turns], ms)
				}
			}
		}
		s.stop()
		short, long := median(costs[historyTurns/4])/(historyTurns/4), median(costs[historyTurns])/historyTurns
		for turns, perTurn := range []float64{historyTurns / 4: short, historyTurns: long} {
			if perTurn > 0 {
				t.add(v.name, strconv.Itoa(turns), number(historyBytes*float64(turns)/historyTurns/1e6), number(perTurn*float64(turns)), number(perTurn*1000))
			}
		}
		growth = append(growth, fmt.Sprintf("%s: a turn of %d costs %s times one of %d, at most %s: %s", v.name,
			historyTurns, number(long/short), historyTurns/4, number(mostGrowth), verdict(long/short, mostGrowth)))
	}
	t.print(b.out, "### A long history of another model, processor time of the whole request")
	fmt.Fprintf(b.out, "\n%s\n", strings.Join(growth, "\n"))
	return nil
}

// historyCost is the processor time of such a request in milliseconds.
func (s *server) historyCost(ctx context.Context, turns, requests int) (float64, error) {
	c, ok := s.client.(*grpcClient)
	if !ok {
		return 0, fmt.Errorf("%s takes no history", s.name)
	}
	req := historyRequest(turns)
	before, err := s.cpu()
	if err != nil {
		return 0, err
	}
	for range requests {
		if err := c.send(ctx, req, func(string) {}); err != nil {
			return 0, err
		}
	}
	after, err := s.cpu()
	return millis(after-before) / float64(requests), err
}

// historyRequest has a session of an agent: questions, signed thinking, calls of tools
// and their results, which are most of it.
func historyRequest(turns int) *llmdv1.StreamRequest {
	const perRound = 3
	page := strings.Repeat("A line of some file, as tools return them.\n", perRound*historyBytes/historyTurns/43)
	req := request(chat, historyModel)
	c := req.GetGeneration().GetContext()
	question := c.GetMessages()[0]
	c.Messages = nil
	for i := 0; len(c.GetMessages()) < turns; i++ {
		id := fmt.Sprintf("toolu_%d", i)
		c.Messages = append(c.Messages, question,
			&llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: &llmdv1.AssistantMessage{
				Api: "anthropic-messages", Provider: "anthropic", Model: "claude-bench", StopReason: llmdv1.StopReason_STOP_REASON_TOOL_USE,
				Content: []*llmdv1.AssistantContent{
					{Block: &llmdv1.AssistantContent_Thinking{Thinking: &llmdv1.ThinkingContent{Thinking: "I should look first.", Signature: &llmdv1.Signature{
						Data: []byte("c2lnbmVk"), Format: "anthropic.thinking", Api: "anthropic-messages", Provider: "anthropic", Model: "claude-bench",
					}}}},
					{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: &llmdv1.ToolCall{Id: id, Name: "read", ArgumentsJson: `{"path":"notes.txt"}`}}},
				},
			}}},
			&llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: &llmdv1.ToolResultMessage{
				ToolCallId: id, ToolName: "read",
				Content: []*llmdv1.ToolResultContent{{Block: &llmdv1.ToolResultContent_Text{Text: &llmdv1.TextContent{Text: page}}}},
			}}})
	}
	c.Messages = append(c.Messages[:turns-turns%perRound], question)
	return req
}

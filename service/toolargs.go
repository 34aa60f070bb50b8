package service

import (
	"errors"
	"fmt"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonstream"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/toolcheck"
)

const (
	codeArgumentsMismatch = "tool_call.arguments_mismatch"
	// maxMismatches is how many remarks a response has.
	maxMismatches = 50
)

// argumentMismatches says where calls in a history do not fit the parameters of
// their tools. Such a history is sent all the same: the model made the call, and
// the tool has answered it. Calls of tools that are not among the conversation's,
// and arguments that are no object, which the hand-off reports, are passed over.
func argumentMismatches(schemas *toolcheck.Cache, c *llmdv1.Context) []*llmdv1.Diagnostic {
	tools := make(map[string]*llmdv1.Tool, len(c.GetTools()))
	for _, t := range c.GetTools() {
		tools[t.GetName()] = t
	}
	var all []*llmdv1.Diagnostic
	for i, m := range c.GetMessages() {
		for k, b := range m.GetAssistant().GetContent() {
			call := b.GetToolCall()
			tool := tools[call.GetName()]
			if call == nil || tool == nil {
				continue
			}
			arguments := call.GetArgumentsJson()
			if strings.TrimSpace(arguments) != "" && jsonstream.Object([]byte(arguments)) != nil {
				continue
			}
			for _, p := range problems(schemas, tool, arguments) {
				if len(all) == maxMismatches {
					return all
				}
				all = append(all, &llmdv1.Diagnostic{
					Code: codeArgumentsMismatch, ContentIndex: new(int32(k)),
					Message: fmt.Sprintf("generation.context.messages[%d]: call of tool %q: %s", i, tool.GetName(), p),
				})
			}
		}
	}
	return all
}

// problems is how arguments do not fit a tool. What cannot be judged fits.
func problems(schemas *toolcheck.Cache, tool *llmdv1.Tool, arguments string) []toolcheck.Problem {
	t, err := schemas.Compile(tool)
	if err == nil {
		err = t.Check(arguments)
	}
	if mismatch, ok := errors.AsType[*toolcheck.ArgumentsError](err); ok {
		return mismatch.Problems
	}
	return nil
}

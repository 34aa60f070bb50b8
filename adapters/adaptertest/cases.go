package adaptertest

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonstream"
)

// Cases reads the streams among the public cases of an API, ../shared/cases beside the
// repository, and compares the answers with what the cases say is right. What is the
// transport's business or the service's is left out. Without that folder the test is
// skipped, or fails where CI=true.
func Cases(t *testing.T, a adapters.Adapter) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(sharedFolder(t), "cases", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range paths {
		var c publicCase
		if err := readJSON(path, &c); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if c.Kind != "stream" || c.API != a.API() {
			continue
		}
		n++
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			if c.Headers["content-encoding"] != "" || c.End == "hold" || c.End == "heartbeat" || c.AbortAfter != nil {
				t.Skip("not the adapter's business")
			}
			got, err := FoldBody(a, NewCall(defaultModel(a.API(), c.Provider, c.Model)), c.body())
			for _, problem := range append(c.Expect.compare(got, err), got.Faults...) {
				t.Error(problem)
			}
		})
	}
	if n == 0 {
		t.Fatalf("no cases of %q", a.API())
	}
}

// publicCase is one case; ../shared/cases/SCHEMA.md describes it.
type publicCase struct {
	Kind, API, Provider, Model string
	Headers                    map[string]string
	Body                       string
	Generated                  struct {
		Parts []struct {
			Text, Repeat string
			Count        int
		}
	} `json:"body_gen"`
	End        string
	AbortAfter json.RawMessage `json:"abort_after"`
	Expect     caseExpect
}

func (c *publicCase) body() string {
	var b strings.Builder
	b.WriteString(c.Body)
	for _, p := range c.Generated.Parts {
		b.WriteString(p.Text + strings.Repeat(p.Repeat, p.Count))
	}
	return b.String()
}

type caseExpect struct {
	Content      json.RawMessage // a list of blocks, or anything else that asserts nothing
	ContentMode  string          `json:"content_mode"`
	Stop         any             `json:"stop_reason"`
	Usage        map[string]int32
	Retryable    *bool
	ErrorMessage any   `json:"error_message"`
	Executable   *bool `json:"tool_call_executable"`
}

type caseBlock struct {
	Type                                string
	Text, Thinking, ID, Name, Signature any
	Redacted                            bool
	Arguments                           json.RawMessage
}

func (c *caseExpect) compare(got *Folded, err error) (p problems) {
	stop := got.stop(err)
	// Contract 1.19: what was cut may also be a call that is marked as broken.
	broken := c.Executable != nil && !*c.Executable && got.Calls() && slices.ContainsFunc(got.Blocks, func(b Block) bool {
		return b.Kind == KindToolCall && !isObject(b.Text)
	})
	if !broken && !fits(c.Stop, map[string]string{"tool_use": "toolUse"}[stop]) && !fits(c.Stop, stop) {
		p.add("the stop reason is %s, want %v (%s)", stop, c.Stop, Lines(nil, err))
	}
	u := got.Usage
	for field, n := range map[string]int32{
		"input": u.GetInputTokens(), "output": u.GetOutputTokens(), "cache_read": u.GetCacheReadTokens(), "cache_write": u.GetCacheWriteTokens(),
	} {
		if want, ok := c.Usage[field]; ok && n != want {
			p.add("usage.%s is %d, want %d", field, n, want)
		}
	}
	upstream := got.Err
	_ = errors.As(err, &upstream)
	if upstream != nil {
		if c.Retryable != nil && upstream.Retryable() != *c.Retryable {
			p.add("retryable is %t, want %t", upstream.Retryable(), *c.Retryable)
		}
		if c.ErrorMessage != nil && !fits(c.ErrorMessage, upstream.Message) {
			p.add("the message is %q, want %v", upstream.Message, c.ErrorMessage)
		}
	}
	var want []caseBlock
	if json.Unmarshal(c.Content, &want) != nil {
		return p
	}
	if len(want) != len(got.Blocks) {
		p.add("the blocks are %s, want %s", kinds(got.Blocks), c.Content)
		return p
	}
	for i := range want {
		if !want[i].fits(&got.Blocks[i], c.ContentMode) {
			p.add("block %d is %+v, want %+v", i, got.Blocks[i], want[i])
		}
	}
	return p
}

func (w *caseBlock) fits(g *Block, mode string) bool {
	switch w.Type {
	case "toolCall":
		return g.Kind == KindToolCall && fits(w.ID, g.ID) && fits(w.Name, g.Name) &&
			sameJSON([]byte(jsonstream.Repair([]byte(g.Text)).JSON), w.Arguments)
	case "thinking":
		return g.Kind == KindThinking && g.Redacted == w.Redacted && (w.Redacted || fits(w.Thinking, g.Text)) &&
			(w.Signature == nil || mode == "ignore_signature" || fits(w.Signature, g.Signature))
	}
	return g.Kind == KindText && fits(w.Text, g.Text)
}

// fits compares with a value or a matcher. Ids that the assembler makes up are empty
// here.
func fits(want any, got string) bool {
	matcher, ok := want.(map[string]any)
	if !ok {
		return want == got
	}
	if list, ok := matcher["$any"].([]any); ok {
		return slices.ContainsFunc(list, func(w any) bool { return fits(w, got) })
	}
	if n, ok := matcher["$length"].(float64); ok {
		return utf8.RuneCountInString(got) == int(n)
	}
	if pattern, ok := matcher["$regex"].(string); ok {
		return regexp.MustCompile(pattern).MatchString(got)
	}
	return matcher["$nonempty"] == true
}

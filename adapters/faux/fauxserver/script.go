package fauxserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

const (
	// scriptPrefix begins a user text that decides the answer.
	scriptPrefix = "faux:"
	// maxScript limits what one answer sends, in bytes.
	maxScript = 16 << 20
	// maxDelay limits one pause.
	maxDelay = time.Hour
)

// step is one thing that an answer does. Scripts are steps, and so are the
// answers of the models; package documentation explains the members.
type step struct {
	// nil = not this kind of step; an empty text is a block all the same.
	Text     *string `json:"text"`
	Thinking *string `json:"thinking"`
	Redacted *string `json:"redacted"`

	ToolCall  *call  `json:"tool_call"`
	ToolCalls []call `json:"tool_calls"`

	Error   string `json:"error"`
	Stop    string `json:"stop"`
	Message string `json:"message"`

	DelayMS int `json:"delay_ms"`
	Chunk   int `json:"chunk"`
	Repeat  int `json:"repeat"`
}

// call is a tool call of a script.
type call struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Text      string          `json:"arguments_text"`
}

// arguments is the text that is sent.
func (c *call) arguments() string {
	switch {
	case c.Text != "":
		return c.Text
	case len(c.Arguments) > 0:
		return string(c.Arguments)
	}
	return "{}"
}

// script returns the steps that the user wrote for this turn; ok is false if the
// model is to decide.
func (r *request) script() (steps []step, ok bool, f *failure) {
	text, ok := strings.CutPrefix(strings.TrimSpace(r.userText()), scriptPrefix)
	if !ok {
		return nil, false, nil
	}
	answers, err := parseScript([]byte(text))
	if err != nil {
		return nil, false, invalid("script: %v", err)
	}
	if r.turn() >= len(answers) {
		return nil, false, nil
	}
	steps = answers[r.turn()]
	if err := checkSteps(steps); err != nil {
		return nil, false, invalid("script: %v", err)
	}
	return steps, true, nil
}

// parseScript reads a step, an array of steps or an array of arrays of steps.
func parseScript(text []byte) ([][]step, error) {
	text = bytes.TrimSpace(text)
	if len(text) > 0 && text[0] == '{' {
		text = append(append([]byte("["), text...), ']')
	}
	var items []json.RawMessage
	if err := json.Unmarshal(text, &items); err != nil {
		return nil, err
	}
	if len(items) == 0 || items[0][0] != '[' {
		steps, err := parseSteps(text)
		return [][]step{steps}, err
	}
	var answers [][]step
	for _, item := range items {
		steps, err := parseSteps(item)
		if err != nil {
			return nil, err
		}
		answers = append(answers, steps)
	}
	return answers, nil
}

// parseSteps is strict: a misspelt member would be a step that does nothing.
func parseSteps(text []byte) ([]step, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var steps []step
	err := d.Decode(&steps)
	return steps, err
}

func checkSteps(steps []step) error {
	total := 0
	for i, s := range steps {
		if s.DelayMS < 0 || s.delay() > maxDelay || s.Chunk < 0 || s.Repeat < 0 {
			return fmt.Errorf("step %d: a number is out of range", i)
		}
		size := 0
		for _, text := range []*string{s.Text, s.Thinking, s.Redacted} {
			if text != nil {
				size += len(*text)
			}
		}
		if times := max(1, s.Repeat); size > 0 && times > maxScript/size {
			return fmt.Errorf("step %d sends more than %d bytes", i, maxScript)
		} else if total += size * times; total > maxScript {
			return fmt.Errorf("the answer is longer than %d bytes", maxScript)
		}
		if s.Error == "" {
			continue
		}
		f, ok := failureOf(s.Error)
		switch {
		case !ok:
			return fmt.Errorf("step %d: unknown error %q", i, s.Error)
		case f.html && i > 0:
			return fmt.Errorf("step %d: %q must come first", i, s.Error)
		}
	}
	return nil
}

// say and ponder are steps with a text.
func say(text string) step    { return step{Text: &text} }
func ponder(text string) step { return step{Thinking: &text} }

// paced puts a pause before each chunk.
func (s step) paced(ms int) step {
	s.DelayMS = ms
	return s
}

func (s *step) delay() time.Duration { return time.Duration(s.DelayMS) * time.Millisecond }

// calls are the tool calls of the step.
func (s *step) calls() []call {
	if s.ToolCall != nil {
		return []call{*s.ToolCall}
	}
	return s.ToolCalls
}

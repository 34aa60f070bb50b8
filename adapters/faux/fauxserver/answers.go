package fauxserver

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	longWords    = 2000
	longPauseMS  = 3
	callPauseMS  = 15 // so that the arguments can be seen to grow
	slowWords    = 10
	slowPauseMS  = 1000
	thoughts     = 40  // sentences that the model "think" thinks in each block
	quoted       = 200 // characters of a tool result that an answer repeats
	callsAtOnce  = 3   // of the model "parallel"
	quotedPrompt = 60  // characters of the user's text that thinking repeats
)

// answer decides what to do: the script, if there is one, else the model.
func (r *request) answer() ([]step, *failure) {
	steps, ok, f := r.script()
	if ok || f != nil {
		return steps, f
	}
	results := r.results()
	if r.Model == "error" && len(results) == 0 {
		return failing(failureIn(r.userText())), nil
	}
	if len(r.OutputSchema) > 0 && (len(results) > 0 || !r.wantsCall()) {
		return []step{say(valueOf(r.OutputSchema, r.userText(), 0))}, nil
	}
	switch {
	case len(results) > 0:
		return append(r.think("The results are in. Now I can answer."), say(report(results))), nil
	case r.wantsCall():
		return r.callTools(), nil
	}
	return r.talk(), nil
}

// wantsCall says whether a model calls a tool before there are results.
func (r *request) wantsCall() bool {
	if len(r.Tools) == 0 || r.Choice.Mode == "none" {
		return false
	}
	return r.Choice.Mode == "required" || r.Model == "agent" || r.Model == "parallel"
}

func (r *request) talk() []step {
	text := r.userText()
	switch r.Model {
	case "agent":
		return append(r.think("I have no tools, so I answer at once."),
			say("You said: "+excerpt(text, quoted)))
	case "think":
		return r.thinkLong()
	case "long":
		return []step{say(words(longWords)).paced(longPauseMS)}
	case "slow":
		return []step{say(words(slowWords)).paced(slowPauseMS)}
	}
	if n := r.Messages[r.userIndex()].images(); text == "" && n > 0 {
		text = fmt.Sprintf("You sent %d image(s).", n)
	}
	return []step{say(text)}
}

// think gives a thinking step, if the model thinks and was not told not to.
func (r *request) think(then string) []step {
	thinks := r.Model == "agent" || r.Model == "think"
	if !thinks || r.Thinking.Mode == "off" {
		return nil
	}
	return []step{ponder(fmt.Sprintf("The user said %q. %s", excerpt(r.userText(), quotedPrompt), then))}
}

func (r *request) thinkLong() []step {
	answer := say("I have thought about it.")
	if r.Thinking.Mode == "off" {
		return []step{answer}
	}
	var first, second strings.Builder
	for i := range thoughts {
		fmt.Fprintf(&first, "Thought %d: there is more to this than meets the eye. ", i+1)
		fmt.Fprintf(&second, "Thought %d: and yet the answer is simple. ", thoughts+i+1)
	}
	hidden := "A thought that is better not shown."
	return []step{ponder(first.String()), {Redacted: &hidden}, ponder(second.String()), answer}
}

// callTools calls the tool that was chosen, or the first one; the model
// "parallel" calls three at once.
func (r *request) callTools() []step {
	tools := r.Tools
	if r.Choice.Name != "" {
		i := slices.IndexFunc(tools, func(t tool) bool { return t.Name == r.Choice.Name })
		tools = tools[i : i+1]
	}
	n := 1
	if r.Model == "parallel" && (r.Parallel == nil || *r.Parallel) {
		n = callsAtOnce
	}
	var calls []call
	for i := range n {
		t := tools[i%len(tools)]
		calls = append(calls, call{Name: t.Name, Text: argumentsFor(t.Parameters, r.userText(), i)})
	}
	name := calls[0].Name
	return append(r.think("The tool "+name+" will help me."),
		say("I will ask "+name+"."), step{ToolCalls: calls}.paced(callPauseMS))
}

func report(results []result) string {
	var b strings.Builder
	for i, r := range results {
		verb := "says"
		if r.isError {
			verb = "failed"
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s %s: %s", r.name, verb, excerpt(r.text, quoted))
	}
	return b.String()
}

func failing(word string) []step {
	f, _ := failureOf(word)
	if f.status != 0 || word == "before" {
		return []step{{Error: word}}
	}
	return []step{say("This answer will not end well."), {Error: word}}
}

// words is a text of n words.
func words(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "word%d", i+1)
	}
	return b.String()
}

// excerpt is the beginning of a text.
func excerpt(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n]) + "..."
}

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

const (
	labelWidth = 10
	// readingPause lets people see on a terminal how an answer grows; the built-in
	// models answer faster than anyone reads.
	readingPause = 15 * time.Millisecond
)

// demoPrinter prints what the demo does: lines with a label each.
type demoPrinter struct {
	out   *noting
	style style
	// open: the last line has no end yet. titled: there was a title.
	open, titled bool
}

func newDemoPrinter(s *session) *demoPrinter {
	return &demoPrinter{out: &noting{Writer: s.stdout}, style: styleOf(s.stdout, s.env)}
}

func (p *demoPrinter) title(text string) {
	p.end()
	if p.titled {
		put(p.out, "\n")
	}
	p.titled = true
	put(p.out, "%s\n", p.style.bold(text))
}

func (p *demoPrinter) line(label, text string) {
	p.end()
	put(p.out, "%s%s\n", p.label(label), text)
}

func (p *demoPrinter) label(label string) string {
	return "  " + p.style.cyan(fmt.Sprintf("%-*s", labelWidth, label))
}

// end ends an open line.
func (p *demoPrinter) end() {
	if p.open {
		put(p.out, "\n")
		p.open = false
	}
}

// more appends to the open line, or begins one.
func (p *demoPrinter) more(text string) {
	p.open = true
	put(p.out, "%s", text)
	if p.style.tty {
		time.Sleep(readingPause)
	}
}

func (p *demoPrinter) change(c *llmdv1.HandoffChange) {
	place := fmt.Sprintf("message %d", c.GetMessageIndex())
	if c.ContentIndex != nil {
		place += fmt.Sprintf(", block %d", c.GetContentIndex())
	}
	p.line("", fmt.Sprintf("%-10s %s in %s: %s", enumWord(c.GetAction()), p.style.green(c.GetRule()), place, c.GetDetail()))
}

// show prints one event of an answer.
func (p *demoPrinter) show(e *llmdv1.StreamResponse, f *fold) error {
	switch v := e.GetEvent().(type) {
	case *llmdv1.StreamResponse_ThinkingStart:
		p.end()
		p.more(p.label("thinking"))
	case *llmdv1.StreamResponse_ThinkingDelta:
		p.more(p.style.dim(v.ThinkingDelta.GetDelta()))
	case *llmdv1.StreamResponse_ThinkingEnd:
		sig := v.ThinkingEnd.GetContent().GetSignature()
		p.line("signed", fmt.Sprintf("%.24s... (%d bytes, %s)", sig.GetData(), len(sig.GetData()), sig.GetFormat()))
	case *llmdv1.StreamResponse_TextStart:
		p.end()
		p.more(p.label("text"))
	case *llmdv1.StreamResponse_TextDelta:
		p.more(v.TextDelta.GetDelta())
	case *llmdv1.StreamResponse_ToolCallStart:
		p.line("call", v.ToolCallStart.GetName()+" ("+v.ToolCallStart.GetId()+")")
	case *llmdv1.StreamResponse_ToolCallDelta:
		return p.arguments(f.Arguments(v.ToolCallDelta.GetContentIndex()))
	case *llmdv1.StreamResponse_ToolCallEnd:
		p.line("arguments", v.ToolCallEnd.GetToolCall().GetArgumentsJson())
	}
	return nil
}

// forecastArguments are the arguments of the demo's tool, as far as they are known.
type forecastArguments struct {
	City *string `json:"city"`
	Days *int    `json:"days"`
	Unit *string `json:"unit"`
}

// arguments reads what there is of a call's arguments, as any client can: the
// usable prefix of all deltas, closed, is JSON for every parser. Terminals show
// one line that changes, everything else a line for each delta.
func (p *demoPrinter) arguments(soFar []byte) error {
	var args forecastArguments
	if err := json.Unmarshal(soFar, &args); err != nil {
		return fmt.Errorf("the arguments so far cannot be read: %w", err)
	}
	text := fmt.Sprintf("%s%3d bytes: %s", p.label("growing"), len(soFar), args)
	if p.style.tty {
		p.more(p.style.over(text))
		time.Sleep(4 * readingPause)
		return nil
	}
	p.end()
	put(p.out, "%s\n", text)
	return nil
}

func (a forecastArguments) String() string {
	var known []string
	if a.City != nil {
		known = append(known, fmt.Sprintf("city %q", *a.City))
	}
	if a.Days != nil {
		known = append(known, fmt.Sprintf("days %d", *a.Days))
	}
	if a.Unit != nil {
		known = append(known, fmt.Sprintf("unit %q", *a.Unit))
	}
	if known == nil {
		return "-"
	}
	return strings.Join(known, ", ")
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// jsonLine is a message as one line of JSON.
func jsonLine(m proto.Message) ([]byte, error) {
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	// protojson puts in blanks at random, so that nobody compares its text.
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return nil, err
	}
	line.WriteByte('\n')
	return line.Bytes(), nil
}

// jsonPrinter prints each event as a line of JSON.
type jsonPrinter struct{ out io.Writer }

func (p jsonPrinter) show(e *llmdv1.StreamResponse) error {
	line, err := jsonLine(e)
	if err != nil {
		return err
	}
	_, err = p.out.Write(line)
	return err
}

func (jsonPrinter) close() {}

// callPrinter prints an answer for people: its text to out, the rest to notes.
type callPrinter struct {
	out, notes io.Writer
	style      style // of notes
	began      time.Time
	// open: the last line of out, or of notes, has no end yet.
	outOpen, notesOpen bool
}

func newCallPrinter(s *session) *callPrinter {
	return &callPrinter{out: s.stdout, notes: s.stderr, style: styleOf(s.stderr, s.env), began: time.Now()}
}

func (p *callPrinter) show(e *llmdv1.StreamResponse) error {
	switch v := e.GetEvent().(type) {
	case *llmdv1.StreamResponse_Started:
		p.started(v.Started)
	case *llmdv1.StreamResponse_ThinkingStart:
		if v.ThinkingStart.GetRedacted() {
			p.note("thinking, redacted")
		}
	case *llmdv1.StreamResponse_ThinkingDelta:
		p.closeOut()
		p.notesOpen = true
		put(p.notes, "%s", p.style.dim(v.ThinkingDelta.GetDelta()))
	case *llmdv1.StreamResponse_TextStart:
		p.close() // a block begins on a line of its own
	case *llmdv1.StreamResponse_TextDelta:
		p.closeNotes()
		_, err := io.WriteString(p.out, v.TextDelta.GetDelta())
		p.outOpen = !strings.HasSuffix(v.TextDelta.GetDelta(), "\n")
		return err
	case *llmdv1.StreamResponse_ProviderContent:
		p.note("the provider sent a block of its own: " + v.ProviderContent.GetContent().GetType())
	case *llmdv1.StreamResponse_Stall:
		p.note(fmt.Sprintf("the provider has been silent for %s: %s", v.Stall.GetIdleDuration().AsDuration().Round(time.Second), enumWord(v.Stall.GetState())))
	case *llmdv1.StreamResponse_Done:
		p.note(p.summary(v.Done.GetMessage()))
	case *llmdv1.StreamResponse_Error:
		p.note(p.summary(v.Error.GetMessage()))
	case *llmdv1.StreamResponse_Aborted:
		p.note(p.summary(v.Aborted.GetMessage()))
		p.note(receipt(v.Aborted))
	}
	return nil
}

// started tells what llmd changed before it asked the provider.
func (p *callPrinter) started(s *llmdv1.StartedEvent) {
	for _, c := range s.GetHandoffChanges() {
		p.note(enumWord(c.GetAction()) + " " + c.GetRule() + ": " + c.GetDetail())
	}
	for _, a := range s.GetEffective().GetAdjustments() {
		p.note(a)
	}
	if why := s.GetEffective().GetReasoningDisabledReason(); why != "" {
		p.note("without reasoning: " + why)
	}
}

// note prints a line about the answer.
func (p *callPrinter) note(text string) {
	p.close()
	put(p.notes, "%s\n", p.style.dim(text))
}

func (p *callPrinter) close() {
	p.closeOut()
	p.closeNotes()
}

func (p *callPrinter) closeOut() {
	if p.outOpen {
		put(p.out, "\n")
		p.outOpen = false
	}
}

func (p *callPrinter) closeNotes() {
	if p.notesOpen {
		put(p.notes, "\n")
		p.notesOpen = false
	}
}

// summary says how an answer ended and what it used.
func (p *callPrinter) summary(m *llmdv1.AssistantMessage) string {
	return fmt.Sprintf("%s/%s: %s, %s, %s", m.GetProvider(), m.GetModel(), enumWord(m.GetStopReason()),
		usageText(m.GetUsage()), time.Since(p.began).Round(10*time.Millisecond))
}

// receipt says what an abort left.
func receipt(a *llmdv1.AbortedEvent) string {
	chars := 0
	for _, c := range a.GetMessage().GetContent() {
		chars += utf8.RuneCountInString(textOf(c))
	}
	return fmt.Sprintf("aborted (%s): %d characters kept, connection to the provider closed after %s, response %s",
		enumWord(a.GetCause()), chars, a.GetUpstreamCloseDelay().AsDuration().Round(time.Microsecond), a.GetMessage().GetResponseId())
}

func usageText(u *llmdv1.Usage) string {
	if u == nil {
		return "usage unknown"
	}
	prompt := u.GetInputTokens() + u.GetCacheReadTokens() + u.GetCacheWriteTokens()
	text := fmt.Sprintf("%d + %d tokens", prompt, u.GetOutputTokens())
	var parts []string
	if n := u.GetCacheReadTokens(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d from the cache", n))
	}
	if n := u.GetReasoningTokens(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d reasoning", n))
	}
	if u.GetEstimated() {
		parts = append(parts, "estimated")
	}
	if len(parts) > 0 {
		text += " (" + strings.Join(parts, ", ") + ")"
	}
	if u.GetCost() == nil {
		return text + ", cost unknown"
	}
	return text + ", " + dollars(u.GetCost().GetTotalPicoUsd())
}

// dollars spells pico US dollars exactly.
func dollars(pico int64) string {
	const perDollar = 1_000_000_000_000
	text := fmt.Sprintf("$%d.%012d", pico/perDollar, pico%perDollar)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// enumWord is an enum value without the prefix that repeats its type:
// "TOOL_USE" for STOP_REASON_TOOL_USE.
func enumWord(e protoreflect.Enum) string {
	values := e.Descriptor().Values()
	v := values.ByNumber(e.Number())
	if v == nil {
		return fmt.Sprint(e.Number()) // newer than this program
	}
	return strings.TrimPrefix(string(v.Name()), strings.TrimSuffix(string(values.Get(0).Name()), "UNSPECIFIED"))
}

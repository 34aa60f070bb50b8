package fauxserver

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// keepAlive is the distance of the comments that a stalled answer sends.
const keepAlive = 100 * time.Millisecond

// errOver ends a body where it stands.
var errOver = errors.New("fauxserver: the answer is over")

// player sends one answer.
type player struct {
	out  http.ResponseWriter
	req  *request
	body []byte // of the request, to make ids of

	blocks, calls int // so far
	chars         int // of output so far, thinking included
	thinkingChars int
}

// play sends the steps. It returns when the answer is over or the caller is gone.
func (p *player) play(ctx context.Context, steps []step) {
	// An error that comes first comes before everything.
	if len(steps) == 0 || steps[0].Error == "" {
		if p.start() != nil {
			return
		}
	}
	for i := range steps {
		reason, err := p.step(ctx, &steps[i])
		switch {
		case err != nil:
			return
		case reason != "":
			p.finish(reason, steps[i].Message)
			return
		}
	}
	if p.calls > 0 {
		p.finish("tool_use", "")
	} else {
		p.finish("stop", "")
	}
}

// step does one step. A reason ends the answer in order, an error at once.
func (p *player) step(ctx context.Context, s *step) (reason string, err error) {
	calls := s.calls()
	switch {
	case s.Error != "":
		return "", p.fail(ctx, s.Error)
	case s.Text != nil:
		return p.text(ctx, s)
	case s.Thinking != nil:
		return p.thinking(ctx, s)
	case s.Redacted != nil:
		return "", p.redacted(ctx, s)
	case len(calls) > 0:
		return p.toolCalls(ctx, s, calls)
	}
	return s.Stop, pause(ctx, s.delay())
}

func (p *player) text(ctx context.Context, s *step) (reason string, err error) {
	text, times := *s.Text, max(1, s.Repeat)
	if at := p.stopAt(text, times); at >= 0 {
		text, times, reason = strings.Repeat(text, times)[:at], 1, "stop"
	}
	b := p.open()
	if full, err := p.deltas(ctx, s, "text", b, text, times); err != nil || full {
		return "length", err
	}
	return reason, p.end(b)
}

// stopAt finds the first stop sequence in a text; -1 if there is none.
func (p *player) stopAt(text string, times int) int {
	if len(p.req.Stops) == 0 {
		return -1
	}
	text, first := strings.Repeat(text, times), -1
	for _, s := range p.req.Stops {
		if i := strings.Index(text, s); s != "" && i >= 0 && (first < 0 || i < first) {
			first = i
		}
	}
	return first
}

func (p *player) thinking(ctx context.Context, s *step) (reason string, err error) {
	times := max(1, s.Repeat)
	b, before := p.open(), p.chars
	full, err := p.deltas(ctx, s, "thinking", b, *s.Thinking, times)
	p.thinkingChars += p.chars - before
	if err != nil || full {
		return "length", err
	}
	j := event("signature", b)
	j.Member("signature", Sign(p.req.Model, strings.Repeat(*s.Thinking, times)))
	if err := p.send(j); err != nil {
		return "", err
	}
	return "", p.end(b)
}

func (p *player) redacted(ctx context.Context, s *step) error {
	if err := pause(ctx, s.delay()); err != nil {
		return err
	}
	n := utf8.RuneCountInString(*s.Redacted)
	p.chars += n
	p.thinkingChars += n
	b := p.open()
	j := event("redacted", b)
	j.Member("signature", redact(p.req.Model, *s.Redacted))
	if err := p.send(j); err != nil {
		return err
	}
	return p.end(b)
}

// toolCalls opens all calls, then sends their arguments in turn.
func (p *player) toolCalls(ctx context.Context, s *step, calls []call) (reason string, err error) {
	first := p.blocks
	var fragments [][]string
	for i := range calls {
		if err := p.openCall(&calls[i]); err != nil {
			return "", err
		}
		n := s.Chunk
		if n == 0 {
			n = argumentChars
		}
		fragments = append(fragments, slices.Collect(chunks(calls[i].arguments(), n)))
	}
	for round, left := 0, len(calls); left > 0; round++ {
		for i, f := range fragments {
			switch {
			case round < len(f):
				if full, err := p.delta(ctx, s, "args", first+i, f[round]); err != nil || full {
					return "length", err
				}
			case round == len(f):
				left--
				if err := p.end(first + i); err != nil {
					return "", err
				}
			}
		}
	}
	return "", nil
}

func (p *player) openCall(c *call) error {
	id := c.ID
	if id == "" {
		id = "call_" + name(p.body, "call "+strconv.Itoa(p.calls))
	}
	p.calls++
	j := event("tool_call", p.open())
	j.Member("id", id)
	j.Member("name", c.Name)
	return p.send(j)
}

// deltas sends a text chunk by chunk, with at least one delta. It reports full if
// the limit on output cut it.
func (p *player) deltas(ctx context.Context, s *step, kind string, b int, text string, times int) (full bool, err error) {
	if text == "" {
		return p.delta(ctx, s, kind, b, "")
	}
	for range times {
		for chunk := range chunks(text, s.Chunk) {
			if full, err := p.delta(ctx, s, kind, b, chunk); err != nil || full {
				return full, err
			}
		}
	}
	return false, nil
}

func (p *player) delta(ctx context.Context, s *step, kind string, b int, text string) (full bool, err error) {
	if err := pause(ctx, s.delay()); err != nil {
		return false, err
	}
	sent, n := text, utf8.RuneCountInString(text)
	if limit := p.req.MaxOutput * charsPerToken; limit > 0 {
		sent, n = firstChars(text, max(0, limit-p.chars))
	}
	p.chars += n
	full = len(sent) < len(text)
	if sent == "" && full {
		return full, nil
	}
	j := event(kind, b)
	j.Member("text", sent)
	return full, p.send(j)
}

// fail fails in the way that word names.
func (p *player) fail(ctx context.Context, word string) error {
	f, _ := failureOf(word) // checked before
	switch word {
	case "refusal":
		p.finish("refusal", f.message)
	case "truncate":
	case "reset":
		panic(http.ErrAbortHandler) //nolint:forbidigo // the documented way to break a connection
	case "malformed":
		if p.raw("data: {\"type\":\"text\",\"bl\n\n") == nil {
			p.finish("stop", "")
		}
	case "stall":
		for pause(ctx, keepAlive) == nil && p.raw(": still here\n\n") == nil {
		}
	default:
		var j jsonwire.Writer
		j.BeginObject()
		j.Member("type", "error")
		f.member(&j)
		_ = p.send(&j)
	}
	return errOver
}

func (p *player) start() error {
	var j jsonwire.Writer
	j.BeginObject()
	j.Member("type", "start")
	j.Member("id", "faux_"+name(p.body, "answer"))
	j.Member("model", p.req.Model)
	j.MemberIf("service_tier", p.req.Tier)
	if err := p.send(&j); err != nil {
		return err
	}
	return p.usage()
}

// usage sends what was used so far.
func (p *player) usage() error {
	var j jsonwire.Writer
	j.BeginObject()
	j.Member("type", "usage")
	j.Key("input")
	j.Int(int64(tokens(p.req.promptChars())))
	j.Key("output")
	j.Int(int64(tokens(p.chars)))
	if p.thinkingChars > 0 {
		j.Key("reasoning")
		j.Int(int64(tokens(p.thinkingChars)))
	}
	return p.send(&j)
}

// finish ends the answer in order. Nobody is left to tell if that fails.
func (p *player) finish(reason, message string) {
	if p.usage() != nil {
		return
	}
	var j jsonwire.Writer
	j.BeginObject()
	j.Member("type", "stop")
	j.Member("reason", reason)
	j.MemberIf("message", message)
	_ = p.send(&j)
}

// open numbers a new block.
func (p *player) open() int {
	p.blocks++
	return p.blocks - 1
}

func (p *player) end(b int) error { return p.send(event("end", b)) }

// event begins an event about a block; send completes it.
func event(kind string, b int) *jsonwire.Writer {
	j := &jsonwire.Writer{}
	j.BeginObject()
	j.Member("type", kind)
	j.Key("block")
	j.Int(int64(b))
	return j
}

func (p *player) send(j *jsonwire.Writer) error {
	j.EndObject()
	return p.raw("data: " + string(j.Bytes()) + "\n\n")
}

// raw sends one event, or whatever it is, at once.
func (p *player) raw(text string) error {
	if _, err := p.out.Write([]byte(text)); err != nil {
		return err
	}
	if err := http.NewResponseController(p.out).Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// pause waits, or says that the caller is gone.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

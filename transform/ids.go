package transform

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// idPool gives ids that satisfy a rule and are told apart.
type idPool struct {
	rule idRule
	used map[string]bool
	// tries is how many spellings of an id have been given away or were taken,
	// so that an id used in every turn costs the same each time.
	tries map[string]int
}

// assignIDs rewrites ids of calls that the target would refuse, or that are
// already used, and those of their results with them. Each id is used once in a
// request whatever the rule: hosts that ask for nothing forward to providers that
// do. Earlier turns choose first, so a turn that is added later never changes an
// id.
func (h *handoff) assignIDs() {
	pool := idPool{rule: idRule{h.Constraints.ToolCallIDs}, used: map[string]bool{}, tries: map[string]int{}}
	var ids map[int]string // of the answer at hand, by place
	for _, t := range h.turns {
		if t.assistant() != nil {
			ids = h.renameCalls(t, &pool)
		}
		if r := t.result(); r != nil && r.GetToolCallId() != ids[t.call] {
			t.own()
			t.result().ToolCallId = ids[t.call]
		}
	}
}

// renameCalls settles the ids of one answer's calls and returns them.
func (h *handoff) renameCalls(t *turn, pool *idPool) map[int]string {
	content := t.assistant().GetContent()
	calls := callsOf(t.assistant())
	if len(calls) == 0 {
		return nil
	}
	ids := make(map[int]string, len(calls))
	// Ids that are fine as they are come first: another that becomes equal to one
	// of them by rewriting gives way.
	for _, place := range calls {
		id := content[place].GetToolCall().GetId()
		if pool.rule.allows(id) && pool.take(id) {
			ids[place] = id
		}
	}
	e := edit[*llmdv1.AssistantContent]{in: content}
	for place, b := range content {
		c := b.GetToolCall()
		if _, settled := ids[place]; c == nil || settled {
			e.put(place, b)
			continue
		}
		id := pool.spell(c.GetId())
		ids[place] = id
		h.reportBlock(t, place, rewritten, ruleCallID, fmt.Sprintf("%q is sent as %q", clip(c.GetId()), id))
		c = shallow(c)
		c.Id = id
		e.put(place, assistantCall(c))
	}
	e.done(t, t.setAssistant)
	return ids
}

// take claims an id if it is free.
func (p *idPool) take(id string) bool {
	if p.used[id] {
		return false
	}
	p.used[id] = true
	return true
}

// spell claims the first free spelling of an id.
func (p *idPool) spell(id string) string {
	for {
		n := p.tries[id]
		p.tries[id]++
		if s := p.rule.spelling(id, n); p.rule.allows(s) && p.take(s) {
			return s
		}
	}
}

// idRule is the target's rule for ids.
type idRule struct{ adapters.IDRule }

// allows says whether an id may be sent as it is.
func (r idRule) allows(id string) bool {
	if id == "" || r.ExactLen > 0 && len(id) != r.ExactLen || r.MaxLen > 0 && len(id) > r.MaxLen {
		return false
	}
	return strings.IndexFunc(id, r.forbids) < 0
}

func (r idRule) forbids(c rune) bool {
	letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
	switch {
	case r.Alphanumeric:
		return !letter
	case r.WordChars:
		return !letter && c != '_' && c != '-' && !(r.Points && (c == '.' || c == ':'))
	default:
		return false
	}
}

// spelling is the n-th way to write an id within the rule: first the id itself
// without what is forbidden, then with a hash that tells it apart. It may still
// be too short or empty.
func (r idRule) spelling(id string, n int) string {
	clean := r.clean(id)
	if n == 0 && (r.ExactLen == 0 || len(clean) == r.ExactLen) {
		return cutBytes(clean, r.limit(len(clean)))
	}
	if r.ExactLen > 0 {
		return hash36(id, n, r.ExactLen)
	}
	const digits = 8
	tail := hash36(id, n, digits)
	if !r.Alphanumeric {
		tail = "_" + tail
	}
	if clean == "" {
		clean = "call"
	}
	limit := r.limit(len(clean) + len(tail))
	if limit <= len(tail) {
		return hash36(id, n, limit)
	}
	return cutBytes(clean, limit-len(tail)) + tail
}

// limit is the longest length that is allowed, at most n.
func (r idRule) limit(n int) int {
	if r.MaxLen > 0 {
		return min(n, r.MaxLen)
	}
	return n
}

// clean replaces what is forbidden by underscores, or leaves it out where those
// are forbidden too. Underscores that this puts at the end are left out.
func (r idRule) clean(id string) string {
	clean := strings.Map(func(c rune) rune {
		switch {
		case !r.forbids(c):
			return c
		case r.Alphanumeric:
			return -1
		default:
			return '_'
		}
	}, id)
	if clean != id {
		clean = strings.TrimRight(clean, "_")
	}
	return clean
}

// hash36 is a stable hash of an id and a number, in n digits of base 36. The hash
// is a cryptographic one so that nobody can make ids collide on purpose.
func hash36(id string, number, n int) string {
	var out []byte
	for round := 0; len(out) < n; round++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d", id, number, round))
		for half := range 2 {
			word := strconv.AppendUint(nil, binary.BigEndian.Uint64(sum[8*half:]), 36)
			// The first digits of a number are not evenly spread, the last ones are.
			out = append(out, word[max(0, len(word)-11):]...)
		}
	}
	return string(out[:n])
}

// cutBytes cuts a text to at most n bytes, between characters.
func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

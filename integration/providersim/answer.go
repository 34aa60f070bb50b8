package providersim

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Answer is the body that a provider streams for a request that breaks no rule. The
// same request gives the same bytes.
func Answer(api, model string, body []byte) []byte {
	r, err := newRequest(api, model, body)
	if err != nil {
		return nil
	}
	a := r.reply()
	switch api {
	case Anthropic:
		return r.anthropicStream(a)
	case Chat:
		return r.chatStream(a)
	case Responses, Azure:
		return r.responsesStream(a)
	case Gemini, Vertex:
		return r.googleStream(a)
	case Bedrock:
		return r.bedrockStream(a)
	case Mistral:
		return r.mistralStream(a)
	}
	return nil
}

// saidKind is the kind of a piece of an answer.
type saidKind uint8

const (
	saidThinking saidKind = iota
	saidRedacted
	saidText
	saidCall
	saidOwn       // a block of the provider's own kind
	saidOwnResult // what its call came to, where the API has a block of its own for that
)

// said is one piece of an answer.
type said struct {
	kind           saidKind
	text           string
	id, name, args string
}

// end is how an answer ends.
type end uint8

const (
	endStop end = iota
	endCalls
	endLength
	endRefusal
	endPause // with a call of the provider's own that is made when the turn goes on
)

// reply is an answer before it is written in the API's notation.
type reply struct {
	*rand.Rand
	id     string
	pieces []said
	end    end
}

// wish is what a request says about its answer.
type wish struct {
	tools  []tool
	none   bool // no calls
	must   bool // at least one call
	only   string
	single bool // not several calls at once
	thinks bool
	// redacts and own: the API has redacted thinking, and blocks of its own.
	redacts, own bool
	// pauses: the API ends a long turn of calls of its own before it is over.
	pauses bool
}

type tool struct {
	name   string
	schema *value
}

// reply decides what is said.
func (r *request) reply() *reply {
	seed := sha256.Sum256([]byte(r.api + "\x00" + r.model + "\x00" + string(r.raw)))
	a := &reply{
		Rand: rand.New(rand.NewPCG(binary.LittleEndian.Uint64(seed[:]), binary.LittleEndian.Uint64(seed[8:]))),
		id:   hex.EncodeToString(seed[16:28]),
	}
	w := r.wish()
	a.decide(w)
	return a
}

func (a *reply) one(n int) bool { return a.IntN(n) == 0 }

// decide follows what models do: think, speak, call. Rare turns are there because
// they happen: nothing but thinking, thinking between the calls, a refusal, an
// answer that is cut by its limit.
func (a *reply) decide(w wish) {
	if w.thinks && !a.one(6) {
		a.think(w)
	}
	calls := 0
	if len(w.tools) > 0 && !w.none && (w.must || a.one(2)) {
		calls = 1
		if !w.single && a.one(3) {
			calls += 1 + a.IntN(3)
		}
	}
	if calls == 0 && len(a.pieces) > 0 && a.one(8) {
		a.end = endLength // while it was thinking
		return
	}
	if w.own && a.one(20) {
		a.pieces = append(a.pieces, said{kind: saidOwn, text: a.word()})
	}
	if w.pauses && calls == 0 && a.one(12) {
		a.pieces = append(a.pieces, said{kind: saidOwn, text: a.word()})
		a.end = endPause
		return
	}
	if calls == 0 || a.one(2) {
		a.pieces = append(a.pieces, said{kind: saidText, text: a.sentence()})
	}
	for i := range calls {
		if i > 0 && w.thinks && w.redacts && a.one(6) {
			a.think(w)
		}
		a.call(w)
	}
	switch {
	case calls > 0:
		a.end = endCalls
	case a.one(15):
		a.end = endLength
	case a.one(30):
		a.end = endRefusal
	}
}

func (a *reply) think(w wish) {
	if w.redacts && a.one(6) {
		a.pieces = append(a.pieces, said{kind: saidRedacted, text: a.word()})
		return
	}
	a.pieces = append(a.pieces, said{kind: saidThinking, text: a.sentence()})
}

func (a *reply) call(w wish) {
	t := w.tools[a.IntN(len(w.tools))]
	for _, o := range w.tools {
		if o.name == w.only {
			t = o
		}
	}
	a.pieces = append(a.pieces, said{kind: saidCall, name: t.name, args: a.arguments(t.schema), id: a.nonce(22)})
}

// word is found nowhere else: by it a test follows a text.
func (a *reply) word() string { return "w" + a.nonce(11) }

// nonce is n hexadecimal digits.
func (a *reply) nonce(n int) string {
	return fmt.Sprintf("%016x%016x", a.Uint64(), a.Uint64())[:n]
}

// sentence is a text with a word of its own and what texts are made of: all kinds of
// letters, quotes, line ends.
func (a *reply) sentence() string {
	odd := []string{
		"the file", "is", "not", "there", "日本語", "🎉👩‍👩‍👧", "שלום", "e\u0301", "\"quoted\"", `C:\dir`, "\n", "\t", "<b>", "&amp;", "\u2028", "100 %", "{}", "'",
	}
	var b strings.Builder
	b.WriteString(a.word())
	for range 1 + a.IntN(12) {
		b.WriteByte(' ')
		b.WriteString(odd[a.IntN(len(odd))])
	}
	if a.one(40) {
		b.WriteString(strings.Repeat(" and so on", 500))
	}
	return strings.TrimSpace(b.String()) + "."
}

// cut cuts a text into a few pieces, between characters.
func (a *reply) cut(s string) []string {
	runes := []rune(s)
	var out []string
	for len(runes) > 0 && len(out) < 3 {
		n := 1 + a.IntN(len(runes))
		out = append(out, string(runes[:n]))
		runes = runes[n:]
	}
	if len(runes) > 0 {
		out = append(out, string(runes))
	}
	return out
}

package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// scenario is one kind of answer. It travels as the name of the model, which every
// server passes on to the mock.
type scenario struct {
	kind string // text, tool, paced or idle
	// n is the number of deltas; of a tool, the bytes of its arguments.
	n int
	// perWrite is how many deltas go into one write.
	perWrite int
	pause    time.Duration // between writes
	// id tells requests apart, so that the mock can say when one was given up. It
	// travels in the prompt.
	id int
}

// pieceBytes is the length of a fragment of arguments.
const pieceBytes = 8

func text(n int) scenario  { return scenario{kind: "text", n: n, perWrite: 1} }
func tool(n int) scenario  { return scenario{kind: "tool", n: n, perWrite: 1} }
func idle(id int) scenario { return scenario{kind: "idle", n: 1, perWrite: 1, id: id} }

func paced(n int, pause time.Duration) scenario {
	return scenario{kind: "paced", n: n, perWrite: 1, pause: pause}
}

func (s scenario) batched(perWrite int) scenario { s.perWrite = perWrite; return s }

// model is the name that asks for the scenario.
func (s scenario) model() string {
	return fmt.Sprintf("%s-%d-%d-%d", s.kind, s.n, s.perWrite, s.pause.Microseconds())
}

// prompt is what the user says.
func (s scenario) prompt() string { return fmt.Sprintf("go #%d#", s.id) }

func parseScenario(model string) (scenario, error) {
	f := strings.Split(model, "-")
	if len(f) != 4 {
		return scenario{}, fmt.Errorf("no scenario: %q", model)
	}
	var numbers [3]int
	for i, word := range f[1:] {
		n, err := strconv.Atoi(word)
		if err != nil {
			return scenario{}, fmt.Errorf("no scenario: %q", model)
		}
		numbers[i] = n
	}
	return scenario{
		kind: f[0], n: numbers[0], perWrite: max(numbers[1], 1), pause: time.Duration(numbers[2]) * time.Microsecond,
	}, nil
}

// deltas is how many deltas the answer has.
func (s scenario) deltas() int {
	switch s.kind {
	case "tool":
		return len(s.pieces())
	case "idle":
		return 1
	}
	return s.n
}

// bytes is how many bytes of text or arguments must arrive.
func (s scenario) bytes() int {
	if s.kind == "paced" {
		return s.n * stampBytes
	}
	total := 0
	for _, p := range s.pieces() {
		total += len(p)
	}
	return total
}

// pieces are the deltas of an answer that is the same every time.
func (s scenario) pieces() []string {
	switch s.kind {
	case "tool":
		return argumentPieces(s.n)
	case "idle":
		return []string{"waiting "}
	case "paced":
		return nil
	}
	out := make([]string, s.n)
	for i := range out {
		out[i] = word(i)
	}
	return out
}

// word is a delta of 4 to 12 bytes, as tokens are.
func word(i int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	n := 3 + i*7%9
	at := i * 5 % (len(letters) - n)
	return " " + letters[at:at+n]
}

// argumentPieces are the arguments of a call that writes a file, about n bytes.
func argumentPieces(n int) []string {
	var all strings.Builder
	all.WriteString(`{"path":"notes.txt","lines":[`)
	for i := 0; all.Len() < n-24; i++ {
		if i > 0 {
			all.WriteByte(',')
		}
		fmt.Fprintf(&all, `{"n":%d,"text":"%s %s"}`, i, word(i), word(i+1))
	}
	all.WriteString(`]}`)
	rest := all.String()
	var out []string
	for len(rest) > pieceBytes {
		out, rest = append(out, rest[:pieceBytes]), rest[pieceBytes:]
	}
	return append(out, rest)
}

// A paced delta is the time at which it was written: "@", 19 digits of nanoseconds
// and a blank.
const stampBytes = 21

func stamp() string { return fmt.Sprintf("@%019d ", time.Now().UnixNano()) }

// delays reads the ages of the stamps in text, which begins and ends at stamps.
func delays(text string, now time.Time) []time.Duration {
	var out []time.Duration
	for ; len(text) >= stampBytes; text = text[stampBytes:] {
		at, err := strconv.ParseInt(text[1:stampBytes-1], 10, 64)
		if err != nil {
			return out
		}
		out = append(out, now.Sub(time.Unix(0, at)))
	}
	return out
}

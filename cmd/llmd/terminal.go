package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/llmd-dev/llmd/internal/config"
)

// put writes to an output. A command whose output is gone has nobody left to tell.
func put(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

// noting keeps the first error of what is [put] there.
type noting struct {
	io.Writer
	err error
}

func (n *noting) Write(p []byte) (int, error) {
	done, err := n.Writer.Write(p)
	if n.err == nil {
		n.err = err
	}
	return done, err
}

// style writes for a terminal, or plainly for everything else.
type style struct {
	// tty: the output is a terminal, where lines can be written over.
	tty bool
	// color: it may have colours.
	color bool
}

// isTerminal: an input or output is a terminal, or a device such as /dev/null.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&fs.ModeCharDevice != 0
}

// styleOf finds out what an output is. NO_COLOR (https://no-color.org) switches
// colours off.
func styleOf(w io.Writer, env config.Env) style {
	tty := isTerminal(w)
	noColor, _ := env("NO_COLOR")
	term, _ := env("TERM")
	return style{tty: tty && term != "dumb", color: tty && noColor == "" && term != "dumb"}
}

func (s style) paint(code, text string) string {
	if !s.color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(text string) string  { return s.paint("1", text) }
func (s style) dim(text string) string   { return s.paint("2", text) }
func (s style) green(text string) string { return s.paint("32", text) }
func (s style) cyan(text string) string  { return s.paint("36", text) }

// over begins a line that replaces the one before.
func (s style) over(text string) string { return "\r\x1b[K" + text }

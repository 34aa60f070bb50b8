package config

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Parse reads a configuration from text. The name stands in messages. Variables
// are looked up in env. What the text does not say has its default.
func Parse(name string, text []byte, env Env) (*File, error) {
	return parse(name, text, env)
}

// ParseTemplate reads a configuration whose ${NAME} stay as they are, to be
// replaced with [Expand] when the value is needed.
func ParseTemplate(name string, text []byte) (*File, error) {
	return parse(name, text, nil)
}

func parse(name string, text []byte, env Env) (*File, error) {
	r := &reader{file: name, template: env == nil}
	file := Default()
	file.Path = name
	root := r.document(text)
	if root == nil {
		return file, JoinErrors(r.mistakes)
	}
	r.prepare(root, "", env)
	if len(r.mistakes) == 0 {
		value{reader: r, node: root}.object(fileKeys(file))
	}
	if len(r.mistakes) > 0 {
		return nil, JoinErrors(r.mistakes)
	}
	return file, nil
}

// document parses the text as YAML; nil if it is empty or cannot be parsed.
func (r *reader) document(text []byte) *yaml.Node {
	if line, ok := firstBadByte(text); ok {
		r.fail(line, "", "is not UTF-8 text")
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		r.syntax(text, err)
		return nil
	}
	if err := dec.Decode(&second); err == nil {
		r.fail(second.Line, "", "a second document begins here; one file is one configuration")
		return nil
	} else if !errors.Is(err, io.EOF) {
		r.syntax(text, err)
		return nil
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || doc.Content[0].Tag == "!!null" {
		return nil
	}
	return doc.Content[0]
}

// firstBadByte finds what a YAML reader would refuse without a line number.
func firstBadByte(text []byte) (line int, found bool) {
	line = 1
	for rest := text; len(rest) > 0; {
		c, n := utf8.DecodeRune(rest)
		switch {
		case c == utf8.RuneError && n == 1, c < ' ' && c != '\t' && c != '\n' && c != '\r', c == 0x7f:
			return line, true
		case c == '\n':
			line++
		}
		rest = rest[n:]
	}
	return 0, false
}

// syntax reports an error of the YAML reader, which tells its line in words only.
func (r *reader) syntax(text []byte, err error) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if m := regexp.MustCompile(`^unknown anchor '(.*)' referenced$`).FindStringSubmatch(message); m != nil {
		before, _, _ := bytes.Cut(text, []byte("*"+m[1]))
		line += bytes.Count(before, []byte("\n"))
		// The name is not repeated: it may be a key that begins with a star.
		message = "unknown anchor; a text that begins with * needs quotes"
	}
	if m := regexp.MustCompile(`^line (\d+): (.*)$`).FindStringSubmatch(message); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			line, message = n, m[2]
		}
	}
	r.fail(line, "", "%s%s", message, remedy(message))
}

// remedy says what most often is behind the YAML reader's words.
func remedy(message string) string {
	switch message {
	case "found character that cannot start any token":
		return "; indent by spaces, not tabs, and put a text that begins with @, % or ` into quotes"
	case "mapping values are not allowed in this context":
		return `; is the line indented too far, or does a text with ": " in it lack quotes?`
	case "found unexpected end of stream":
		return "; is a quote closed?"
	}
	return ""
}

// prepare refuses what hides meaning (aliases, keys given twice) and replaces
// variables, so that whoever reads the tree later need not think of either.
func (r *reader) prepare(node *yaml.Node, path string, env Env) {
	switch {
	case node.Kind == yaml.AliasNode || node.Anchor != "":
		r.fail(node.Line, path, "anchors and aliases are not supported; write the value out")
	case node.Kind == yaml.MappingNode:
		r.prepareMapping(node, path, env)
	case node.Kind == yaml.SequenceNode:
		for i, item := range node.Content {
			r.prepare(item, path+"["+strconv.Itoa(i)+"]", env)
		}
	case node.Kind == yaml.ScalarNode && node.Tag == "!!str" && env != nil:
		expanded, unset := Expand(node.Value, env)
		node.Value = expanded
		for _, name := range unset {
			if name == "" {
				r.fail(node.Line, path, `"${" must be followed by NAME}; write $${ for a literal "${"`)
				continue
			}
			r.fail(node.Line, path, "environment variable %s is not set", name)
		}
	}
}

func (r *reader) prepareMapping(node *yaml.Node, path string, env Env) {
	seen := make(map[string]int, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if key.Kind != yaml.ScalarNode || key.Anchor != "" || key.Tag == "!!merge" || key.Tag == "!!null" {
			r.fail(key.Line, path, "a key must be a plain name")
			continue
		}
		below := joinPath(path, key.Value)
		if line, ok := seen[key.Value]; ok {
			r.fail(key.Line, below, "given twice; first in line %d", line)
		}
		seen[key.Value] = key.Line
		r.prepare(node.Content[i+1], below, env)
	}
}

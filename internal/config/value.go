package config

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/llmd-dev/llmd/adapters/profile"
)

// reader collects the mistakes of one file.
type reader struct {
	file     string
	mistakes []*ParseError
	// within is the range of the number that was refused last.
	within Range
	// template: the file is a template whose ${NAME} stay for later.
	template bool
}

func (r *reader) fail(line int, path, format string, args ...any) {
	r.mistakes = append(r.mistakes, &ParseError{File: r.file, Line: line, Key: path, Problem: fmt.Sprintf(format, args...)})
}

// value is one value of the file and where it stands.
type value struct {
	*reader
	node *yaml.Node
	path string
}

func (v value) bad(format string, args ...any) {
	v.fail(v.node.Line, v.path, format, args...)
}

// at is a value below this one.
func (v value) at(node *yaml.Node, path string) value {
	return value{reader: v.reader, node: node, path: path}
}

// mapping calls read for each key of a mapping, in the order written.
func (v value) mapping(read func(key *yaml.Node, below value)) {
	if v.node.Kind != yaml.MappingNode {
		v.bad("must be a mapping of keys to values")
		return
	}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key := v.node.Content[i]
		read(key, v.at(v.node.Content[i+1], joinPath(v.path, key.Value)))
	}
}

func joinPath(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// list calls read for each item of a list.
func (v value) list(read func(item value)) {
	if v.node.Kind != yaml.SequenceNode {
		v.bad("must be a list")
		return
	}
	for i, item := range v.node.Content {
		read(v.at(item, fmt.Sprintf("%s[%d]", v.path, i)))
	}
}

// isText: the value is a text. Numbers are taken as they are spelt, so that a
// name like 405 needs no quotes; null and true are somebody's mistake.
func (v value) isText() bool {
	return v.node.Kind == yaml.ScalarNode && slices.Contains([]string{"!!str", "!!int", "!!float", "!!timestamp"}, v.node.Tag)
}

// text reads a text that is not empty.
func (v value) text(target *string) bool {
	switch {
	case !v.isText():
		v.bad("must be a text")
	case strings.TrimSpace(v.node.Value) == "":
		v.bad("must not be empty")
	case strings.ContainsFunc(v.node.Value, func(r rune) bool { return r < ' ' || r == 0x7f }):
		v.bad("must not hold control characters")
	default:
		*target = v.node.Value
		return true
	}
	return false
}

func (v value) texts(target *[]string) {
	*target = nil
	v.list(func(item value) {
		var s string
		if !item.text(&s) {
			return
		}
		if slices.Contains(*target, s) {
			item.bad("%q is listed twice", s)
		}
		*target = append(*target, s)
	})
}

func (v value) word(target *string, words ...string) {
	if v.node.Kind != yaml.ScalarNode || !slices.Contains(words, v.node.Value) {
		v.bad("must be one of: %s", strings.Join(words, ", "))
		return
	}
	*target = v.node.Value
}

func (v value) boolean(target *bool) {
	if v.node.Tag != "!!bool" || v.node.Decode(target) != nil {
		v.bad("must be true or false")
	}
}

// count reads a whole number between limits.
func (v value) count(least, most int64) (int64, bool) {
	var n int64
	if v.node.Tag != "!!int" || v.node.Decode(&n) != nil || n < least || n > most {
		r := Range{strconv.FormatInt(least, 10), strconv.FormatInt(most, 10), most >= math.MaxInt32}
		v.outside(r, "a whole number", "")
		return 0, false
	}
	return n, true
}

func (v value) tokens(target *int32) {
	if n, ok := v.count(1, math.MaxInt32); ok {
		*target = int32(n)
	}
}

type sizeUnit struct {
	name  string
	bytes int64
}

func sizeUnits() []sizeUnit { return []sizeUnit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} }

// size reads a number of bytes, with an optional unit.
func (v value) size(target *int, least, most int64) {
	number, unit := v.node.Value, int64(1)
	for _, u := range sizeUnits() {
		if n, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(n), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if v.node.Kind != yaml.ScalarNode || err != nil || n < 0 || n > most/unit || n*unit < least {
		v.outside(Range{spellSize(least), spellSize(most), most == math.MaxInt64}, "a number of bytes", ", such as 1048576 or 64 MiB")
		return
	}
	*target = int(n * unit)
}

func (v value) duration(target *time.Duration, least, most time.Duration) {
	d, err := time.ParseDuration(v.node.Value)
	if v.node.Kind != yaml.ScalarNode || err != nil || d < least || d > most {
		v.outside(Range{Least: spellDuration(least), Most: spellDuration(most)}, "a duration", ", such as 30s or 2m")
		return
	}
	*target = d
}

// onOff reads a switch; YAML's own true and false will do.
func (v value) onOff(target *bool) {
	switch v.node.Value {
	case "on", "true":
		*target = true
	case "off", "false":
		*target = false
	default:
		v.bad("must be on or off")
	}
}

// url reads an absolute http or https URL and drops trailing slashes.
func (v value) url(target *string) {
	var s string
	if !v.text(&s) {
		return
	}
	if problem := checkURL(s); problem != nil && !(v.template && strings.Contains(s, "${")) {
		v.bad("%s", problem)
		return
	}
	*target = strings.TrimRight(s, "/")
}

func hasScheme(s string) bool {
	scheme, _, ok := strings.Cut(s, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// checkURL says what is wrong with a base URL. The URL itself is not in the
// message: it may hold a password.
func checkURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil && hasScheme(s):
		return errors.New("is not a URL")
	case err != nil, u.Scheme != "http" && u.Scheme != "https": // 127.0.0.1:8000 is no URL at all
		return errors.New("must begin with http:// or https://")
	case u.Hostname() == "":
		return errors.New("has no host")
	case u.User != nil:
		return errors.New("must not hold a user name or password; use api_key or headers")
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(s, "#"):
		return errors.New("must not have a query or a fragment")
	}
	if !validPort(u) {
		return errors.New("has a port that is no number from 1 to 65535")
	}
	return nil
}

// validPort: the URL has no port, or one that can be dialled.
func validPort(u *url.URL) bool {
	port := u.Port()
	if port == "" {
		return true
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// profile reports the mistake that package profile found below this value.
func (v value) profile(err error) {
	if err == nil {
		return
	}
	key := (*profile.KeyError)(nil)
	if !errors.As(err, &key) {
		v.bad("%v", err)
		return
	}
	path := v.path
	if key.Key != "" && key.Key != "compat" {
		path = joinPath(path, key.Key)
	}
	v.fail(key.Line, path, "%s", key.Problem)
}

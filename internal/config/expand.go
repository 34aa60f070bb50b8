package config

import "strings"

// Env looks up an environment variable, like os.LookupEnv.
type Env func(name string) (value string, ok bool)

// Expand replaces ${NAME} by environment variables and $${ by ${. It returns the
// names that are not set; they are left as they are. A variable that is set but
// empty counts as not set: an empty key or URL is never what was meant. An empty
// name among them stands for a "${" that no NAME} follows.
func Expand(s string, env Env) (expanded string, unset []string) {
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), unset
		}
		if i > 0 && s[i-1] == '$' {
			b.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		name, rest, closed := strings.Cut(s[i+2:], "}")
		if !closed || !isVariable(name) {
			unset = append(unset, "")
			b.WriteString(s[:i+2])
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:i])
		if value, ok := env(name); ok && value != "" {
			b.WriteString(value)
		} else {
			unset = append(unset, name)
			b.WriteString("${" + name + "}")
		}
		s = rest
	}
}

func isVariable(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

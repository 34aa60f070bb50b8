package profile

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// KeyError is a key or a value of the configuration that cannot be used.
type KeyError struct {
	// Line is counted from 1.
	Line int
	// Key is the path below the node that was read, such as "thinking_format".
	Key string
	// Problem says what is wrong, for people.
	Problem string
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("profile: line %d: %s: %s", e.Line, e.Key, e.Problem)
}

// Overlay is the part of a [Compat] that a configuration names. Keys it does not
// name keep their value when it is applied, so overlays are laid one over the
// other: API, host, provider, model. The zero value names nothing.
type Overlay struct {
	// entries are keys and their values in turn, all of them checked.
	entries []*yaml.Node
}

// ParseOverlay checks the mapping of a "compat" key. An unknown key or a bad
// value is a *[KeyError].
func ParseOverlay(node *yaml.Node) (Overlay, error) {
	if node.Kind != yaml.MappingNode {
		return Overlay{}, &KeyError{Line: node.Line, Key: "compat", Problem: "must be a mapping of flags"}
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if err := checkFlag(node.Content[i], node.Content[i+1]); err != nil {
			return Overlay{}, err
		}
	}
	return Overlay{entries: node.Content}, nil
}

// IsZero says whether the overlay changes nothing.
func (o Overlay) IsZero() bool { return len(o.entries) == 0 }

// Apply lays the named keys over c.
func (o Overlay) Apply(c *Compat) {
	if o.IsZero() {
		return
	}
	// The values were decoded once when they were checked, so none fails here.
	_ = (&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: o.entries}).Decode(c)
}

// CompatKeys are the names of all flags, as a configuration spells them.
func CompatKeys() []string {
	t := reflect.TypeFor[Compat]()
	keys := make([]string, 0, t.NumField())
	for f := range t.Fields() {
		keys = append(keys, f.Tag.Get("yaml"))
	}
	return keys
}

// CompatKind is what a flag's value must be, in words: "true or false", "text",
// "a whole number", "a list of texts", "one of: ..." or "a mapping". It is empty
// for an unknown key.
func CompatKind(key string) string {
	if words := flagWords(key); words != nil {
		return "one of: " + strings.Join(words, ", ")
	}
	for f := range reflect.TypeFor[Compat]().Fields() {
		if f.Tag.Get("yaml") != key {
			continue
		}
		switch f.Type {
		case reflect.TypeFor[bool]():
			return "true or false"
		case reflect.TypeFor[*int]():
			return "a whole number"
		case reflect.TypeFor[[]string]():
			return "a list of texts"
		case reflect.TypeFor[RawJSON](), reflect.TypeFor[TemplateArgs]():
			return "a mapping"
		}
		return "text"
	}
	return ""
}

// flagWords are the values of the flags with a closed vocabulary, nil for others.
func flagWords(key string) []string {
	switch key {
	case "max_tokens_field":
		return []string{"max_tokens", "max_completion_tokens"}
	case "thinking_format":
		return []string{
			"openai", "openrouter", "deepseek", "zai", "qwen", "qwen-chat-template", "chat-template",
			"baseten", "together", "string-thinking", "ant-ling",
		}
	case "thinking_token_budget_field":
		return []string{"thinking_token_budget", "thinking_budget", "thinking_budget_tokens"}
	case "cache_control_format":
		return []string{"anthropic"}
	case "tool_choice_format":
		return []string{"words", "auto"}
	case "schema_dialect":
		return []string{"openai", "deepseek", "moonshot", "llamacpp"}
	case "messages_dialect":
		return []string{"vertex"}
	case "session_affinity_format":
		return []string{"openai", "openai-nosession", "openrouter"}
	case "prompt_cache_key_mode":
		return []string{"auto", "enabled", "disabled"}
	}
	return nil
}

// checkFlag checks one entry by decoding it alone.
func checkFlag(key, value *yaml.Node) error {
	kind := CompatKind(key.Value)
	if kind == "" {
		return &KeyError{Line: key.Line, Key: key.Value, Problem: "unknown flag" + didYouMean(key.Value)}
	}
	problem := &KeyError{Line: value.Line, Key: key.Value, Problem: "must be " + kind}
	// The YAML package takes nothing for any zero and texts like "yes" for true.
	if value.Tag == "!!null" || kind == "true or false" && value.Tag != "!!bool" {
		return problem
	}
	if words := flagWords(key.Value); words != nil && !slices.Contains(words, value.Value) {
		return problem
	}
	var c Compat
	one := yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{key, value}}
	if err := one.Decode(&c); err != nil {
		if inner := (*KeyError)(nil); errors.As(err, &inner) {
			inner.Key = key.Value + inner.Key
			return inner
		}
		return problem
	}
	return nil
}

// didYouMean suggests the snake_case spelling of a camelCase flag, which is how
// other programs name the same flags.
func didYouMean(key string) string {
	var b strings.Builder
	for _, r := range key {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		if r == '-' {
			r = '_'
		}
		b.WriteRune(r)
	}
	if snake := b.String(); snake != key && slices.Contains(CompatKeys(), snake) {
		return "; did you mean " + snake + "?"
	}
	return ""
}

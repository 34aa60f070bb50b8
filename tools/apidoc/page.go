package main

import (
	"bytes"
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// order is that of a reader: what is called first, then what it carries.
var order = []string{
	"llmd/v1/inference_service.proto",
	"llmd/v1/model_service.proto",
	"llmd/v1/content.proto",
	"llmd/v1/usage.proto",
	"llmd/v1/error.proto",
}

const head = `# API

The contract ` + "`llmd.v1`" + `, generated from the comments in [proto](../proto/llmd/v1) by ` + "`make api`" + `:
do not edit. How events follow each other is told in [events.md](events.md), what errors
mean in [errors.md](errors.md), how to call it from your language in
[clients.md](clients.md).

Fields marked *optional* tell "not set" from zero; of a *oneof*, at most one is set.
`

// page is the whole reference.
func page(files *protoregistry.Files) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(head)
	for _, name := range order {
		f, err := files.FindFileByPath(name)
		if err != nil {
			return nil, err
		}
		b.WriteString("\n## `" + name + "`\n\n")
		if about := f.SourceLocations().ByPath(protoreflect.SourcePath{2}).LeadingComments; about != "" { // the package statement
			b.WriteString(flow(about) + "\n")
		}
		for i := range f.Services().Len() {
			writeService(&b, f.Services().Get(i))
		}
		for i := range f.Messages().Len() {
			writeMessage(&b, f.Messages().Get(i))
		}
		for i := range f.Enums().Len() {
			writeEnum(&b, f.Enums().Get(i))
		}
	}
	return b.Bytes(), nil
}

func writeService(b *bytes.Buffer, s protoreflect.ServiceDescriptor) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n", s.Name(), flow(comment(s)))
	for i := range s.Methods().Len() {
		m := s.Methods().Get(i)
		answer := link(m.Output())
		if m.IsStreamingServer() {
			answer = "a stream of " + answer
		}
		fmt.Fprintf(b, "\n#### %s.%s\n\n%s → %s\n\n%s\n", s.Name(), m.Name(), link(m.Input()), answer, flow(comment(m)))
	}
}

func writeMessage(b *bytes.Buffer, m protoreflect.MessageDescriptor) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n", m.Name(), flow(comment(m)))
	if m.Fields().Len() == 0 {
		return
	}
	b.WriteString("\n| # | field | type | |\n|---|---|---|---|\n")
	seen := map[protoreflect.Name]bool{}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() && !seen[o.Name()] {
			seen[o.Name()] = true
			fmt.Fprintf(b, "| | *oneof* `%s` | | %s |\n", o.Name(), cell(comment(o)))
		}
		fmt.Fprintf(b, "| %d | `%s` | %s | %s |\n", f.Number(), f.Name(), fieldType(f), cell(comment(f)))
	}
}

func writeEnum(b *bytes.Buffer, e protoreflect.EnumDescriptor) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n| # | value | |\n|---|---|---|\n", e.Name(), flow(comment(e)))
	for i := range e.Values().Len() {
		v := e.Values().Get(i)
		fmt.Fprintf(b, "| %d | `%s` | %s |\n", v.Number(), v.Name(), cell(comment(v)))
	}
}

// fieldType is the type with its presence.
func fieldType(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		return "map of " + f.MapKey().Kind().String() + " to " + kind(f.MapValue())
	case f.IsList():
		return "repeated " + kind(f)
	case f.HasOptionalKeyword():
		return "*optional* " + kind(f)
	}
	return kind(f)
}

func kind(f protoreflect.FieldDescriptor) string {
	switch {
	case f.Message() != nil:
		return link(f.Message())
	case f.Enum() != nil:
		return link(f.Enum())
	}
	return f.Kind().String()
}

// link names a type: ours with a link, the well-known ones as they are.
func link(d protoreflect.Descriptor) string {
	if d.ParentFile().Package() != "llmd.v1" {
		return "`" + string(d.FullName()) + "`"
	}
	return fmt.Sprintf("[%s](#%s)", d.Name(), strings.ToLower(string(d.Name())))
}

func comment(d protoreflect.Descriptor) string {
	return d.ParentFile().SourceLocations().ByDescriptor(d).LeadingComments
}

// flow turns a comment into paragraphs. What is indented stays as it is.
func flow(text string) string {
	var out []string
	code := false
	for line := range strings.Lines(strings.TrimRight(text, "\n ")) {
		line = strings.TrimPrefix(strings.TrimRight(line, "\n"), " ")
		rest, indented := strings.CutPrefix(line, "  ")
		switch {
		case indented && !code:
			out = append(out, "```text")
		case !indented && code: // before the blank line, if there is one
			out = append(out, "```")
		}
		code = indented
		out = append(out, rest)
	}
	if code {
		out = append(out, "```")
	}
	return strings.Join(out, "\n")
}

// cell is a comment in one line of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}

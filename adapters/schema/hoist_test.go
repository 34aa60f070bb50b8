package schema

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestHoisted: the first is what zod-to-json-schema writes for a schema that is used twice
// (https://github.com/DEEIX-AI/DEEIX-Chat/issues/546). Places are JSON pointers (RFC 6901),
// which a URI may spell with percent signs.
func TestHoisted(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"object"},"b":{"type":"array","items":{"$ref":"#/properties/a"}}}}`: `{"type":"object","properties":{"a":{"type":"object"},"b":{"type":"array","items":{"$ref":"#/$defs/properties_a"}}},"$defs":{"properties_a":{"type":"object"}}}`,
		// It holds the reference itself, and definitions have that name already.
		`{"properties":{"a":{"properties":{"b":{"$ref":"#/properties/a"}}}},"$defs":{"properties_a":{}}}`: `{"properties":{"a":{"properties":{"b":{"$ref":"#/$defs/properties_a_2"}}}},"$defs":{"properties_a":{},"properties_a_2":{"properties":{"b":{"$ref":"#/$defs/properties_a_2"}}}}}`,
		`{"anyOf":[{"$ref":"#/$defs/a/properties/x~1y"},{"$ref":"#/%24defs/a/properties/x~1y"},{"$ref":"#/anyOf/0"}],"$defs":{"a":{"properties":{"x/y":{"type":"null"}}}}}`: `{"anyOf":[{"$ref":"#/$defs/defs_a_properties_x_1y"},{"$ref":"#/$defs/24defs_a_properties_x_1y"},{"$ref":"#/$defs/anyOf_0"}],` +
			`"$defs":{"a":{"properties":{"x/y":{"type":"null"}}},"defs_a_properties_x_1y":{"type":"null"},"24defs_a_properties_x_1y":{"type":"null"},"anyOf_0":{"$ref":"#/$defs/defs_a_properties_x_1y"}}}`,
		// Names of definitions, which drafts keep in two places.
		`{"anyOf":[{"$ref":"#/not"},{"$ref":"#/definitions/not"}],"not":{"type":"null"},"definitions":{"not":{"type":"string"}}}`: `{"anyOf":[{"$ref":"#/$defs/not_2"},{"$ref":"#/definitions/not"}],"not":{"type":"null"},"definitions":{"not":{"type":"string"}},` +
			`"$defs":{"not_2":{"type":"null"}}}`,
		`{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/definitions/a"}],"$defs":{"a":{"type":"null"}},"definitions":{"a":{"type":"string"}}}`: `{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/definitions_a"}],` +
			`"$defs":{"a":{"type":"null"},"definitions_a":{"type":"string"}},"definitions":{"a":{"type":"string"}}}`,
		// Definitions, the root, places that are none, and data.
		`{"items":{"$ref":"#/$defs/a"},"not":{"$ref":"#"},"if":{"$ref":"#/definitions/a"}}`: "",
		`{"items":{"$ref":"#/properties/a"},"not":{"$ref":"#/items/0"},"if":{"$ref":5}}`:    "",
		`{"properties":{"a":{}},"default":{"$ref":"#/properties/a"}}`:                       "",
		`["#/"]`: "",
	} {
		if want == "" {
			want = in
		}
		got := hoisted(in)
		if got != want {
			t.Errorf("%s:\n%s, want\n%s", in, got, want)
		}
		if again := hoisted(got); again != got {
			t.Errorf("%s: hoisted again it is %s", in, again)
		}
	}
}

// TestHoistedMany: nothing is copied without end.
func TestHoistedMany(t *testing.T) {
	refs := func(n, size int) string {
		var b strings.Builder
		fmt.Fprintf(&b, `{"description":"%s","properties":{`, strings.Repeat("x", size))
		for i := range n {
			fmt.Fprintf(&b, `"p%d":{"type":"null"},"q%d":{"$ref":"#/properties/p%d"},`, i, i, i)
		}
		return b.String() + `"s":{"items":{"description":"` + strings.Repeat("y", size) + `"}},"t":{"$ref":"#/properties/s"}}}`
	}
	for name, c := range map[string]struct {
		in      string
		changes bool
	}{"some": {refs(10, 10), true}, "many": {refs(100, 10), false}, "large": {refs(1, 1<<19), false}} {
		if got := hoisted(c.in); (got != c.in) != c.changes {
			t.Errorf("%s: %d bytes became %d", name, len(c.in), len(got))
		}
	}
}

// TestHoistedMissing: places that are none are not looked for without end.
func TestHoistedMissing(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"properties":{"a":{"type":"null"},"b":{"$ref":"#/properties/a"}`)
	for i := range 5000 {
		fmt.Fprintf(&b, `,"p%d":{"$ref":"#/properties/none%d"}`, i, i)
	}
	b.WriteString("}}")
	began := time.Now()
	if in := b.String(); hoisted(in) != in {
		t.Error("some were copied")
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

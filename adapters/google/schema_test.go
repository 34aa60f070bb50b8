package google

import (
	"strings"
	"testing"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

func TestRewriteSchema(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"bytes are kept", `{ "z" : 1.0,  "a":"\u00e9<&>" , "type":"object"}`, ""},
		{"string", `{"const":"a\"b"}`, `{"enum":["a\"b"]}`},
		{"number, spaced", "{ \"const\" :\n -1.5e3 }", "{ \"enum\" :\n [-1.5e3] }"},
		{"other values stay", `{"anyOf":[{"const":true},{"const":null},{"const":{"const":"x"}},{"const":["x"]}]}`, ""},
		{
			"in subschemas", `{"properties":{"a":{"const":"x"},"b":{"items":[{"const":1}]}},"$defs":{"d":{"not":{"const":2}}},"additionalProperties":{"const":"y"}}`,
			`{"properties":{"a":{"enum":["x"]},"b":{"items":[{"enum":[1]}]}},"$defs":{"d":{"not":{"enum":[2]}}},"additionalProperties":{"enum":["y"]}}`,
		},
		{
			"not in data", `{"default":{"const":"x"},"examples":[{"const":"x"}],"enum":[{"const":"x"}],"properties":{"default":{"const":"y"}}}`,
			`{"default":{"const":"x"},"examples":[{"const":"x"}],"enum":[{"const":"x"}],"properties":{"default":{"enum":["y"]}}}`,
		},
		{"a property of that name", `{"properties":{"const":{"type":"string"}},"required":["const"]}`, ""},
		{"beside an enum", `{"const":"a","enum":["a"],"properties":{"p":{"const":"b"}}}`, `{"const":"a","enum":["a"],"properties":{"p":{"enum":["b"]}}}`},
		{"beside an enum, before", `{"enum":["a"],"const":"a"}`, ""},
		{"const true beside a const below", `{"const":true,"properties":{"p":{"const":"b"}},"enum":[true]}`, `{"const":true,"properties":{"p":{"enum":["b"]}},"enum":[true]}`},
		{"keywords that Google ignores", `{"$schema":"s","exclusiveMinimum":0,"propertyNames":{"pattern":"^a"}}`, ""},
	} {
		want := c.want
		if want == "" {
			want = c.in
		}
		if got, err := rewriteSchema(c.in); err != nil || got != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, want)
		}
	}
	for _, bad := range []string{``, `[]`, `null`, `{`, `{"a":}`, `{"a":1,}`, `{} {}`, `"x"`} {
		if got, err := rewriteSchema(bad); err == nil {
			t.Errorf("%q is read as %s", bad, got)
		}
	}
}

// TestDraft: the definitions of a tool and of an answer are named as Google knows them, and
// the caller is told.
func TestDraft(t *testing.T) {
	const in = `{"$ref":"#/definitions/A","definitions":{"A":{"type":"object","properties":{"n":{"$ref":"#/definitions/A","title":"N"}}}}}`
	const want = `{"$defs":{"A":{"type":"object","properties":{"n":{"$ref":"#/$defs/A"}}}},"type":"object","properties":{"n":{"$ref":"#/$defs/A"}}}`
	r, err := encode(t, New(), "gemini-3-pro-preview", func(g *llmdv1.Generation) {
		g.Context.Tools = []*llmdv1.Tool{tool("a", in, 0)}
		config(g).OutputJsonSchema = in
	})
	if err != nil {
		t.Fatal(err)
	}
	body := string(r.Body)
	if !strings.Contains(body, `"parametersJsonSchema":`+want) || !strings.Contains(body, `"responseJsonSchema":`+want) || len(r.Effective.GetAdjustments()) != 2 {
		t.Errorf("%s\n%v", body, r.Effective)
	}
}

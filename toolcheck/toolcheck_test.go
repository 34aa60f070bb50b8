package toolcheck

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

func check(schema, arguments string) []string {
	var all []string
	for _, p := range judge(&llmdv1.Tool{Name: "t", ParametersJsonSchema: schema}, arguments) {
		all = append(all, p.String())
	}
	return all
}

func judge(definition *llmdv1.Tool, arguments string) []Problem {
	tool, err := Compile(definition)
	if err == nil {
		err = tool.Check(arguments)
	}
	if mismatch, ok := errors.AsType[*ArgumentsError](err); ok {
		return mismatch.Problems
	}
	return nil
}

func TestCheck(t *testing.T) {
	const nested = `{"type":"object","properties":{"path":{"type":"object","properties":{"to":{"type":"array","items":{"type":"object",
		"properties":{"field":{"type":"number"},"0":{"type":"string"}}}}}}}}`
	for _, tt := range []struct {
		name, schema, arguments string
		want                    []string
	}{
		{"fits", `{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`, `{"n":1.5}`, nil},
		{"no schema", ``, `{"n":1}`, nil},
		{"no arguments", `{"type":"object","required":["n"]}`, ``, []string{"n: missing"}},
		{"not JSON", `{}`, `{"n":`, []string{"root: it is not JSON"}},
		{"two values", `{}`, `{} {}`, []string{"root: it is not JSON"}},
		{"an array", ``, `[1]`, []string{"root: expected object, got array"}},
		{"a string", ``, `"secret"`, []string{"root: expected object, got string"}},
		{"null", ``, `null`, []string{"root: expected object, got null"}},
		{"wrong type", `{"properties":{"n":{"type":"number"}}}`, `{"n":"secret"}`, []string{"n: expected number, got string"}},
		{"no coercion", `{"properties":{"n":{"type":"integer"}}}`, `{"n":"42"}`, []string{"n: expected integer, got string"}},
		{"whole number", `{"properties":{"n":{"type":"integer"}}}`, `{"n":42.0}`, nil},
		{"fraction", `{"properties":{"n":{"type":"integer"}}}`, `{"n":3.5}`, []string{"n: expected integer, got number"}},
		{"path", nested, `{"path":{"to":[{"field":"x"},{"0":1}]}}`, []string{"path.to[0].field: expected number, got string", "path.to[1].0: expected string, got number"}},
		{"enum", `{"properties":{"e":{"enum":["A","B"]}}}`, `{"e":"secret"}`, []string{`e: expected one of ["A","B"]`}},
		{"large enum", `{"properties":{"e":{"enum":["` + strings.Repeat("A", 300) + `"]}}}`, `{"e":"secret"}`, []string{"e: expected one of 1 values"}},
		{"const", `{"properties":{"e":{"const":1}}}`, `{"e":2}`, []string{"e: expected one of [1]"}},
		{
			"additional", `{"properties":{"a":{}},"additionalProperties":false}`, `{"a":1,"z":1,"b c":1}`,
			[]string{`["b c"]: unexpected property`, "z: unexpected property"},
		},
		{"missing, several", `{"required":["b","a"]}`, `{}`, []string{"a: missing", "b: missing"}},
		{"nullable", `{"properties":{"s":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"s":1}`, []string{"s: expected string or null, got number"}},
		{
			"alternatives", `{"properties":{"s":{"oneOf":[{"required":["a"]},{"required":["b"]}]}}}`, `{"s":{}}`,
			[]string{"s: fits none of 2 alternatives"},
		},
		{"both", `{"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":1,"b":1}`, []string{"root: fits more than one alternative"}},
		{
			"reference", `{"$defs":{"n":{"type":"number"}},"properties":{"n":{"$ref":"#/$defs/n"}}}`, `{"n":true}`,
			[]string{"n: expected number, got boolean"},
		},
		{
			"tuple of draft 7 that names none", `{"properties":{"a":{"items":[{"type":"string"}],"additionalItems":false}}}`, `{"a":[1]}`,
			[]string{"a[0]: expected string, got number"},
		},
		{"pattern", `{"properties":{"s":{"pattern":"^a+$"}}}`, `{"s":"secret"}`, []string{"s: does not match the pattern"}},
		{"pattern that Go lacks", `{"properties":{"s":{"pattern":"^(?!x)a"}}}`, `{"s":"x"}`, nil},
		{
			"format of draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"s":{"format":"date"}}}`, `{"s":"secret"}`,
			[]string{"s: expected the format date"},
		},
		{
			"sizes", `{"properties":{"a":{"minItems":2},"b":{"maxLength":2},"c":{"minimum":5},"d":{"multipleOf":0.5},"e":{"uniqueItems":true}}}`,
			`{"a":[1],"b":"secret","c":4,"d":0.75,"e":[1,2,1]}`,
			[]string{
				"a: expected at least 2 items, got 1", "b: expected at most 2 characters, got 6", "c: expected at least 5",
				"d: expected a multiple of 0.5", "e: items 0 and 2 are equal",
			},
		},
		{"order of items", `{"properties":{"a":{"items":{"type":"null"}}}}`, `{"a":[null,1,null,null,null,null,null,null,null,null,1]}`, []string{"a[1]: expected null, got number", "a[10]: expected null, got number"}},
		{"no schema at all", `{"type":5}`, `{}`, nil},
		{"elsewhere", `{"$ref":"https://example.com/schema.json"}`, `{}`, nil},
	} {
		got := check(tt.schema, tt.arguments)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if strings.Contains(strings.Join(got, "\n"), "secret") {
			t.Errorf("%s: the value is quoted: %q", tt.name, got)
		}
	}
}

func TestCheckIsBounded(t *testing.T) {
	got := check(`{"additionalProperties":{"type":"null"}}`, `{"`+strings.Repeat("k", 500)+`":1`+manyKeys(5000)+`}`)
	if len(got) != maxProblems {
		t.Errorf("%d problems", len(got))
	}
	for _, p := range got {
		if len(p) > maxPath+50 {
			t.Errorf("%d bytes: %s", len(p), p)
		}
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"p%d":1`, i)
	}
	return b.String()
}

func TestSchema(t *testing.T) {
	const types = `expected one of ["array","boolean","integer","null","number","object","string"]`
	for schema, want := range map[string]string{
		``:                  "",
		`{}`:                "",
		`{"type":"object"}`: "",
		`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{}},"$ref":"#/definitions/a"}`: "",
		`{"properties":{"a":{"items":[{"type":"string"}],"additionalItems":false}}}`:                            "",
		`{"properties":{"a":{"minimum":0,"exclusiveMinimum":true}}}`:                                            "",
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","items":[{}]}`:                               "at /items: expected boolean or object, got array",
		`{"properties":{"a":{"pattern":"^(?=.*\\d)"}}}`:                                                         "",
		`{"properties":{"a":{"type":"text"}}}`:                                                                  "at /properties/a/type: " + types,
		`{"required":"a"}`:                                                                                      "at /required: expected array, got string",
		`{"$ref":"#/$defs/none"}`:                                                                               "it does not compile",
		`{"$ref":"file:///etc/passwd"}`:                                                                         "it refers to another document",
		`{"$ref":"https://example.com/a.json"}`:                                                                 "it refers to another document",
		`{"maximum":1e1000000}`:                                                                                 "it has a number out of range",
		`{"maximum":1e-100000}`:                                                                                 "it has a number out of range",
		`{"maximum":` + strings.Repeat("9", 500) + `}`:                                                          "it has a number out of range",
		`{"not":`: "it is not JSON",
		strings.Repeat(`{"not":`, 300) + `{}` + strings.Repeat(`}`, 300):    "it is nested too deeply",
		`{"description":"` + strings.Repeat("x", maxSchema) + `","type":5}`: ErrLimit.Error(),
	} {
		got := ""
		if _, err := Compile(&llmdv1.Tool{ParametersJsonSchema: schema}); err != nil {
			got = strings.TrimPrefix(err.Error(), "toolcheck: schema: ")
		}
		if got != want {
			t.Errorf("%.80s: %q, want %q", schema, got, want)
		}
	}
}

// Schemas and arguments that would keep an ordinary validator busy for years.
func TestHostile(t *testing.T) {
	var doubling strings.Builder
	doubling.WriteString(`{"allOf":[{"$ref":"#/$defs/a0"}],"$defs":{`)
	for i := range 40 {
		fmt.Fprintf(&doubling, `"a%d":{"anyOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	doubling.WriteString(`"a40":{"type":"string"}}}`)
	deep := `{"$defs":{"n":{"anyOf":[{"properties":{"c":{"$ref":"#/$defs/n"}},"required":["x"]},{"properties":{"c":{"$ref":"#/$defs/n"}},"required":["x"]}]}},"$ref":"#/$defs/n"}`
	for name, tt := range map[string]struct{ schema, arguments string }{
		"doubling in place": {doubling.String(), `{}`},
		"doubling in depth": {deep, strings.Repeat(`{"c":`, 150) + `{}` + strings.Repeat(`}`, 150)},
		"endless in place":  {`{"$ref":"#"}`, `{}`},
		"many alternatives": {`{"items":{"enum":[` + strings.Repeat(`"a",`, 9000) + `"b"]},"properties":{"l":{"$ref":"#"}}}`, `{"l":[` + strings.Repeat(`"c",`, 100_000) + `1]}`},
		"expensive numbers": {`{"properties":{"l":{"items":{"multipleOf":0.1}}}}`, `{"l":[` + strings.Repeat("1e999999,", 10_000) + `1]}`},
		"patterns of text":  {`{"properties":{"s":{"allOf":[` + strings.Repeat(`{"pattern":"(x+x+)+y"},`, 2500) + `{}]}}}`, `{"s":"` + strings.Repeat("x", 1<<20) + `"}`},
		"many nulls":        {deep, strings.Repeat(`{"x":null,"c":`, 150) + `null` + strings.Repeat(`}`, 150)},
		"many patterns":     {`{"patternProperties":{"(a{500}){2}":{},"b{1000}":{},"c{1000}":{}}}`, `{"a":1` + manyKeys(50_000) + `}`},
		"wide schema":       {`{"properties":{"a":{}` + strings.ReplaceAll(manyKeys(6000), ":1", ":{}") + `}}`, `{}`},
	} {
		start := time.Now()
		_ = judge(&llmdv1.Tool{ParametersJsonSchema: tt.schema, Strict: llmdv1.StrictMode_STRICT_MODE_PREFER}, tt.arguments)
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%s took %s", name, d)
		} else {
			t.Logf("%s: %s", name, d)
		}
	}
	// An ordinary recursive schema is judged all the same.
	tree := `{"$defs":{"n":{"type":"object","properties":{"v":{"type":"number"},"c":{"type":"array","items":{"$ref":"#/$defs/n"}}}}},"$ref":"#/$defs/n"}`
	want := []string{strings.Repeat("c[0].", 4) + "v: expected number, got string"}
	if diff := cmp.Diff(want, check(tree, strings.Repeat(`{"c":[`, 4)+`{"v":"x"}`+strings.Repeat(`]}`, 4))); diff != "" {
		t.Error(diff)
	}
}

func TestCache(t *testing.T) {
	c := &Cache{}
	text := func(i int) string { return fmt.Sprintf(`{"description":"%d%s"}`, i, strings.Repeat("x", 8<<10)) }
	first := c.compiled(text(0))
	for i := range 500 {
		if got := c.compiled(text(0)); got != first {
			t.Fatalf("a schema in use was forgotten after %d others", i)
		}
		c.compiled(text(i))
	}
	kept := 0
	for _, m := range []map[string]*entry{c.young, c.old} {
		for k := range m {
			kept += len(k)
		}
	}
	if kept > cacheBytes {
		t.Errorf("%d bytes of schemas are kept", kept)
	}
	bad := c.compiled(`{"type":5}`)
	if bad.err == nil || c.compiled(`{"type":5}`) != bad {
		t.Error("a bad schema is compiled again")
	}
}

func TestConcurrentUse(t *testing.T) {
	c := &Cache{}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := range 50 {
				tool := &llmdv1.Tool{ParametersJsonSchema: fmt.Sprintf(`{"properties":{"n":{"maximum":%d,"pattern":"a+"}}}`, (i+j)%5)}
				compiled, err := c.Compile(tool)
				if err != nil {
					t.Error(err)
					return
				}
				if err := compiled.Check(`{"n":9}`); err == nil {
					t.Error("9 fits")
				}
			}
		})
	}
	group.Wait()
}

// BenchmarkSchemas is the price of checking the tools of one request.
func BenchmarkSchemas(b *testing.B) {
	var schemas []string
	for i := range 20 {
		schemas = append(schemas, fmt.Sprintf(`{"type":"object","description":"tool %d","properties":{
			"path":{"type":"string","description":"where"},"lines":{"type":"array","items":{"type":"integer","minimum":1}},
			"mode":{"enum":["read","write"]},"options":{"type":"object","properties":{"deep":{"type":"boolean"},"depth":{"type":"integer"}},"additionalProperties":false}
			},"required":["path"],"additionalProperties":false}`, i))
	}
	run := func(b *testing.B, c func() *Cache) {
		b.ReportAllocs()
		for b.Loop() {
			c := c()
			for _, s := range schemas {
				if _, err := c.Compile(&llmdv1.Tool{ParametersJsonSchema: s}); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("first", func(b *testing.B) { run(b, func() *Cache { return &Cache{} }) })
	c := &Cache{}
	b.Run("again", func(b *testing.B) { run(b, func() *Cache { return c }) })
}

func BenchmarkCheck(b *testing.B) {
	tool, err := Compile(&llmdv1.Tool{ParametersJsonSchema: `{"type":"object","properties":{"path":{"type":"string"},"lines":{"type":"array","items":{"type":"integer","minimum":1}}},"required":["path"]}`})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := tool.Check(`{"path":"/a/b/c","lines":[1,2,3,4,5,6,7,8]}`); err != nil {
			b.Fatal(err)
		}
	}
}

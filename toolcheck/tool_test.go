package toolcheck

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

func strictTool(t *testing.T, mode llmdv1.StrictMode, schema string) *Tool {
	t.Helper()
	tool, err := Compile(&llmdv1.Tool{Name: "t", Strict: mode, ParametersJsonSchema: schema})
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

const (
	off     = llmdv1.StrictMode_STRICT_MODE_OFF
	prefer  = llmdv1.StrictMode_STRICT_MODE_PREFER
	require = llmdv1.StrictMode_STRICT_MODE_REQUIRE
)

// TestNulls: in strict mode a null in the place of an optional property is one that
// was left out, at any depth, and everything else keeps its bytes.
func TestNulls(t *testing.T) {
	const (
		flat   = `{"type":"object","properties":{"must":{"type":"string"},"may":{"type":"integer"},"any":{},"nil":{"type":["string","null"]}},"required":["must"]}`
		nested = `{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{"may":{"type":"string"}}}},
			"one":{"anyOf":[{"type":"object","properties":{"kind":{"const":"a"},"x":{"type":"number"}},"required":["kind"]},
				{"type":"object","properties":{"kind":{"const":"b"},"x":{"type":["number","null"]}},"required":["kind"]}]},
			"tree":{"$ref":"#/$defs/node"}},
			"$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},"next":{"$ref":"#/$defs/node"}}}}}`
	)
	for _, tt := range []struct {
		name, schema, arguments, want string
		mode                          llmdv1.StrictMode
		problem                       string
	}{
		{name: "optional", schema: flat, arguments: `{"must":"a", "may" : null}`, mode: require, want: `{"must":"a"}`},
		{name: "preferred", schema: flat, arguments: `{"may":null,"must":"a"}`, mode: prefer, want: `{"must":"a"}`},
		{name: "not strict", schema: flat, arguments: `{"must":"a","may":null}`, mode: off, problem: "may: expected integer, got null"},
		{name: "required", schema: flat, arguments: `{"must":null,"may":null}`, mode: require, problem: "must: expected string, got null"},
		{name: "null is a value", schema: flat, arguments: `{"must":"a","any":null,"nil":null}`, mode: require, want: `{"must":"a","any":null,"nil":null}`},
		{name: "untouched", schema: flat, arguments: `{ "must" : "null", "may": 1.0 }`, mode: require, want: `{ "must" : "null", "may": 1.0 }`},
		{name: "unknown property", schema: flat, arguments: `{"must":"a","other":null}`, mode: require, want: `{"must":"a","other":null}`},
		{name: "within", schema: nested, arguments: `{"list":[{"may":"1e2"},{"may":null},null],"tree":null}`, mode: require, problem: "list[2]: expected object, got null"},
		{name: "in a list", schema: nested, arguments: `{"list":[{"may":"1e2"},{"may":null}],"tree":null}`, mode: require, want: `{"list":[{"may":"1e2"},{}]}`},
		{name: "first alternative", schema: nested, arguments: `{"one":{"kind":"a","x":null}}`, mode: require, want: `{"one":{"kind":"a"}}`},
		{name: "second alternative", schema: nested, arguments: `{"one":{"kind":"b","x":null}}`, mode: require, want: `{"one":{"kind":"b","x":null}}`},
		{name: "reference", schema: nested, arguments: `{"tree":{"v":10000000000000000001,"next":{"v":2,"next":null}}}`, mode: require, want: `{"tree":{"v":10000000000000000001,"next":{"v":2}}}`},
		{name: "itself", schema: `{"$ref":"#"}`, arguments: `{"a":null}`, mode: require, want: `{"a":null}`},
		{name: "empty", schema: flat, arguments: ``, mode: require, problem: "must: missing"},
		{name: "no schema", schema: ``, arguments: ` `, mode: require, want: `{}`},
	} {
		got, err := strictTool(t, tt.mode, tt.schema).Arguments(&llmdv1.ToolCall{Name: "t", ArgumentsJson: tt.arguments})
		if tt.problem != "" {
			mismatch, ok := errors.AsType[*ArgumentsError](err)
			if !ok || len(mismatch.Problems) != 1 || mismatch.Problems[0].String() != tt.problem {
				t.Errorf("%s: %v, want %s", tt.name, err, tt.problem)
			}
			continue
		}
		if err != nil || got != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.name, got, err, tt.want)
		}
	}
}

// TestCallsThatWereNotMeant: the text of such calls is valid JSON, and may even fit.
func TestCallsThatWereNotMeant(t *testing.T) {
	tool := strictTool(t, off, `{}`)
	for want, call := range map[string]*llmdv1.ToolCall{
		"root: is a call of another tool":              {Name: "u", ArgumentsJson: `{}`},
		"root: the call was cut off":                   {Name: "t", ArgumentsJson: `{}`, Incomplete: true},
		"root: the arguments were not one JSON object": {Name: "t", ArgumentsJson: `{}`, ArgumentsError: "unexpected end"},
	} {
		_, err := tool.Arguments(call)
		mismatch, ok := errors.AsType[*ArgumentsError](err)
		if !ok || mismatch.Problems[0].String() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestPointers(t *testing.T) {
	got := judge(&llmdv1.Tool{ParametersJsonSchema: `{"properties":{"a":{"items":{"properties":{"x/y~z":{"type":"null"}}}}},"required":["b"]}`}, `{"a":[{},{"x/y~z":1}]}`)
	want := []Problem{
		{Path: `a[1]["x/y~z"]`, Pointer: "/a/1/x~1y~0z", Message: "expected null, got number"},
		{Path: "b", Pointer: "/b", Message: "missing"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	long := strings.Repeat("k", 2000)
	got = judge(&llmdv1.Tool{ParametersJsonSchema: `{"properties":{"a":{"required":["` + long + `"]}}}`}, `{"a":{}}`)
	if len(got) != 1 || got[0].Pointer != "/a" {
		t.Errorf("%v", got)
	}
}

func TestLimits(t *testing.T) {
	if _, err := Compile(&llmdv1.Tool{ParametersJsonSchema: `{"description":"` + strings.Repeat("x", maxSchema) + `"}`}); !errors.Is(err, ErrLimit) {
		t.Errorf("a large schema: %v", err)
	}
	var c Cache
	if _, err := c.Compile(&llmdv1.Tool{ParametersJsonSchema: `{"description":"` + strings.Repeat("x", maxSchema) + `"}`}); !errors.Is(err, ErrLimit) {
		t.Errorf("a large schema, with a cache: %v", err)
	}
	tool := strictTool(t, off, `{"properties":{"l":{"items":{"enum":[`+strings.Repeat(`"a",`, 9000)+`"b"]}}}}`)
	if err := tool.Check(`{"l":[` + strings.Repeat(`"c",`, 100_000) + `1]}`); !errors.Is(err, ErrLimit) {
		t.Errorf("a dear judgement: %v", err)
	}
	if err := tool.Check(`{"l":["b"]}`); err != nil {
		t.Errorf("a cheap one: %v", err)
	}
}

func TestErrorTexts(t *testing.T) {
	_, err := Compile(&llmdv1.Tool{Name: "t", ParametersJsonSchema: `{"required":"a"}`})
	if want := "toolcheck: schema: at /required: expected array, got string"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	tool := strictTool(t, off, `{"properties":{"n":{"type":"number"}},"required":["a"]}`)
	err = tool.Check(`{"n":"secret"}`)
	if want := "toolcheck: arguments of tool \"t\":\n- a: missing\n- n: expected number, got string"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

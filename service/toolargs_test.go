package service

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/toolcheck"
)

func TestArgumentMismatches(t *testing.T) {
	g := asks(
		"faux/echo",
		said("a"), called("1", "look", `{"where":{"at":[1,"secret"]}}`), returned("1", false, bytesOf(pixel(t), "image/png")),
		said("b"), called("2", "gone", `{}`), returned("2", false, bytesOf(pixel(t), "image/png")),
		said("c"), called("3", "look", ``), returned("3", false, bytesOf(pixel(t), "image/png")),
		said("d"), called("4", "look", `{"where":{"at":[]},"q":1e2}`), returned("4", false, bytesOf(pixel(t), "image/png")),
		// What is no object is told once, by the hand-off.
		said("e"), called("5", "look", `{"city":`), returned("5", false, bytesOf(pixel(t), "image/png")),
		said("f"), called("6", "look", `[]`), returned("6", false, bytesOf(pixel(t), "image/png")),
		// A strict tool's model must name what it leaves out.
		said("g"), called("7", "strict", `{"q":"a","n":null}`), returned("7", false, bytesOf(pixel(t), "image/png")),
		said("h"), called("8", "strict", `{"q":null,"n":null}`), returned("8", false, bytesOf(pixel(t), "image/png")),
		said("i"),
	)
	g.Context.Tools = []*llmdv1.Tool{
		{Name: "look", ParametersJsonSchema: `{"type":"object","properties":{"where":{"type":"object","properties":{"at":{"type":"array","items":{"type":"integer"}}}}},"required":["where"]}`},
		{Name: "free"},
		{
			Name: "strict", Strict: llmdv1.StrictMode_STRICT_MODE_PREFER,
			ParametersJsonSchema: `{"type":"object","properties":{"q":{"type":"string"},"n":{"type":"integer"}},"required":["q"]}`,
		},
	}
	got, err := newService(t).PrepareContext(t.Context(), &llmdv1.PrepareContextRequest{Generation: g})
	if err != nil {
		t.Fatal(err)
	}
	want := []*llmdv1.Diagnostic{
		{Code: "tool_call.arguments_mismatch", ContentIndex: proto.Int32(1), Message: `generation.context.messages[1]: call of tool "look": where.at[1]: expected integer, got string`},
		{Code: "tool_call.arguments_mismatch", ContentIndex: proto.Int32(1), Message: `generation.context.messages[7]: call of tool "look": where: missing`},
		{Code: "tool_call.arguments_mismatch", ContentIndex: proto.Int32(1), Message: `generation.context.messages[22]: call of tool "strict": q: expected string, got null`},
	}
	if diff := cmp.Diff(want, got.GetDiagnostics(), protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMismatchesAreBounded(t *testing.T) {
	c := &llmdv1.Context{Tools: []*llmdv1.Tool{{Name: "look", ParametersJsonSchema: `{"required":["x"]}`}}}
	for i := range 3 * maxMismatches {
		c.Messages = append(c.Messages, called(fmt.Sprint(i), "look", "{}"))
	}
	if n := len(argumentMismatches(&toolcheck.Cache{}, c)); n != maxMismatches {
		t.Errorf("%d remarks", n)
	}
}

func TestSchemasAreValidated(t *testing.T) {
	for _, tt := range []struct{ schema, want string }{
		{`{"type":"object"}`, ""},
		{`{"type":"object","Type":"string"}`, ""},
		{`{"type":"\u006fbject"}`, ""},
		{`[1]`, "must be the JSON text of one object"},
		{`{"type":"string"}`, `must be a schema of "type": "object"`},
		{`{"type":["array","null"]}`, `must be a schema of "type": "object"`},
		{`{"properties":{"a":{"type":"text"}}}`, "is no JSON Schema: at /properties/a/type"},
		{`{"$ref":"http://127.0.0.1/schema.json"}`, "is no JSON Schema: it refers to another document"},
	} {
		g := asks("faux/echo", said("a"))
		g.Context.Tools = []*llmdv1.Tool{{Name: "t", ParametersJsonSchema: tt.schema}}
		_, err := newService(t).PrepareContext(t.Context(), &llmdv1.PrepareContextRequest{Generation: g})
		if tt.want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if got := violation(t, err); !strings.HasPrefix(got, "generation.context.tools[0].parameters_json_schema: "+tt.want) {
			t.Errorf("%s: %s", tt.schema, got)
		}
	}
}

// BenchmarkValidateTools is the validation of a request with 20 tools that have
// been seen before.
func BenchmarkValidateTools(b *testing.B) {
	g := asks("faux/echo", said("a"))
	for i := range 20 {
		g.Context.Tools = append(g.Context.Tools, &llmdv1.Tool{
			Name: fmt.Sprintf("tool_%d", i),
			ParametersJsonSchema: fmt.Sprintf(`{"type":"object","description":"%d","properties":{"path":{"type":"string"},
				"lines":{"type":"array","items":{"type":"integer","minimum":1}},"mode":{"enum":["read","write"]}},"required":["path"]}`, i),
		})
	}
	schemas := &toolcheck.Cache{}
	b.ReportAllocs()
	for b.Loop() {
		if err := validateGeneration(g, &checker{schemas: schemas}); err != nil {
			b.Fatal(err)
		}
	}
}

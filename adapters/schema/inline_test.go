package schema

import (
	"fmt"
	"strings"
	"testing"
)

func TestInlined(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"none":     {`{ "properties":{"$ref":{"type":"string"}} }`, `{ "properties":{"$ref":{"type":"string"}} }`},
		"no JSON":  {`{`, `{`},
		"one":      {`{"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string"}}}`, `{"properties":{"a":{"type":"string"}}}`},
		"older":    {`{"definitions":{"A b":{"items":[{"$ref":"#/definitions/B"}]},"B":{}},"items":{"$ref":"#/definitions/A%20b"}}`, `{"items":{"items":[{}]}}`},
		"root":     {`{"$ref":"#/definitions/A","definitions":{"A":{"type":"object"}},"$schema":"s"}`, `{"type":"object","$schema":"s"}`},
		"beside":   {`{"$defs":{"A":{"type":"string","title":"A"}},"items":{"title":"B","$ref":"#/$defs/A"}}`, `{"items":{"type":"string","title":"B"}}`},
		"itself":   {`{"$defs":{"A":{"items":{"$ref":"#/$defs/A"}}},"not":{"$ref":"#/$defs/A"},"if":{"$ref":"#"}}`, `{"not":{"items":{}},"if":{}}`},
		"anywhere": {`{"$defs":{},"properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`, `{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`},
		"nowhere":  {`{"$defs":{},"anyOf":[{"$ref":"#/$defs/A"},{"$ref":"a.json"},true]}`, `{"anyOf":[{},{"$ref":"a.json"},true]}`},
	} {
		got, changed := Inlined(c.in)
		if got != c.want || changed != (c.in != c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// Definitions that name the one before twice would be as long as two to the power of their
// number.
func TestInlinedEnds(t *testing.T) {
	defs := []string{`"0":{"type":"string"}`}
	for n := range 60 {
		defs = append(defs, fmt.Sprintf(`"%d":{"anyOf":[{"$ref":"#/$defs/%d"},{"$ref":"#/$defs/%d"}]}`, n+1, n, n))
	}
	got, _ := Inlined(`{"items":{"$ref":"#/$defs/60"},"$defs":{` + strings.Join(defs, ",") + `}}`)
	if len(got) > maxHoistedBytes || strings.Contains(got, "$ref") {
		t.Errorf("%d bytes", len(got))
	}
}

func TestBesides(t *testing.T) {
	if got := fmt.Sprint(Besides(`{"type":"object","$schema":"x","title":"y","anyOf":[]}`, NovaRoot())); got != "[$schema anyOf]" {
		t.Error(got)
	}
}

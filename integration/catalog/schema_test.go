package catalogtest

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/llmd-dev/llmd/internal/config"
)

var update = flag.Bool("update", false, "rewrite docs/configuration.schema.json")

const schemaPath = "../../docs/configuration.schema.json"

// schemaOf is the JSON Schema of a documented key.
func schemaOf(t *testing.T, k *keyNode) map[string]any {
	t.Helper()
	s := schemaOfKind(t, k)
	if k.Doc != "" {
		s["description"] = k.Doc
	}
	if k.Default != "" {
		s["description"] = strings.TrimSpace(k.Doc + " Default: " + k.Default + ".")
	}
	return s
}

func schemaOfKind(t *testing.T, k *keyNode) map[string]any {
	t.Helper()
	kind := strings.TrimPrefix(k.Type, "a ")
	list := func(of map[string]any) map[string]any { return map[string]any{"type": "array", "items": of} }
	text := map[string]any{"type": []string{"string", "number"}} // numbers are taken as they are spelt
	words := func(all string) map[string]any { return map[string]any{"enum": strings.Split(all, ", ")} }
	switch {
	case kind == "mapping of flags":
		return map[string]any{"$ref": "#/$defs/compat"}
	case kind == "list of mappings":
		return list(objectOf(t, k))
	case kind == "mapping" && len(k.below) > 0:
		return objectOf(t, k)
	case kind == "mapping":
		return map[string]any{"type": "object"}
	case strings.HasPrefix(kind, "one of: "):
		return words(strings.TrimPrefix(kind, "one of: "))
	case strings.HasPrefix(kind, "list of: "):
		return list(words(strings.TrimPrefix(kind, "list of: ")))
	case kind == "address":
		return text
	case kind == "list of addresses":
		return map[string]any{"anyOf": []any{text, list(text)}}
	case strings.HasPrefix(kind, "list of "):
		return list(text)
	case kind == "mapping of efforts to texts":
		return map[string]any{"type": "object", "additionalProperties": map[string]any{"type": []string{"string", "number", "null"}}}
	case kind == "mapping of texts":
		return map[string]any{"type": "object", "additionalProperties": text}
	}
	types := map[string]any{
		"true or false": "boolean", "whole number": "integer", "duration": "string", "duration or none": "string", "URL": "string", "URL or none": "string",
		"text": text["type"], "path": text["type"], "decimal": text["type"], "bytes": text["type"], "on or off": []string{"string", "boolean"},
	}
	if types[kind] == nil {
		t.Fatalf("%s is of the kind %q: say here what its schema is", k.Path, k.Type)
	}
	s := map[string]any{"type": types[kind]}
	switch {
	case kind == "whole number" && k.Range.Least != "":
		s["minimum"], s["maximum"] = json.Number(k.Range.Least), json.Number(k.Range.Most)
	case kind == "duration" && k.Range.Least == "0s": // 0 needs no unit
		s["type"], s["minimum"], s["maximum"] = []string{"string", "integer"}, 0, 0
	}
	return s
}

func objectOf(t *testing.T, k *keyNode) map[string]any {
	t.Helper()
	properties := map[string]any{}
	var required []string
	for _, b := range k.below {
		properties[b.name] = schemaOf(t, b)
		if strings.Contains(b.Doc, "Required.") || strings.Contains(b.Doc, "Required, ") {
			required = append(required, b.name)
		}
	}
	s := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if required != nil {
		s["required"] = required
	}
	return s
}

// configurationSchema is the JSON Schema of the configuration.
func configurationSchema(t *testing.T) []byte {
	t.Helper()
	root := keyTree()
	providers := root.below[1]
	var flags *keyNode
	for _, k := range providers.below {
		if k.name == "compat" {
			flags = k
		}
	}
	if flags == nil || len(flags.below) == 0 {
		t.Fatal("there are no flags")
	}
	s := objectOf(t, root)
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "Configuration of llmd"
	s["$defs"] = map[string]any{"compat": objectOf(t, flags)}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The schema that editors read has every key of the code. -update writes it.
func TestConfigurationSchema(t *testing.T) {
	want := configurationSchema(t)
	if *update {
		if err := os.WriteFile(schemaPath, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaPath)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the code reads (%v): run go test ./integration/catalog -run TestConfigurationSchema -update", schemaPath, err)
	}
}

// What the schema takes and refuses is what llmd takes and refuses, as far as a
// schema can say it.
func TestSchemaAgrees(t *testing.T) {
	text, err := os.ReadFile(schemaPath)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("configuration.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("configuration.json")
	if err != nil {
		t.Fatal(err)
	}
	every := everyKey(t, sharedResponses(map[string]string{
		"providers[].id": "every", "providers[].api_key_file": "", "server.listen": "[tcp://127.0.0.1:0]",
		"server.auth.tokens": "[{name: a, sha256: " + strings.Repeat("0f", 32) + ", models: [a/*], limits: {burst: 2, requests_per_second: 1}}]",
		"server.auth.mtls":   "[{name: b, uri_san: 'spiffe://a/b'}, {name: c, common_name: c}]",
	}))
	for _, tt := range []struct {
		name, text string
		ok         bool
	}{
		{"every key", every, true},
		{"one address", "server: {listen: 'tcp://127.0.0.1:1', partial_store: true}\n", true},
		{"a number for a name", "providers:\n  - {id: 405, api: faux, base_url: 'http://h', models: [{id: 1, pricing: {input: 3, output: \"15\"}}]}\n", true},
		{"unknown key", "server: {port: 1}\n", false},
		{"unknown flag", "providers: [{id: a, compat: {store: true}}]\n", false},
		{"unknown word", "providers: [{id: a, api: openai}]\n", false},
		{"wrong kind", "providers: {id: a}\n", false},
		{"text for a number", "providers: [{id: a, models: [{id: m, max_output_tokens: many}]}]\n", false},
		{"a caller without a digest", "server: {auth: {tokens: [{name: a}]}}\n", false},
		{"a model without an id", "providers: [{id: openai, models: [{reasoning: true}]}]\n", false},
		{"a provider without an id", "providers: [{api: faux}]\n", false},
		{"a key without a name", "server: {responses: {encryption_keys: [{key: " + strings.Repeat("0f", 32) + "}]}}\n", false},
		{"no time without a unit", "server: {drain_timeout: 0, responses: {max_detached: 0}}\n", true},
		{"a time without a unit", "server: {drain_timeout: 5}\n", false},
		{"too small a number", "server: {limits: {concurrent_calls: 0}}\n", false},
		{"too large a number", "server: {responses: {redis: {database: 65537}}}\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var value any
			if err := yaml.Unmarshal([]byte(tt.text), &value); err != nil {
				t.Fatal(err)
			}
			asJSON, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
			if err != nil {
				t.Fatal(err)
			}
			schemaSays := schema.Validate(instance)
			_, llmdSays := config.Parse("f", []byte(tt.text), env())
			if (schemaSays == nil) != tt.ok || (llmdSays == nil) != tt.ok {
				t.Errorf("the schema says %v, llmd says %v", schemaSays, llmdSays)
			}
		})
	}
}

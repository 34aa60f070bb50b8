package turns

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
)

func toleratedByGoogle() []tolerated {
	apis := []string{"google-generative-ai", "google-vertex"}
	return []tolerated{
		leftOut("google.system-role", "the API does not read the role of a system instruction", apis, `"user"`, "systemInstruction.role"),
		{
			name: "google.json-schema", why: "llmd sends JSON Schema; the client sent Google's own kind, with types in capitals, or the other spelling",
			apis: apis, at: []string{"tools[].functionDeclarations[]"},
			mend: func(want, got *node) (*node, *node, bool) {
				sent := got.get("parametersJsonSchema")
				for _, key := range []string{"parameters", "parameters_json_schema"} {
					if p := want.get(key); p != nil && sent != nil && equal(js(lowerTypes(string(p.raw))), sent) {
						return want.with(key, nil), got.with("parametersJsonSchema", nil), true
					}
				}
				return nil, nil, false
			},
		},
		{
			name: "google.spelling", why: "Google's JSON takes names in snake_case and in camelCase",
			apis: apis, at: []string{"contents[].parts[]"},
			mend: func(want, got *node) (*node, *node, bool) {
				for _, names := range [][2]string{{"function_call", "functionCall"}, {"function_response", "functionResponse"}} {
					if v := want.get(names[0]); v != nil && got.get(names[1]) != nil {
						return want.with(names[0], nil).with(names[1], v), got, true
					}
				}
				return nil, nil, false
			},
		},
		{
			name: "google.call-ids", why: "models before Gemini 3 number no calls: the client made the id",
			apis: apis, at: []string{"contents[].parts[].functionCall.id", "contents[].parts[].functionResponse.id"},
			only: func(r *recording) bool { return strings.HasPrefix(r.Model, "gemini-2") },
			mend: func(want, got *node) (*node, *node, bool) { return got, got, want.isString() && got == nil },
		},
		{
			name: "google.result-key", why: "a result stands below the key that Google knows, output; clients use any",
			apis: apis, at: []string{"contents[].parts[].functionResponse"},
			mend: func(want, got *node) (*node, *node, bool) {
				response, output := want.get("response"), got.get("response").get("output")
				text, failed := googleResult(response)
				named := response.get("name") // in some wrappings; the tool's name
				ok := !failed && output.isString() && output.text == text && (named == nil || equal(named, want.get("name")))
				return want.with("response", nil), got.with("response", nil), ok
			},
		},
		{
			name: "google.signature-alphabet", why: "the client wrote the same bytes in the other alphabet of base64",
			apis: apis, at: []string{"contents[].parts[].thoughtSignature"},
			mend: func(want, got *node) (*node, *node, bool) {
				return got, got, want.isString() && got.isString() && sameBytes(want.text, got.text)
			},
		},
		{
			name: "google.thoughts", why: "the client left out the readable thoughts; llmd sends all parts of an answer",
			apis: apis, at: []string{"contents[].parts"},
			mend: func(want, got *node) (*node, *node, bool) {
				if !got.isArray() {
					return nil, nil, false
				}
				rest := slices.DeleteFunc(slices.Clone(got.items), func(p *node) bool {
					return isTrue(p.get("thought")) && p.get("thoughtSignature") == nil
				})
				return want, array(rest...), len(rest) < len(got.items) && len(rest) == len(want.list())
			},
		},
	}
}

func sameBytes(a, b string) bool {
	alphabet := strings.NewReplacer("-", "+", "_", "/", "=", "")
	x, errX := base64.RawStdEncoding.DecodeString(alphabet.Replace(a))
	y, errY := base64.RawStdEncoding.DecodeString(alphabet.Replace(b))
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

package providersim

import (
	"strings"
	"testing"
)

func TestGoogleRules(t *testing.T) {
	const model = "gemini-3-pro-preview"
	s := signer(Gemini, model)
	signature := s.sign("call", "look\x00{}")
	call := `{"functionCall":{"id":"c1","name":"look","args":{}},"thoughtSignature":"` + signature + `"}`
	const second, response = `{"functionCall":{"id":"c2","name":"see","args":{}}}`, `{"functionResponse":{"id":"c1","name":"look","response":{"output":"R"}}}`
	const other = `{"functionResponse":{"id":"c2","name":"see","response":{"output":"R"}}}`
	const hi, image = `{"text":"hi"}`, `{"inlineData":{"mimeType":"image/png","data":"` + png + `"}}`
	text := `{"text":"x","thoughtSignature":"` + s.sign("text", "x") + `"}`
	b := base{Gemini, model, `{"systemInstruction":{"parts":[{"text":"S"}]},` +
		`"tools":[{"functionDeclarations":[{"name":"look","parametersJsonSchema":{"type":"object"}},{"name":"see","parameters":{"type":"OBJECT"}}]}],` +
		`"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}},"generationConfig":{"temperature":1,"thinkingConfig":{"thinkingLevel":"LOW"}},` +
		`"contents":[{"role":"user","parts":[` + hi + `,` + image + `]},{"role":"model","parts":[` + text + `]},{"role":"user","parts":[{"text":"go"}]},` +
		`{"role":"model","parts":[` + call + `,` + second + `]},{"role":"user","parts":[` + response + `,` + other + `]}]}`}
	const thinking = `"thinkingConfig":{"thinkingLevel":"LOW"}`
	breaks(t, b, []breach{
		{rule: "google.body.object", old: b.body, now: `null`},
		{rule: "google.body.surrogates", old: `"hi"`, now: `"\ud83d"`},
		{rule: "google.body.fields", old: `"systemInstruction"`, now: `"system"`},
		{rule: "google.body.fields", old: `"temperature":1`, now: `"max_tokens":1`},
		{rule: "google.body.fields", old: hi, now: `{"text":"hi","signature":"x"}`},
		{rule: "google.sampling.range", old: `"temperature":1`, now: `"temperature":3`},
		{rule: "google.sampling.range", old: `"temperature":1`, now: `"maxOutputTokens":0`},
		{rule: "google.stop_sequences.limit", old: `"temperature":1`, now: `"stopSequences":["a","b","c","d","e","f"]`},
		{rule: "google.modalities.supported", old: `"hi"`, now: `"hi"`, model: "gemini-2.5-flash-preview-tts"},
		{rule: "google.contents.some", old: b.body[strings.Index(b.body, `"contents"`):], now: `"contents":[]}`},
		{rule: "google.contents.role", old: `"role":"model"`, now: `"role":"assistant"`},
		{rule: "google.contents.parts", old: `[{"text":"go"}]`, now: `[]`},
		{rule: "google.contents.last_role", old: `]}]}`, now: `]},{"role":"model","parts":[{"text":"x"}]}]}`, model: "gemini-3.6-pro"},
		{rule: "google.part.one_of", old: hi, now: `{"text":"hi","inlineData":{}}`},
		{rule: "google.part.one_of", old: hi, now: `{}`},
		{rule: "google.part.text_not_empty", old: `"hi"`, now: `""`},
		{rule: "google.part.text_not_empty", old: `"S"`, now: `""`},
		{rule: "google.image.type", old: `image/png`, now: `image/gif`},
		{rule: "google.image.type", old: png, now: `!`},
		{rule: "google.image.nested", old: `"name":"look","response"`, now: `"parts":[` + image + `],"name":"look","response"`, model: "gemini-2.5-pro"},
		{rule: "google.function_call.shape", old: `"args":{}`, now: `"args":"{}"`},
		{rule: "google.function_call.shape", old: `"id":"c1","name":"look","args"`, now: `"id":"c1","name":"","args"`},
		{rule: "google.function_call.id_pattern", old: `"id":"c1","name":"look","args"`, now: `"id":"c|1","name":"look","args"`},
		{rule: "google.function_call.id_pattern", old: `"id":"c2","name":"see","args"`, now: `"id":"c1","name":"see","args"`},
		{rule: "google.function_call.position", old: `{"role":"user","parts":[{"text":"go"}]},`, now: ``},
		{rule: "google.function_response.position", old: `{"text":"go"}`, now: response},
		{rule: "google.function_response.count", old: response + `,`, now: ``},
		{rule: "google.function_response.count", old: `,{"role":"user","parts":[` + response + `,` + other + `]}`, now: ``},
		{rule: "google.function_response.order", old: `"id":"c1","name":"look","response"`, now: `"id":"c2","name":"look","response"`},
		{rule: "google.function_response.order", old: `"id":"c1","name":"look","response"`, now: `"id":"c3","name":"look","response"`},
		{rule: "google.function_response.shape", old: `"response":{"output":"R"}`, now: `"response":"R"`},
		{rule: "google.thought_signature.base64", old: signature, now: `!`},
		{rule: "google.thought_signature.first_call", old: `,"thoughtSignature":"` + signature + `"`, now: ``},
		{rule: "google.thought_signature.bypass_place", old: second, now: `{"functionCall":{"id":"c2","name":"see","args":{}},"thoughtSignature":"` + bypass + `"}`},
		{rule: "google.thought_signature.valid", old: signature, now: signature[4:]},
		{rule: "google.thought_signature.valid", old: `"args":{}`, now: `"args":{ }`},
		{rule: "google.thought_signature.valid", old: `"hi"`, now: `"hi"`, model: "gemini-3-flash"},
		{rule: "google.tools.names", old: `{"name":"look","p`, now: `{"name":"0look","p`},
		{rule: "google.tools.names", old: `{"name":"look","p`, now: `{"name":"see","p`},
		{rule: "google.tools.draft", old: `"parameters":{"type":"OBJECT"}`, now: `"parametersJsonSchema":{"type":"object","definitions":{}}`},
		{rule: "google.tools.draft", old: `"parameters":{"type":"OBJECT"}`, now: `"parametersJsonSchema":{"type":"object","properties":{"a":{"$ref":"#","title":"t"}}}`},
		{rule: "google.tools.draft", old: `"parameters":{"type":"OBJECT"}`, now: `"parametersJsonSchema":{"type":"object","properties":{"a":{"items":[]}}}`},
		{rule: "google.tools.schema", old: `"parameters":{"type":"OBJECT"}`, now: `"parameters":{"type":"OBJECT","additionalProperties":false}`},
		{rule: "google.tools.schema", old: `"parameters":{"type":"OBJECT"}`, now: `"parameters":{"type":"OBJECT"},"parametersJsonSchema":{"type":"object"}`},
		{rule: "google.tool_config.valid", old: `"mode":"AUTO"`, now: `"mode":"REQUIRED"`},
		{rule: "google.tool_config.valid", old: `"mode":"AUTO"`, now: `"mode":"ANY","allowedFunctionNames":["x"]`},
		{rule: "google.tool_config.valid", old: `"mode":"AUTO"`, now: `"mode":"AUTO","allowedFunctionNames":["look"]`},
		{rule: "google.thinking.one_of", old: thinking, now: `"thinkingConfig":{"thinkingLevel":"LOW","thinkingBudget":1}`},
		{rule: "google.thinking.level", old: thinking, now: thinking, model: "gemini-2.5-pro"},
		{rule: "google.thinking.level", old: `"LOW"`, now: `"MAX"`},
		{rule: "google.thinking.budget", old: thinking, now: `"thinkingConfig":{"thinkingBudget":0}`, model: "gemini-2.5-pro"},
	})
	ok := strings.Replace(b.body, signature, bypass, 1)
	if found := Check(Gemini, model, []byte(ok)); len(found) > 0 {
		t.Errorf("the documented bypass breaks %v", found)
	}
}

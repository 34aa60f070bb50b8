package providersim

import (
	"fmt"
	"strings"
	"testing"
)

func TestBedrockRules(t *testing.T) {
	const model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	s := signer(Bedrock, model)
	thinking := fmt.Sprintf(`{"reasoningContent":{"reasoningText":{"text":"T","signature":%q}}}`, s.sign("thinking", "T"))
	redacted := fmt.Sprintf(`{"reasoningContent":{"redactedContent":%q}}`, s.seal("H"))
	const call, hi = `{"toolUse":{"toolUseId":"c1","name":"look","input":{}}}`, `{"text":"hi"}`
	const result = `{"toolResult":{"toolUseId":"c1","content":[{"text":"R"}],"status":"error"}}`
	const image = `{"image":{"format":"png","source":{"bytes":"` + png + `"}}}`
	const config = `"toolConfig":{"tools":[{"toolSpec":{"name":"look","inputSchema":{"json":{"type":"object"}}}},{"cachePoint":{"type":"default"}}],"toolChoice":{"auto":{}}},`
	const enabled = `"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":1024}},`
	b := base{Bedrock, model, `{"inferenceConfig":{"maxTokens":4096},` + enabled + `"system":[{"text":"S"}],` + config +
		`"messages":[{"role":"user","content":[` + hi + `,` + image + `]},{"role":"assistant","content":[` + thinking + `,` + redacted + `,` + call + `]},` +
		`{"role":"user","content":[` + result + `]}]}`}
	breaks(t, b, []breach{
		{rule: "bedrock.body.object", old: b.body, now: `true`},
		{rule: "bedrock.body.fields", old: `"system"`, now: `"model":"m","system"`},
		{rule: "bedrock.inference.range", old: `"maxTokens":4096`, now: `"temperature":1.5`},
		{rule: "bedrock.inference.range", old: `"maxTokens":4096`, now: `"maxTokens":0`},
		{rule: "bedrock.messages.some", old: b.body[strings.Index(b.body, `"messages"`):], now: `"messages":[]}`},
		{rule: "bedrock.messages.role", old: `"role":"user"`, now: `"role":"system"`},
		{rule: "bedrock.messages.user_first", old: `"messages":[`, now: `"messages":[{"role":"assistant","content":[{"text":"x"}]},`},
		{rule: "bedrock.messages.alternate", old: `"messages":[`, now: `"messages":[{"role":"user","content":[{"text":"x"}]},`},
		{rule: "bedrock.messages.content_not_empty", old: hi + `,` + image, now: ``},
		{rule: "bedrock.messages.last_role", old: `]}]}`, now: `]},{"role":"assistant","content":[{"text":"x"}]}]}`, model: "openai.gpt-oss-120b-1:0"},
		{rule: "bedrock.content.kind", old: hi, now: `{"text":"hi","image":{}}`},
		{rule: "bedrock.content.kind", old: hi, now: call},
		{rule: "bedrock.text.not_blank", old: `"hi"`, now: `" "`},
		{rule: "bedrock.text.not_blank", old: `"R"`, now: `""`},
		{rule: "bedrock.system.not_blank", old: `"S"`, now: `""`},
		{rule: "bedrock.tool_use.id_pattern", old: `"toolUseId":"c1","name"`, now: `"toolUseId":"` + strings.Repeat("c", 65) + `","name"`},
		{rule: "bedrock.tool_use.ids_unique", old: call, now: call + `,` + call},
		{rule: "bedrock.tool_use.name_pattern", old: `"name":"look","input":`, now: `"name":"a.b","input":`},
		{rule: "bedrock.tool_use.input_object", old: `"input":{}`, now: `"input":"x"`},
		{rule: "bedrock.tool_use.has_result", old: result, now: hi},
		{rule: "bedrock.tool_result.follows_tool_use", old: `{"toolUseId":"c1","content"`, now: `{"toolUseId":"c2","content"`},
		{rule: "bedrock.tool_result.one_for_each", old: result, now: result + `,` + result},
		{rule: "bedrock.tool_result.content", old: `[{"text":"R"}]`, now: `[]`},
		{rule: "bedrock.tool_result.error_text_only", old: `{"text":"R"}`, now: image},
		{rule: "bedrock.tools_alone", old: hi, now: hi, model: "mistral.pixtral-large-2502-v1:0"},
		{rule: "bedrock.tool_config.present_with_history", old: config, now: ``},
		{rule: "bedrock.tools.names", old: `{"name":"look","inputSchema"`, now: `{"name":"a.b","inputSchema"`},
		{rule: "bedrock.tools.schema", old: `{"type":"object"}`, now: `{}`},
		{rule: "bedrock.tools.schema", old: `{"name":"look","inputSchema"`, now: `{"description":"","name":"look","inputSchema"`},
		{rule: "bedrock.tools.root_keywords", old: `{"type":"object"}`, now: `{"type":"object","anyOf":[{"required":["a"]}]}`},
		{rule: "bedrock.tools.root_keywords", old: `{"type":"object"}`, now: `{"type":"object","$defs":{}}`, model: "us.amazon.nova-pro-v1:0"},
		{rule: "bedrock.tools.draft", old: `{"type":"object"}`, now: `{"type":"object","additionalProperties":{"items":[{}]}}`},
		{rule: "bedrock.tool_choice.valid", old: `{"auto":{}}`, now: `{"tool":{"name":"x"}}`},
		{rule: "bedrock.tool_choice.valid", old: `{"auto":{}}`, now: `{"none":{}}`},
		{rule: "bedrock.thinking.budget", old: `4096`, now: `1024`},
		{rule: "bedrock.thinking.budget", old: `"budget_tokens":1024`, now: `"budget_tokens":1`},
		{rule: "bedrock.thinking.starts_turn", old: thinking + `,` + redacted + `,`, now: ``},
		{rule: "bedrock.thinking.not_last", old: call, now: call + `,` + thinking},
		{rule: "bedrock.thinking.not_prefilled", old: `]}]}`, now: `]},{"role":"assistant","content":[` + thinking + `,{"text":"x"}]}]}`},
		{rule: "bedrock.thinking.forced_tool_choice", old: `{"auto":{}}`, now: `{"any":{}}`},
		{rule: "bedrock.reasoning.shape", old: s.sign("thinking", "T"), now: ``},
		{rule: "bedrock.reasoning.shape", old: redacted, now: `{"reasoningContent":{"text":"x"}}`},
		{rule: "bedrock.reasoning.signature_valid", old: `"text":"T"`, now: `"text":"U"`},
		{rule: "bedrock.reasoning.signature_valid", old: s.seal("H"), now: s.seal("H")[4:]},
		{rule: "bedrock.reasoning.signature_valid", old: hi, now: hi, model: "anthropic.claude-sonnet-4-5-20250929-v1:0"},
		{rule: "bedrock.cache_point.limit", old: hi, now: hi + strings.Repeat(`,{"cachePoint":{"type":"default"}}`, 4)},
		{rule: "bedrock.cache_point.supported", old: hi, now: hi, model: "meta.llama3-1-70b-instruct-v1:0"},
		{rule: "bedrock.image.format", old: `"format":"png"`, now: `"format":"jpg"`},
		{rule: "bedrock.image.format", old: `"format":"png"`, now: `"format":"gif"`},
		{rule: "bedrock.image.supported", old: hi, now: hi, model: "amazon.nova-micro-v1:0"},
		{rule: "bedrock.image.in_result", old: `{"text":"R"}`, now: image, model: "qwen.qwen3-vl-235b-a22b"},
		{rule: "bedrock.source.s3", old: `{"bytes":"` + png + `"}`, now: `{"s3Location":{"uri":"s3://b/k"}}`},
	})
}

func TestMistralRules(t *testing.T) {
	const call, tool = `{"id":"abcDEF123","function":{"name":"look","arguments":"{}"}}`, `{"role":"tool","tool_call_id":"abcDEF123","name":"look","content":"R"}`
	b := base{Mistral, "mistral-small-latest", `{"model":"m","stream":true,"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}],"tool_choice":"auto",` +
		`"messages":[{"role":"system","content":"S"},{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":` + dataPNG + `}]},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"T"}]}],"tool_calls":[` + call + `]},` + tool + `]}`}
	breaks(t, b, []breach{
		{rule: "mistral.body.object", old: b.body, now: `[]`},
		{rule: "mistral.body.fields", old: `"model":"m"`, now: `"model":"m","seed":1`},
		{rule: "mistral.message.fields", old: `"role":"system"`, now: `"role":"system","name":"x"`},
		{rule: "mistral.sampling.range", old: `"model":"m"`, now: `"model":"m","temperature":1.6`},
		{rule: "mistral.messages.some", old: b.body[strings.Index(b.body, `"messages"`):], now: `"messages":[]}`},
		{rule: "mistral.messages.role", old: `"role":"system"`, now: `"role":"developer"`},
		{rule: "mistral.messages.order", old: tool, now: tool + `,{"role":"user","content":"x"}`},
		{rule: "mistral.messages.last_role", old: tool, now: tool + `,{"role":"assistant","content":"x"}`},
		{rule: "mistral.messages.content_not_empty", old: tool, now: tool + `,{"role":"assistant","content":""},{"role":"user","content":"x"}`},
		{rule: "mistral.content.kind", old: `"type":"text","text":"hi"`, now: `"type":"input_text","text":"hi"`},
		{rule: "mistral.image.type", old: `image/png;base64`, now: `image/bmp;base64`},
		{rule: "mistral.image.type", old: `"hi"`, now: `"hi"`, model: "codestral-latest"},
		{rule: "mistral.tool_calls.id_pattern", old: `"id":"abcDEF123"`, now: `"id":"call_1234"`},
		{rule: "mistral.tool_calls.ids_unique", old: call, now: call + `,` + call},
		{rule: "mistral.tool_calls.name_pattern", old: `"name":"look","arguments"`, now: `"name":"","arguments"`},
		{rule: "mistral.tool_calls.arguments", old: `"arguments":"{}"`, now: `"arguments":"{"`},
		{rule: "mistral.tool_calls.answered", old: `,` + tool, now: ``},
		{rule: "mistral.tool.follows_call", old: `"tool_call_id":"abcDEF123"`, now: `"tool_call_id":"abcDEF124"`},
		{rule: "mistral.tool.one_for_each", old: tool, now: tool + `,` + tool},
		{rule: "mistral.tools.names", old: `{"name":"look","parameters"`, now: `{"name":"a b","parameters"`},
		{rule: "mistral.tools.schema", old: `{"type":"object"}`, now: `{}`},
		{rule: "mistral.tool_choice.valid", old: `"tool_choice":"auto"`, now: `"tool_choice":"must"`},
		{rule: "mistral.thinking.shape", old: `"thinking":[{"type":"text","text":"T"}]`, now: `"thinking":"T"`},
	})
}

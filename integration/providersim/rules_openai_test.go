package providersim

import (
	"fmt"
	"strings"
	"testing"
)

const dataPNG = `"data:image/png;base64,` + png + `"`

func TestChatRules(t *testing.T) {
	const model = "gpt-4.1"
	b := base{Chat, model, `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":100,` +
		`"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object","properties":{}}}}],"tool_choice":"auto",` +
		`"messages":[{"role":"system","content":"S"},{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":` + dataPNG + `}}]},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"c1","content":"R"}]}`}
	const call, tool = `{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}`, `{"role":"tool","tool_call_id":"c1","content":"R"}`
	const tools = `"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object","properties":{}}}}],"tool_choice":"auto",`
	const marked = `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`
	router := signer(Chat, "anthropic/claude")
	details := func(signature string) string {
		return fmt.Sprintf(`"content":null,"reasoning_details":[{"type":"reasoning.text","text":"T","signature":%q}]`, signature)
	}
	breaks(t, b, []breach{
		{rule: "chat.body.object", old: b.body, now: `"x"`},
		{rule: "chat.body.fields", old: `"model":"m"`, now: `"model":"m","top_k":1`},
		{rule: "chat.body.fields", old: `"model":"m",`, now: ``, model: "llama"},
		{rule: "chat.message.fields", old: `"content":null`, now: `"content":null,"reasoning_content":"x"`},
		{rule: "chat.max_tokens.field", old: `"max_tokens":100`, now: `"max_tokens":100`, model: "gpt-5-mini"},
		{rule: "chat.max_tokens.field", old: `"max_tokens"`, now: `"max_completion_tokens"`, model: "deepseek-chat"},
		{rule: "chat.max_tokens.least", old: `"max_tokens":100`, now: `"max_tokens":15`, model: "openai/gpt-5"},
		{rule: "chat.sampling.range", old: `"model":"m"`, now: `"model":"m","temperature":2.1`},
		{rule: "chat.sampling.reasoning_model", old: `"model":"m"`, now: `"model":"m","temperature":0.5`, model: "o3"},
		{rule: "chat.sampling.reasoning_model", old: `"model":"m"`, now: `"model":"m","reasoning_effort":"low"`},
		{rule: "chat.stop.limit", old: `"model":"m"`, now: `"model":"m","stop":["a","b","c","d","e"]`},
		{rule: "chat.stream_options.with_stream", old: `"stream":true,`, now: ``},
		{rule: "chat.messages.some", old: b.body[strings.Index(b.body, `"messages"`):], now: `"messages":[]}`},
		{rule: "chat.messages.role", old: `"role":"system"`, now: `"role":"model"`},
		{rule: "chat.messages.developer_role", old: `"role":"system"`, now: `"role":"developer"`, model: "llama"},
		{rule: "chat.messages.system_role", old: `"role":"system"`, now: `"role":"system"`, model: "google/gemma-3n-e4b"},
		{rule: "chat.content.not_null", old: `"content":"R"`, now: `"content":null`},
		{rule: "chat.content.not_null", old: `"content":"S"`, now: `"content":[]`},
		{rule: "chat.content.not_null", old: `"content":null,"tool_calls":[` + call + `]`, now: `"content":"x","tool_calls":[]`},
		{rule: "chat.content.kind", old: `"content":"R"`, now: `"content":[{"type":"image_url","image_url":{"url":` + dataPNG + `}}]`},
		{rule: "chat.content.text", old: `"text":"hi"`, now: `"text":""`},
		{rule: "chat.image.type", old: `image/png;base64`, now: `image/tiff;base64`},
		{rule: "chat.image.type", old: `image/png;base64`, now: `image/gif;base64`},
		{rule: "chat.image.supported", old: `"hi"`, now: `"hi"`, model: "deepseek-chat"},
		{rule: "chat.tool_calls.shape", old: `"arguments":"{}"`, now: `"arguments":{}`},
		{rule: "chat.tool_calls.id_length", old: `"id":"c1"`, now: `"id":"` + strings.Repeat("x", 41) + `"`},
		{rule: "chat.tool_calls.id_length", old: `"id":"c1"`, now: `"id":""`},
		{rule: "chat.tool_calls.ids_unique", old: call, now: call + `,` + call},
		{rule: "chat.tool_calls.name_pattern", old: `"name":"look","arguments"`, now: `"name":"a b","arguments"`},
		{rule: "chat.tool_calls.arguments_json", old: `"arguments":"{}"`, now: `"arguments":"{"`, model: "llama"},
		{rule: "chat.tool_calls.answered", old: `,` + tool, now: ``},
		{rule: "chat.tool.follows_call", old: `"tool_call_id":"c1"`, now: `"tool_call_id":"c2"`},
		{rule: "chat.tool.follows_call", old: tool, now: `{"role":"user","content":"x"},` + tool},
		{rule: "chat.tool.one_for_each", old: tool, now: tool + `,` + tool},
		{rule: "chat.tools.not_empty", old: tools, now: `"tools":[],`},
		{rule: "chat.tools.names", old: `{"name":"look","parameters"`, now: `{"name":"a b","parameters"`},
		{rule: "chat.tools.schema", old: `{"type":"object","properties":{}}`, now: `{"type":"string"}`},
		{rule: "chat.tools.draft", old: `"properties":{}`, now: `"properties":{"a":{"type":"array","items":[{}]}}`},
		{rule: "chat.tools.draft", old: `"properties":{}`, now: `"properties":{"a":{"pattern":"(?!a)"}}`},
		{rule: "chat.tools.draft", old: `"properties":{}`, now: `"properties":{"a":{"pattern":"\\p{L}"}}`},
		{rule: "chat.tools.draft", old: `"properties":{}`, now: `"properties":{"a":{"type":["array","null"],"prefixItems":[{}]}}`},
		{rule: "chat.tools.strict_schema", old: `{"name":"look","parameters"`, now: `{"strict":true,"name":"look","parameters"`},
		{rule: "chat.tools.strict_schema", old: `"model":"m"`, now: `"model":"m","response_format":{"json_schema":{"strict":true,"schema":{"properties":{"a":{"$ref":"#/properties/b"},"b":{"type":"null"}},"required":["a","b"],"additionalProperties":false}}}`},
		{rule: "chat.tools.strict_schema", old: `"model":"m"`, now: `"model":"m","response_format":{"json_schema":{"strict":true,"schema":{"type":"object","properties":{"a":{}},"additionalProperties":false}}}`},
		{rule: "chat.tool_choice.valid", old: tools, now: `"tool_choice":"auto",`},
		{rule: "chat.tool_choice.valid", old: `"tool_choice":"auto"`, now: `"tool_choice":"any"`},
		{rule: "chat.tool_choice.valid", old: `"tool_choice":"auto"`, now: `"tool_choice":{"type":"function","function":{"name":"x"}}`},
		{rule: "chat.parallel_tool_calls.with_tools", old: tools, now: `"parallel_tool_calls":true,`},
		{rule: "chat.reasoning_content.in_tool_loop", old: `"model":"m"`, now: `"model":"m","thinking":{"type":"enabled"}`, model: "deepseek-chat"},
		{rule: "chat.reasoning_details.shape", old: `"content":null`, now: `"content":null,"reasoning_details":[{"text":"x"}]`, model: router.model},
		{rule: "chat.reasoning_details.signature_valid", old: `"content":null`, now: details(router.sign("thinking", "U")), model: router.model},
		{rule: "chat.reasoning_details.signature_valid", old: `"content":null`, now: details(router.sign("thinking", "T")), model: "anthropic/other"},
		{rule: "chat.cache_control.limit", old: `{"type":"text","text":"hi"}`, now: strings.Repeat(marked, 5) + `{"type":"text","text":"hi"}`, model: router.model},
	})
	for _, good := range []string{details(router.sign("thinking", "T"))} {
		body := strings.Replace(b.body, `"content":null`, good, 1)
		if found := Check(Chat, router.model, []byte(body)); len(found) > 0 {
			t.Errorf("signed details break %v", found)
		}
	}
}

func TestResponsesRules(t *testing.T) {
	const model = "gpt-5"
	s := signer(Responses, model)
	const rs = "rs_00112233445566778899aabbccddeeff00112233"
	reasoning := func(encrypted string) string {
		return fmt.Sprintf(`{"type":"reasoning","id":%q,"summary":[{"type":"summary_text","text":"T"}],"encrypted_content":%q}`, rs, encrypted)
	}
	good := s.sign("reasoning", rs+"\x00T\x00")
	call := fmt.Sprintf(`{"type":"function_call","id":%q,"call_id":"c1","name":"look","arguments":"{}"}`, itemID("fc", rs, "aaaaaaaa"))
	const output = `{"type":"function_call_output","call_id":"c1","output":"R"}`
	const message = `{"type":"message","role":"assistant","id":"msg_1","content":[{"type":"output_text","text":"x","annotations":[]}]}`
	b := base{Responses, model, `{"model":"m","stream":true,"store":false,"reasoning":{"effort":"low"},"include":["reasoning.encrypted_content"],` +
		`"tools":[{"type":"function","name":"look","parameters":{"type":"object","properties":{}}}],"tool_choice":"auto",` +
		`"input":[{"role":"developer","content":"S"},{"role":"user","content":[{"type":"input_text","text":"hi"},{"type":"input_image","image_url":` + dataPNG + `}]},` +
		message + `,` + reasoning(good) + `,` + call + `,` + output + `]}`}
	breaks(t, b, []breach{
		{rule: "responses.body.object", old: b.body, now: `1`},
		{rule: "responses.body.fields", old: `"model":"m"`, now: `"model":"m","stop":"x"`},
		{rule: "responses.max_output_tokens.least", old: `"model":"m"`, now: `"model":"m","max_output_tokens":15`},
		{rule: "responses.prompt_cache_key.length", old: `"model":"m"`, now: `"model":"m","prompt_cache_key":"` + strings.Repeat("k", 65) + `"`},
		{rule: "responses.sampling.reasoning_model", old: `"model":"m"`, now: `"model":"m","temperature":0.1`},
		{rule: "responses.reasoning.supported", old: `"model":"m"`, now: `"model":"m"`, model: "gpt-4.1"},
		{rule: "responses.input.some", old: b.body[strings.Index(b.body, `"input"`):], now: `"input":[]}`},
		{rule: "responses.item.type", old: `"role":"developer"`, now: `"role":"tool"`},
		{rule: "responses.item.type", old: message, now: `{}`},
		{rule: "responses.item.id", old: `"msg_1"`, now: `"xyz_1"`},
		{rule: "responses.item.id", old: `"msg_1"`, now: `"msg_` + strings.Repeat("1", 61) + `"`},
		{rule: "responses.item.id", old: `"msg_1"`, now: `"msg|1"`},
		{rule: "responses.item.ids_unique", old: message, now: message + `,` + message},
		{rule: "responses.message.content", old: `"content":"S"`, now: `"content":null`},
		{rule: "responses.message.content", old: `"output_text"`, now: `"input_text"`},
		{rule: "responses.message.text", old: `"text":"hi"`, now: `"text":null`},
		{rule: "responses.image.type", old: `image/png;base64`, now: `image/tiff;base64`},
		{rule: "responses.image.supported", old: `"hi"`, now: `"hi"`, model: "text-only"},
		{rule: "responses.function_call.call_id", old: `"call_id":"c1","name"`, now: `"call_id":"` + strings.Repeat("x", 65) + `","name"`},
		{rule: "responses.function_call.ids_unique", old: output, now: output + `,{"type":"function_call","call_id":"c1","name":"look","arguments":"{}"},` + output},
		{rule: "responses.function_call.name_pattern", old: `"c1","name":"look"`, now: `"c1","name":"a b"`},
		{rule: "responses.function_call.arguments", old: `"arguments":"{}"`, now: `"arguments":{}`},
		{rule: "responses.function_call.has_output", old: `,` + output, now: ``},
		{rule: "responses.function_call_output.has_call", old: message, now: `{"type":"function_call_output","call_id":"c0","output":"R"},` + message},
		{rule: "responses.function_call_output.one_for_each", old: output, now: output + `,` + output},
		{rule: "responses.function_call_output.shape", old: `"output":"R"`, now: `"output":null`},
		{rule: "responses.function_call_output.shape", old: `"output":"R"`, now: `"output":[{"type":"output_text","text":"x"}]`},
		{rule: "responses.reasoning.shape", old: `"summary":[{"type":"summary_text","text":"T"}],`, now: ``},
		{rule: "responses.reasoning.followed", old: call + `,` + output, now: `{"role":"user","content":"x"}`},
		{rule: "responses.reasoning.followed", old: `,` + call + `,` + output, now: ``},
		{rule: "responses.reasoning.encrypted", old: good, now: ``},
		{rule: "responses.reasoning.before_item", old: reasoning(good) + `,`, now: ``},
		{rule: "responses.reasoning.before_item", old: message, now: call + `,` + output + `,` + message},
		{rule: "responses.reasoning.signature_valid", old: good, now: good[4:]},
		{rule: "responses.reasoning.signature_valid", old: `"text":"T"`, now: `"text":"U"`},
		{rule: "responses.reasoning.signature_valid", old: `"hi"`, now: `"hi"`, model: "gpt-5-mini"},
		{rule: "responses.tools.names", old: `"function","name":"look","parameters"`, now: `"function","name":"a b","parameters"`},
		{rule: "responses.tools.schema", old: `{"type":"object","properties":{}}`, now: `{"type":"array"}`},
		{rule: "responses.tools.schema", old: `{"type":"object","properties":{}}`, now: `{"type":"object"}`},
		{rule: "responses.tools.schema", old: `{"type":"object","properties":{}}`, now: `{"type":"object","properties":{},"anyOf":[]}`},
		{rule: "responses.tools.draft", old: `"properties":{}`, now: `"properties":{"a":{"type":"array","items":[{}]}}`},
		{rule: "responses.tools.draft", old: `"properties":{}`, now: `"properties":{"a":{"pattern":"(?!a)"}}`},
		{rule: "responses.tools.draft", old: `"properties":{}`, now: `"properties":{"a":{"pattern":"\\p{L}"}}`},
		{rule: "responses.tools.draft", old: `"properties":{}`, now: `"properties":{"a":{"type":["array","null"],"prefixItems":[{}]}}`},
		{rule: "responses.tools.strict_schema", old: `"function","name":"look","parameters"`, now: `"function","strict":true,"name":"look","parameters"`},
		{rule: "responses.tool_choice.valid", old: `"tool_choice":"auto"`, now: `"tool_choice":{"type":"function","name":"x"}`},
		{rule: "responses.tool_choice.valid", old: `"tool_choice":"auto"`, now: `"tool_choice":"any"`},
	})
}

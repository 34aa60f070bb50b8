package main

import (
	"fmt"
	"strings"
)

// shape is a provider's wire API.
type shape string

const (
	chat      shape = "chat"
	anthropic shape = "anthropic"
)

// path is where the API is served.
func (s shape) path() string {
	if s == anthropic {
		return "/v1/messages"
	}
	return "/v1/chat/completions"
}

// request is a small request, as the floors that speak HTTP send it.
func (s shape) request(sc scenario) string {
	if s == anthropic {
		return fmt.Sprintf(`{"model":%q,"max_tokens":4096,"stream":true,"messages":[{"role":"user","content":%q}]}`, sc.model(), sc.prompt())
	}
	return fmt.Sprintf(`{"model":%q,"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":%q}]}`, sc.model(), sc.prompt())
}

// answer is how a shape spells an answer.
type answer struct {
	open  string
	delta func(piece string) string
	close string
}

func (s shape) answer(isTool bool) answer {
	switch {
	case s == anthropic && isTool:
		return answer{
			anthropicStart + anthropicEvent("content_block_start", `"index":0,"content_block":{"type":"tool_use","id":"toolu_01bench","name":"write","input":{}}`),
			func(p string) string {
				return anthropicEvent("content_block_delta", fmt.Sprintf(`"index":0,"delta":{"type":"input_json_delta","partial_json":%q}`, p))
			},
			anthropicEnd("tool_use"),
		}
	case s == anthropic:
		return answer{
			anthropicStart + anthropicEvent("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`),
			func(p string) string {
				return anthropicEvent("content_block_delta", fmt.Sprintf(`"index":0,"delta":{"type":"text_delta","text":%q}`, p))
			},
			anthropicEnd("end_turn"),
		}
	case isTool:
		return answer{
			chatChunk(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_bench","type":"function","function":{"name":"write","arguments":""}}]}`, "null"),
			func(p string) string {
				return chatChunk(fmt.Sprintf(`{"tool_calls":[{"index":0,"function":{"arguments":%q}}]}`, p), "null")
			},
			chatEnd("tool_calls"),
		}
	default:
		return answer{
			chatChunk(`{"role":"assistant","content":"","refusal":null}`, "null"),
			func(p string) string { return chatChunk(fmt.Sprintf(`{"content":%q}`, p), "null") },
			chatEnd("stop"),
		}
	}
}

// https://platform.openai.com/docs/api-reference/chat-streaming/streaming
func chatChunk(delta, finish string) string {
	return chatFrame(`[{"index":0,"delta":` + delta + `,"logprobs":null,"finish_reason":` + finish + `}],"usage":null`)
}

func chatFrame(choices string) string {
	return `data: {"id":"chatcmpl-Bench0000000000000000000000","object":"chat.completion.chunk","created":1893456000,` +
		`"model":"gpt-bench","service_tier":"default","system_fingerprint":"fp_bench00000","choices":` + choices + "}\n\n"
}

func chatEnd(word string) string {
	return chatChunk(`{}`, `"`+word+`"`) +
		chatFrame(`[],"usage":{"prompt_tokens":9,"completion_tokens":100,"total_tokens":109,"prompt_tokens_details":{"cached_tokens":0}}`) +
		"data: [DONE]\n\n"
}

// https://docs.anthropic.com/en/docs/build-with-claude/streaming
func anthropicEvent(name, members string) string {
	return "event: " + name + "\ndata: {\"type\":\"" + name + "\"," + members + "}\n\n"
}

const anthropicStart = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_bench\",\"type\":\"message\"," +
	"\"role\":\"assistant\",\"model\":\"claude-bench\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null," +
	"\"usage\":{\"input_tokens\":9,\"cache_read_input_tokens\":0,\"output_tokens\":1}}}\n\n"

func anthropicEnd(word string) string {
	return anthropicEvent("content_block_stop", `"index":0`) +
		anthropicEvent("message_delta", fmt.Sprintf(`"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":100}`, word)) +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
}

// textIn finds the text or the arguments in a line of either shape. It reads only
// what this package writes.
func textIn(line string) string {
	for _, key := range []string{`"content":"`, `"text":"`, `"arguments":"`, `"partial_json":"`} {
		if _, after, ok := strings.Cut(line, key); ok {
			return unquotePlain(after)
		}
	}
	return ""
}

// unquotePlain reads up to the closing quote; the only escapes here are of quotes.
func unquotePlain(s string) string {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return strings.ReplaceAll(s[:i], `\"`, `"`)
		}
	}
	return ""
}

package adapters

import (
	"bytes"
	"strings"
)

// A provider says in a hundred ways that a prompt does not fit its model. Most
// say it in words alone, under a status that fits any bad request, and some under
// a 500. The table below is the only place where those words are known.
//
// A phrase is lower case. "{limit}" and "{used}" stand for a number (several
// "{used}" add up), "{n}" for a number of no interest, and "..." for a short gap.

// maxGap is the most bytes that "..." stands for.
const maxGap = 240

// overflowPhrase is one way to say that the prompt is too long.
type overflowPhrase struct {
	text string
	who  string // whose words, for people who edit the table
}

// overflowPhrases lists the phrases that name numbers before shorter ones that
// would match the same words.
func overflowPhrases() []overflowPhrase {
	return []overflowPhrase{
		{"prompt is too long: {used} tokens > {limit} maximum", "Anthropic"},
		{"input length and `max_tokens` exceed context limit: {used} + {used} > {limit}", "Anthropic"},
		{"prompt is too long: {used}, model maximum context length: {limit}", "Fireworks"},
		{"maximum context length is {limit} tokens...requested about {used} tokens", "OpenRouter"},
		{"maximum context length is {limit} tokens...requested {used} output tokens and your prompt contains at least {used} input tokens", "vLLM"},
		{"maximum context length is {limit} tokens...you requested {used} tokens", "OpenAI, DeepSeek, vLLM"},
		{"maximum context length is {limit} tokens...resulted in {used} tokens", "OpenAI"},
		{"maximum context length is {limit} tokens...your request has {used} input tokens", "vLLM"},
		{"maximum context length is {limit}", "OpenAI and compatible"},
		{"maximum context length of {limit} tokens...requested a total of {used} tokens", "SGLang"},
		{"input length ({used}) exceeds model's maximum context length ({limit})", "LiteLLM, SGLang"},
		{"maximum context length of {limit}", "OpenAI-compatible"},
		{"exceeds...maximum context length ({limit})", "OpenAI-compatible"},
		{"exceed...maximum context length", "OpenAI-compatible"},
		{"passed {used} input tokens...context length is only {limit} tokens", "vLLM"},
		{"configured limit of {limit} tokens...resulted in {used} tokens", "OpenAI"},
		{"input token count ({used}) exceeds the maximum number of tokens allowed ({limit})", "Google"},
		{"input token count exceeds the maximum number of tokens allowed ({limit})", "Google"},
		{"input token count exceeds the maximum number of tokens allowed {limit}", "Google"},
		{"input token count is {used} but model only supports up to {limit}", "Vertex"},
		{"input token count...exceeds the maximum", "Google"},
		{"maximum prompt length is {limit} but the request contains {used} tokens", "xAI"},
		{"maximum prompt length is {limit}", "xAI"},
		{"current length is {used} while limit is {limit}", "Cerebras"},
		{"input ({used} tokens) is longer than the model's context length ({limit} tokens)", "Together, SGLang"},
		{"longer than the model's context length", "Together, SGLang"},
		{"(total length {used}) is too long to fit into the model (context length {limit})", "vLLM"},
		{"(length {used}) is longer than the maximum model length of {limit}", "vLLM"},
		{"must be <= {limit}. given: {used} `inputs` tokens and {used} `max_new_tokens`", "Text Generation Inference"},
		{"token count of {used} exceeds the limit of {limit}", "GitHub Copilot"},
		{"tokens...exceeds the limit of {limit}", "GitHub Copilot"},
		{"request ({used} tokens) exceeds the available context size ({limit} tokens)", "llama.cpp"},
		{"exceeds the available context size", "llama.cpp"},
		{"input length {used} exceeds context length {limit}", "LM Studio"},
		{"greater than the context length", "LM Studio"},
		{"exceeded model token limit: {limit} (requested: {used})", "Kimi"},
		{"exceeded model token limit", "Kimi"},
		{"context window exceeds limit", "MiniMax"},
		{"prompt contains {used} tokens...too large for model with {limit} maximum context length", "Mistral"},
		{"too large for model with {limit} maximum context length", "Mistral"},
		{"prompt has {used} tokens, but the configured context size is {limit} tokens", "DS4"},
		{"prompt has {used} token, but the configured context size is {limit} token", "DS4"},
		{"maximum allowed input length of {limit} token", "Poolside"},
		{"range of input length should be [{n}, {limit}]", "Qwen"},
		{"range of input length should be", "Qwen"},
		{"cannot exceed {limit} - received {used}", "Cohere"},
		{"max input tokens: {limit}, request input token count: {used}", "Bedrock Titan"},
		{"too many input tokens", "Bedrock Titan"},
		{"number of input tokens exceeds", "Bedrock Nova"},
		{"input tokens exceeded", "Bedrock Nova"},
		{"input tokens exceed", "OpenAI"},
		{"input is too long for requested model", "Bedrock"},
		{"input is too long", "Bedrock, Azure"},
		{"requested tokens ({used}) exceed context window of {limit}", "llama-cpp-python"},
		{"exceed...context window", "OpenAI"},
		{"context window exceeded", "LiteLLM"},
		{"context window is full", "OpenAI-compatible"},
		{"reduce the length of the messages", "Groq, OpenAI"},
		{"reduce the length of the prompt", "OpenAI"},
		{"prompt is too long", "Anthropic, Z.ai"},
		{"prompt too long", "Z.ai, Ollama"},
		{"prompt exceeds max length", "Z.ai"},
		{"exceeded max context length", "Ollama"},
		{"exceeded context length", "Ollama"},
		{"length of all messages is too long", "Perplexity"},
		{"exceed context limit", "Anthropic"},
		{"context length exceeded", "generic"},
		{"context_length_exceeded", "generic"},
		{"context_window_exceeded", "generic"},
		{"context limit exceeded", "generic"},
		{"exceeds the maximum number of tokens", "generic"},
		{"exceeds maximum input tokens", "generic"},
		{"token limit exceeded", "generic"},
		{"too many tokens", "generic"},
	}
}

// isThrottle recognises words about a rate, which look like the ones about a
// length: "Too many tokens, please wait before trying again."
func isThrottle(text string) bool {
	return containsAny(text, "rate limit", "rate_limit", "too many requests", "throttl", "please wait",
		"per minute", "per min", "per day", "tokens per", "quota") ||
		strings.HasPrefix(text, "service unavailable:")
}

// overflow says whether text (lower case) says that the prompt is too long, with
// the numbers that it names.
func overflow(text string) (limit, used int64, ok bool) {
	if text == "" || isThrottle(text) {
		return 0, 0, false
	}
	for _, p := range overflowPhrases() {
		m := phraseMatch{}
		if m.find(p.text, text) {
			return m.limit, m.used, true
		}
	}
	return 0, 0, false
}

// WordlessOverflow says whether an answer without a body means that the prompt is too
// long: Cerebras says it with the status alone.
// https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts
func WordlessOverflow(provider string, status int, body []byte) bool {
	return provider == "cerebras" && (status == 400 || status == 413) && len(bytes.TrimSpace(body)) == 0
}

// phraseMatch matches one phrase and keeps the numbers.
type phraseMatch struct{ limit, used int64 }

// find looks for the pattern, which begins with plain words, anywhere in text.
func (m *phraseMatch) find(pattern, text string) bool {
	n := literal(pattern)
	for {
		i := strings.Index(text, pattern[:n])
		if i < 0 {
			return false
		}
		saved := *m
		if m.rest(pattern[n:], text[i+n:]) {
			return true
		}
		*m = saved
		text = text[i+1:]
	}
}

// rest matches the pattern at the start of text.
func (m *phraseMatch) rest(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	if gap, ok := strings.CutPrefix(pattern, "..."); ok {
		return m.find(gap, text[:min(len(text), maxGap)])
	}
	if pattern[0] != '{' {
		n := literal(pattern)
		return strings.HasPrefix(text, pattern[:n]) && m.rest(pattern[n:], text[n:])
	}
	name, after, _ := strings.Cut(pattern[1:], "}")
	v, n := number(text)
	if n == 0 {
		return false
	}
	switch name {
	case "limit":
		m.limit = v
	case "used":
		m.used += v
	}
	return m.rest(after, text[n:])
}

// literal is the length of the plain words at the start of a pattern.
func literal(pattern string) int {
	n := len(pattern)
	for _, stop := range []string{"{", "..."} {
		if i := strings.Index(pattern, stop); i >= 0 {
			n = min(n, i)
		}
	}
	return n
}

// number reads digits with thousands separators at the start of text and says how
// many bytes they take. Numbers over 10^15 are no token counts.
func number(text string) (value int64, n int) {
	const most = 1_000_000_000_000_000
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= '0' && c <= '9' && value < most:
			value = value*10 + int64(c-'0')
			n = i + 1
		case (c == ',' || c == '_') && n == i && n > 0:
			// Counts only if a digit follows.
		default:
			return value, n
		}
	}
	return value, n
}

func containsAny(text string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

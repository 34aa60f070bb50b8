package catalogtest

import (
	"net/http"
	"slices"
	"strings"
)

// incomparable says why a recording is no measure of a shape; empty = it is one.
func (r *recorded) incomparable() string {
	switch {
	case r.status == http.StatusBadRequest:
		return "the host refused the request"
	case !slices.Contains(r.roles(), "user"):
		return "a conversation without a user: llmd has none such"
	case slices.ContainsFunc(r.roles()[1:], func(role string) bool { return role == "system" || role == "developer" || role == "function" }):
		return "a prompt in the middle, or a role of old: llmd has none such"
	}
	return ""
}

// tolerated is a difference that is meant, with its reason.
type tolerated struct {
	name  string
	holds func(r *recorded, d difference) bool
}

// only says that one side has a key which the other has not.
func only(recordedKey, llmdKey string) func(r *recorded, d difference) bool {
	return func(_ *recorded, d difference) bool {
		return d == difference{"key", recordedKey, llmdKey}
	}
}

// at holds for some hosts only.
func at(hosts string, holds func(*recorded, difference) bool) func(*recorded, difference) bool {
	return func(r *recorded, d difference) bool {
		return slices.Contains(strings.Fields(hosts), r.provider) && holds(r, d)
	}
}

const (
	thinkingKeys = "reasoning reasoning_effort thinking enable_thinking chat_template_kwargs thinking_budget"
	// commonKeys are those that llmd has words for.
	commonKeys = "model messages stream stream_options max_tokens max_completion_tokens temperature top_p seed stop user tools tool_choice " +
		"parallel_tool_calls response_format " + thinkingKeys
)

func toleratedDifferences() []tolerated {
	return []tolerated{
		{"llmd always streams", only("", "stream")},
		{"llmd always asks for the usage of a stream", only("", "stream_options")},
		{"llmd asks hosts to keep nothing", only("", "store")},
		{"llmd asks for one answer, which is the default", only("n", "")},
		{"an empty list of tools", func(r *recorded, d difference) bool {
			return only("tools", "")(r, d) && len(r.Tools) == 0
		}},
		{"parallel calls without tools", func(r *recorded, d difference) bool {
			return only("parallel_tool_calls", "")(r, d) && len(r.Tools) == 0
		}},
		// https://platform.openai.com/docs/api-reference/chat/create: max_tokens is the
		// old name. The hosts take both; vLLM and llama.cpp do, too.
		{"the newer name of the limit", at(
			"openai azure-openai openrouter groq xai cerebras vercel-gateway huggingface vllm", only("max_tokens", "max_completion_tokens"))},
		{"the name that every llama.cpp knows", at("llama-cpp", only("max_completion_tokens", "max_tokens"))},
		{"a host that llmd knows nothing of: the owner's name of the limit", func(r *recorded, d difference) bool {
			return !r.known() && only("max_tokens", "max_completion_tokens")(r, d)
		}},
		// https://openrouter.ai/docs/use-cases/reasoning-tokens
		{"OpenRouter's own form of the effort", at("openrouter", only("reasoning_effort", "reasoning"))},
		// https://openrouter.ai/docs/use-cases/usage-accounting: always included now.
		{"OpenRouter's usage need not be asked for", at("openrouter", only("usage", ""))},
		{"a field that Ollama does not know", at("ollama", only("enable_thinking", ""))},
		// https://docs.z.ai/guides/capabilities/stream-tool
		{"Z.ai streams the arguments of tools when asked", at("zai", only("", "tool_stream"))},
		{"JSON without a schema", func(r *recorded, d difference) bool {
			return only("response_format", "")(r, d) && len(r.ResponseFormat.JSONSchema.Schema) == 0
		}},
		{"what llmd has no word for: provider_options_json", func(_ *recorded, d difference) bool {
			return d.what == "key" && d.llmd == "" && !slices.Contains(strings.Fields(commonKeys), d.recorded)
		}},
		{"an unknown host's own way of thinking", func(r *recorded, d difference) bool {
			return !r.known() && d.what == "key" && slices.Contains(strings.Fields(thinkingKeys), d.recorded+d.llmd)
		}},
		// https://platform.openai.com/docs/guides/reasoning
		{"OpenAI's reasoning models have a developer", at("openai azure-openai", func(_ *recorded, d difference) bool {
			return d.what == "roles" && strings.Replace(d.llmd, "developer", "system", 1) == d.recorded
		})},
		{"Z.ai's coding plan has a path of its own", at("zai", func(_ *recorded, d difference) bool {
			return d.what == "path" && strings.Replace(d.recorded, "/coding", "", 1) == d.llmd
		})},
		{"Azure's old paths with the deployment", at("azure-openai", func(_ *recorded, d difference) bool {
			return d.what == "path" && strings.Contains(d.recorded, "/openai/deployments/")
		})},
		{"Hugging Face's old paths with the provider", at("huggingface", func(_ *recorded, d difference) bool {
			return d.what == "path" && strings.HasSuffix(d.recorded, "/chat/completions") && d.llmd == "/v1/chat/completions"
		})},
		{"a local server behind a path of the recorder's", at("ollama llama-cpp lmstudio sglang vllm", func(_ *recorded, d difference) bool {
			return d.what == "path" && "/v1"+d.recorded == d.llmd
		})},
	}
}

// known says whether llmd knows anything of the host.
func (r *recorded) known() bool {
	_, lines := r.hostOf()
	return !strings.Contains(lines, ".example.test")
}

func toleratedAs(r *recorded, d difference) string {
	for _, t := range toleratedDifferences() {
		if t.holds(r, d) {
			return t.name
		}
	}
	return ""
}

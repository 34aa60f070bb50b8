package options

import (
	"regexp"
	"strings"
)

// spelling matches what the row's option may touch: paths of members, and headers
// behind the word "header". It is written from the providers' documentation:
//
//   - https://docs.anthropic.com/en/api/messages
//   - https://platform.openai.com/docs/api-reference/chat/create
//   - https://platform.openai.com/docs/api-reference/responses/create
//   - https://ai.google.dev/api/generate-content
//   - https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
//   - https://docs.mistral.ai/api
func spelling(r *row) *regexp.Regexp {
	words := map[string]map[string]string{
		"temperature": {
			"": `temperature`, apiGemini: `generationConfig\.temperature`, apiVertex: `generationConfig\.temperature`,
			apiBedrock: `inferenceConfig\.temperature`,
		},
		"top_p": {
			"": `top_p`, apiGemini: `generationConfig\.topP`, apiVertex: `generationConfig\.topP`, apiBedrock: `inferenceConfig\.topP`,
		},
		"top_k": {
			"": `top_k`, apiGemini: `generationConfig\.topK`, apiVertex: `generationConfig\.topK`,
			apiBedrock: `additionalModelRequestFields\.(top_k|inferenceConfig\.topK)`,
		},
		"max_output_tokens": {
			"": `max_tokens`, apiChat: `max_tokens|max_completion_tokens`, apiResponses: `max_output_tokens`, apiAzure: `max_output_tokens`,
			apiGemini: `generationConfig\.maxOutputTokens`, apiVertex: `generationConfig\.maxOutputTokens`, apiBedrock: `inferenceConfig\.maxTokens`,
		},
		"stop_sequences": {
			apiAnthropic: `stop_sequences`, apiChat: `stop`, apiMistral: `stop`, apiGemini: `generationConfig\.stopSequences`,
			apiVertex: `generationConfig\.stopSequences`, apiBedrock: `inferenceConfig\.stopSequences`,
		},
		"seed": {
			apiChat: `seed`, apiMistral: `random_seed`, apiGemini: `generationConfig\.seed`, apiVertex: `generationConfig\.seed`,
		},
		"output_json_schema": {
			apiAnthropic: `output_config\.format`, apiChat: `response_format`, apiMistral: `response_format`,
			apiResponses: `text\.format`, apiAzure: `text\.format`, apiBedrock: `outputConfig`,
			apiGemini: `generationConfig\.response(MimeType|JsonSchema)`, apiVertex: `generationConfig\.response(MimeType|JsonSchema)`,
		},
		"parallel_tool_calls": {
			apiAnthropic: `tool_choice(\..*)?`, apiChat: `parallel_tool_calls`, apiResponses: `parallel_tool_calls`,
			apiAzure: `parallel_tool_calls`, apiMistral: `parallel_tool_calls`,
		},
		"service_tier": {
			apiAnthropic: `speed|header anthropic-beta`, apiChat: `service_tier`, apiResponses: `service_tier`, apiAzure: `service_tier`,
			apiMistral: `service_tier`, apiGemini: `serviceTier`, apiVertex: `header x-vertex-ai-llm-shared-request-type`, apiBedrock: `serviceTier`,
		},
		"verbosity": {apiChat: `verbosity`, apiResponses: `text\.verbosity`, apiAzure: `text\.verbosity`},
		"reasoning": {
			apiAnthropic: `thinking(\..*)?|output_config\.effort|header anthropic-beta`,
			apiChat:      `reasoning(_effort)?|thinking(\.type)?|enable_thinking|thinking_(token_)?budget|chat_template_kwargs(\..*)?`,
			apiResponses: `reasoning(\..*)?|include`, apiAzure: `reasoning(\..*)?|include`,
			apiGemini: `generationConfig\.thinkingConfig(\..*)?`, apiVertex: `generationConfig\.thinkingConfig(\..*)?`,
			apiBedrock: `additionalModelRequestFields\.(thinking(\..*)?|output_config\.effort|anthropic_beta|reasoning(Config|_effort)?)|inferenceConfig\.maxTokens`,
			apiMistral: `reasoning_effort|prompt_mode`,
		},
		"tool_choice": {
			"": `tool_choice|tools(\[0\])?`,
			// Where a forced choice rules thinking out, and a host whose choice is always the
			// model's gets no tools instead of "none".
			apiChat: `tool_choice|tools(\[0\])?|tool_stream|thinking(\.type)?|enable_thinking`, apiGemini: `toolConfig\.functionCallingConfig|tools\[0\]\.functionDeclarations\[0\]`,
			apiVertex:  `toolConfig\.functionCallingConfig|tools\[0\]\.functionDeclarations\[0\]`,
			apiBedrock: `toolConfig\.toolChoice|toolConfig\.tools(\[0\])?`,
		},
		"strict": {
			apiAnthropic: `tools\[.\]\.(input_schema.*|strict)`, apiChat: `tools\[.\]\.function\.(parameters.*|strict)`,
			apiMistral: `tools\[.\]\.function\.(parameters.*|strict)`, apiResponses: `tools\[.\]\.(parameters.*|strict)`, apiAzure: `tools\[.\]\.(parameters.*|strict)`,
			apiGemini:  `tools\[0\]\.functionDeclarations\[.\]\.parametersJsonSchema.*|toolConfig\.functionCallingConfig`,
			apiVertex:  `tools\[0\]\.functionDeclarations\[.\]\.parametersJsonSchema.*|toolConfig\.functionCallingConfig`,
			apiBedrock: `toolConfig\.tools\[.\]\.toolSpec\.(inputSchema\.json.*|strict)`,
		},
		"cache": {
			apiAnthropic: `(system\[0\]|messages\[0\]\.content\[0\])\.cache_control(\.ttl)?|header x-session-(affinity|id)`,
			apiChat:      `prompt_cache_(key|retention|options)|messages\[.\]\.content(\[0\]\.cache_control\.ttl)?|header (x-session-id|session_id|x-client-request-id|x-session-affinity)`,
			apiResponses: `prompt_cache_(key|retention|options)|header (session-id|x-client-request-id|x-session-id)`,
			apiAzure:     `prompt_cache_key`,
			apiBedrock:   `(system|messages\[0\]\.content)\[1\](\.cachePoint\.ttl)?`,
			apiMistral:   `prompt_cache_key|header x-affinity`,
		},
		"user": {
			apiAnthropic: `metadata`, apiChat: `user`, apiResponses: `user`, apiAzure: `user`, apiBedrock: `requestMetadata`,
		},
		"provider_options_json": {
			"": `x_new|temperature`, apiGemini: `x_new|stream|generationConfig\.temperature`, apiVertex: `x_new|stream|generationConfig\.temperature`,
			apiBedrock: `x_new|stream|inferenceConfig\.temperature`,
		},
		"image": {
			"": `messages\[.\].*`, apiResponses: `input\[.\].*`, apiAzure: `input\[.\].*`, apiGemini: `contents\[.\].*`, apiVertex: `contents\[.\].*`,
		},
	}
	words["effort"], words["budget_tokens"], words["include_summary"] = words["reasoning"], words["reasoning"], words["reasoning"]
	var all []string
	add := func(option string) {
		w := words[option]
		if one, ok := w[r.api]; ok {
			all = append(all, one)
		} else if w[""] != "" {
			all = append(all, w[""])
		}
	}
	if r.conflict == "" {
		add(r.option)
	} else {
		// Several options meet; the messages are touched only by what adds to them.
		for option := range words {
			if option != "image" && option != "provider_options_json" && option != "user" && option != "cache" {
				add(option)
			}
		}
		if r.conflict == "an answer that is to go on" {
			add("image")
		}
	}
	return regexp.MustCompile(`^(` + strings.Join(all, "|") + `)$`)
}

package providersim

import (
	"slices"
	"strings"
)

const (
	awsAPI      = "https://docs.aws.amazon.com/bedrock/latest/APIReference/"
	awsGuide    = "https://docs.aws.amazon.com/bedrock/latest/userguide/"
	docConverse = awsAPI + "API_runtime_ConverseStream.html"
	docBTool    = awsAPI + "API_runtime_ToolUseBlock.html"
	docBResult  = awsAPI + "API_runtime_ToolResultBlock.html"
	docBBlock   = awsAPI + "API_runtime_ContentBlock.html"
	docBThink   = awsGuide + "claude-messages-extended-thinking.html"
	docBCache   = awsGuide + "prompt-caching.html"
)

// bedrockRules are those of ConverseStream, with what it hands on of Claude's.
func bedrockRules() []Rule {
	return []Rule{
		{ID: "bedrock.body.object", Doc: docConverse, check: isObject},
		{ID: "bedrock.body.fields", Doc: docConverse, check: knownFields("messages", "system inferenceConfig toolConfig guardrailConfig "+
			"additionalModelRequestFields additionalModelResponseFieldPaths promptVariables requestMetadata performanceConfig serviceTier outputConfig modelId")},
		{ID: "bedrock.inference.range", Doc: awsAPI + "API_runtime_InferenceConfiguration.html", check: bedrockInference},

		{ID: "bedrock.messages.some", Doc: docConverse, check: someMessages},
		{ID: "bedrock.messages.role", Doc: awsAPI + "API_runtime_Message.html", check: anthropicRoles},
		{ID: "bedrock.messages.user_first", Doc: awsGuide + "conversation-inference-call.html", check: bedrockUserFirst},
		{ID: "bedrock.messages.alternate", Doc: awsGuide + "conversation-inference-call.html", check: bedrockAlternate},
		{ID: "bedrock.messages.content_not_empty", Doc: awsAPI + "API_runtime_Message.html", check: bedrockContent},
		{ID: "bedrock.messages.last_role", Doc: awsGuide + "conversation-inference-call.html", check: bedrockLast},
		{ID: "bedrock.content.kind", Doc: docBBlock, check: bedrockKinds},
		{ID: "bedrock.text.not_blank", Doc: "https://github.com/aws-samples/bedrock-engineer/issues/8", check: bedrockText},
		{ID: "bedrock.system.not_blank", Doc: docConverse, check: bedrockSystem},

		{ID: "bedrock.tool_use.id_pattern", Doc: docBTool, check: bedrockIDs},
		{ID: "bedrock.tool_use.ids_unique", Doc: docBTool, check: uniqueCallIDs},
		{ID: "bedrock.tool_use.name_pattern", Doc: docBTool, check: bedrockNames},
		{ID: "bedrock.tool_use.input_object", Doc: docBTool, check: toolUseInput},
		{ID: "bedrock.tool_use.has_result", Doc: docBResult, check: bedrockHasResult},
		{ID: "bedrock.tool_result.follows_tool_use", Doc: docBResult, check: bedrockFollows},
		{ID: "bedrock.tool_result.one_for_each", Doc: docBResult, check: resultOnce},
		{ID: "bedrock.tool_result.content", Doc: "https://github.com/aws-samples/sample-multi-agent-orchestration-chat-on-agentcore/issues/15", check: bedrockResultContent},
		{ID: "bedrock.tool_result.error_text_only", Doc: docToolUse, check: bedrockErrorText},
		{ID: "bedrock.tools_alone", Doc: "https://github.com/pydantic/pydantic-ai/pull/6098", check: bedrockToolsAlone},
		{ID: "bedrock.tool_config.present_with_history", Doc: "https://github.com/patriceckhart/zot/pull/18", check: bedrockToolsPresent},
		{ID: "bedrock.tools.names", Doc: awsAPI + "API_runtime_ToolSpecification.html", check: bedrockToolNames},
		{ID: "bedrock.tools.schema", Doc: awsAPI + "API_runtime_ToolInputSchema.html", check: bedrockToolSchema},
		{ID: "bedrock.tools.root_keywords", Doc: docRoot, check: bedrockRoot},
		{ID: "bedrock.tools.draft", Doc: docDraft, check: bedrockDraft},
		{ID: "bedrock.tool_choice.valid", Doc: awsAPI + "API_runtime_ToolChoice.html", check: bedrockChoice},

		{ID: "bedrock.thinking.budget", Doc: docBThink, check: bedrockBudget},
		{ID: "bedrock.thinking.starts_turn", Doc: docBThink, check: bedrockStartsTurn},
		{ID: "bedrock.thinking.not_last", Doc: docBThink, check: bedrockNotLast},
		{ID: "bedrock.thinking.not_prefilled", Doc: "https://github.com/anthropics/claude-code/issues/7946", check: bedrockNotPrefilled},
		{ID: "bedrock.thinking.forced_tool_choice", Doc: docBThink, check: bedrockForced},
		{ID: "bedrock.reasoning.shape", Doc: awsAPI + "API_runtime_ReasoningContentBlock.html", check: bedrockReasoning},
		{ID: "bedrock.reasoning.signature_valid", Doc: docBThink, Signature: true, check: bedrockSigned},

		{ID: "bedrock.cache_point.limit", Doc: docBCache, check: bedrockCacheLimit},
		{ID: "bedrock.cache_point.supported", Doc: docBCache, check: bedrockCacheSupported},
		{ID: "bedrock.image.format", Doc: awsAPI + "API_runtime_ImageBlock.html", check: bedrockImages},
		{ID: "bedrock.image.supported", Doc: awsGuide + "conversation-inference-supported-models-features.html", check: bedrockImagesSupported},
		{ID: "bedrock.image.in_result", Doc: "https://github.com/anomalyco/opencode/issues/50272", check: bedrockResultImages},
		{ID: "bedrock.source.s3", Doc: awsAPI + "API_runtime_S3Location.html", check: bedrockS3},
	}
}

// bedrockView reads the messages. A block has one member, whose name is its type.
func bedrockView(body *value) view {
	var v view
	for i, m := range body.get("messages").list() {
		msg := message{at: i, path: at("messages", i), role: m.get("role").str(), value: m}
		for k, b := range m.get("content").list() {
			name, inner := b.one()
			p := part{msg: i, at: k, path: at(msg.path+".content", k), role: msg.role, kind: name, value: b}
			msg.parts = append(msg.parts, p)
			switch name {
			case "toolUse":
				if inner.get("type").str() == "server_tool_use" {
					continue // the provider's own, which it answers itself
				}
				v.calls = append(v.calls, call{msg: i, path: p.path, id: inner.get("toolUseId"), name: inner.get("name"), args: inner.get("input")})
			case "toolResult":
				if inner.get("type").set() {
					continue
				}
				v.results = append(v.results, result{msg: i, path: p.path, id: inner.get("toolUseId"), value: inner})
			}
		}
		v.messages = append(v.messages, msg)
	}
	return v
}

func isClaude(model string) bool { return strings.Contains(model, "claude") }

func bedrockInference(r *request, bad report) {
	c := r.body.get("inferenceConfig")
	for _, name := range []string{"temperature", "topP"} {
		if v := c.get(name); v.set() && (v.num() < 0 || v.num() > 1) {
			bad("inferenceConfig."+name, "Value at 'inferenceConfig.%s' failed to satisfy constraint: Member must have value less than or equal to 1", name)
		}
	}
	if v := c.get("maxTokens"); v.set() && v.num() < 1 {
		bad("inferenceConfig.maxTokens", "Value at 'inferenceConfig.maxTokens' failed to satisfy constraint: Member must have value greater than or equal to 1")
	}
}

func bedrockUserFirst(r *request, bad report) {
	if len(r.messages) > 0 && r.messages[0].role != "user" {
		bad("messages.0", "A conversation must start with a user message. Try again with a conversation that starts with a user message.")
	}
}

// bedrockAlternate: Titan is no chat model and takes any order.
func bedrockAlternate(r *request, bad report) {
	if strings.Contains(r.model, "titan") {
		return
	}
	for i := 1; i < len(r.messages); i++ {
		if r.messages[i].role == r.messages[i-1].role {
			bad(r.messages[i].path, "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.")
		}
	}
}

func bedrockContent(r *request, bad report) {
	for _, m := range r.messages {
		if len(m.parts) == 0 {
			bad(m.path, "The content field in the Message object at %s is empty. Add a ContentBlock object to the content field and try again.", m.path)
		}
	}
}

func bedrockLast(r *request, bad report) {
	prefills := isClaude(r.model) && !claudeFrom(r.model, 4, 6) || strings.Contains(r.model, "nova") && !strings.Contains(r.model, "nova-2")
	if r.lastRole() == "assistant" && !prefills {
		bad(r.messages[len(r.messages)-1].path, "This model does not support assistant message prefill. The conversation must end with a user message.")
	}
}

func bedrockKinds(r *request, bad report) {
	r.eachPart(func(p part) {
		wrong := p.kind == ""
		switch p.kind {
		case "toolUse", "reasoningContent":
			wrong = p.role != "assistant"
		case "image", "document", "video":
			wrong = p.role != "user"
		}
		if wrong {
			bad(p.path, "The ContentBlock object at %s must set one of the following keys: text, image, toolUse, toolResult, document, video.", p.path)
		}
	})
}

func bedrockText(r *request, bad report) {
	check := func(v *value, path string) {
		if t := v.get("text"); t != nil && blank(t.str()) {
			bad(path, "The text field in the ContentBlock object at %s is blank. Add text to the text field, and try again.", path)
		}
	}
	r.eachPart(func(p part) {
		check(p.value, p.path)
		for i, c := range p.value.get("toolResult", "content").list() {
			check(c, at(p.path+".toolResult.content", i))
		}
	})
}

func bedrockSystem(r *request, bad report) {
	for i, b := range r.body.get("system").list() {
		if t := b.get("text"); t != nil && blank(t.str()) {
			bad(at("system", i), "The text field in the SystemContentBlock object is blank.")
		}
	}
}

func bedrockImages(r *request, bad report) {
	r.bedrockImages(func(path string, image *value) {
		format := image.get("format").str()
		if !slices.Contains([]string{"png", "jpeg", "gif", "webp"}, format) {
			bad(path, "Value at '%s.image.format' failed to satisfy constraint: Member must satisfy enum value set: [gif, jpeg, png, webp]", path)
			return
		}
		if data := image.get("source", "bytes"); data != nil {
			if is, ok := imageBytes(data.str()); !ok || is != "image/"+format {
				bad(path, "The image is said to be %s and appears to be %s", format, is)
			}
		}
	})
}

func (r *request) bedrockImages(f func(path string, image *value)) {
	r.eachPart(func(p part) {
		if img := p.value.get("image"); img != nil {
			f(p.path, img)
		}
		for i, c := range p.value.get("toolResult", "content").list() {
			if img := c.get("image"); img != nil {
				f(at(p.path+".toolResult.content", i), img)
			}
		}
	})
}

func bedrockImagesSupported(r *request, bad report) {
	r.bedrockImages(func(path string, _ *value) {
		if !takesImages(r.model) {
			bad(path, "This model doesn't support the image field. Remove image and try again.")
		}
	})
}

// bedrockResultImages: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultContentBlock.html.
func bedrockResultImages(r *request, bad report) {
	r.bedrockImages(func(path string, _ *value) {
		if strings.Contains(path, "toolResult") && !isClaude(r.model) && !strings.Contains(r.model, "nova") && !strings.Contains(r.model, "llama") {
			bad(path, "This model doesn't support the image field for user messages. Remove image and try again.")
		}
	})
}

// bedrockS3: the models that read from S3 are Amazon's own.
func bedrockS3(r *request, bad report) {
	check := func(v *value, path string) {
		if _, inner := v.one(); inner.get("source", "s3Location").set() && !strings.Contains(r.model, "nova") {
			bad(path, "This model doesn't support the s3Uri field. Remove s3Uri and try again.")
		}
	}
	r.eachPart(func(p part) {
		check(p.value, p.path)
		for i, c := range p.value.get("toolResult", "content").list() {
			check(c, at(p.path+".toolResult.content", i))
		}
	})
}

package providersim

import (
	"slices"
	"strconv"
	"strings"
)

const (
	docGenerate   = "https://ai.google.dev/api/generate-content"
	docContent    = "https://ai.google.dev/api/caching#Content"
	docGFunctions = "https://ai.google.dev/gemini-api/docs/function-calling"
	docGSignature = "https://ai.google.dev/gemini-api/docs/thought-signatures"
	docGThinking  = "https://ai.google.dev/gemini-api/docs/thinking"
	docGImages    = "https://ai.google.dev/gemini-api/docs/image-understanding#supported-formats"
	docGSchema    = "https://ai.google.dev/api/caching#Schema"
	docGCount     = "https://github.com/google-gemini/gemini-cli/issues/16984"
)

// googleRules are those of generateContent, of the Gemini API and of Vertex.
func googleRules() []Rule {
	return []Rule{
		{ID: "google.body.object", Doc: docGenerate, check: isObject},
		{ID: "google.body.surrogates", Doc: "https://github.com/protocolbuffers/protobuf/blob/main/conformance/binary_json_conformance_suite.cc", check: loneSurrogates},
		{ID: "google.body.fields", Doc: docGenerate, check: googleFields},
		{ID: "google.sampling.range", Doc: docGenerate + "#generationconfig", check: googleSampling},
		{ID: "google.stop_sequences.limit", Doc: docGenerate + "#generationconfig", check: googleStop},
		{ID: "google.modalities.supported", Doc: "https://ai.google.dev/gemini-api/docs/speech-generation", check: googleModalities},

		{ID: "google.contents.some", Doc: docGenerate, check: googleSome},
		{ID: "google.contents.role", Doc: docContent, check: googleRoles},
		{ID: "google.contents.parts", Doc: docContent, check: googleParts},
		{ID: "google.contents.last_role", Doc: "https://ai.google.dev/gemini-api/docs/whats-new-gemini-3.6", check: googleLast},
		{ID: "google.part.one_of", Doc: docContent, check: googleOneOf},
		{ID: "google.part.text_not_empty", Doc: docContent, check: googleTexts},
		{ID: "google.image.type", Doc: docGImages, check: googleImages},
		{ID: "google.image.nested", Doc: docGFunctions + "#multimodal", check: googleNested},

		{ID: "google.function_call.shape", Doc: docContent, check: googleCallShape},
		{ID: "google.function_call.id_pattern", Doc: docGFunctions, check: googleCallIDs},
		{ID: "google.function_call.position", Doc: docGFunctions, check: googleCallPosition},
		{ID: "google.function_response.position", Doc: docGFunctions, check: googleResponsePosition},
		{ID: "google.function_response.count", Doc: docGCount, check: googleResponseCount},
		{ID: "google.function_response.order", Doc: docGFunctions, check: googleResponseOrder},
		{ID: "google.function_response.shape", Doc: docContent, check: googleResponseShape},

		{ID: "google.thought_signature.base64", Doc: docContent, check: googleSignatureBytes},
		{ID: "google.thought_signature.first_call", Doc: docGSignature, check: googleFirstCall},
		{ID: "google.thought_signature.bypass_place", Doc: docGSignature, check: googleBypass},
		{ID: "google.thought_signature.valid", Doc: docGSignature, Signature: true, check: googleSigned},

		{ID: "google.tools.names", Doc: docContent, check: googleToolNames},
		{ID: "google.tools.schema", Doc: docGSchema, check: googleToolSchema},
		{ID: "google.tools.draft", Doc: docDraftGoogle, check: googleDraft},
		{ID: "google.tool_config.valid", Doc: docGFunctions + "#function_calling_modes", check: googleToolConfig},
		{ID: "google.thinking.one_of", Doc: docGThinking, check: googleThinkingOneOf},
		{ID: "google.thinking.level", Doc: docGThinking + "#thinking-levels", check: googleLevel},
		{ID: "google.thinking.budget", Doc: docGThinking + "#set-budget", check: googleBudget},
	}
}

// field is a member by its name in JSON; the API takes the name in the definition
// as well: thoughtSignature, thought_signature.
func (v *value) field(name string) *value {
	if f := v.get(name); f != nil {
		return f
	}
	return v.get(snake(name))
}

func snake(name string) string {
	var b strings.Builder
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

func partData() []string {
	return []string{
		"text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall", "toolResponse",
	}
}

// googleView reads the contents.
func googleView(body *value) view {
	var v view
	for i, c := range body.get("contents").list() {
		m := message{at: i, path: at("contents", i), role: c.get("role").str(), value: c}
		first := true
		for k, p := range c.get("parts").list() {
			pt := part{msg: i, at: k, path: at(m.path+".parts", k), role: m.role, value: p}
			for _, name := range partData() {
				if p.field(name) != nil {
					pt.kind = name
				}
			}
			m.parts = append(m.parts, pt)
			switch data := p.field(pt.kind); pt.kind {
			case "functionCall":
				v.calls = append(v.calls, call{msg: i, path: pt.path, id: data.get("id"), name: data.get("name"), args: data.get("args"), first: first})
				first = false
			case "functionResponse":
				v.results = append(v.results, result{msg: i, path: pt.path, id: data.get("id"), value: data})
			}
		}
		v.messages = append(v.messages, m)
	}
	return v
}

// geminiVersion reads "gemini-2.5-flash"; 0, 0 for another family.
func geminiVersion(model string) (major, minor int) {
	model = model[strings.LastIndex(model, "/")+1:]
	rest, ok := strings.CutPrefix(model, "gemini-")
	if !ok {
		return 0, 0
	}
	number, _, _ := strings.Cut(rest, "-")
	whole, fraction, _ := strings.Cut(number, ".")
	major, err := strconv.Atoi(whole)
	if err != nil {
		return 1000, 0 // "gemini-flash-latest"
	}
	minor, _ = strconv.Atoi(fraction)
	return major, minor
}

func gemini3(model string) bool {
	major, _ := geminiVersion(model)
	return major >= 3
}

func (r *request) generation(name string) *value {
	return r.body.field("generationConfig").field(name)
}

func googleFields(r *request, bad report) {
	unknown := func(v *value, path, fields string) {
		if v == nil {
			return
		}
		for _, m := range v.members {
			if !slices.ContainsFunc(strings.Fields(fields), func(f string) bool { return m.name == f || m.name == snake(f) }) {
				bad(path+m.name, "Invalid JSON payload received. Unknown name %q: Cannot find field.", m.name)
			}
		}
	}
	unknown(r.body, "", "model contents systemInstruction tools toolConfig safetySettings generationConfig cachedContent labels serviceTier store modelArmorConfig")
	unknown(r.body.field("generationConfig"), "generationConfig.", "stopSequences responseMimeType responseSchema responseJsonSchema "+
		"responseModalities candidateCount maxOutputTokens temperature topP topK seed presencePenalty frequencyPenalty responseLogprobs "+
		"logprobs enableEnhancedCivicAnswers speechConfig thinkingConfig imageConfig mediaResolution audioTimestamp routingConfig")
	r.eachPart(func(p part) {
		unknown(p.value, p.path+".", strings.Join(partData(), " ")+" thought thoughtSignature videoMetadata mediaResolution partMetadata")
	})
}

func googleSampling(r *request, bad report) {
	if v := r.generation("temperature"); v.set() && (v.num() < 0 || v.num() > 2) {
		bad("generationConfig.temperature", "Unable to submit request because it has a temperature value of %s but the supported range is from 0 (inclusive) to 2.0001 (exclusive). Update the value and try again.", v.raw)
	}
	if v := r.generation("topP"); v.set() && (v.num() < 0 || v.num() > 1) {
		bad("generationConfig.topP", "Unable to submit request because it has a topP value of %s.", v.raw)
	}
	if v := r.generation("maxOutputTokens"); v.set() && v.num() < 1 {
		bad("generationConfig.maxOutputTokens", "max_output_tokens must be positive.")
	}
}

func googleStop(r *request, bad report) {
	if n := len(r.generation("stopSequences").list()); n > 5 {
		bad("generationConfig.stopSequences", "the number of stop sequences must be at most 5, got %d", n)
	}
}

func googleModalities(r *request, bad report) {
	audio := slices.ContainsFunc(r.generation("responseModalities").list(), func(v *value) bool { return v.str() == "AUDIO" })
	if strings.Contains(r.model, "-tts") && !audio {
		bad("generationConfig.responseModalities", "The requested combination of response modalities (TEXT) is not supported by the model.")
	}
}

func googleSome(r *request, bad report) {
	if len(r.messages) == 0 {
		bad("contents", "* GenerateContentRequest.contents: contents is not specified")
	}
}

func googleRoles(r *request, bad report) {
	for _, m := range r.messages {
		if m.value.get("role") == nil && len(r.messages) == 1 {
			continue
		}
		if m.role != "user" && m.role != "model" && m.role != "function" {
			bad(m.path, "Please use a valid role: user, model.")
		}
	}
}

func googleParts(r *request, bad report) {
	for _, m := range r.messages {
		if len(m.parts) == 0 {
			bad(m.path, "* GenerateContentRequest.%s.parts: contents.parts must not be empty.", m.path)
		}
	}
}

func googleLast(r *request, bad report) {
	major, minor := geminiVersion(r.model)
	refuses := major > 3 || major == 3 && (minor > 5 || minor == 5 && strings.Contains(r.model, "flash-lite"))
	if refuses && r.lastRole() == "model" {
		bad(r.messages[len(r.messages)-1].path, "Please ensure that multiturn requests ends with a user role or a function response.")
	}
}

func googleOneOf(r *request, bad report) {
	r.eachPart(func(p part) {
		n := 0
		for _, name := range partData() {
			if p.value.field(name) != nil {
				n++
			}
		}
		switch {
		case n > 1:
			bad(p.path, "Invalid value at '%s': oneof field 'data' is already set.", p.path)
		case n == 0 && p.value.field("thoughtSignature") == nil:
			bad(p.path, "* GenerateContentRequest.%s.data: required oneof field 'data' must have one initialized field", p.path)
		}
	})
}

func googleTexts(r *request, bad report) {
	check := func(p *value, path string) {
		if t := p.get("text"); t != nil && t.str() == "" && p.field("thoughtSignature").str() == "" {
			bad(path, "Unable to submit request because it must have a text parameter. Add a text parameter and try again.")
		}
	}
	r.eachPart(func(p part) { check(p.value, p.path) })
	for i, p := range r.body.field("systemInstruction").get("parts").list() {
		check(p, at("systemInstruction.parts", i))
	}
}

func googleImages(r *request, bad report) {
	r.googleInline(func(path string, data *value, _ bool) {
		mime := data.field("mimeType").str()
		if strings.HasPrefix(mime, "image/") && !slices.Contains([]string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}, mime) {
			bad(path, "Unsupported MIME type: %s", mime)
		}
		if _, ok := imageBytes(data.get("data").str()); !ok {
			bad(path, "Invalid value at '%s.inline_data.data' (TYPE_BYTES), Base64 decoding failed", path)
		}
	})
}

// googleInline runs over all inline data, nested in a response or not.
func (r *request) googleInline(f func(path string, data *value, nested bool)) {
	r.eachPart(func(p part) {
		if d := p.value.field("inlineData"); d != nil {
			f(p.path, d, false)
		}
		for i, n := range p.value.field("functionResponse").get("parts").list() {
			if d := n.field("inlineData"); d != nil {
				f(at(p.path+".functionResponse.parts", i), d, true)
			}
		}
	})
}

func googleNested(r *request, bad report) {
	major, _ := geminiVersion(r.model)
	r.googleInline(func(path string, _ *value, nested bool) {
		if nested && major < 3 && major > 0 {
			bad(path, "Multimodal function response is not supported for this model.")
		}
	})
}

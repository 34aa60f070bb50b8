package bedrock

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/llmd-dev/llmd/adapters/profile"
)

// family is a line of models with words of its own for what Converse has no field
// for.
type family uint8

const (
	otherFamily family = iota
	claude
	nova
	gpt
	gptOSS
	meta
	mistralAI
	writer
	qwen
	glm
	nemotron
	gemma
	kimi
)

// traits is what a model's name says about it.
type traits struct {
	family family
	// major and minor are the version; 0.0 = unknown.
	major, minor int
	// haiku: the smallest of its generation of Claude, which differs in old ones.
	haiku bool
	// government: the model is served in AWS GovCloud, which lags behind.
	government bool
}

// traitsOf reads the names of a model. An ARN says nothing about the model behind
// it, so the name for people counts where the id does not tell.
func traitsOf(m *profile.Model) traits {
	var best traits
	for _, name := range []string{m.ID, m.WireModel, m.DisplayName} {
		t := named(words(name))
		if best.family == otherFamily || best.family == t.family && best.major == 0 {
			best = t
		}
	}
	best.government = strings.HasPrefix(m.NameOnWire(), "us-gov.") ||
		strings.HasPrefix(m.NameOnWire(), "arn:aws-us-gov:") || strings.Contains(m.BaseURL, "us-gov-")
	return best
}

// words cuts a name at everything that is no letter or digit: ids differ in their
// separators.
func words(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
}

func named(words []string) traits {
	if i := slices.Index(words, "claude"); i >= 0 {
		t := traits{family: claude, haiku: slices.Contains(words, "haiku")}
		t.major, t.minor = version(words[i+1:])
		return t
	}
	if i := slices.Index(words, "nova"); i >= 0 {
		t := traits{family: nova, major: 1} // the first ones have no number
		if i+1 < len(words) && shortNumber(words[i+1]) {
			t.major, t.minor = version(words[i+1:])
		}
		return t
	}
	if i := slices.Index(words, "gpt"); i >= 0 {
		if i+1 < len(words) && words[i+1] == "oss" {
			return traits{family: gptOSS}
		}
		return traits{family: gpt}
	}
	for _, word := range words {
		if f := maker(strings.TrimRight(word, "0123456789")); f != otherFamily { // "llama3"
			return traits{family: f}
		}
	}
	return traits{}
}

// maker is the family of models that a word names.
func maker(word string) family {
	switch word {
	case "llama":
		return meta
	case "mistral", "ministral", "magistral", "pixtral", "devstral", "voxtral":
		return mistralAI
	case "palmyra":
		return writer
	case "qwen":
		return qwen
	case "glm":
		return glm
	case "nemotron":
		return nemotron
	case "gemma":
		return gemma
	case "kimi":
		return kimi
	}
	return otherFamily
}

// version reads "3 7 sonnet 20250219" and "opus 4 6 v1": the name of the size stood
// last once. Dates are longer than versions.
func version(words []string) (major, minor int) {
	if len(words) > 0 && !shortNumber(words[0]) {
		words = words[1:]
	}
	if len(words) > 0 && shortNumber(words[0]) {
		major, _ = strconv.Atoi(words[0])
		if len(words) > 1 && shortNumber(words[1]) {
			minor, _ = strconv.Atoi(words[1])
		}
	}
	return major, minor
}

func shortNumber(word string) bool {
	n, err := strconv.Atoi(word)
	return err == nil && n >= 0 && len(word) <= 2
}

func (t *traits) atLeast(major, minor int) bool {
	return t.major > major || t.major == major && t.minor >= minor
}

// adaptive: the model chooses itself how much to think.
// https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html.
func (t *traits) adaptive() bool { return t.family == claude && t.atLeast(4, 6) }

// bindsThinking: the model may check what stood before a block of thinking, and
// leaves its thinking unreadable unless it is asked.
// https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-thinking-block-binding.html.
func (t *traits) bindsThinking() bool { return t.family == claude && t.atLeast(4, 7) }

// interleaves: the model can think between calls if it is asked to.
// https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html.
func (t *traits) interleaves() bool { return t.family == claude && t.atLeast(4, 0) }

// caches: the model takes cache points. Nova caches by itself.
// https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html#prompt-caching-models.
func (t *traits) caches() bool {
	return t.family == claude && (t.atLeast(3, 7) || t.haiku && t.atLeast(3, 5))
}

// cachesLong: a cache point of the model may last an hour.
func (t *traits) cachesLong() bool { return t.family == claude && t.atLeast(4, 5) }

// prefills: the model goes on with an assistant turn at the end. Claude does not
// since 4.6; for Nova see
// https://docs.aws.amazon.com/nova/latest/userguide/prompting-structured-output.html.
func (t *traits) prefills() bool {
	return t.family == claude && !t.adaptive() || t.family == nova && t.major == 1
}

// hasStatus: the model takes a result's status, and its name in toolChoice.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultBlock.html
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolChoice.html.
func (t *traits) hasStatus() bool { return t.family == claude || t.family == nova }

// takesResultImages: a tool may show the model an image. Others get "This model doesn't
// support the image field for user messages", and take the same image from the user:
// https://github.com/anomalyco/opencode/issues/50272. That Llama does is seen in
// https://github.com/pydantic/pydantic-ai/pull/6098, against what the reference says.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultContentBlock.html.
func (t *traits) takesResultImages() bool {
	return t.family == claude || t.family == nova || t.family == meta
}

// toolsAlone: "Conversation blocks and tool result blocks cannot be provided in the same
// turn", nor beside calls.
//
//   - https://github.com/pydantic/pydantic-ai/pull/6098
//   - https://github.com/strands-agents/harness-sdk/issues/1223
//   - https://github.com/quarkiverse/quarkus-langchain4j/issues/1983
func (t *traits) toolsAlone() bool {
	return t.family == meta || t.family == mistralAI || t.family == writer
}

// neverStops: "This model doesn't support the stopSequences field".
//
//   - https://github.com/vercel/ai/issues/21374
//   - https://github.com/langgenius/dify-official-plugins/issues/1767
func (t *traits) neverStops() bool {
	return slices.Contains([]family{gpt, gptOSS, qwen, glm, nemotron, gemma}, t.family)
}

package options

import (
	"fmt"
	"slices"
	"strings"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// wish is an option with a value, added to a conversation.
type wish struct {
	// option and value name it in tables.
	option, value string
	base          base
	set           func(*llmdv1.Generation, target)
	// fields are those that an error may name, below "generation."; the option's own
	// if there are none.
	fields []string
	// quiet says why nothing may come of it, in tables; empty = something must.
	quiet string
	// conflict is what it contradicts; empty for a wish by itself.
	conflict string
}

// wishes are those by themselves, one option after the other.
func wishes() []wish {
	return slices.Concat(samplingWishes(), formWishes(), serviceWishes(), reasoningWishes(), toolWishes(), strictWishes(), cacheWishes(), otherWishes(), imageWishes())
}

// configWish is a wish whose field is one of GenerationConfig.
func configWish(option, value string, set func(*llmdv1.GenerationConfig)) wish {
	return wish{
		option: option, value: value, base: plain, fields: []string{"config." + option},
		set: func(g *llmdv1.Generation, _ target) { set(config(g)) },
	}
}

func samplingWishes() []wish {
	var all []wish
	for _, v := range []float64{0, 0.5, 1, 1.5, 2} {
		all = append(all, configWish("temperature", fmt.Sprint(v), func(c *llmdv1.GenerationConfig) { c.Temperature = new(v) }))
	}
	for _, v := range []float64{0.5, 0.95, 1} {
		all = append(all, configWish("top_p", fmt.Sprint(v), func(c *llmdv1.GenerationConfig) { c.TopP = new(v) }))
	}
	for _, v := range []int32{1, 40, 1000} {
		all = append(all, configWish("top_k", fmt.Sprint(v), func(c *llmdv1.GenerationConfig) { c.TopK = new(v) }))
	}
	for _, v := range []int32{1, 16, 3000, 2_000_000_000} {
		all = append(all, configWish("max_output_tokens", fmt.Sprint(v), func(c *llmdv1.GenerationConfig) { c.MaxOutputTokens = new(v) }))
	}
	for _, n := range []int{1, 4, 5, 6, 16} {
		stops := strings.Split("A,B,C,D,E,F,G,H,I,J,K,L,M,N,O,P", ",")[:n]
		all = append(all, configWish("stop_sequences", fmt.Sprintf("%d of them", n), func(c *llmdv1.GenerationConfig) { c.StopSequences = stops }))
	}
	blank := configWish("stop_sequences", "a newline", func(c *llmdv1.GenerationConfig) { c.StopSequences = []string{"\n"} })
	blank.fields = append(blank.fields, "config.stop_sequences[0]")
	all = append(all, blank)
	for _, v := range []int64{7, 0, -1, 1 << 40} {
		all = append(all, configWish("seed", fmt.Sprint(v), func(c *llmdv1.GenerationConfig) { c.Seed = new(v) }))
	}
	return all
}

func formWishes() []wish {
	var all []wish
	for _, s := range []struct{ name, schema string }{
		{"in strict form", exact},
		{"with an optional property", loose},
		{"with oneOf", awkward},
		{"any object", `{"type":"object"}`},
		{"a list", `{"type":"array","items":{"type":"string"}}`},
	} {
		all = append(all, configWish("output_json_schema", s.name, func(c *llmdv1.GenerationConfig) { c.OutputJsonSchema = s.schema }))
	}
	for _, v := range []llmdv1.Verbosity{1, 2, 3} {
		all = append(all, configWish("verbosity", strings.TrimPrefix(v.String(), "VERBOSITY_"), func(c *llmdv1.GenerationConfig) { c.Verbosity = v }))
	}
	return all
}

func serviceWishes() []wish {
	var all []wish
	for _, v := range []llmdv1.ServiceTier{1, 2, 3} {
		w := configWish("service_tier", strings.TrimPrefix(v.String(), "SERVICE_TIER_"), func(c *llmdv1.GenerationConfig) { c.ServiceTier = v })
		if v == llmdv1.ServiceTier_SERVICE_TIER_STANDARD {
			w.quiet = "where it is what requests without a tier get"
		}
		all = append(all, w)
	}
	return all
}

func reasoningWishes() []wish {
	var all []wish
	for e := llmdv1.ReasoningEffort_REASONING_EFFORT_NONE; e <= llmdv1.ReasoningEffort_REASONING_EFFORT_MAX; e++ {
		w := wish{
			option: "effort", value: strings.TrimPrefix(e.String(), "REASONING_EFFORT_"), base: plain, fields: []string{"reasoning.effort"},
			set: func(g *llmdv1.Generation, _ target) { setEffort(g, e) },
		}
		if e == llmdv1.ReasoningEffort_REASONING_EFFORT_NONE {
			w.quiet = "where the model does not reason"
		}
		all = append(all, w)
	}
	for _, n := range []int32{100, 1024, 5000, 30000, 500_000} {
		all = append(all, wish{
			option: "budget_tokens", value: fmt.Sprint(n), base: plain, fields: []string{"reasoning.budget_tokens"},
			set: func(g *llmdv1.Generation, _ target) { reasoning(g).BudgetTokens = new(n) },
		})
	}
	summary := func(g *llmdv1.Generation, _ target) { reasoning(g).IncludeSummary = true }
	return append(all,
		wish{option: "include_summary", value: "true", base: plain, set: summary, fields: []string{"reasoning.include_summary"}},
		wish{
			option: "include_summary", value: "true, with effort HIGH", base: thinks, set: summary, fields: []string{"reasoning.include_summary"},
			quiet: "where thinking that is asked for is shown anyway",
		},
	)
}

func toolWishes() []wish {
	mode := func(value string, b base, m llmdv1.ToolMode) wish {
		return wish{
			option: "tool_choice", value: value, base: b, fields: []string{"tool_choice", "tool_choice.mode"},
			set: func(g *llmdv1.Generation, _ target) {
				g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: m}}
			},
		}
	}
	name := func(value, tool string) wish {
		return wish{
			option: "tool_choice", value: value, base: tools, fields: []string{"tool_choice", "tool_choice.tool_name"},
			set: func(g *llmdv1.Generation, _ target) {
				g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_ToolName{ToolName: tool}}
			},
		}
	}
	auto := mode("AUTO", tools, llmdv1.ToolMode_TOOL_MODE_AUTO)
	auto.quiet = "where the API has no word for its default"
	none := mode("NONE, without tools", plain, llmdv1.ToolMode_TOOL_MODE_NONE)
	none.quiet = "there is no tool to be called"
	parallel := func(value string, b base, v bool) wish {
		w := configWish("parallel_tool_calls", value, func(c *llmdv1.GenerationConfig) { c.ParallelToolCalls = new(v) })
		w.base = b
		return w
	}
	allowed := parallel("true", tools, true)
	allowed.quiet = "where several calls are what the API does anyway"
	idle := parallel("false, without tools", plain, false)
	idle.quiet = "there is no tool to be called"
	return []wish{
		auto,
		mode("NONE", tools, llmdv1.ToolMode_TOOL_MODE_NONE),
		mode("REQUIRED", tools, llmdv1.ToolMode_TOOL_MODE_REQUIRED),
		name("the tool \"look\"", "look"),
		name("a tool that is not there", "sing"),
		none,
		mode("REQUIRED, without tools", plain, llmdv1.ToolMode_TOOL_MODE_REQUIRED),
		mode("NONE, while a result is handed in", turn, llmdv1.ToolMode_TOOL_MODE_NONE),
		allowed,
		parallel("false", tools, false),
		idle,
	}
}

func strictWishes() []wish {
	var all []wish
	for _, s := range []struct{ name, schema string }{
		{"in strict form", exact}, {"with an optional property", loose}, {"with oneOf", awkward}, {"open", open}, {"without parameters", ""},
	} {
		for _, m := range []llmdv1.StrictMode{1, 2, 3} {
			w := wish{
				option: "strict", value: strings.TrimPrefix(m.String(), "STRICT_MODE_") + ", schema " + s.name, base: one,
				fields: []string{"context.tools[0].strict"},
				set: func(g *llmdv1.Generation, _ target) {
					g.Context.Tools[0].ParametersJsonSchema, g.Context.Tools[0].Strict = s.schema, m
				},
			}
			switch m {
			case llmdv1.StrictMode_STRICT_MODE_OFF:
				w.quiet = "it is the default"
			case llmdv1.StrictMode_STRICT_MODE_PREFER:
				w.quiet = "the contract says so: where it cannot be had, quietly not"
			}
			all = append(all, w)
		}
	}
	return all
}

func cacheWishes() []wish {
	fields := []string{"cache.retention", "cache.session_key"}
	add := func(value, quiet string, set func(*llmdv1.Generation)) wish {
		return wish{option: "cache", value: value, base: plain, fields: fields, quiet: quiet, set: func(g *llmdv1.Generation, _ target) { set(g) }}
	}
	const (
		unasked = "where the provider caches by itself, or not at all"
		already = "it is the default"
		keyless = "where neither body nor headers have a place for a key"
	)
	var all []wish
	for _, r := range []llmdv1.CacheRetention{1, 2, 3} {
		name := strings.TrimPrefix(r.String(), "CACHE_RETENTION_")
		quiet := map[llmdv1.CacheRetention]string{1: unasked, 2: already}[r]
		all = append(all, add(name, quiet, func(g *llmdv1.Generation) { cache(g).Retention = r }))
		quiet = map[llmdv1.CacheRetention]string{1: unasked, 2: keyless}[r]
		all = append(all, add(name+", with session_key", quiet, func(g *llmdv1.Generation) {
			cache(g).Retention, cache(g).SessionKey = r, "session-1"
		}))
	}
	return append(all,
		add("session_key", keyless, func(g *llmdv1.Generation) { cache(g).SessionKey = "session-1" }),
		add("conversation_id", keyless, func(g *llmdv1.Generation) { g.ConversationId = "conversation-1" }),
		add("session_key and conversation_id", keyless, func(g *llmdv1.Generation) {
			cache(g).SessionKey, g.ConversationId = "session-1", "conversation-1"
		}),
		add("session_key of 300 letters", keyless, func(g *llmdv1.Generation) { cache(g).SessionKey = strings.Repeat("k", 300) }),
		add("session_key with a line break", keyless, func(g *llmdv1.Generation) { cache(g).SessionKey = "a\r\nX-Evil: \u00e9" }),
	)
}

func otherWishes() []wish {
	user := func(value, id string) wish {
		return wish{
			option: "user", value: value, base: plain, fields: []string{"user"},
			set: func(g *llmdv1.Generation, _ target) { g.User = id },
		}
	}
	provider := func(value string, b base, quiet string, set func(target) map[string]string) wish {
		return wish{
			option: "provider_options_json", value: value, base: b, quiet: quiet, fields: []string{"provider_options_json[*]"},
			set: func(g *llmdv1.Generation, t target) { g.ProviderOptionsJson = set(t) },
		}
	}
	own := func(text string) func(target) map[string]string {
		return func(t target) map[string]string { return map[string]string{t.provider(): text} }
	}
	return []wish{
		user("user-1", "user-1"),
		user("with odd letters", "M\u00fcller <m@x>"),
		provider("a new member", plain, "", own(`{"x_new":{"a":1.0,"b":[null]}}`)),
		provider("another temperature", warm, "", func(t target) map[string]string {
			return map[string]string{t.provider(): temperatureOption(t.api)}
		}),
		provider("stream: false", plain, "that answers are streamed cannot be changed", own(`{"stream":false}`)),
		provider("an empty object", plain, "it asks for nothing", own(`{}`)),
		provider("no object", plain, "", own(`[1]`)),
		provider("another provider's", plain, "they are meant for that one", func(target) map[string]string {
			return map[string]string{"faux": `{"x_new":1}`}
		}),
		provider("of a provider that nobody knows", plain, "", func(target) map[string]string {
			return map[string]string{"nobody": `{"x_new":1}`}
		}),
	}
}

// temperatureOption is a temperature of 0.1 as the API spells it.
func temperatureOption(api string) string {
	switch api {
	case apiGemini, apiVertex:
		return `{"generationConfig":{"temperature":0.1}}`
	case apiBedrock:
		return `{"inferenceConfig":{"temperature":0.1}}`
	}
	return `{"temperature":0.1}`
}

func imageWishes() []wish {
	policy := func(g *llmdv1.Generation, p llmdv1.UnsupportedImages) {
		g.Handoff = &llmdv1.HandoffPolicy{UnsupportedImages: p}
	}
	const at = "context.messages[0].user.content[1]"
	const inResult = "context.messages[2].tool_result.content[1]"
	user := func(value string, set func(*llmdv1.Generation)) wish {
		return wish{
			option: "image", value: value, base: plain, fields: []string{at, at + ".image", at + ".image.uri", at + ".image.mime_type", "handoff.unsupported_images"},
			set: func(g *llmdv1.Generation, _ target) { set(g) },
		}
	}
	resulting := func(value string, failed bool, p llmdv1.UnsupportedImages) wish {
		return wish{
			option: "image", value: value, base: turn, fields: []string{inResult, inResult + ".image"},
			set: func(g *llmdv1.Generation, _ target) {
				policy(g, p)
				r := g.GetContext().GetMessages()[2].GetToolResult()
				r.IsError = failed
				r.Content = append(r.Content, &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Image{Image: image()}})
			},
		}
	}
	return []wish{
		user("in the question", func(g *llmdv1.Generation) { show(g, image()) }),
		user("in the question, PLACEHOLDER", func(g *llmdv1.Generation) {
			show(g, image())
			policy(g, llmdv1.UnsupportedImages_UNSUPPORTED_IMAGES_PLACEHOLDER)
		}),
		user("in the question, REJECT", func(g *llmdv1.Generation) {
			show(g, image())
			policy(g, llmdv1.UnsupportedImages_UNSUPPORTED_IMAGES_REJECT)
		}),
		user("as a data URL", func(g *llmdv1.Generation) {
			show(g, &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: "data:image/png;base64," + pixel}})
		}),
		user("called another type than it is", func(g *llmdv1.Generation) {
			i := image()
			i.MimeType = "image/jpeg"
			show(g, i)
		}),
		user("as a data URL that cannot be read", func(g *llmdv1.Generation) {
			show(g, &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: "data:image/png;base64,%%%"}})
		}),
		user("as a data URL that cannot be read, REJECT", func(g *llmdv1.Generation) {
			show(g, &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: "data:image/png;base64,%%%"}})
			policy(g, llmdv1.UnsupportedImages_UNSUPPORTED_IMAGES_REJECT)
		}),
		user("as a data URL of text", func(g *llmdv1.Generation) {
			show(g, &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: "data:text/plain;base64,aGVsbG8="}})
		}),
		user("behind a URL with a password", func(g *llmdv1.Generation) {
			show(g, &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: "https://me:secret@host.example/a.png"}})
		}),
		user("behind a ftp URL", func(g *llmdv1.Generation) {
			show(g, &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: "ftp://host.example/a.png"}})
		}),
		user("of a type that no model reads", func(g *llmdv1.Generation) {
			show(g, &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: []byte("BM a bitmap")}, MimeType: "image/bmp"})
		}),
		user("behind a ftp URL, REJECT", func(g *llmdv1.Generation) {
			show(g, &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: "ftp://host.example/a.png"}})
			policy(g, llmdv1.UnsupportedImages_UNSUPPORTED_IMAGES_REJECT)
		}),
		resulting("in a result", false, llmdv1.UnsupportedImages_UNSUPPORTED_IMAGES_PLACEHOLDER),
		resulting("in a result, REJECT", false, llmdv1.UnsupportedImages_UNSUPPORTED_IMAGES_REJECT),
		resulting("in a failed result", true, llmdv1.UnsupportedImages_UNSUPPORTED_IMAGES_PLACEHOLDER),
	}
}
